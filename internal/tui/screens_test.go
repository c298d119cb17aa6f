package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

var sizes = [][2]int{{40, 10}, {80, 24}, {120, 40}}

// Every view at every size, with its detail.
func TestScreens(t *testing.T) {
	for _, size := range sizes {
		for n, name := range viewNames {
			play(t, size[0], size[1], nil, newActor(), func(p *player) {
				p.keys(viewKeys[n])
				golden(t, fmt.Sprintf("%s_%dx%d", strings.ToLower(name), size[0], size[1]), p.screen())
			})
		}
		play(t, size[0], size[1], nil, newActor(), func(p *player) {
			p.keys("k", "k", "k", "k", "enter")
			var all strings.Builder
			for range 8 {
				all.WriteString(p.screen())
				p.keys("right")
			}
			golden(t, fmt.Sprintf("detail_%dx%d", size[0], size[1]), all.String())
		})
	}
}

// Dialogs, forms, the bar of held messages and the filter line.
func TestDialogScreens(t *testing.T) {
	for _, size := range sizes {
		a := newActor()
		a.questions, a.held = []view.Question{asks()}, []view.Held{heldMessage("h1"), heldMessage("h2")}
		play(t, size[0], size[1], nil, a, func(p *player) {
			var all strings.Builder
			for _, keys := range [][]string{{}, {"a"}, {"esc", "esc", "?"}, {"esc", "x"}, {"esc", "y"}, {"esc", "D"}, {"esc", "2", "f"}, {"esc", "/", "n"}} {
				p.keys(keys...)
				fmt.Fprintf(&all, "=== %s\n%s", strings.Join(keys, " "), p.screen())
			}
			golden(t, fmt.Sprintf("dialogs_%dx%d", size[0], size[1]), all.String())
		})
	}
}

// Each size that a terminal can have gives a screen of exactly that size, in each state.
func TestResizeStorm(t *testing.T) {
	a := newActor()
	a.questions, a.held = []view.Question{asks()}, []view.Held{heldMessage("h1")}
	play(t, 80, 24, nil, a, func(p *player) {
		random := rand.New(rand.NewPCG(1, 2))
		keys := []string{"1", "2", "3", "4", "5", "6", "H", "A", "R", "j", "k", "G", "g", "enter", "esc", "tab", "right", "a", "?", "x", "f", "y", "D", "i", "t", ":", "/", "s", "e", "space", "o", "p"}
		for range 300 {
			p.send(tea.WindowSizeMsg{Width: 1 + random.IntN(180), Height: 1 + random.IntN(50)})
			p.keys(keys[random.IntN(len(keys))])
			if p.m.w >= 20 && p.m.h >= 4 {
				p.screen()
			} else if p.m.frame() == "" {
				t.Fatal("nothing is drawn")
			}
			p.quit = false
		}
	})
}

// Each key is taken in each view, in the list and in the detail.
func TestEachKeyInEachView(t *testing.T) {
	play(t, 120, 30, nil, newActor(), func(p *player) {
		for _, view := range []string{"1", "2", "3", "4", "5", "6", "H"} {
			for _, key := range []string{"f", "space", "right", "enter", "+", "-", "y", "n", "s", "o"} {
				for _, before := range [][]string{{}, {"j"}, {"enter"}, {"enter", "j", "j", "j"}} {
					p.keys("esc", "esc", view)
					p.keys(before...)
					p.keys(key)
					p.quit = false
				}
			}
			p.screen()
		}
	})
}

// Text of a server is shown, never obeyed.
func TestHostileText(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.m.palette.Color = true
		for _, view := range []string{"1", "2", "3", "4", "5", "6", "H"} {
			p.keys(view, "g", "enter")
			for _, bad := range []string{"\x1b[31mil", "\u202e", "\x07", "\x1b]0", "\u200b"} {
				if strings.Contains(p.m.frame(), bad) {
					t.Errorf("view %s writes %q", view, bad)
				}
			}
			p.keys("esc")
		}
		p.keys("C", "1")
		p.shows("␛[31mil⟨U+202E⟩", "日本語")
	})
}

// A conversation without kept rows is not called unrecorded.
func TestConversationWithoutKeptRowsIsExplained(t *testing.T) {
	r := newReader()
	play(t, 120, 24, r, nil, func(p *player) {
		p.keys("tab", "tab")
		p.m.conversations.chosen = "42.1"
		p.shows("initialize")
		r.mu.Lock()
		r.blocks, r.talks, r.absent = nil, r.talks[1:], "this conversation is older than the 50,000 exchanges kept"
		r.mu.Unlock()
		for _, key := range []string{"1", "2"} {
			p.keys(key)
			p.m.conversations.chosen = "42.1"
			r.announce()
			p.keys("g")
			p.shows("this conversation is older than the 50,000 exchanges kept", "C shows everything")
		}
		for _, key := range []string{"3", "4", "5", "6"} {
			p.keys(key)
			r.announce()
			p.keys("g")
			if strings.Contains(p.screen(), "nothing recorded yet") {
				t.Errorf("view %s: %s", key, p.screen())
			}
		}
	})
}

// Without recordings the view shows the next step.
func TestEmptyViewSaysWhatToDo(t *testing.T) {
	r := newReader()
	r.blocks, r.talks = nil, nil
	play(t, 80, 24, r, nil, func(p *player) {
		p.shows("nothing recorded yet", "mcpc tap install CLIENT SERVER")
		p.keys("r")
		p.keys("y")
		p.shows("select an exchange first")
	})
	r = newReader()
	r.blocks, r.talks, r.hint = nil, nil, "Point clients at http://127.0.0.1:3002/mcp"
	play(t, 80, 24, r, nil, func(p *player) {
		p.shows("nothing recorded yet", "Point clients at")
		p.keys("/").types("is:error")
		p.shows("nothing matches is:error")
	})
	r = newReader()
	r.noDocs = true
	play(t, 80, 24, r, nil, func(p *player) {
		p.keys("/").types("is:error")
		for key, what := range map[string]string{"4": "tools", "5": "streams", "6": "secrets"} { // exchanges match
			p.keys("enter", key)
			p.shows("no " + what + " match is:error")
		}
	})
}

// TestEmojiHaveOneWidth holds: the renderer and a terminal count the same columns for a text with emoji.
func TestEmojiHaveOneWidth(t *testing.T) {
	for _, text := range []string{"a 👨‍👩‍👧‍👦 b", "👍🏽", "⚠️", "查询 🎉 🇩🇪"} {
		line := cells.TextLine(cells.Plain, text)
		if wc := ansi.StringWidthWc(line.String()); wc != line.Width() {
			t.Errorf("%q has %d columns, and %d if its characters are counted", line.String(), line.Width(), wc)
		}
	}
}

// TestWrapKeepsOneEmptyLine holds: an empty line between paragraphs is drawn once.
func TestWrapKeepsOneEmptyLine(t *testing.T) {
	if lines := cells.Wrap(cells.Plain, "one\n\ntwo", 20); len(lines) != 3 || lines[1].Width() != 0 {
		t.Errorf("the lines are %v, want one, an empty one, two", lines)
	}
}
