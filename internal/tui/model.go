package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A pane is a part of the screen that can have the keys.
type pane int

const (
	paneConversations pane = iota
	paneMain
	paneDetail
	paneHeld
	paneFilter
	paneForm
)

// The subjects of reads. At most one read of each subject runs at a time.
const (
	subjectStatus subject = iota
	subjectConversations
	subjectList
	subjectDetail
	subjectSuggestions
	subjectWaiting
	subjectDialog
	subjectCatalog
	subjectRunning
	subjectLogin
)

// A model is the state of the whole view.
type model struct {
	opt           Options
	loader        loader
	palette       cells.Palette
	w, h          int // the size of the screen
	status        view.Status
	view          int  // an index of lists: viewTalk, viewTable, …
	focus         pane // gets the keys unless a dialog is open
	conversations conversationList
	lists         [viewCount]list
	query         query
	detail        detail
	act           actionState
	start         start
	home          homeState
	try           tryState
	dialog        dialog // nil if no dialog is open
	statusLine    statusLine
}

// A statusLine is the state of the status line except its counts.
type statusLine struct {
	flash      string // a message that is shown until flashUntil, or until the next key
	isError    bool   // flash is an error
	flashUntil time.Time
	isPaused   bool
	hasChanged bool      // something changed while the view is paused
	loadedAt   time.Time // when a list was last read
	search     string    // the search text in the detail, as in less
	notices    int       // the number of notices when the last one was shown
}

// newChoice returns an entry of a menu.
func newChoice(key, text, note string, run change) choice {
	return choice{key: key, text: text, note: note, run: run}
}

// promptLine opens a prompt for one line.
func (m *model) promptLine(title, text string, run func(*model, string) tea.Cmd) tea.Cmd {
	m.dialog = &prompt{title: title, line: newInput(text), run: run}
	return nil
}

type (
	recordingsChanged uint64
	gapPassed         uint64
	secondPassed      struct{}
)

// Init starts to wait for changes and to count seconds.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.awaitChange(0), tick(), m.reload()}
	if m.palette.Color {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondPassed{} }) }

// awaitChange waits for a change after the given one.
func (m *model) awaitChange(after uint64) tea.Cmd {
	r := m.opt.Reader
	ctx := m.loader.ctx
	return func() tea.Msg {
		seq := r.Wait(ctx, after)
		if ctx.Err() != nil {
			return nil
		}
		return recordingsChanged(seq)
	}
}

// Update handles one message of the terminal or the result of a command, and returns the next
// command. The model is always m.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w = msg.Width
		m.h = msg.Height
		return m, m.reload()
	case tea.BackgroundColorMsg:
		m.palette = m.palette.ForBackground(msg.IsDark())
	case tea.ResumeMsg:
		return m, tea.Batch(tea.ClearScreen, m.reload())
	case recordingsChanged:
		// The wait for the next change begins after a gap, so that reads are not too frequent.
		again := tea.Tick(m.status.Gap(), func(time.Time) tea.Msg { return gapPassed(msg) })
		if m.statusLine.isPaused {
			m.statusLine.hasChanged = true
			return m, tea.Batch(again, m.loadStatus(), m.loadWaiting())
		}
		return m, tea.Batch(again, m.reload())
	case gapPassed:
		return m, m.awaitChange(uint64(msg))
	case secondPassed:
		if m.statusLine.flash != "" && m.opt.Now().After(m.statusLine.flashUntil) {
			m.statusLine.flash = ""
		}
		return m, tea.Batch(tick(), m.loadWaiting(), m.loadLogin())
	case readResult:
		return m, m.applyResult(msg)
	case completionDue:
		return m, m.completeField(msg)
	case actionResult:
		return m, msg.apply(m)
	case tea.KeyPressMsg:
		return m, m.handleKey(msg)
	case tea.PasteMsg:
		return m, m.paste(msg.Content)
	case tea.MouseClickMsg:
		return m, m.click(tea.Mouse(msg))
	case tea.MouseWheelMsg:
		return m, m.wheel(tea.Mouse(msg))
	}
	return m, nil
}

// applyResult applies the result of a read unless a newer read has started.
func (m *model) applyResult(r readResult) tea.Cmd {
	isNewest, readAgain := m.loader.accept(r)
	if !isNewest {
		return nil
	}
	cmd := r.apply(m)
	if readAgain {
		return tea.Batch(cmd, m.loadAgain(r.subject))
	}
	return cmd
}

// reload reads everything on the screen again.
func (m *model) reload() tea.Cmd {
	return tea.Batch(m.loadStatus(), m.loadConversations(), m.loadList(sameQuery), m.loadWaiting(),
		m.loadDetail(sameKey), m.loadLogin(), m.loadRunning())
}

// loadAgain repeats a read whose data may have changed while it ran. Suggestions and dialogs are
// not read again.
func (m *model) loadAgain(about subject) tea.Cmd {
	switch about {
	case subjectStatus:
		return m.loadStatus()
	case subjectConversations:
		return m.loadConversations()
	case subjectList:
		return m.loadList(sameQuery)
	case subjectWaiting:
		return m.loadWaiting()
	case subjectDetail:
		return m.loadDetail(sameKey)
	case subjectRunning:
		return m.loadRunning()
	case subjectLogin:
		return m.loadLogin()
	}
	return nil
}

func (m *model) loadStatus() tea.Cmd {
	r := m.opt.Reader
	return m.loader.refresh(subjectStatus, func(context.Context) change {
		s := r.Status()
		return func(m *model) tea.Cmd {
			m.status = s
			const isWanted = false
			return tea.Batch(m.showFirstView(), m.refreshCatalog(isWanted), m.showNotice())
		}
	})
}

// showNotice shows a new notice about the view's own server: above an open form, else in the status line,
// unless the user types a text.
func (m *model) showNotice() tea.Cmd {
	isTyping := m.dialog != nil || m.focus == paneFilter
	if m.status.Notices == m.statusLine.notices || isTyping {
		return nil
	}
	m.statusLine.notices = m.status.Notices
	if m.focus == paneForm {
		m.act.addNotice(m.status.Notice)
		return nil
	}
	return m.showMessage(m.status.Notice)
}

// screenClock returns the times to draw with.
func (m *model) screenClock() screenClock {
	return screenClock{
		now:       m.opt.Now(),
		loadedAt:  m.statusLine.loadedAt,
		isStopped: m.status.File || m.statusLine.isPaused,
	}
}

// showMessage shows a message in the status line for some seconds.
func (m *model) showMessage(text string) tea.Cmd {
	m.statusLine.flash = text
	m.statusLine.isError = false
	m.statusLine.flashUntil = m.opt.Now().Add(8 * time.Second)
	return nil
}

// showError shows an error in the status line.
func (m *model) showError(err error) tea.Cmd {
	m.showMessage(err.Error())
	m.statusLine.isError = true
	return nil
}

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "mcpc inspect"
	return v
}
