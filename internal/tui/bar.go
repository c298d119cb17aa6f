package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture"
	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A barPart is a part of the bar: its text, the text for a narrow screen, and what its key does.
type barPart struct {
	role        cells.Role
	text, short string
	run         change
}

// drawBar draws what waits for the user, on one line: the questions, the held messages, the faults that are
// set and the conversations that began since the user looked, each with its key. It returns nil if
// nothing waits. A narrow screen has the counts and keys only.
func (m *model) drawBar() cells.Line {
	parts := m.barParts()
	if len(parts) == 0 {
		return nil
	}
	line := lineOfParts(parts, withWords)
	if line.Width() <= m.w {
		return append(line, m.barDetails()...)
	}
	return lineOfParts(parts, withoutWords)
}

// lineOfParts returns the parts on a line: two spans for each, of which the second one separates it from
// the next. isShort is withWords or withoutWords.
func lineOfParts(parts []barPart, isShort bool) cells.Line {
	var line cells.Line
	for _, p := range parts {
		text := p.text
		if isShort {
			text = p.short
		}
		line = append(line, cells.Text(p.role, " "+text+" "), cells.Blank(1))
	}
	return line
}

// clickBar does what the key of the part at column x does.
func (m *model) clickBar(x int) tea.Cmd {
	parts := m.barParts()
	end := 0
	for i, span := range m.drawBar() {
		end += (cells.Line{span}).Width()
		if x < end && i/2 < len(parts) {
			return parts[i/2].run(m)
		}
	}
	return nil
}

// barParts returns the parts of the bar.
func (m *model) barParts() []barPart {
	a := &m.act
	var parts []barPart
	isAnswering := m.focus == paneForm && a.request == nil
	if n := len(a.questions); n > 0 && !isAnswering {
		text := "? " + countNoun(n, "question", "questions") + ": a answers"
		if m.focus == paneForm { // it takes the letter
			text = "? " + countNoun(n, "question", "questions") + ": Esc, then a answers; the call goes on"
		}
		parts = append(parts, barPart{cells.Alarm, text, "? " + english.Thousands(n) + " a", (*model).answerNext})
	}
	holding := "‖ holding " + describeHeld(a.held) + ": "
	if n := len(a.held); n > 0 {
		left := formatTimer(m.firstRelease().Sub(m.opt.Now()))
		text := holding + "Tab selects, e edits, I stops, first let go in " + left
		focusHeld := func(m *model) tea.Cmd { m.focus = paneHeld; return nil }
		parts = append(parts, barPart{cells.Alarm, text, "‖ " + english.Thousands(n) + " e " + left, focusHeld})
	} else if m.status.Intercept {
		parts = append(parts, barPart{cells.Alarm, holding + "I stops", "‖ 0 I", (*model).intercept})
	}
	if n := len(a.faults); n > 0 {
		text := "! " + countNoun(n, "fault", "faults") + " set: B lists"
		parts = append(parts, barPart{cells.Warn, text, "! " + english.Thousands(n) + " B", (*model).listFaults})
	}
	if n := len(m.newConversations()); n > 0 {
		text := "● " + countNoun(n, "new conversation", "new conversations") + ": w goes there"
		short := "● " + english.Thousands(n) + " w"
		parts = append(parts, barPart{cells.Accent, text, short, (*model).showNewConversation})
	}
	return parts
}

// describeHeld says which message is held, or how many.
func describeHeld(held []view.Held) string {
	if len(held) != 1 {
		return countNoun(len(held), "message", "messages")
	}
	h := held[0]
	text := firstText(h.Name, h.Method, "message")
	if h.Dir == "received" {
		return "1 message, from the server: " + text
	}
	return "1 message, to the server: " + text
}

// barDetails returns what the bar says after its counts, if there is room.
func (m *model) barDetails() cells.Line {
	a := &m.act
	var texts []string
	if q := a.firstQuestion(); q != nil && m.focus != paneForm {
		texts = append(texts, q.Server+" asks: "+q.Message)
	}
	if m.status.Wanted != "" {
		texts = append(texts, "holding only "+m.status.Wanted)
	}
	for _, f := range a.faults {
		texts = append(texts, "fault: "+f.Kind+" "+f.Request)
	}
	return cells.TextLine(cells.Faint, strings.Join(texts, " · "))
}

// firstRelease returns when the first held message is let go, or the zero time.
func (m *model) firstRelease() time.Time {
	var first time.Time
	for _, h := range m.act.held {
		if first.IsZero() || !h.Until.IsZero() && h.Until.Before(first) {
			first = h.Until
		}
	}
	return first
}

// listFaults opens the menu of the faults that the view has set, to remove them.
func (m *model) listFaults() tea.Cmd {
	if len(m.act.faults) == 0 {
		return m.showMessage("this view has set no fault; b sets one")
	}
	d := &menu{title: "faults that this view has set: Enter removes one"}
	for i, f := range m.act.faults {
		letter := ""
		if i < 9 {
			letter = string(rune('1' + i))
		}
		remove := func(m *model) tea.Cmd { return m.setFault(view.Fault{ID: f.ID}) }
		d.choices = append(d.choices, newChoice(letter, f.Name, "next "+f.Request, remove))
	}
	removeAll := func(m *model) tea.Cmd { return m.setFault(view.Fault{}) }
	d.choices = append(d.choices, newChoice("o", "remove all", "", removeAll))
	m.dialog = d
	return nil
}

// newConversations returns the conversations that began since the user looked, the oldest first. A
// conversation counts as seen once it is on the screen.
func (m *model) newConversations() []string {
	t := &m.conversations
	l := m.list()
	isFollowing := m.view <= viewTime && l.follow && !m.statusLine.isPaused
	t.unseen = slices.DeleteFunc(t.unseen, func(id string) bool {
		isShown := m.view <= viewTime && m.shownConversationID() == id
		isAmongAll := isFollowing && m.shownConversationID() == ""
		return isShown || isAmongAll || t.find(id) == nil
	})
	return t.unseen
}

// showNewConversation shows the first conversation that began since the user looked.
func (m *model) showNewConversation() tea.Cmd {
	unseen := m.newConversations()
	if len(unseen) == 0 {
		return m.showMessage("no conversation has begun since you looked")
	}
	m.conversations.choose(unseen[0])
	m.query.onlyKeys = nil
	m.closeDetail()
	m.focus = paneMain
	if m.view > viewTime {
		m.view = viewTalk
	}
	return m.setFilter("")
}

// choose shows the conversation with an ID, as the user's choice.
func (t *conversationList) choose(id string) {
	t.hasChosen = true
	t.chosenByView = false
	t.chosen = id
	for i := range t.all {
		if t.all[i].ID == id {
			t.sel = i + 1
		}
	}
}

// noteNew adds the conversations of clients that were not there before to the unseen ones. Before the
// recordings are read once, all of them are old.
func (t *conversationList) noteNew(isLoading bool) {
	for _, c := range slices.Backward(t.all) {
		if !t.known[c.ID] && t.isCounting && c.By != capture.ByCommand {
			t.unseen = append(t.unseen, c.ID)
		}
		t.known[c.ID] = true
	}
	t.isCounting = t.isCounting || !isLoading
}
