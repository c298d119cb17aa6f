package lists

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"

	"mcpc/internal/tui/sheet"
)

// Talks are the conversations, and under them filters that are one key away.
type Talks struct {
	All    []view.Conversation
	Chosen string // the ID of the one that is shown, "" for all
	Sel    int    // 0 is all conversations, then the conversations, then the filters

	first  bool // the start chose it, not the user
	picked bool // the user, or the start, chose one
}

// Filters are those under the conversations.
var Filters = []string{"is:open,cancelled", "is:error", "has:question", "has:finding"}

// Shown is the ID of the conversation that is shown, "" for all. What the start chose holds for
// the Talk view without a filter (plain): a filter, or a list of tools, is about all that is
// recorded.
func (t *Talks) Shown(plain bool) string {
	if t.first && !plain {
		return ""
	}
	return t.Chosen
}

// ShowAll shows all conversations.
func (t *Talks) ShowAll() { t.Chosen, t.first = "", false }

// Find is the conversation with an ID, nil where there is none.
func (t *Talks) Find(id string) *view.Conversation {
	for i := range t.All {
		if t.All[i].ID == id {
			return &t.All[i]
		}
	}
	return nil
}

// Last is the greatest Sel.
func (t *Talks) Last() int { return len(t.All) + len(Filters) }

// Under is the conversation under the cursor, nil where there is none.
func (t *Talks) Under() *view.Conversation {
	if t.Sel < 1 || t.Sel > len(t.All) {
		return nil
	}
	return &t.All[t.Sel-1]
}

// Take takes the conversations, of which the newest stands first. The one to show first is chosen once if choose is set,
// and anew when a newer one begins if follow is set too. Take reports whether it was chosen now.
func (t *Talks) Take(all []view.Conversation, choose, follow bool) bool {
	key := ""
	if c := t.Under(); c != nil {
		key = c.ID
	}
	beyond := t.Sel - len(t.All)
	all = slices.Clone(all)
	slices.Reverse(all)
	t.All = all
	for i := range all {
		if all[i].ID == key {
			t.Sel = i + 1
		}
	}
	if beyond > 0 {
		t.Sel = len(all) + beyond
	}
	t.Sel = min(t.Sel, t.Last())
	if t.picked && !(t.first && follow) || len(all) == 0 {
		return false
	}
	t.picked = true
	for i := range all {
		if all[i].First && choose && all[i].ID != t.Chosen {
			t.Chosen, t.first, t.Sel = all[i].ID, true, i+1
			return true
		}
	}
	return false
}

// Choose shows what is selected; of a filter it returns the term.
func (t *Talks) Choose() (filter string) {
	t.picked = true
	if n := t.Sel - len(t.All) - 1; n >= 0 {
		return Filters[n]
	}
	t.ShowAll()
	if c := t.Under(); c != nil {
		t.Chosen = c.ID
	}
	return ""
}

// Draw draws the conversations in w columns and h lines; shown is the ID of the one that is
// shown, words are the terms of the filter.
func (t *Talks) Draw(clock sheet.Clock, active bool, shown string, words []string, w, h int) (lines []drawn) {
	mark := func(n int) bool { return active && t.Sel == n }
	role := func(on bool) cells.Role {
		if on {
			return cells.Strong
		}
		return cells.Plain
	}
	all := view.Conversation{}
	for i := range t.All {
		all.Rows, all.Failed = all.Rows+t.All[i].Rows, all.Failed+t.All[i].Failed
	}
	texts := titles(t.All)
	cols := talkColumnsOf(t.All, texts, &all, w)
	lines = append(lines, drawn{Line: cols.head()})
	lines = append(lines, drawn{Line: cols.entry("  all", "", &all, role(shown == "")), Selected: mark(0)})
	var about, filters []drawn
	if c := t.Under(); c != nil && active && !cols.named && h >= lowTalks {
		about = aboutTalk(clock, c)
	}
	if h >= lowTalks {
		filters = append(filters, drawn{}, drawn{Line: cells.Of(cells.Faint, "filters")})
	}
	for i, term := range Filters {
		box := "  "
		if slices.Contains(words, term) {
			box = "✓ "
		}
		filters = append(filters, drawn{Line: cells.Of(role(box != "  "), box+term), Selected: mark(len(t.All) + 1 + i)})
	}
	room := max(1, h-len(lines)-len(about)-len(filters))
	if len(t.All) > room {
		room = max(1, room-1) // the number of those that are left out
	}
	from := max(0, min(t.Sel-1-room/2, len(t.All)-room))
	for i := from; i < min(from+room, len(t.All)); i++ {
		c := &t.All[i]
		dot := "  "
		if c.Live {
			dot = "● "
		}
		lines = append(lines, drawn{Line: cols.entry(dot+texts[i], clock.At(c.Began), c, role(c.ID == shown)), Selected: mark(i + 1)})
	}
	if n := len(t.All) - room; n > 0 {
		lines = append(lines, drawn{Line: cells.Of(cells.Faint, "  "+sheet.Counted(n, "more", "more"))})
	}
	lines = slices.Concat(lines, about, filters)
	selected := slices.IndexFunc(lines, func(d drawn) bool { return d.Selected })
	return lines[max(0, min(len(lines)-h, selected)):]
}

// lowTalks is the height from which there is room for headings, and for more about a conversation.
const lowTalks = 14

// aboutTalk says of a conversation what its line has no room for.
func aboutTalk(clock sheet.Clock, c *view.Conversation) []drawn {
	counts := cells.Of(cells.Faint, "  "+sheet.Counted(c.Rows, "row", "rows"))
	if c.Failed > 0 {
		counts = append(counts, cells.Text(cells.Bad, ", "+english.Thousands(c.Failed)+" failed"))
	}
	return []drawn{{Line: cells.Of(cells.Faint, "  "+clock.At(c.Began)+"  "+c.Revision)}, {Line: counts}}
}

// Title names the two sides of a conversation.
func Title(c *view.Conversation) string { return nameOf(c.Client, c.By) + " → " + ServerName(c) }

// titles returns the titles of conversations. The target tells servers of the same name apart.
func titles(all []view.Conversation) []string {
	targets := map[string]string{}
	several := map[string]bool{}
	for i := range all {
		name := ServerName(&all[i])
		if first, seen := targets[name]; seen && first != all[i].Target {
			several[name] = true
		}
		targets[name] = all[i].Target
	}
	var texts []string
	for i := range all {
		text, c := Title(&all[i]), &all[i]
		if several[ServerName(c)] && c.Server != "" && c.Target != "" {
			text += " (" + c.Target + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// ServerName is the name of the server without its version, else its target.
func ServerName(c *view.Conversation) string { return nameOf(c.Server, c.Target) }

// nameOf is the name of a client or server without its version, else what is known instead.
func nameOf(name, other string) string {
	words := strings.Fields(cmp.Or(name, other, "unknown"))
	if n := len(words) - 1; n > 0 && strings.ContainsAny(words[n][:1], "v0123456789") {
		words = words[:n]
	}
	return strings.Join(words, " ")
}
