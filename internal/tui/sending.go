package tui

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// intercept asks for a filter and, the first time, for a confirmation. Then it holds matching
// messages.
func (m *model) intercept() tea.Cmd {
	if !m.act.powers.Intercept {
		return m.showMissingPower("intercept")
	}
	return m.promptLine(
		"hold messages that match (a filter; empty holds all)",
		m.status.Wanted,
		func(m *model, text string) tea.Cmd {
			hold := func(filter string) change {
				return func(m *model) tea.Cmd {
					return m.runAction(
						"messages are held",
						func(ctx context.Context, a view.Actor) error { return a.Intercept(ctx, true, filter) },
					)
				}
			}
			if m.status.Intercept {
				return hold(text)(m)
			}
			messages := "every message"
			if filter := strings.TrimSpace(text); filter != "" {
				messages = "every message that matches " + filter
			}
			limit := english.Plural(int(m.opt.MaxHold.Minutes()), "minute")
			// A user who typed i by mistake, for example in a filter, must not hold messages.
			requests := view.RequestsOnly(text)
			dialog := m.confirm(confirmation{
				title:    "hold messages?",
				text:     messages + " of all running taps and proxies then waits until it is released here, at most " + limit,
				no:       "hold nothing",
				afterNo:  "nothing is held",
				yes:      "hold requests",
				runAfter: hold(requests),
			})
			if requests == text { // the filter says what to hold
				dialog.choices[1].text = "hold them"
			} else {
				both := newChoice("", "hold requests and responses", "select and press Enter", hold(text))
				dialog.choices = append(dialog.choices, both)
			}
			m.dialog = dialog
			return nil
		},
	)
}

// faultMenu lets the user choose a fault for the next request like the target exchange, or like a call
// of the selected tool.
func (m *model) faultMenu() tea.Cmd {
	if !m.act.powers.Intercept {
		return m.showMissingPower("intercept")
	}
	key, row := m.target()
	if row != nil {
		return m.openFaultMenu(row)
	}
	if it := m.list().selected(); it != nil {
		if tool, isTool := it.doc.(*view.Tool); isTool {
			return m.openFaultMenu(&view.Row{Key: key, Method: "tools/call", Name: tool.Name, Target: tool.Target})
		}
	}
	if key == "" {
		return m.showNoTarget()
	}
	reader := m.opt.Reader
	return m.afterReading(func(ctx context.Context, _ view.Actor) (change, error) {
		doc, err := reader.Detail(ctx, key)
		return func(m *model) tea.Cmd { return m.openFaultMenu(&doc.Row) }, err
	})
}

// openFaultMenu lets the user choose a fault for the next request like that of a row.
func (m *model) openFaultMenu(row *view.Row) tea.Cmd {
	fault := view.Fault{Key: row.Key, Method: row.Method, Name: row.Name, Target: row.Target}
	dialog := &menu{title: "fault for the next " + strings.TrimSpace(fault.Method+" "+fault.Name)}
	for _, kind := range view.FaultKinds() {
		fault.Kind = kind.Kind
		chosen := fault
		dialog.choices = append(dialog.choices, newChoice(kind.Letter, kind.Name, "", func(m *model) tea.Cmd {
			return m.setFault(chosen)
		}))
	}
	m.dialog = dialog
	return nil
}

// setFault sets a fault outside of the drawing loop, and shows what was done.
func (m *model) setFault(fault view.Fault) tea.Cmd {
	actor := m.opt.Actor
	return m.loader.runAction(func(ctx context.Context) change {
		done, err := actor.SetFault(ctx, fault)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			return m.showMessage(done)
		}
	})
}

// showMissingPower says which power the view lacks.
func (m *model) showMissingPower(power string) tea.Cmd {
	return m.showMessage("not allowed here: start the view with --allow=" + power)
}

