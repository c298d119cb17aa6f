package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// consents is a set of things that the user agreed to.
type consents int

const (
	toServer           consents = 1 << iota // send requests to the server
	toInvalidArguments                      // send arguments that the tool's schema does not allow
	toDestructiveCall                       // call a tool that may change something
)

// consentsFor returns the consents that the user gave for a server or a request, which key
// identifies. confirmed is set if the user just confirmed a question: then the consent that
// requestConsent asked for last is given too. It is asked for no longer in any case.
func (a *Actor) consentsFor(key string, confirmed bool) consents {
	a.mu.Lock()
	defer a.mu.Unlock()
	if confirmed {
		a.consented[key] |= a.toConfirm[key]
	}
	delete(a.toConfirm, key)
	return a.consented[key]
}

// requestConsent returns what makes the view ask a question, and remembers the consent that a
// confirmation gives.
func (a *Actor) requestConsent(key string, missing consents, question string) view.Sent {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.toConfirm[key] = missing
	return view.Sent{Confirm: question}
}

// outgoing is a request to send.
type outgoing struct {
	server     string // in the form of -s; "" is the server that the view started
	method     string
	name       string // of the tool or the prompt, for questions; "" for other requests
	consentKey string // identifies it among the requests to its server
	repeats    string // the number of the recorded request that it repeats, or ""
	// send sends the request. It returns the missing consent if the request was not sent, else 0.
	send func(ctx context.Context, c *connect.Conn, given consents) (wire.Outcome, consents)
}

// Resend sends a recorded request again, or message in its place if message is not nil. It returns a
// question if the user must agree to something first, but an edited message needs no agreement to send it to
// its server. confirmed is set if the user confirmed the question that the previous call returned.
func (a *Actor) Resend(ctx context.Context, key string, message json.RawMessage, confirmed bool) (view.Sent, error) {
	if !a.Powers().Resend {
		return view.Sent{}, view.NotAllowed{Power: "resend"}
	}
	g := a.separateInvocation()
	c, row, err := a.openRow(g, key)
	if err != nil {
		return view.Sent{}, err
	}
	defer c.Close()
	found, out := recorded.RequestIn(g, c, row, key)
	if !out.OK() {
		return view.Sent{}, userError(g, out)
	}
	call := client.Call{Method: row.Method, Params: found.Params(), Progress: true}
	if message != nil {
		call.Method, call.Params, err = parseEdited(message)
		if err != nil {
			return view.Sent{}, err
		}
	}
	// A recorded secret is only a placeholder, which no server accepts.
	if out := recorded.RejectHidden("edit it, and enter the secret again", string(call.Params)); !out.OK() {
		return view.Sent{}, userError(g, out)
	}
	r := outgoing{method: call.Method, repeats: recorded.NameOf(row), consentKey: string(call.Params)}
	r.name, _ = jsonraw.Text(jsonraw.First(call.Params, "name"))
	if g.Protocol == "" && slices.Contains(client.Revisions(), row.Revision) {
		g.Protocol = row.Revision
	}
	r.server, err = a.serverOf(g, found)
	if err != nil {
		return view.Sent{}, err
	}
	if r.server != "" && !a.allowed().Resend {
		return view.Sent{}, view.NotAllowed{Power: "resend"}
	}
	if message != nil { // the user edited it in a dialog that names the server
		a.agreeToServer(r.server)
	}
	r.send = func(ctx context.Context, c *connect.Conn, given consents) (wire.Outcome, consents) {
		out := recorded.Send(ctx, c, call, given&toDestructiveCall != 0)
		if call.Method != "tools/call" { // only calls of tools need a consent
			return out, 0
		}
		return out, missingConsent(out)
	}
	return a.sendAgain(ctx, g, r, confirmed)
}

// missingConsent returns the consent without which a tool was not called, or 0.
func missingConsent(out wire.Outcome) consents {
	if _, unconfirmed := errors.AsType[*toolcall.NotConfirmed](out.Err); unconfirmed {
		return toDestructiveCall
	}
	if out.Kind == wire.InvalidArguments {
		return toInvalidArguments
	}
	return 0
}

// parseEdited parses a message that the user edited.
func parseEdited(message json.RawMessage) (method string, params json.RawMessage, err error) {
	if bad := jsonraw.Valid(message); bad != nil {
		return "", nil, errors.New("not JSON: " + bad.Error())
	}
	m := wire.ParseMessage(message)
	if m.Method == "" || m.Kind != wire.Request {
		return "", nil, errors.New("not a request of JSON-RPC: it needs an id and a method")
	}
	return m.Method, recorded.ParamsWithoutMeta(m), nil
}

