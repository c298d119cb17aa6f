package tui

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A talks is the list of conversations, followed by quick filters.
type conversationList struct {
	all    []view.Conversation
	chosen string // the ID of the chosen conversation, "" for all
	sel    int    // 0 is all conversations, then the conversations, then the filters

	chosenByView bool // the view chose the conversation at the start, not the user
	hasChosen    bool // the user or the view chose a conversation
}

// quickFilters are the filters under the conversations.
var quickFilters = []string{"is:open,cancelled", "is:error", "has:question", "has:finding"}

// shown returns the ID of the shown conversation, or "" for all. A conversation that the view chose
// at the start applies only to the plain Talk view, without a filter: filters and lists of tools
// cover everything recorded.
func (t *conversationList) shown(plain bool) string {
	if t.chosenByView && !plain {
		return ""
	}
	return t.chosen
}

// showAll shows all conversations.
func (t *conversationList) showAll() {
	t.chosen = ""
	t.chosenByView = false
}

// find returns the conversation with an ID, or nil.
func (t *conversationList) find(id string) *view.Conversation {
	for i := range t.all {
		if t.all[i].ID == id {
			return &t.all[i]
		}
	}
	return nil
}

// last returns the largest value of sel.
func (t *conversationList) last() int { return len(t.all) + len(quickFilters) }

// underCursor returns the conversation under the cursor, or nil.
func (t *conversationList) underCursor() *view.Conversation {
	if t.sel < 1 || t.sel > len(t.all) {
		return nil
	}
	return &t.all[t.sel-1]
}

// replace replaces the conversations and puts the newest first. If choose is set, it chooses the
// conversation to show first once; if follow is set too, also each time a newer one begins. It
// reports whether it chose one.
func (t *conversationList) replace(all []view.Conversation, choose, follow bool) bool {
	key := ""
	if c := t.underCursor(); c != nil {
		key = c.ID
	}
	beyond := t.sel - len(t.all)
	all = slices.Clone(all)
	slices.Reverse(all)
	t.all = all
	for i := range all {
		if all[i].ID == key {
			t.sel = i + 1
		}
	}
	if beyond > 0 {
		t.sel = len(all) + beyond
	}
	t.sel = min(t.sel, t.last())
	if t.hasChosen && !(t.chosenByView && follow) || len(all) == 0 {
		return false
	}
	t.hasChosen = true
	for i := range all {
		if all[i].First && choose && all[i].ID != t.chosen {
			t.chosen = all[i].ID
			t.chosenByView = true
			t.sel = i + 1
			return true
		}
	}
	return false
}

// chooseSelected shows the selected conversation. For a filter it returns the filter's term.
func (t *conversationList) chooseSelected() (filter string) {
	t.hasChosen = true
	if n := t.sel - len(t.all) - 1; n >= 0 {
		return quickFilters[n]
	}
	t.showAll()
	if c := t.underCursor(); c != nil {
		t.chosen = c.ID
	}
	return ""
}

// draw draws the conversations in w columns and h lines. shown is the ID of the shown one, and
// words are the terms of the filter.
func (t *conversationList) draw(clock screenClock, active bool, shown string, words []string, w, h int) (lines []drawn) {
	mark := func(n int) bool { return active && t.sel == n }
	role := func(on bool) cells.Role {
		if on {
			return cells.Strong
		}
		return cells.Plain
	}
	all := view.Conversation{}
	for i := range t.all {
		all.Rows += t.all[i].Rows
		all.Failed += t.all[i].Failed
	}
	texts := titles(t.all)
	cols := conversationColumnsFor(t.all, texts, &all, w)
	lines = append(lines, drawn{Line: cols.drawHead()})
	lines = append(lines, drawn{Line: cols.drawEntry("  all", "", &all, role(shown == "")), Selected: mark(0)})
	var about, filters []drawn
	if c := t.underCursor(); c != nil && active && !cols.hasHeads && h >= minHeightForFacts {
		about = conversationFacts(clock, c)
	}
	if h >= minHeightForFacts {
		filters = append(filters, drawn{}, drawn{Line: cells.TextLine(cells.Faint, "filters")})
	}
	for i, term := range quickFilters {
		box := "  "
		if slices.Contains(words, term) {
			box = "✓ "
		}
		filters = append(filters, drawn{Line: cells.TextLine(role(box != "  "), box+term), Selected: mark(len(t.all) + 1 + i)})
	}
	room := max(1, h-len(lines)-len(about)-len(filters))
	if len(t.all) > room {
		room = max(1, room-1) // one line for the number of hidden conversations
	}
	from := max(0, min(t.sel-1-room/2, len(t.all)-room))
	for i := from; i < min(from+room, len(t.all)); i++ {
		c := &t.all[i]
		dot := "  "
		if c.Live {
			dot = "● "
		}
		lines = append(
			lines,
			drawn{Line: cols.drawEntry(dot+texts[i], clock.formatTime(c.Began), c, role(c.ID == shown)), Selected: mark(i + 1)},
		)
	}
	if n := len(t.all) - room; n > 0 {
		lines = append(lines, drawn{Line: cells.TextLine(cells.Faint, "  "+countNoun(n, "more", "more"))})
	}
	lines = slices.Concat(lines, about, filters)
	selected := slices.IndexFunc(lines, func(d drawn) bool { return d.Selected })
	return lines[max(0, min(len(lines)-h, selected)):]
}

// minHeightForFacts is the height from which headings and facts about a conversation fit.
const minHeightForFacts = 14

// conversationFacts returns facts about a conversation that do not fit into its line.
func conversationFacts(clock screenClock, c *view.Conversation) []drawn {
	counts := cells.TextLine(cells.Faint, "  "+countNoun(c.Rows, "row", "rows"))
	if c.Failed > 0 {
		counts = append(counts, cells.Text(cells.Bad, ", "+english.Thousands(c.Failed)+" failed"))
	}
	return []drawn{{Line: cells.TextLine(cells.Faint, "  "+clock.formatTime(c.Began)+"  "+c.Revision)}, {Line: counts}}
}

// conversationTitle names the two sides of a conversation.
func conversationTitle(c *view.Conversation) string {
	return displayName(c.Client, c.By) + " → " + serverName(c)
}

// titles returns the titles of conversations. It adds the target if servers have the same name.
func titles(all []view.Conversation) []string {
	targets := map[string]string{}
	several := map[string]bool{}
	for i := range all {
		name := serverName(&all[i])
		if first, seen := targets[name]; seen && first != all[i].Target {
			several[name] = true
		}
		targets[name] = all[i].Target
	}
	var texts []string
	for i := range all {
		text := conversationTitle(&all[i])
		c := &all[i]
		if several[serverName(c)] && c.Server != "" && c.Target != "" {
			text += " (" + c.Target + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// serverName returns the name of the server without its version, or else its target.
func serverName(c *view.Conversation) string { return displayName(c.Server, c.Target) }

// displayName returns a client's or server's name without the version, or other if the name is empty.
func displayName(name, other string) string {
	words := strings.Fields(cmp.Or(name, other, "unknown"))
	if n := len(words) - 1; n > 0 && strings.ContainsAny(words[n][:1], "v0123456789") {
		words = words[:n]
	}
	return strings.Join(words, " ")
}