// selectedHeld returns the held message selected in the bar, or else the held message of the
// selected exchange, or nil.
func (m *model) selectedHeld() *view.Held {
	a := &m.act
	if m.focus == paneHeld && a.sel < len(a.held) {
		return &a.held[a.sel]
	}
	key, _ := m.target()
	for i := range a.held {
		if key != "" && a.held[i].Row == key {
			return &a.held[i]
		}
	}
	return nil
}

func (m *model) showNoHeld() tea.Cmd {
	if len(m.act.held) == 0 {
		return m.showMessage("no message is held; i holds messages")
	}
	return m.showMessage("select a held message first: Tab")
}

func (m *model) release(id string) tea.Cmd {
	release := func(ctx context.Context, a view.Actor) error { return a.Release(ctx, id, "") }
	return m.runAction("released, unchanged", release)
}

// dropHeld drops the message selected in the bar. Without focus on the bar it drops nothing: the
// key may have been meant for the list.
func (m *model) dropHeld() tea.Cmd {
	h := m.selectedHeld()
	if h == nil || m.focus != paneHeld {
		return m.showNoHeld()
	}
	id := h.ID
	return m.runAction("dropped", func(ctx context.Context, a view.Actor) error { return a.Drop(ctx, id) })
}

// heldToShow returns the selected held message, or else the message that the bar would select.
// Actions that change nothing use it.
func (m *model) heldToShow() *view.Held {
	if h := m.selectedHeld(); h != nil || len(m.act.held) == 0 {
		return h
	}
	return &m.act.held[m.act.sel]
}

// editHeld lets the user edit the selected held message, and sends the edited message.
func (m *model) editHeld() tea.Cmd {
	h := m.heldToShow()
	if h == nil {
		return m.showNoHeld()
	}
	id := h.ID
	name := "held message: " + strings.TrimSpace(h.Method+" "+h.Name)
	return m.afterReading(func(ctx context.Context, a view.Actor) (change, error) {
		text, err := a.Reveal(ctx, id)
		return func(m *model) tea.Cmd {
			return m.openEditor(name, text, func(m *model, text string, changed bool) tea.Cmd {
				if !changed {
					return m.release(id)
				}
				release := func(ctx context.Context, a view.Actor) error { return a.Release(ctx, id, text) }
				return m.runAction("released, edited", release)
			})
		}, err
	})
}

// reveal shows the selected held message with its secrets.
func (m *model) reveal() tea.Cmd {
	h := m.heldToShow()
	if h == nil {
		return m.showNoHeld()
	}
	id := h.ID
	return m.afterReading(func(ctx context.Context, a view.Actor) (change, error) {
		text, err := a.Reveal(ctx, id)
		return func(m *model) tea.Cmd {
			d := &page{title: "held message, with its secrets"}
			for _, l := range cells.Wrap(cells.Plain, text, max(m.w-3, 20)) {
				d.lines = append(d.lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
			}
			m.dialog = d
			return nil
		}, err
	})
}

// afterReading shows that something is read outside of the drawing loop, and then runs the change that read
// returns, unless the user closes the dialog.
func (m *model) afterReading(read func(context.Context, view.Actor) (change, error)) tea.Cmd {
	actor := m.opt.Actor
	if actor == nil {
		return m.showMessage("this view only reads")
	}
	placeholder := &page{title: "reading…"}
	m.dialog = placeholder
	return m.loader.restart(subjectDialog, func(ctx context.Context) change {
		then, err := read(ctx, actor)
		return func(m *model) tea.Cmd {
			if m.dialog != placeholder {
				return nil
			}
			m.dialog = nil
			if err != nil {
				return m.showError(err)
			}
			return then(m)
		}
	})
}

// openEditor lets the user edit a JSON text, in the view or in the user's editor. Then it calls run with the
// text and whether the user changed it. name is the title of the view's editor.
func (m *model) openEditor(name, text string, run func(m *model, text string, changed bool) tea.Cmd) tea.Cmd {
	area := newArea(indented(text, m.w-2))
	area.find(`"arguments"`)
	// Compare with the text as it is shown, where tabs and indents may differ.
	shown := area.Text()
	edited := func(m *model, current string) tea.Cmd {
		return run(m, current, strings.TrimSpace(current) != strings.TrimSpace(shown))
	}
	if m.opt.Edit != nil {
		return editOutside(m.opt.Edit, shown, edited)
	}
	m.dialog = &editor{title: name, area: area, check: checkJSON, run: edited}
	return nil
}

// An externalEditor is a tea.ExecCommand that runs the user's editor while the view is suspended.
type externalEditor struct {
	edit func(string) (string, error)
	text string
	err  error
}

// Run edits o.text.
func (o *externalEditor) Run() error {
	o.text, o.err = o.edit(o.text)
	return o.err
}

// SetStdin does nothing: the editor uses the streams of the process.
func (o *externalEditor) SetStdin(io.Reader) {}

// SetStdout does nothing.
func (o *externalEditor) SetStdout(io.Writer) {}

// SetStderr does nothing.
func (o *externalEditor) SetStderr(io.Writer) {}

// editOutside runs the user's editor on a text, and then run with the edited text.
func editOutside(edit func(string) (string, error), text string, run func(*model, string) tea.Cmd) tea.Cmd {
	o := &externalEditor{edit: edit, text: text}
	return tea.Exec(o, func(err error) tea.Msg {
		return actionResult{apply: func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			return run(m, o.text)
		}}
	})
}

