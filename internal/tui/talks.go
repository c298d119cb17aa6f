package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
	"mcpc/internal/tui/sheet"
)

// The talks are the conversations, and the chips under them.
type talks struct {
	all    []view.Conversation
	sel    int // 0 is all conversations, then the conversations, then the chips
	chosen string
	first  bool // the start chose it, not the user
	picked bool // the user, or the start, chose one
}

// chips are filters that are one key away.
var chips = []string{"is:open,cancelled", "is:error", "has:question", "has:finding"}

// shownTalk is the conversation that is shown, "" for all. What the start chose holds for the Talk
// without a filter: a filter, or a list of tools, is about all that is recorded.
func shownTalk(m *model) string {
	if m.talks.first && (m.view != viewTalk || m.query.tried != "" || m.query.only != nil) {
		return ""
	}
	return m.talks.chosen
}

// current is the conversation that is shown, nil for all.
func (m *model) current() *view.Conversation {
	for i, id := 0, shownTalk(m); i < len(m.talks.all); i++ {
		if m.talks.all[i].ID == id {
			return &m.talks.all[i]
		}
	}
	return nil
}

// under is the conversation under the cursor, nil where there is none.
func (t *talks) under() *view.Conversation {
	if t.sel < 1 || t.sel > len(t.all) {
		return nil
	}
	return &t.all[t.sel-1]
}

func (m *model) askTalks() tea.Cmd {
	r := m.opt.Reader
	return m.ask.refresh(askTalks, func(context.Context) func(*model) tea.Cmd {
		all := r.Conversations()
		return func(m *model) tea.Cmd { return m.tookTalks(all) }
	})
}

// tookTalks takes the conversations, of which the newest stands first. The one to show first is chosen once, unless there is a
// filter: that asks for all of them.
func (m *model) tookTalks(all []view.Conversation) tea.Cmd {
	t := &m.talks
	key := ""
	if t.sel > 0 && t.sel <= len(t.all) {
		key = t.all[t.sel-1].ID
	}
	chip := t.sel - len(t.all)
	all = slices.Clone(all)
	slices.Reverse(all)
	t.all = all
	for i := range all {
		if all[i].ID == key {
			t.sel = i + 1
		}
	}
	if chip > 0 {
		t.sel = len(all) + chip
	}
	t.sel = min(t.sel, len(all)+len(chips))
	if t.picked || len(all) == 0 {
		return nil
	}
	t.picked = true
	for i := range all {
		if all[i].First && m.query.tried == "" && m.query.only == nil {
			t.chosen, t.first, t.sel = all[i].ID, true, i+1
			return m.changeQuery()
		}
	}
	return nil
}

// chooseTalk shows what is selected in the pane.
func chooseTalk(m *model) tea.Cmd {
	t := &m.talks
	t.picked = true
	if n := t.sel - len(t.all) - 1; n >= 0 {
		return m.setFilter(toggleWord(m.query.line.Text(), chips[n]))
	}
	t.chosen, t.first = "", false
	if t.sel > 0 {
		t.chosen = t.all[t.sel-1].ID
	}
	m.focus = paneMain
	return m.changeQuery()
}

// toggleWord adds a term to a filter, or takes it away.
func toggleWord(text, word string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if w == word {
			return strings.Join(append(words[:i:i], words[i+1:]...), " ")
		}
	}
	return strings.TrimSpace(text + " " + word)
}

// drawTalks draws the pane of conversations.
func drawTalks(m *model, w, h int) (lines []drawn) {
	t := &m.talks
	active, shown := m.focus == paneTalks, shownTalk(m)
	mark := func(n int) bool { return active && t.sel == n }
	role := func(on bool) paint.Role {
		if on {
			return paint.Strong
		}
		return paint.Plain
	}
	lines = append(lines, drawn{Line: cells.Of(paint.Faint, "servers & conversations")})
	total, failed := 0, 0
	for i := range t.all {
		total, failed = total+t.all[i].Rows, failed+t.all[i].Failed
	}
	lines = append(lines, drawn{Line: talkEntry("  all", failed, total, role(shown == ""), w), Selected: mark(0)})
	room := max(1, h-len(lines)-len(chips)-3)
	from := max(0, min(t.sel-room/2, len(t.all)-room))
	for i := from; i < min(from+room, len(t.all)); i++ {
		c := &t.all[i]
		dot := "  "
		if c.Live {
			dot = "● "
		}
		lines = append(lines, drawn{Line: talkEntry(dot+nameOf(c.Client, c.By)+" → "+nameOf(c.Server, c.Target), c.Failed, c.Rows, role(c.ID == shown), w), Selected: mark(i + 1)})
	}
	if n := len(t.all) - room; n > 0 {
		lines = append(lines, drawn{Line: cells.Of(paint.Faint, "  "+sheet.Counted(n, "more", "more"))})
	}
	if c := t.under(); c != nil && active {
		text := "  " + m.clock().At(c.Began) + "  " + c.Revision
		if lines = append(lines, drawn{Line: cells.Of(paint.Faint, text)}); c.Failed > 0 {
			lines = append(lines, drawn{Line: cells.Of(paint.Bad, "  "+sheet.Counted(c.Failed, "failed", "failed"))})
		}
	}
	lines = append(lines, drawn{}, drawn{Line: cells.Of(paint.Faint, "filters")})
	words := strings.Fields(m.query.line.Text())
	for i, chip := range chips {
		box := "  "
		if contains(words, chip) {
			box = "✓ "
		}
		lines = append(lines, drawn{Line: cells.Of(role(box != "  "), box+chip), Selected: mark(len(t.all) + 1 + i)})
	}
	return lines
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// nameOf is the name of a client or server without its version, else what is known instead.
func nameOf(name, other string) string {
	words := strings.Fields(cmp.Or(name, other, "unknown"))
	if n := len(words) - 1; n > 0 && strings.ContainsAny(words[n][:1], "v0123456789") {
		words = words[:n]
	}
	return strings.Join(words, " ")
}

// talkEntry is a conversation: how many of its rows failed, and how many it has.
func talkEntry(text string, failed, n int, role paint.Role, w int) cells.Line {
	line := cells.Of(paint.Faint, " "+sheet.Thousands(n)+" ")
	if failed > 0 {
		line = append(cells.Of(paint.Bad, " !"+sheet.Thousands(failed)), line...)
	}
	return append(cells.Line{cells.Fit(role, text, w-line.Width())}, line...)
}
