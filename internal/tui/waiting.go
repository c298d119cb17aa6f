package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// An actionState has what the actions of the user need: the questions, held messages and faults that wait,
// and the open form.
type actionState struct {
	powers     view.Powers
	questions  []view.Question
	held       []view.Held
	faults     []view.ArmedFault
	sel        int           // the index of the selected held message
	form       *form         // nil if no form is open
	answering  view.Question // the question that form answers; its ID is "" if form is for a request
	request    *formRequest  // what form sends; nil if form answers a question
	behind     *requestForm  // the form to return to after the answer, if any
	notices    []string      // what the server did while the form is open, and how that changed the form
	isObsolete bool          // the question was answered elsewhere, or cancelled
	marked     string        // the key of the last marked exchange
}

// A requestForm is a form and the request that it sends.
type requestForm struct {
	request *formRequest
	form    *form
}

// closeForm closes the form and returns to the list.
func (m *model) closeForm() {
	m.act.form = nil
	m.act.request = nil
	m.act.notices = nil
	m.focus = paneMain
}

// closeQuestion closes the form of a question, and returns to the form that was open before it.
func (m *model) closeQuestion() {
	behind := m.act.behind
	m.act.behind = nil
	m.closeForm()
	if behind != nil {
		m.openForm(behind.request, behind.form)
	}
}

// firstQuestion returns the first waiting question, or nil.
func (a *actionState) firstQuestion() *view.Question {
	if len(a.questions) == 0 {
		return nil
	}
	return &a.questions[0]
}

// loadWaiting reads the questions and held messages from the Actor.
func (m *model) loadWaiting() tea.Cmd {
	actor := m.opt.Actor
	if actor == nil {
		return nil
	}
	return m.loader.refresh(subjectWaiting, func(context.Context) change {
		questions := actor.Questions()
		held := actor.Held()
		faults := actor.Faults()
		return func(m *model) tea.Cmd {
			m.act.faults = faults
			m.setWaiting(questions, held)
			return nil
		}
	})
}

// setWaiting applies the questions and held messages. The form of a question that was answered
// elsewhere or cancelled stays open, but its buttons do nothing: keys typed for it must not reach
// the list.
func (m *model) setWaiting(questions []view.Question, held []view.Held) {
	a := &m.act
	selectedID := ""
	if a.sel < len(a.held) {
		selectedID = a.held[a.sel].ID
	}
	a.questions = questions
	a.held = held
	index := slices.IndexFunc(held, func(h view.Held) bool { return h.ID == selectedID })
	if index >= 0 {
		a.sel = index
	} else if selectedID != "" && m.focus == paneHeld {
		m.focus = paneMain // the message that the user had selected is no longer held
	}
	a.sel = max(0, min(a.sel, len(held)-1))
	m.openOwnQuestion()
	if a.form != nil && a.answering.ID != "" {
		stillAsked := func(q view.Question) bool { return q.ID == a.answering.ID }
		a.isObsolete = !slices.ContainsFunc(questions, stillAsked)
	}
}

// openOwnQuestion opens the form of a question to the request that the user has sent from the open form
// and waits for. Anywhere else the form would take keys that are meant for something else.
func (m *model) openOwnQuestion() {
	a := &m.act
	isWaiting := m.focus == paneForm && m.dialog == nil && a.request != nil && a.request == m.try.running
	q := a.firstQuestion()
	if isWaiting && q != nil && !q.Watched {
		m.statusLine.flash = ""
		m.answerNext()
	}
}