// A resendRequest is a recorded request to send again. message replaces the recorded message unless
// it is nil.
type resendRequest struct {
	key, title string
	message    json.RawMessage
	readOnly   bool // it is known to change nothing
}

// resendTarget returns the request that actions apply to. If it cannot be sent again, it shows the
// reason and reports false.
func (m *model) resendTarget() (r resendRequest, ok bool) {
	key, row := m.target()
	if key == "" {
		m.showNoTarget()
		return r, false
	}
	if !m.act.powers.Resend {
		m.showMissingPower("resend")
		return r, false
	}
	r.key = key
	r.title = "request " + key
	if row != nil {
		r.title = rowTitle(row) + " (" + key + ")"
		r.readOnly = m.isReadOnly(row)
	}
	return r, true
}

// readingMethods are the methods of requests that change nothing.
var readingMethods = []string{
	"initialize", "server/discover", "ping", "tools/list", "prompts/list", "prompts/get", "resources/list",
	"resources/templates/list", "resources/read", "completion/complete",
}

// isReadOnly reports whether a recorded request is known to change nothing, by its method or because the
// server of the Try view says so of its tool.
func (m *model) isReadOnly(row *view.Row) bool {
	if slices.Contains(readingMethods, row.Method) {
		return true
	}
	if m.try.catalog == nil || m.try.catalog.Target != row.Target || row.Method != "tools/call" {
		return false
	}
	o := m.try.catalog.Find(view.KindTool, row.Name)
	return o != nil && o.ReadOnly
}

// editResend lets the user edit the target request, and sends it: the arguments of a tool in a form, any
// other request as text.
func (m *model) editResend() tea.Cmd {
	r, ok := m.resendTarget()
	if !ok {
		return nil
	}
	reader := m.opt.Reader
	return m.afterReading(func(ctx context.Context, a view.Actor) (change, error) {
		text, err := a.Copy(ctx, r.key, "request")
		if err != nil {
			return nil, err
		}
		doc, err := reader.Detail(ctx, r.key)
		return func(m *model) tea.Cmd { return m.editMessage(r, &doc, text) }, err
	})
}

