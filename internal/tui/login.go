package tui

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// needsLogin is the state of a server in Home that requires a login.
const needsLogin = "needs login"

// logIn starts a login at the selected server of Home, at the server of Try, or at the server of an
// exchange that was refused for lack of a token, and shows its steps. While a login runs, it only shows that one.
func (m *model) logIn() tea.Cmd {
	actor := m.opt.Actor
	if actor == nil || !m.act.powers.Call {
		return m.showMissingPower("call")
	}
	if running := actor.LoginState(); running != nil && !running.Done {
		return m.showLogin()
	}
	target := ""
	if s := m.selectedServer(); s != nil {
		target = s.Name
	} else if m.view == viewTry && m.try.catalog != nil {
		target = m.try.target
	} else if _, row := m.target(); row != nil &&
		(row.Status == http.StatusUnauthorized || row.Status == http.StatusForbidden) {
		target = row.Target
	}
	if target == "" {
		return m.showMessage("select a server of Home (H), or an exchange that was refused with HTTP 401 or 403")
	}
	const confirmed = false
	return m.startLogin(target, confirmed)
}

// offerLogin asks whether to log in at a server that the user wants to try.
func (m *model) offerLogin(server, reason string) tea.Cmd {
	if m.dialog != nil || m.focus == paneFilter || m.focus == paneForm { // the user is typing
		return m.showMessage(server + ": " + reason + ": L logs in")
	}
	m.dialog = m.confirm(confirmation{
		title: "log in to " + server + "?", text: reason, no: "do not log in", yes: "log in",
		runAfter: func(m *model) tea.Cmd {
			m.try.afterLogin = server
			const confirmed = false
			return m.startLogin(server, confirmed)
		},
	})
	return nil
}

// startLogin starts a login, after the user's consent if the Actor asks for it.
func (m *model) startLogin(target string, confirmed bool) tea.Cmd {
	actor := m.opt.Actor
	return m.loader.runAction(func(context.Context) change {
		sent, err := actor.Login(target, confirmed)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			if sent.Confirm != "" {
				m.dialog = m.confirm(confirmation{
					title: "log in?", text: sent.Confirm, no: "do not log in", afterNo: "nothing was sent", yes: "log in",
					runAfter: func(m *model) tea.Cmd {
						const confirmed = true
						return m.startLogin(target, confirmed)
					},
				})
				return nil
			}
			return m.showLogin()
		}
	})
}

// showLogin opens the dialog of the newest login.
func (m *model) showLogin() tea.Cmd {
	m.dialog = &loginDialog{state: &view.Login{}, width: m.w, isFollowing: true}
	return m.loadLogin()
}

// loadLogin reads the login if its dialog is open.
func (m *model) loadLogin() tea.Cmd {
	d, isOpen := m.dialog.(*loginDialog)
	if !isOpen {
		return nil
	}
	actor := m.opt.Actor
	return m.loader.refresh(subjectLogin, func(context.Context) change {
		state := actor.LoginState()
		return func(*model) tea.Cmd {
			if state != nil {
				d.setState(state)
			}
			return nil
		}
	})
}

// A loginDialog shows the steps of a login. A step can be unfolded: then its checks and the bodies of its
// requests are shown.
type loginDialog struct {
	state      *view.Login
	width      int
	sel        int // the index of the selected step
	isUnfolded bool
	scrolled   int // lines that the user has scrolled in the unfolded step
	// isFollowing is set until the user selects a step: the running step is selected.
	isFollowing bool
}

// setState shows a newer state of the login.
func (d *loginDialog) setState(state *view.Login) {
	d.state = state
	if !d.isFollowing {
		return
	}
	for i, s := range state.Steps {
		if s.State != "" {
			d.sel = i
		}
	}
}

// selectStep selects the step that is n steps away.
func (d *loginDialog) selectStep(n int) {
	d.sel = max(0, min(d.sel+n, len(d.state.Steps)-1))
	d.scrolled = 0
	d.isFollowing = false
}