// answerNext opens the form of a waiting question, preferably of the selected exchange.
func (m *model) answerNext() tea.Cmd {
	a := &m.act
	q := a.firstQuestion()
	if a.form != nil && (a.request == nil || q == nil) {
		m.focus = paneForm
		return nil
	}
	if q == nil {
		return m.showMessage("no server requests input now")
	}
	selectedKey := ""
	if it := m.list().selected(); it != nil {
		selectedKey = it.key
	}
	for i := range a.questions {
		if a.questions[i].Row == selectedKey {
			q = &a.questions[i]
		}
	}
	a.behind = nil
	if a.request != nil {
		a.behind = &requestForm{a.request, a.form}
		m.leaveForm()
	}
	a.answering = *q
	a.request = nil
	a.isObsolete = false
	a.form = questionForm(q)
	m.focus = paneForm
	return nil
}

// formKey handles a key in the form. Esc keeps the form of a question, so that its answers are not
// lost.
func (m *model) formKey(k tea.KeyPressMsg) tea.Cmd {
	a := &m.act
	if k.String() == "esc" {
		m.focus = paneMain
		if a.request != nil {
			m.leaveForm()
		} else if a.isObsolete {
			m.closeQuestion()
		}
		return nil
	}
	if a.form == nil || a.isObsolete {
		return nil
	}
	if a.request != nil {
		return m.requestFormKey(k)
	}
	if k.String() == "ctrl+x" {
		return m.answerQuestion(declineButton)
	}
	return m.press(a.form.Key(k.String(), k.Text))
}

// press runs the pressed button of the form; "" does nothing.
func (m *model) press(button string) tea.Cmd {
	switch {
	case button == "" || m.act.isObsolete:
		return nil
	case m.act.request != nil:
		return m.pressButton(button)
	}
	return m.answerQuestion(button)
}

// clickForm handles a click at a position of the drawn form, below the rule above it.
func (m *model) clickForm(x, y int) tea.Cmd {
	m.focus = paneForm
	above := 1 + len(m.noticeLines(m.layout().main)) // with the rule
	return m.press(m.act.form.Click(x-1, y-above))
}

// The buttons of the form of a question.
const (
	acceptButton  = "Accept"
	declineButton = "Decline"
	cancelButton  = "Cancel"
)

// answerActions maps the buttons to the actions of an answer.
var answerActions = map[string]string{acceptButton: "accept", declineButton: "decline", cancelButton: "cancel"}

// answerQuestion sends the answer for the pressed button. It does nothing if an accepted form is not
// valid: the form shows why.
func (m *model) answerQuestion(button string) tea.Cmd {
	a := &m.act
	answer := view.Answer{Action: answerActions[button]}
	isPage := a.answering.URL != "" // a page has no content to send
	if button == acceptButton && !isPage {
		content, ok := a.form.Content()
		if !ok {
			return m.showNotSent()
		}
		answer.Content = content
		if a.answering.Method != "elicitation/create" { // see questionForm
			answer.Content = member(content, "result")
		}
	}
	asked := a.answering
	form := a.form
	behind := a.behind
	m.closeQuestion()
	return m.loader.runAction(func(ctx context.Context) change {
		err := m.opt.Actor.Answer(ctx, asked.ID, answer)
		return func(m *model) tea.Cmd {
			if err == nil {
				m.showMessage(button + ": sent")
				return m.reload()
			}
			isFree := a.form == nil || behind != nil && a.form == behind.form
			if isFree && m.dialog == nil { // what was typed is not lost
				a.form = form
				a.request = nil
				a.behind = behind
				a.answering = asked
				m.focus = paneForm
			}
			return tea.Batch(m.showError(err), m.reload())
		}
	})
}

// runAction runs an action outside of the drawing loop, and then shows the message done or the error.
func (m *model) runAction(done string, act func(context.Context, view.Actor) error) tea.Cmd {
	actor := m.opt.Actor
	if actor == nil {
		return m.showMessage("this view only reads")
	}
	return m.loader.runAction(func(ctx context.Context) change {
		err := act(ctx, actor)
		return func(m *model) tea.Cmd {
			if err != nil {
				return tea.Batch(m.showError(err), m.reload())
			}
			m.showMessage(done)
			return m.reload()
		}
	})
}