// editMessage lets the user edit the text of a recorded request, and sends it.
func (m *model) editMessage(r resendRequest, doc *view.Detail, text string) tea.Cmd {
	message := json.RawMessage(text)
	arguments := member(member(message, "params"), "arguments")
	if f := newForm(doc.InputSchema, arguments); arguments != nil && len(f.fields()) > 0 {
		m.openForm(&formRequest{target: doc.Row.Target, resent: &r, message: message, offer: view.Offer{
			Kind: view.KindTool, Name: doc.Row.Name, Schema: doc.InputSchema,
		}}, f)
		return nil
	}
	return m.openEditor("edit and send again: "+r.title, text, func(m *model, text string, changed bool) tea.Cmd {
		if !changed {
			return m.sendAgain(r)
		}
		return m.sendEdited(r, text)
	})
}

// sendEdited sends a recorded request again with a text of the user.
func (m *model) sendEdited(r resendRequest, text string) tea.Cmd {
	r.message = json.RawMessage(text)
	return m.sendAgain(r)
}

// resend sends the target request again.
func (m *model) resend() tea.Cmd {
	r, ok := m.resendTarget()
	if !ok {
		return nil
	}
	return m.sendAgain(r)
}

// sendAgain sends a recorded request again.
func (m *model) sendAgain(r resendRequest) tea.Cmd {
	question := "send " + r.title + " again?"
	if r.message != nil {
		question = "send " + r.title + " again, edited?"
	}
	return m.send(question, sender{
		readOnly: r.readOnly,
		do: func(ctx context.Context, a view.Actor, confirmed bool) (view.Sent, error) {
			return a.Resend(ctx, r.key, r.message, confirmed)
		},
		show: (*model).showSent,
	})
}

// A sender sends a request.
type sender struct {
	// readOnly is true if the request is known to change nothing. The question then has "send it" selected.
	readOnly bool
	// begin is called each time before the request is sent.
	begin func(m *model)
	// do sends the request through an Actor. confirmed is set after the user's consent.
	do func(ctx context.Context, a view.Actor, confirmed bool) (view.Sent, error)
	// show shows the exchange of the request. sent is nil if the request failed without an exchange, or if it
	// needs the user's consent first.
	show func(m *model, sent *view.Sent) tea.Cmd
}

// sendingText is the message until a request is answered.
const sendingText = "sending…"

// send sends a request, and then shows its exchange. If the request needs the user's consent, it asks the
// question, and sends the request after the consent.
func (m *model) send(question string, r sender) tea.Cmd {
	const confirmed = false
	return m.sendAs(question, r, confirmed)
}

// sendAs sends a request, as send describes. confirmed is set if the user has already consented. If
// the Actor still needs the user's consent, sendAs asks, and calls itself after the consent.
func (m *model) sendAs(question string, r sender, confirmed bool) tea.Cmd {
	actor := m.opt.Actor
	m.showMessage(sendingText)
	if r.begin != nil {
		r.begin(m)
	}
	return m.loader.runAction(func(ctx context.Context) change {
		sent, err := r.do(ctx, actor, confirmed)
		return func(m *model) tea.Cmd {
			if err != nil {
				return tea.Batch(m.showError(err), r.show(m, nil))
			}
			if sent.Confirm != "" {
				m.statusLine.flash = "" // nothing is sent yet
				dialog := m.confirm(confirmation{
					title:   question,
					text:    sent.Confirm,
					no:      "do not send",
					afterNo: "nothing was sent",
					yes:     "send it",
					runAfter: func(m *model) tea.Cmd {
						const confirmed = true
						return m.sendAs(question, r, confirmed)
					},
				})
				if r.readOnly {
					dialog.sel = 1
				}
				m.dialog = dialog
				return r.show(m, nil)
			}
			text := sent.Text // of a failure, it names the kind
			if text == "" || sent.Channel == "ok" {
				text = strings.TrimSpace(strings.ReplaceAll(sent.Channel, "_", " ") + " " + text)
			}
			m.showMessage(text)
			return tea.Batch(m.reload(), r.show(m, &sent))
		}
	})
}

