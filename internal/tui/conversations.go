package tui

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A conversationList is the pane with the conversations, the newest first, followed by quick filters.
type conversationList struct {
	all    []view.Conversation
	chosen string // the ID of the chosen conversation, "" means all
	sel    int    // the selected line: 0 is "all", then the conversations, then the filters

	chosenByView bool // the view chose the conversation at the start, not the user
	hasChosen    bool // the user or the view chose a conversation

	known      map[string]bool // the IDs of all conversations so far
	isCounting bool            // the recordings were read, so that an unknown conversation is new
	unseen     []string        // the IDs of new conversations, the oldest first
}

// quickFilters are the filters under the conversations.
var quickFilters = []string{"is:open,cancelled", "is:error", "has:question", "has:finding", "dur:>1s"}

// shownID returns the ID of the shown conversation, or "" if all are shown. A conversation that the
// view chose at the start applies only to the Talk and the Time view without a filter: filters and
// lists of tools cover everything recorded.
func (t *conversationList) shownID(isPlain bool) string {
	if t.chosenByView && !isPlain {
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

// replace replaces the conversations by a Reader's, which begin with the oldest. The same line
// stays selected.
func (t *conversationList) replace(oldestFirst []view.Conversation) {
	selectedID := ""
	if c := t.underCursor(); c != nil {
		selectedID = c.ID
	}
	selectedFilter := t.sel - len(t.all) // from 1; less if no filter is selected
	t.all = slices.Clone(oldestFirst)
	slices.Reverse(t.all)
	for i := range t.all {
		if t.all[i].ID == selectedID {
			t.sel = i + 1
		}
	}
	if selectedFilter > 0 {
		t.sel = len(t.all) + selectedFilter
	}
	t.sel = min(t.sel, t.last())
}

// chooseForUser chooses the conversation that the Reader recommends to show first, and reports
// whether the choice changed. It chooses once, and again only if follow is set and the user has not
// chosen one. It chooses no conversation unless hasNoFilter is set: a filter covers all
// conversations.
func (t *conversationList) chooseForUser(hasNoFilter, follow bool) bool {
	isSettled := t.hasChosen && !(t.chosenByView && follow)
	if len(t.all) == 0 || isSettled {
		return false
	}
	t.hasChosen = true
	for i := range t.all {
		c := &t.all[i]
		if c.First && hasNoFilter && c.ID != t.chosen {
			t.chosen = c.ID
			t.chosenByView = true
			t.sel = i + 1
			return true
		}
	}
	return false
}

// chooseSelected shows the selected conversation. For a filter it returns the filter's term.
func (t *conversationList) chooseSelected() string {
	t.hasChosen = true
	if index := t.sel - len(t.all) - 1; index >= 0 {
		return quickFilters[index]
	}
	t.showAll()
	if c := t.underCursor(); c != nil {
		t.chosen = c.ID
	}
	return ""
}

// draw draws the conversations in w columns and h lines. hasFocus is set if the pane has the keys,
// shownID is the ID of the shown conversation, and terms are the terms of the filter. If there is
// no room, it leaves out conversations, and at last lines at the top.
func (t *conversationList) draw(clock screenClock, hasFocus bool, shownID string, terms []string, w, h int) []drawn {
	total := view.Conversation{} // the counts of the line "all"
	for i := range t.all {
		total.Rows += t.all[i].Rows
		total.Failed += t.all[i].Failed
	}
	texts := titles(t.all)
	columns := conversationColumnsFor(t.all, texts, &total, w)
	lines := []drawn{
		{Line: columns.drawHead()},
		t.newEntry(0, columns.drawEntry("  all", "", &total, strongIf(shownID == "")), hasFocus),
	}
	var facts []drawn
	if c := t.underCursor(); c != nil && hasFocus && !columns.hasHeads && h >= minHeightForFacts {
		facts = conversationFacts(clock, c)
	}
	filters := t.drawFilters(hasFocus, terms, h)
	room := max(1, h-len(lines)-len(facts)-len(filters))
	if len(t.all) > room {
		room = max(1, room-1) // one line for the number of hidden conversations
	}
	// The selected conversation is in the middle.
	first := max(0, min(t.sel-1-room/2, len(t.all)-room))
	for i := first; i < min(first+room, len(t.all)); i++ {
		c := &t.all[i]
		dot := "  "
		if c.Live {
			dot = "● "
		}
		line := columns.drawEntry(dot+texts[i], clock.formatTime(c.Began), c, strongIf(c.ID == shownID))
		lines = append(lines, t.newEntry(i+1, line, hasFocus))
	}
	if hidden := len(t.all) - room; hidden > 0 {
		lines = append(lines, drawn{Line: cells.TextLine(cells.Faint, "  "+countNoun(hidden, "more", "more"))})
	}
	lines = slices.Concat(lines, facts, filters)
	selected := slices.IndexFunc(lines, func(d drawn) bool { return d.Selected })
	// The selected line stays visible.
	return lines[max(0, min(len(lines)-h, selected)):]
}

// drawFilters draws the quick filters. A filter that the terms of the filter line contain has a
// mark.
func (t *conversationList) drawFilters(hasFocus bool, terms []string, h int) []drawn {
	var lines []drawn
	if h >= minHeightForFacts {
		lines = append(lines, drawn{}, drawn{Line: cells.TextLine(cells.Faint, "filters")})
	}
	for i, term := range quickFilters {
		isOn := slices.Contains(terms, term)
		box := "  "
		if isOn {
			box = "✓ "
		}
		lines = append(lines, t.newEntry(len(t.all)+1+i, cells.TextLine(strongIf(isOn), box+term), hasFocus))
	}
	return lines
}

// newEntry returns the line of an entry. The entry is a value of sel.
func (t *conversationList) newEntry(entry int, line cells.Line, hasFocus bool) drawn {
	return drawn{Line: line, Selected: hasFocus && t.sel == entry, Item: entry + 1}
}

// strongIf returns the role of an entry, which is strong if it is on.
func strongIf(isOn bool) cells.Role {
	if isOn {
		return cells.Strong
	}
	return cells.Plain
}

// minHeightForFacts is the minimum height for headings and facts about a conversation.
const minHeightForFacts = 14

// conversationFacts returns facts about a conversation that do not fit into its line.
func conversationFacts(clock screenClock, c *view.Conversation) []drawn {
	counts := cells.TextLine(cells.Faint, "  "+countNoun(c.Rows, "exchange", "exchanges"))
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
	targetByName := map[string]string{}
	isAmbiguous := map[string]bool{} // names of servers with different targets
	for i := range all {
		name := serverName(&all[i])
		if target, seen := targetByName[name]; seen && target != all[i].Target {
			isAmbiguous[name] = true
		}
		targetByName[name] = all[i].Target
	}
	var texts []string
	for i := range all {
		c := &all[i]
		text := conversationTitle(c)
		if isAmbiguous[serverName(c)] && c.Server != "" && c.Target != "" {
			text += " (" + c.Target + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// serverName returns the name of the server without its version, or else its target.
func serverName(c *view.Conversation) string { return displayName(c.Server, c.Target) }

// displayName returns a client's or server's name without the version, or fallback if the name is
// empty.
func displayName(name, fallback string) string {
	words := strings.Fields(cmp.Or(name, fallback, "unknown"))
	last := len(words) - 1
	if last > 0 && strings.ContainsAny(words[last][:1], "v0123456789") { // "v1.2" or "1.2"
		words = words[:last]
	}
	return strings.Join(words, " ")
}
