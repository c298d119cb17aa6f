package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// The panes that have the keys.
type pane int

const (
	paneTalks pane = iota
	paneMain
	paneDetail
	paneHeld
	paneFilter
	paneForm
)

// The subjects of reads. At most one read of each subject runs at a time.
const (
	askStatus subject = iota
	askTalks
	askList
	askDetail
	askSuggest
	askWaiting
	askDialog
)

// A model is the state of the whole view.
type model struct {
	opt    Options
	ask    asker
	pal    cells.Palette
	w, h   int
	status view.Status
	view   int
	focus  pane
	talks  talks
	lists  [viewCount]list
	query  query
	detail detail
	act    acting
	dialog dialog
	bar    bar
}

// A bar is the state of the status line except its counts.
type bar struct {
	flash   string
	bad     bool
	until   time.Time
	paused  bool
	waiting bool // something changed while paused
	fetched time.Time
	search  string // the search text in the detail, as in less
}

// pick returns an entry of a menu.
func pick(key, text, note string, run change) choice {
	return choice{key: key, text: text, note: note, run: run}
}

// askLine opens a prompt for one line.
func (m *model) askLine(title, text string, run func(*model, string) tea.Cmd) tea.Cmd {
	m.dialog = &prompt{title: title, line: newInput(text), run: run}
	return nil
}

type (
	changed uint64
	rewait  uint64
	second  struct{}
)

// Init starts to wait for changes and to count seconds.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.wait(0), tick(), m.reload()}
	if m.pal.Color {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return second{} }) }

// wait waits for a change after the given one.
func (m *model) wait(after uint64) tea.Cmd {
	r := m.opt.Reader
	ctx := m.ask.ctx
	return func() tea.Msg {
		seq := r.Wait(ctx, after)
		if ctx.Err() != nil {
			return nil
		}
		return changed(seq)
	}
}

// Update handles one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w = msg.Width
		m.h = msg.Height
		return m, m.reload()
	case tea.BackgroundColorMsg:
		m.pal = m.pal.For(msg.IsDark())
	case tea.ResumeMsg:
		return m, tea.Batch(tea.ClearScreen, m.reload())
	case changed:
		again := tea.Tick(m.status.Gap(), func(time.Time) tea.Msg { return rewait(msg) })
		if m.bar.paused {
			m.bar.waiting = true
			return m, tea.Batch(again, m.askStatus(), m.askWaiting())
		}
		return m, tea.Batch(again, m.reload())
	case rewait:
		return m, m.wait(uint64(msg))
	case second:
		if m.bar.flash != "" && m.opt.Now().After(m.bar.until) {
			m.bar.flash = ""
		}
		return m, tea.Batch(tick(), m.askWaiting())
	case answer:
		return m, m.applyAnswer(msg)
	case acted:
		return m, msg.apply(m)
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		return m, m.paste(msg.Content)
	case tea.MouseClickMsg:
		return m, m.click(tea.Mouse(msg))
	case tea.MouseWheelMsg:
		return m, m.wheel(tea.Mouse(msg))
	}
	return m, nil
}

// applyAnswer applies the result of a read unless a newer read has started.
func (m *model) applyAnswer(a answer) tea.Cmd {
	current, again := m.ask.accept(a)
	if !current {
		return nil
	}
	cmd := a.apply(m)
	if again {
		return tea.Batch(cmd, m.askAgain(a.about))
	}
	return cmd
}

// reload reads everything on the screen again.
func (m *model) reload() tea.Cmd {
	return tea.Batch(m.askStatus(), m.askTalks(), m.askList(false), m.askWaiting(), m.askDetail(false))
}

// askAgain repeats a read whose data may have changed while it ran.
func (m *model) askAgain(about subject) tea.Cmd {
	switch about {
	case askStatus:
		return m.askStatus()
	case askTalks:
		return m.askTalks()
	case askList:
		return m.askList(false)
	case askWaiting:
		return m.askWaiting()
	case askDetail:
		return m.askDetail(false)
	}
	return nil
}

func (m *model) askStatus() tea.Cmd {
	r := m.opt.Reader
	return m.ask.refresh(askStatus, func(context.Context) change {
		s := r.Status()
		return func(m *model) tea.Cmd { m.status = s; return nil }
	})
}

// clock returns the times to draw with.
func (m *model) clock() screenClock {
	return screenClock{now: m.opt.Now(), fetched: m.bar.fetched, still: m.status.File || m.bar.paused}
}

// say shows a message in the status line for some seconds.
func (m *model) say(text string) tea.Cmd {
	m.bar.flash = text
	m.bar.bad = false
	m.bar.until = m.opt.Now().Add(8 * time.Second)
	return nil
}

// fail shows an error in the status line.
func (m *model) fail(err error) tea.Cmd {
	m.say(err.Error())
	m.bar.bad = true
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
