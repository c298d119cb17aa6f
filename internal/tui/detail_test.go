package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Each tab names its exchange and the outcome.
func TestDetailHasATitle(t *testing.T) {
	play(t, 80, 24, nil, newActor(), func(p *player) {
		p.keys("g", "j", "j", "j", "enter")
		for range tabCount {
			p.shows("! tool error  call get_file  42.4  80 ms", "Esc close")
			p.keys("right")
		}
	})
}

// An exchange opens at its summary; a detail that follows the selection keeps its tab.
func TestDetailOpensAtTheSummary(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("g", "enter", "right", "right", "esc", "enter")
		if p.m.detail.tab != tabSummary {
			t.Errorf("an exchange opens at %s", tabNames[p.m.detail.tab])
		}
		p.keys("right", "right", "tab", "j")
		if p.m.detail.key != "42.2" || p.m.detail.tab != tabResponse {
			t.Errorf("after the next line the detail is %s of %s", tabNames[p.m.detail.tab], p.m.detail.key)
		}
		p.keys("enter")
		if p.m.detail.tab != tabResponse {
			t.Errorf("Enter left %s of the exchange that was open", tabNames[p.m.detail.tab])
		}
	})
}

// Tab goes from a detail to the list and back, as the footer shows; the conversations are before
// the list.
func TestTabInTheDetail(t *testing.T) {
	for _, width := range []int{80, 120} {
		play(t, width, 40, nil, newActor(), func(p *player) {
			p.keys("g", "enter")
			p.shows("Tab list")
			p.keys("tab")
			p.shows("Tab detail")
			p.keys("tab")
			if p.m.focus != paneDetail {
				t.Errorf("%d columns: Tab, Tab leads to pane %d", width, p.m.focus)
			}
			p.keys("shift+tab", "shift+tab")
			if p.m.focus != paneConversations {
				t.Errorf("%d columns: the pane before the list is %d", width, p.m.focus)
			}
			p.keys("esc")
			if p.m.focus != paneMain {
				t.Errorf("%d columns: Esc leads from the conversations to pane %d", width, p.m.focus)
			}
		})
	}
}

// On a narrow screen Esc in the list shows the conversations, even if a detail is open below it.
func TestEscShowsConversationsBesideHiddenDetail(t *testing.T) {
	play(t, 80, 24, nil, newActor(), func(p *player) {
		p.keys("g", "enter", "tab", "esc")
		if !strings.Contains(p.screen(), "conversations") {
			t.Errorf("Esc changed nothing:\n%s", p.screen())
		}
	})
}

// The clock of an open exchange counts from when the detail was read, not the list.
func TestDetailClockStartsWhenItIsRead(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("g", "enter")
		p.m.detail.doc.Row.State = "open"
		p.m.detail.doc.Row.Seconds = 3
		p.m.statusLine.loadedAt = testNow().Add(-99 * time.Second)
		if title := p.m.drawDetail(120, 20)[0].Line.String(); !strings.Contains(title, "… 0:03") {
			t.Errorf("the title is %q, want … 0:03", title)
		}
	})
}

// A click on the name of a tab opens it, also if the names are short.
func TestClickOpensTab(t *testing.T) {
	for _, w := range []int{80, 120, 180} {
		play(t, w, 40, nil, nil, func(p *player) {
			p.keys("g", "enter")
			for _, text := range []string{"Wire", "Req", "Ev"} {
				for y, line := range strings.Split(p.screen(), "\n") {
					before, _, found := strings.Cut(line, " "+text)
					if found && strings.Contains(line, "Sum") {
						p.send(tea.MouseClickMsg{X: ansi.StringWidth(before) + 1, Y: y, Button: tea.MouseLeft})
						break
					}
				}
				if got := tabNames[p.m.detail.tab]; !strings.HasPrefix(got, text) {
					t.Errorf("%d columns: a click on %s opens %s", w, text, got)
				}
			}
		})
	}
}