// key handles a key. Esc cancels a login that runs, and closes the dialog.
func (d *loginDialog) key(name, _ string) (change, bool) {
	switch name {
	case "esc":
		if d.state.Done {
			return (*model).tryAfterLogin, true
		}
		target := d.state.Target
		return func(m *model) tea.Cmd {
			cancel := func(_ context.Context, a view.Actor) error { return a.CancelLogin(target) }
			return m.runAction("the login was cancelled", cancel)
		}, true
	case "L", "q":
		return nil, true
	case "j", "down":
		d.selectStep(1)
	case "k", "up":
		d.selectStep(-1)
	case "enter", "space":
		d.isUnfolded = !d.isUnfolded
		d.scrolled = 0
	case "pgdown", "ctrl+d", "ctrl+f":
		d.scrolled += 10
	case "pgup", "ctrl+u", "ctrl+b":
		d.scrolled = max(0, d.scrolled-10)
	case "y":
		return d.copy(d.state.URL), false
	case "c":
		return d.copy(d.state.Code), false
	case "o":
		if row := d.selectedRow(); row != "" {
			return func(m *model) tea.Cmd { return tea.Batch(m.showEverything(), m.showRowInTalk(row)) }, true
		}
	}
	return nil, false
}

// tryAfterLogin tries the server that the user wanted to try before the login.
func (m *model) tryAfterLogin() tea.Cmd {
	server := m.try.afterLogin
	m.try.afterLogin = ""
	state := m.opt.Actor.LoginState()
	if server == "" || state == nil || state.Error != "" || state.Target != server {
		return nil
	}
	return m.tryServer(server)
}

// copy returns the change that copies a text, or nil if there is none.
func (d *loginDialog) copy(text string) change {
	if text == "" {
		return nil
	}
	return func(m *model) tea.Cmd { return m.copyText(text) }
}

// selectedRow returns the key of the exchange of the selected step, or "".
func (d *loginDialog) selectedRow() string {
	if d.sel >= len(d.state.Steps) {
		return ""
	}
	return d.state.Steps[d.sel].Row
}

// hasDetails reports whether the selected step shows more when it is unfolded.
func (d *loginDialog) hasDetails() bool {
	if d.sel >= len(d.state.Steps) {
		return false
	}
	s := d.state.Steps[d.sel]
	hasBody := func(r view.LoginRequest) bool { return r.Request != "" || r.Response != "" }
	return len(s.Checks) > 0 || slices.ContainsFunc(s.Requests, hasBody)
}

// showRowInTalk shows the detail of an exchange in the Talk view.
func (m *model) showRowInTalk(key string) tea.Cmd {
	return tea.Batch(m.switchView(viewTalk), m.openDetail(key))
}

// hints returns the keys for the footer.
func (d *loginDialog) hints() []string {
	hints := []string{"Esc cancel the login", "L back, it continues"}
	if d.state.Done {
		hints = []string{"Esc close, and go on"}
	}
	hints = append(hints, "↑↓ step")
	if d.hasDetails() {
		hints = append(hints, "Enter details")
	}
	if d.isUnfolded {
		hints = append(hints, "PgDn scroll")
	}
	if d.state.URL != "" && !d.state.Done {
		hints = append(hints, "y copy the page")
	}
	if d.state.Code != "" && !d.state.Done {
		hints = append(hints, "c copy the code")
	}
	if d.selectedRow() != "" {
		hints = append(hints, "o exchange")
	}
	return hints
}

// draw draws w columns and at most h lines. The selected step is always on the screen.
func (d *loginDialog) draw(w, h int) []drawn {
	d.width = w
	head := d.drawHead()
	var lines []drawn
	first := 0 // the first line of the selected step
	for i := range d.state.Steps {
		if i == d.sel {
			first = len(lines)
		}
		lines = append(lines, d.drawStep(i)...)
	}
	room := max(1, h-len(head))
	last := max(0, len(lines)-room)
	top := 0
	if d.isUnfolded {
		d.scrolled = min(d.scrolled, max(0, last-first))
		top = min(first+d.scrolled, last)
	} else if first >= room {
		top = min(first, last)
	}
	return append(head, lines[min(top, len(lines)):]...)
}