// maxNoticeLines limits the lines of the notices above a form.
const maxNoticeLines = 4

// addNotice adds a notice above the form, where the last two different ones are shown.
func (a *actionState) addNotice(text string) {
	if slices.Contains(a.notices, text) {
		return
	}
	a.notices = append(a.notices, text)
	a.notices = a.notices[max(0, len(a.notices)-2):]
}

// noticeLines draws the notices above the form in w columns.
func (m *model) noticeLines(w int) []cells.Line {
	var lines []cells.Line
	for _, text := range m.act.notices {
		lines = append(lines, cells.Wrap(cells.Warn, text, w-2)...)
	}
	return lines[:min(len(lines), maxNoticeLines)]
}

// drawForm draws the form below the list, which stays readable.
func (m *model) drawForm(p screenLayout) []drawn {
	a := &m.act
	w := p.main
	h := p.mainHeight * 3 / 4
	if m.view == viewTry { // the list needs no more lines than it has
		h = max(h, p.mainHeight-m.list().total-2)
	}
	if a.form == nil || h < 3 || w == 0 {
		return nil
	}
	text := ""
	if a.isObsolete {
		text = " not asked any more: Esc closes "
	} else if !a.answering.Until.IsZero() && a.request == nil {
		text = " " + formatTimer(a.answering.Until.Sub(m.opt.Now())) + " left "
	}
	head := cells.Line{cells.Rule(2), cells.Text(cells.Warn, text)}
	head = append(head, cells.Rule(w-head.Width()))
	lines := []drawn{{Line: head.FitTo(w)}}
	for _, l := range m.noticeLines(w) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	suggested := m.drawSuggestedValues(w)
	for _, l := range a.form.Lines(w-2, h-len(lines)-len(suggested), m.focus == paneForm) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	return append(lines, suggested...)
}

// alarmLines returns the height of the bar and of the list of held messages.
func (m *model) alarmLines() int { return len(m.drawAlarms()) }

// drawAlarms draws why the view's own server does not run, the bar, if there is something to show in it, and
// the held messages while they have the keys.
func (m *model) drawAlarms() []cells.Line {
	var lines []cells.Line
	if m.status.Trouble != "" {
		key := " O output "
		if m.focus == paneForm {
			key = " Ctrl-O output "
		}
		lines = append(lines, cells.Line{
			cells.Fit(cells.Alarm, " ✗ "+m.status.Trouble, m.w-len(key)), cells.Text(cells.Alarm, key),
		})
	}
	if bar := m.drawBar(); len(bar) > 0 {
		lines = append(lines, bar)
	}
	if m.focus == paneHeld {
		for i := range min(len(m.act.held), m.maxHeldLines()) {
			lines = append(lines, m.drawHeldLine(i))
		}
	}
	return lines
}

// maxHeldLines returns the largest number of held messages that are listed: a sixth of the screen.
func (m *model) maxHeldLines() int { return max(1, m.h/6) }

// drawHeldLine draws the held message in line i of their list, which scrolls with the selection.
func (m *model) drawHeldLine(i int) cells.Line {
	first := max(0, min(m.act.sel, len(m.act.held)-m.maxHeldLines()))
	index := min(first+i, len(m.act.held)-1)
	h := &m.act.held[index]
	direction := "▶ "
	if h.Dir == "received" {
		direction = "◀ "
	}
	role := cells.Bad
	mark := "   "
	if m.focus == paneHeld && first+i == m.act.sel {
		role = cells.Cursor
		mark = " › "
	}
	left := mark + direction + h.Method + " " + h.Name + "  " + h.Client + " → " + h.Server + "  " + h.Text
	right := ""
	if !h.Until.IsZero() {
		right = formatTimer(h.Until.Sub(m.opt.Now())) + " left "
	}
	return cells.Line{cells.Fit(role, left, m.w-12), cells.Right(role, right, 12)}
}
