package tui

import (
	"context"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A homeState is the state of the Home view that is not in its list.
type homeState struct {
	hasChecked bool // the servers were asked once
}

// A start says which view can still be shown in place of Talk. The first key of the user ends it.
type start struct {
	mayShowHome bool // Home, if nothing is recorded
	mayShowTry  bool // Try, when the view's own server has started
	isAtHome    bool // Home is shown until a client begins
}

// showHome switches to the Home view. The first time, it asks the servers.
func (m *model) showHome() tea.Cmd {
	if !m.status.Home || m.opt.Actor == nil {
		return m.showMessage("mcpc inspect without a FILE has Home")
	}
	m.closeDetail()
	show := m.switchView(viewHome)
	if m.home.hasChecked || !m.act.powers.Call {
		return show
	}
	return tea.Batch(show, m.checkServers())
}

// showFirstView shows Home if nothing is recorded, or Try if the view has started a server, unless the user
// has pressed a key. It decides once: Home when the recordings are read, Try when the server has started.
func (m *model) showFirstView() tea.Cmd {
	if m.start.mayShowTry && m.status.Own {
		m.start.mayShowTry = false
		return m.showTry()
	}
	if !m.start.mayShowHome || m.status.Loading {
		return nil
	}
	m.start.mayShowHome = false
	if m.status.Rows > 0 || !m.status.Home {
		return nil
	}
	m.start.isAtHome = true
	return m.showHome()
}

// leaveHome shows the Talk view if a client begins before the first key of a view that started at
// Home. It reports whether it did.
func (m *model) leaveHome() bool {
	isByClient := func(c view.Conversation) bool { return c.By != capture.ByCommand }
	if !m.start.isAtHome || !slices.ContainsFunc(m.conversations.all, isByClient) {
		return false
	}
	m.start.isAtHome = false
	m.view = viewTalk
	return true
}

// checkServers asks the servers in the background.
func (m *model) checkServers() tea.Cmd {
	m.home.hasChecked = true
	return m.runAction("", func(_ context.Context, a view.Actor) error { return a.CheckServers() })
}

// checkAgain asks the servers again, and shows Home. In the Try view it lists again what the server
// offers.
func (m *model) checkAgain() tea.Cmd {
	if m.view == viewTry {
		const isWanted = true
		return m.refreshCatalog(isWanted)
	}
	m.home.hasChecked = false
	return m.showHome()
}

// selectedServer returns the selected server of the Home view, or nil.
func (m *model) selectedServer() *view.Server {
	if it := m.list().selected(); it != nil {
		if s, ok := it.doc.(*view.Server); ok {
			return s
		}
	}
	return nil
}

// addServer asks for a server, and connects to it.
func (m *model) addServer() tea.Cmd {
	const title = "connect to a URL, or demo (a command: mcpc inspect -- COMMAND)"
	return m.promptLine(title, "", func(m *model, text string) tea.Cmd { return m.tryServer(text) })
}

// serverMenu opens the menu of the command lines for a server.
func (m *model) serverMenu(s *view.Server) tea.Cmd {
	d := &menu{title: "copy for " + s.Name}
	for _, c := range s.Commands {
		d.choices = append(d.choices, newChoice(c.Key, c.Name, c.Line, func(m *model) tea.Cmd { return m.copyText(c.Line) }))
	}
	if s.Help != "" {
		help := func(m *model) tea.Cmd { return m.copyText(s.Help) }
		d.choices = append(d.choices, newChoice("h", "What helps", s.Help, help))
	}
	m.dialog = d
	return nil
}

// serverCell returns the text of the column of a server with this head.
func serverCell(s *view.Server, head string) cells.Span {
	role := serverRole(s)
	dash := cells.Text(cells.Faint, "–")
	switch head {
	case "":
		return cells.Text(role, map[cells.Role]string{cells.Bad: "!", cells.Accent: "…", cells.Good: "✓"}[role])
	case "server":
		return cells.Text(cells.Strong, s.Name)
	case "configured in":
		return cells.Text(cells.Plain, s.From)
	case "state":
		return cells.Text(role, serverState(s))
	case "protocol":
		if s.Revision != "" {
			return cells.Text(cells.Plain, s.Revision)
		}
	case "tools":
		if s.Tools != nil {
			return cells.Text(cells.Plain, strconv.Itoa(*s.Tools))
		}
	case "time":
		if s.Seconds != nil {
			return cells.Text(cells.Plain, formatSeconds(*s.Seconds))
		}
	case "what helps":
		return cells.Text(cells.Faint, s.Help)
	}
	return dash
}

// serverState returns the state of a server.
func serverState(s *view.Server) string {
	if s.Asking {
		return "asking…"
	}
	if s.State == "" {
		return "not asked"
	}
	return s.State
}

// serverRole returns the role of a server's state.
func serverRole(s *view.Server) cells.Role {
	if s.Asking {
		return cells.Accent
	}
	if s.Failed {
		return cells.Bad
	}
	if s.State == "ok" {
		return cells.Good
	}
	return cells.Faint
}

// serverText describes a server: why it failed, what helps, and the commands to copy.
func serverText(s *view.Server, add func(r cells.Role, text string)) {
	if s.Failed {
		add(cells.Bad, s.Text)
	}
	if s.Help != "" {
		add(cells.Strong, "helps: "+s.Help)
	}
	for _, c := range s.Commands {
		add(cells.Faint, c.Name+": "+c.Line)
	}
}