// serverOf returns the server of a recorded request in the form of -s, or "" if the view started
// the server. It returns an error for the servers of a bundle, which may come from anyone, and for
// recorded commands.
func (a *Actor) serverOf(g *cmdutil.Factory, found recorded.Request) (string, error) {
	if own := a.ownServer.Load(); own != nil && found.Row.Target == own.Where {
		return "", nil
	}
	again := "resend " + shellwords.Quote(recorded.NameOf(found.Row))
	address := found.Address()
	if found.Capture.IsBundled() || address == "" || !a.isReachable(g, address) {
		return "", errors.New(
			"a view starts no recorded command, and sends nothing from a bundle: mcpc " + again + " --to TARGET",
		)
	}
	return address, nil
}

// checkConsent returns the consents that the user gave for a request. question is not nil if the user
// must first agree to send requests to the server.
func (a *Actor) checkConsent(r outgoing, confirmed bool) (given consents, question *view.Sent) {
	if a.needsConsent(r.server) && a.consentsFor(r.server, confirmed)&toServer == 0 {
		question := "Send " + strings.TrimSpace(r.method+" "+r.name) + " to " + r.server + "?"
		if r.method == "tools/call" { // the definition of the tool is not known yet, and one question is enough
			question += " The tool may change something."
			a.requestConsent(r.key(), toDestructiveCall, "")
		}
		asked := a.requestConsent(r.server, toServer, term.Line(question))
		return 0, &asked
	}
	return a.consentsFor(r.key(), confirmed), nil
}

// key returns the key of the consents that apply to this request only.
func (r outgoing) key() string { return r.server + "\n" + r.consentKey }

// sendAgain sends a recorded request on a connection of its own, whose recording names the repeated one.
// If a consent is missing, it sends nothing, and the view.Sent has the question for the user; the view
// then repeats the action with confirmed set.
func (a *Actor) sendAgain(ctx context.Context, g *cmdutil.Factory, r outgoing, confirmed bool) (view.Sent, error) {
	ctx, release := a.contextOfView(ctx)
	defer release()
	given, question := a.checkConsent(r, confirmed)
	if question != nil {
		return *question, nil
	}
	if r.server == "" {
		out, missing := r.send(ctx, a.ownServer.Load(), given)
		return a.sentResult(a.Factory, r, out, missing)
	}
	g.Server = r.server
	g.ServerGiven = true
	g.Record.Resent = r.repeats
	c, out := connect.Dial(ctx, &g.Env, connect.Options{})
	var missing consents
	if out.OK() {
		out, missing = r.send(ctx, c, given)
	}
	out = connect.Explain(&g.Env, out)
	s, err := a.sentResult(g, r, out, missing)
	c.Close(ctx)
	if missing != 0 {
		out = wire.Outcome{} // no failure: the user may still confirm
	}
	g.Env.EndRecording(out, out.ExitCode())
	return s, err
}

// consentQuestion returns the question for the missing consent of a call with the outcome out, on one line.
func consentQuestion(g *cmdutil.Factory, out wire.Outcome) string {
	question := g.WithoutSecrets(out).Text
	if reason, ok := errors.AsType[*toolcall.NotConfirmed](out.Err); ok {
		question = g.Secrets.Text(reason.Error())
	}
	for _, f := range out.Findings {
		question += "; " + strings.TrimSpace(f.Pointer+" "+f.Text)
	}
	return term.Line(question) + ". Send it?"
}

// sentResult returns what a view shows after a request: its outcome and the key of its row, or the
// question for a missing consent. The consents of the request apply to it only, so sentResult deletes
// them once it was sent. The error is the failure of a request without a row.
func (a *Actor) sentResult(
	g *cmdutil.Factory, r outgoing, out wire.Outcome, missing consents,
) (view.Sent, error) {
	if missing != 0 {
		return a.requestConsent(r.key(), missing, consentQuestion(g, out)), nil
	}
	a.mu.Lock()
	delete(a.consented, r.key())
	a.mu.Unlock()
	method := r.method
	if !out.OK() && out.Method != "" { // a request that was sent first may have failed, such as tools/list
		method = out.Method
	}
	var row *rows.Row
	if out.OK() || out.ID != nil { // else nothing was sent, and the newest row is of an earlier request
		a.reading.Lock()
		row = g.Record.LastRow(g.RecordTo, method, out.ID)
		a.reading.Unlock()
	}
	if row == nil && out.OK() {
		return view.Sent{Channel: exchange.ChannelOK}, nil // nothing is recorded
	}
	if row == nil {
		return view.Sent{}, userError(g, out)
	}
	s := view.Sent{Channel: string(out.Kind)}
	if out.OK() {
		s.Channel = exchange.ChannelOK
	} else {
		s.Text = userError(g, out).Error()
	}
	if key := live.KeyOf(row); !a.RecordsElsewhere && key.Run > 0 {
		s.Key = key.String()
	} else if s.Text == "" { // the view does not have this row
		s.Text = "recorded as " + recorded.NameOf(row)
	}
	return s, nil
}