// drawHead draws the server, the page to open and the result of the login.
func (d *loginDialog) drawHead() []drawn {
	s := d.state
	lines := []drawn{{Line: cells.TextLine(cells.Strong, " Login at "+s.Target)}}
	add := func(r cells.Role, text string) {
		for _, l := range cells.Wrap(r, text, max(d.width-2, 20)) {
			lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
		}
	}
	switch {
	case s.Done && s.Error != "":
		add(cells.Bad, "failed: "+s.Error)
		if s.Help != "" {
			add(cells.Strong, "helps: "+s.Help)
		}
	case s.Done:
		add(cells.Good, "logged in; the token is stored")
	default:
		if s.Code != "" {
			add(cells.Accent, "code: "+s.Code)
		}
		if s.URL != "" {
			add(cells.Plain, "page: "+s.URL)
		}
	}
	return append(lines, drawn{Line: cells.Line{cells.Rule(d.width)}})
}

// loginSigns are the signs of the states of a step, with their roles.
var loginSigns = map[view.LoginState]cells.Span{
	"":                cells.Text(cells.Faint, "·"),
	view.LoginNow:     cells.Text(cells.Accent, "…"),
	view.LoginDone:    cells.Text(cells.Good, "✓"),
	view.LoginFailed:  cells.Text(cells.Bad, "✗"),
	view.LoginSkipped: cells.Text(cells.Faint, "–"),
}

// drawStep draws a step: its state, its note and its requests. The selected step has its remarks too, and the
// unfolded one the rules that were kept and the bodies.
func (d *loginDialog) drawStep(index int) []drawn {
	s := d.state.Steps[index]
	nameRole := cells.Strong
	if s.State == "" || s.State == view.LoginSkipped {
		nameRole = cells.Faint
	}
	note := s.Note
	if s.State == view.LoginNow && note == "" {
		note = "now"
	}
	line := cells.Line{
		cells.Blank(1), loginSigns[s.State], cells.Blank(1), cells.Fit(cells.Faint, fmt.Sprintf("%d", index+1), 1),
		cells.Blank(1), cells.Text(nameRole, s.Name), cells.Blank(2), cells.Text(cells.Faint, note),
	}
	lines := []drawn{{Line: line, Selected: index == d.sel}}
	add := func(r cells.Role, indent int, text string) {
		for _, l := range cells.Wrap(r, text, max(d.width-indent-1, 20)) {
			lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(indent)}, l...)})
		}
	}
	isOpen := d.isUnfolded && index == d.sel
	if isOpen && line.Width() > d.width {
		add(cells.Plain, 5, note)
	}
	for _, check := range s.Checks {
		isPassed := strings.HasPrefix(check, "pass ")
		if strings.HasPrefix(check, "fail ") || strings.HasPrefix(check, "warning") {
			add(cells.Warn, 5, check)
		} else if isOpen || !isPassed && index == d.sel {
			add(cells.Faint, 5, check)
		}
	}
	for _, r := range s.Requests {
		text := r.Method + " " + r.URL
		role := cells.Plain
		if r.Status != 0 {
			text += fmt.Sprintf("  HTTP %d  %s", r.Status, formatSeconds(r.Seconds))
		}
		if r.Status >= http.StatusBadRequest {
			role = cells.Warn
		}
		add(role, 5, text)
		if isOpen {
			d.addBody(add, "sent", r.Request)
			d.addBody(add, "received", r.Response)
		}
	}
	return lines
}

// addBody adds the lines of a body.
func (d *loginDialog) addBody(add func(r cells.Role, indent int, text string), title, body string) {
	if body == "" {
		return
	}
	add(cells.Faint, 7, title)
	for line := range strings.Lines(body) {
		add(cells.Plain, 9, strings.TrimRight(line, "\r\n"))
	}
}