// showSent shows the exchange of a request that was sent again.
func (m *model) showSent(sent *view.Sent) tea.Cmd {
	// The detail must not take the keys that the user is typing.
	isTyping := m.dialog != nil || m.focus == paneFilter || m.focus == paneForm
	if sent == nil || sent.Key == "" || isTyping {
		return nil
	}
	return m.openDetail(sent.Key)
}

// A confirmation is a question before an action.
type confirmation struct {
	title, text string
	no, yes     string // the two entries
	afterNo     string // the message if the user chooses no
	runAfter    change // runs if the user chooses yes
}

// confirm returns a menu that asks before an action. Only Enter on the second entry runs it, so that
// a letter typed before the question appeared does nothing. The first entry is selected.
func (m *model) confirm(c confirmation) *menu {
	return &menu{title: c.title, head: cells.Wrap(cells.Warn, c.text, max(m.w-4, 20)), choices: []choice{
		newChoice("", c.no, "Esc", func(m *model) tea.Cmd { return m.showMessage(c.afterNo) }),
		newChoice("", c.yes, "select and press Enter", c.runAfter),
	}}
}

// tryTool opens the form of the selected tool, or of the tool of the selected call.
func (m *model) tryTool() tea.Cmd {
	if !m.act.powers.Call {
		return m.showMissingPower("call")
	}
	if s := m.selectedServer(); s != nil {
		return m.tryServer(s.Name)
	}
	if m.view == viewTry && m.focus != paneDetail {
		return m.openOffer()
	}
	if it := m.list().selected(); it != nil {
		if t, ok := it.doc.(*view.Tool); ok {
			return m.toolForm(t, nil)
		}
	}
	key, row := m.target()
	if key == "" || row == nil || row.Method != "tools/call" {
		return m.showMessage("select a tool (4) or a call first; T has all that a server offers")
	}
	reader := m.opt.Reader
	tool := view.Tool{Name: row.Name, Target: row.Target}
	return m.loader.restart(subjectDialog, func(ctx context.Context) change {
		doc, err := reader.Detail(ctx, key)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			var arguments json.RawMessage
			if doc.Request != nil && !doc.Request.Cut {
				arguments = member(member(json.RawMessage(doc.Request.Text), "params"), "arguments")
			}
			tool.Server = doc.Row.Server
			tool.InputSchema = doc.InputSchema
			if tool.InputSchema == nil {
				return m.listedToolForm(&tool, arguments)
			}
			return m.toolForm(&tool, arguments)
		}
	})
}

// listedToolForm opens the form of a recorded call whose tool is in no recorded list: it lists the tools
// of the server first. If that fails, the form has no fields and keeps the arguments.
func (m *model) listedToolForm(t *view.Tool, arguments json.RawMessage) tea.Cmd {
	actor := m.opt.Actor
	m.showMessage("listing the tools of " + t.Target + "…")
	return m.loader.restart(subjectDialog, func(ctx context.Context) change {
		catalog, err := actor.Catalog(ctx, t.Target)
		return func(m *model) tea.Cmd {
			if m.dialog != nil || m.focus == paneFilter || m.focus == paneForm {
				return nil // the user does something different
			}
			if catalog.NeedsLogin != "" {
				return m.offerLogin(t.Target, catalog.NeedsLogin)
			}
			offer := catalog.Find(view.KindTool, t.Name)
			if err != nil {
				m.toolForm(t, arguments)
				return m.showError(err)
			}
			if offer == nil {
				m.toolForm(t, arguments)
				return m.showMessage(t.Target + " lists no tool " + t.Name)
			}
			m.statusLine.flash = ""
			m.openForm(&formRequest{target: catalog.Target, server: catalogName(&catalog), offer: *offer},
				newForm(offer.Schema, arguments))
			return nil
		}
	})
}

// member returns the member of an object with a name, or nil.
func member(object json.RawMessage, name string) json.RawMessage {
	members, _ := jsonraw.Object(object)
	return members.Value(name)
}
