package liveview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/question"
	"mcpc/internal/redact"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// The steps of a login: the challenge, the phases of an auth.Flow, and a request with the new token.
const (
	stepChallenge = iota
	stepResource
	stepServer
	stepClient
	stepAuthorization
	stepRedirect
	stepToken
	stepFirstRequest
	loginStepCount
)

// loginStepNames are the names of the steps. skippedNotes say why a step was skipped.
var (
	loginStepNames = [loginStepCount]string{
		"challenge of the server", "resource metadata", "authorization server metadata", "client registration",
		"authorization", "redirect of the browser", "token", "first request with the token",
	}
	skippedNotes = [loginStepCount]string{
		stepServer: "not needed", stepClient: "not needed",
		stepAuthorization: "this grant asks no user", stepRedirect: "this grant has no redirect",
	}
)

const (
	maxLoginBody     = 16 << 10 // bytes of a body that are shown
	maxLoginRequests = 100      // per step: a device grant polls
	maxLoginChecks   = 200      // per step
)

// A login is a login that the view runs.
type login struct {
	// server is the server in the form of -s.
	server string
	// g runs the login. Its secrets are masked in what the view shows.
	g       *cmdutil.Factory
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the login has ended and its port is free
	changed func()

	// mu guards the fields below. shown.Target never changes.
	mu      sync.Mutex
	shown   view.Login // its secrets that were learned later are not masked yet
	current int        // the index of the step that runs
}

// Login starts a login at a server in the form of -s, as mcpc login does, and returns at once: the login
// runs until it ends, is cancelled, or the view is closed. The view.Sent has a question if the user did
// not choose the server: its address is of a recorded exchange.
func (a *Actor) Login(target string, confirmed bool) (view.Sent, error) {
	g := a.separateInvocation()
	server, err := a.callableServer(g, target)
	if err != nil {
		return view.Sent{}, err
	}
	if server == "" || server == connect.DemoEndpoint {
		return view.Sent{}, errors.New("only HTTP servers have a login")
	}
	isChosen := isKnownName(g, server) || a.consentsFor(server, confirmed)&toServer != 0
	if !isChosen {
		return a.requestConsent(server, toServer, "Send requests to "+term.Line(server)+" and log in there?"), nil
	}
	g.Server = server
	g.ServerGiven = true
	g.Record.Many = true // a refused request is not the outcome
	l := &login{server: server, g: g, ended: make(chan struct{}), changed: a.Changed}
	l.shown.Target = term.Line(target)
	l.shown.Steps = make([]view.LoginStep, loginStepCount)
	for i := range l.shown.Steps {
		l.shown.Steps[i].Name = loginStepNames[i]
	}
	ctx, cancel := context.WithCancel(a.ctx)
	l.cancel = cancel
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil && !a.login.hasEnded() {
		cancel()
		return view.Sent{}, errors.New("a login at " + a.login.shown.Target + " is running: cancel it first")
	}
	if ctx.Err() != nil { // the view was closed
		cancel()
		return view.Sent{}, ctx.Err()
	}
	a.login = l
	go a.runLogin(ctx, l)
	return view.Sent{}, nil
}

// LoginState returns the newest login of the view, or nil if there was none.
func (a *Actor) LoginState() *view.Login {
	if l := a.newestLogin(); l != nil {
		return l.snapshot()
	}
	return nil
}

// CancelLogin ends the running login at a target. Its port is free when LoginState says that it is done.
func (a *Actor) CancelLogin(target string) error {
	l := a.newestLogin()
	if l == nil || l.shown.Target != term.Line(target) || l.hasEnded() {
		return errors.New("no such login is running")
	}
	l.cancel()
	return nil
}

// newestLogin returns the newest login, or nil.
func (a *Actor) newestLogin() *login {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.login
}

// awaitLogin waits for the end of the login. The context of the Actor must have ended.
func (a *Actor) awaitLogin() {
	if l := a.newestLogin(); l != nil {
		<-l.ended
	}
}

// runLogin logs in, sends the first request with the token, and asks the server of a card again.
func (a *Actor) runLogin(ctx context.Context, l *login) {
	out := l.logIn(ctx, a)
	l.g.Env.EndRecording(out, out.ExitCode())
	if out.OK() {
		out = a.sendFirstRequest(ctx, l)
	}
	if ctx.Err() != nil {
		out = wire.Outcome{Kind: wire.Signal, Text: "cancelled"}
	}
	l.finish(out)
	l.cancel()
	close(l.ended)
	a.Changed()
	a.recheckServer(l.server)
}

// logIn gets a token for the server and stores it.
func (l *login) logIn(ctx context.Context, a *Actor) wire.Outcome {
	l.begin(stepChallenge)
	e := &l.g.Env
	c, out := connect.FindLoginServer(ctx, e)
	if !out.OK() {
		return out
	}
	if c.LoginEndpoint() == "" {
		return usage.Outcome(usage.New("only HTTP servers have a login", ""))
	}
	store, err := e.Tokens()
	if err != nil {
		return connect.StateFailed(err)
	}
	records, err := store.Load()
	if err != nil {
		return connect.AuthFailed(err, wire.Outcome{})
	}
	store.Seals = store.Keyring.IsAvailable()
	req, refusal, out := c.RequestLogin(ctx, records.Pending)
	l.showChallenge(req, refusal, a.lastRowKey(l.g, ""))
	if !out.OK() {
		return connect.Explain(e, out)
	}
	if err := e.RememberNetwork(req.Endpoint); err != nil {
		return usage.Outcome(err)
	}
	flow := connect.NewAuthFlow(ctx, e, req.Endpoint)
	defer flow.Net.Close()
	flow.OnPhase = func(p auth.Phase) { l.begin(stepResource + int(p)) }
	flow.OnStep = l.addStep
	browse := console.Browse
	if !console.HasBrowser(&l.g.Console) {
		browse = nil
	}
	req.Visit = func(_ context.Context, address string) { l.visit(address, browse) }
	req.ShowCode = func(_ context.Context, address, code string) {
		code = jsonraw.Excerpt([]byte(code), host.MostSaid)
		l.showPage(address, code, "open the page in any browser and enter the code "+code)
	}
	old, _ := records.Token(req.Endpoint, req.Account)
	prefersCode := browse == nil && old.Grant == "" // a code can be entered in any browser
	if prefersCode {
		req.Grant = auth.DeviceCode
	}
	t, err := flow.Login(ctx, store, req)
	if err != nil && prefersCode && !l.hasPage() { // such as a server without codes
		l.addCheck(stepChallenge, "there is no browser here, and no device code: "+err.Error())
		req.Grant = auth.AuthorizationCode
		t, err = flow.Login(ctx, store, req)
	}
	if err != nil {
		return connect.LoginFailed(err, redact.RedactURL(req.Endpoint))
	}
	l.showToken(t)
	return wire.Outcome{}
}

// sendFirstRequest lists the tools with the new token. It fails if the server does not accept the token.
func (a *Actor) sendFirstRequest(ctx context.Context, l *login) wire.Outcome {
	l.begin(stepFirstRequest)
	g := a.separateInvocation()
	g.Server = l.server
	g.ServerGiven = true
	c, out := connect.Dial(ctx, &g.Env, connect.Options{})
	row := a.lastRowKey(g, "initialize")
	if out.OK() {
		_, out = c.Listed(ctx, connect.ToolKind, nil)
		if out.Kind == wire.RPCFailed { // such as a server without tools: it accepted the token
			out = wire.Outcome{}
		}
	}
	out = connect.Explain(&g.Env, out)
	if row == "" { // a remembered session was resumed without a request
		row = a.lastRowKey(g, "tools/list")
	}
	l.setRow(stepFirstRequest, row)
	c.Close(ctx)
	g.Env.EndRecording(out, out.ExitCode())
	return out
}

// lastRowKey returns the key of the last row of an invocation for a method, or "" if the view does not
// have the row.
func (a *Actor) lastRowKey(g *cmdutil.Factory, method string) string {
	a.reading.Lock()
	defer a.reading.Unlock()
	row := g.Record.LastRow(g.RecordTo, method, nil)
	if row == nil || a.RecordsElsewhere || live.KeyOf(row).Run == 0 {
		return ""
	}
	return live.KeyOf(row).String()
}

// hasEnded reports whether the login has ended.
func (l *login) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown.Done
}

// hasPage reports whether the user was shown a page.
func (l *login) hasPage() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown.URL != ""
}

// change changes the shown login, and tells the views.
func (l *login) change(edit func(shown *view.Login)) {
	l.mu.Lock()
	edit(&l.shown)
	l.mu.Unlock()
	l.changed()
}

// begin begins a step: the current one is done, and those between were skipped. A second attempt begins
// an earlier step again.
func (l *login) begin(step int) {
	l.change(func(shown *view.Login) {
		for i := step; i <= l.current && i > stepChallenge; i++ {
			shown.Steps[i] = view.LoginStep{Name: loginStepNames[i]}
		}
		if l.current < step {
			shown.Steps[l.current].State = view.LoginDone
		}
		for i := l.current + 1; i < step; i++ {
			shown.Steps[i].State = view.LoginSkipped
			shown.Steps[i].Note = skippedNotes[i]
		}
		l.current = step
		shown.Steps[step].State = view.LoginNow
	})
}

// finish ends the login. A failed outcome is the result of the current step.
func (l *login) finish(out wire.Outcome) {
	out = l.g.WithoutSecrets(out)
	l.change(func(shown *view.Login) {
		shown.Done = true
		shown.Steps[l.current].State = view.LoginDone
		if out.OK() {
			return
		}
		shown.Error = term.Line(failure.Headline(out))
		shown.Help = term.Line(l.g.UI.HintText(out.Hint))
		shown.Steps[l.current].State = view.LoginFailed
		shown.Steps[l.current].Note = shown.Error
	})
}

// showChallenge shows the refusal that the login answers, and its row. refusal is nil if the server
// accepted a request without a token.
func (l *login) showChallenge(req auth.Request, refusal *auth.Refusal, row string) {
	l.setRow(stepChallenge, row)
	l.change(func(shown *view.Login) {
		step := &shown.Steps[stepChallenge]
		switch {
		case refusal == nil && req.Refused != "":
			step.Note = "the server answered " + l.line(req.Refused) + " and no challenge: its metadata may name a login"
		case refusal == nil:
			step.Note = "the server accepted a request without a token: its metadata may name a login"
		case len(refusal.Fields) == 0:
			step.Note = fmt.Sprintf("HTTP %d without WWW-Authenticate", refusal.Status)
		default:
			step.Note = fmt.Sprintf("HTTP %d", refusal.Status)
			for _, field := range refusal.Fields {
				step.Checks = append(step.Checks, l.line("WWW-Authenticate: "+field))
			}
		}
		if refusal != nil && row == "" {
			step.Note += ", to an earlier request"
		}
	})
}

// addStep adds a request or a check of the flow to the current step.
func (l *login) addStep(s auth.Step) {
	if s.Method == "" {
		l.mu.Lock()
		current := l.current
		l.mu.Unlock()
		l.addCheck(current, strings.TrimSpace(connect.StepLine(s)))
		return
	}
	request := view.LoginRequest{
		Method: s.Method, URL: l.line(s.URL), Status: s.Status, Seconds: s.Took.Seconds(),
		Request: l.body(s.Sent), Response: l.body(s.Received),
	}
	l.change(func(shown *view.Login) {
		step := &shown.Steps[l.current]
		step.Requests = append(step.Requests, request)
		step.Requests = step.Requests[max(0, len(step.Requests)-maxLoginRequests):]
	})
	if s.Text != "" {
		l.addStep(auth.Step{Text: s.Text})
	}
}

// addCheck adds a line to a step.
func (l *login) addCheck(step int, text string) {
	l.change(func(shown *view.Login) {
		if checks := &shown.Steps[step].Checks; len(*checks) < maxLoginChecks {
			*checks = append(*checks, l.line(text))
		}
	})
}

// setRow sets the row of a step.
func (l *login) setRow(step int, key string) {
	l.change(func(shown *view.Login) { shown.Steps[step].Row = key })
}

// visit shows the page of the login, explains its address, and opens it in a browser. browse is nil if
// there is no browser.
func (l *login) visit(address string, browse func(*console.Console, string, func(error)) error) {
	note := "open the page in a browser on this machine"
	if browse != nil {
		note = "log in on the page that the browser shows"
	}
	const noCode = ""
	l.showPage(address, noCode, note)
	for _, line := range explainAddress(address) {
		l.addCheck(stepAuthorization, line)
	}
	if browse == nil {
		return
	}
	report := func(err error) {
		l.addCheck(stepAuthorization, "warning: cannot start a browser ("+err.Error()+"): open the page yourself")
	}
	if err := browse(&l.g.Console, address, report); err != nil {
		report(err)
	}
}

// showPage shows the page where the user logs in, and warns of an address that can mislead.
func (l *login) showPage(address, code, note string) {
	l.change(func(shown *view.Login) {
		shown.URL = term.Line(address)
		shown.Code = term.Line(code)
		shown.Steps[stepAuthorization].Note = term.Line(note)
	})
	for _, oddity := range question.Oddities(address) {
		l.addCheck(stepAuthorization, "warning: "+oddity)
	}
}

// showToken shows the facts of a stored token.
func (l *login) showToken(t auth.Token) {
	note := "stored"
	if len(t.Scopes) > 0 {
		note += ", scope " + strings.Join(t.Scopes, " ")
	}
	if !t.Expires.IsZero() {
		note += ", expires in " + term.Duration(t.Expires.Sub(l.g.Now()))
	}
	if t.IsRenewable() {
		note += ", can be refreshed"
	}
	l.change(func(shown *view.Login) { shown.Steps[stepToken].Note = l.line(note) })
}

// parameterNotes explain the parameters of an authorization request, in the order in which they are
// shown.
var parameterNotes = []struct{ name, note string }{
	{"client_id", "this client, as the authorization server knows it"},
	{"scope", "what the token will allow"},
	{"resource", "the only server that the token will be for (RFC 8707)"},
	{"redirect_uri", "where the browser returns with the code; mcpc listens there during the login"},
	{"code_challenge_method", "PKCE: the code is useless without the verifier, which mcpc keeps (RFC 7636)"},
	{"state", "the redirect must repeat it"},
}

// explainAddress explains the parameters of the page of a login, each on a line.
func explainAddress(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var lines []string
	query := u.Query()
	for _, p := range parameterNotes {
		if query.Has(p.name) {
			lines = append(lines, p.name+" "+query.Get(p.name)+": "+p.note)
		}
	}
	return lines
}

// line returns a text on one line, with the known secrets masked.
func (l *login) line(text string) string {
	return term.Line(jsonraw.Excerpt([]byte(l.g.Secrets.Text(text)), maxLoginBody))
}

// body returns a body in lines to read, with its secrets masked: JSON is indented, and each field of a
// form is on a line. It cuts a long body.
func (l *login) body(raw []byte) string {
	masked, _ := l.g.Secrets.Bytes(raw)
	var indented bytes.Buffer
	text := string(masked)
	if json.Indent(&indented, masked, "", "  ") == nil {
		text = strings.TrimSpace(indented.String())
	} else if isForm(string(raw)) {
		fields := strings.Split(text, "&")
		for i, field := range fields {
			if plain, err := url.QueryUnescape(field); err == nil {
				fields[i] = plain
			}
		}
		text = strings.Join(fields, "\n")
	}
	return term.Block(jsonraw.Excerpt([]byte(text), maxLoginBody))
}

// isForm reports whether a body is a form, which has no white space.
func isForm(body string) bool {
	_, err := url.ParseQuery(body)
	return err == nil && strings.Contains(body, "=") && !strings.ContainsAny(body, " \t\r\n")
}

// snapshot returns the login as it is now, also without the secrets that were learned after a text was
// shown.
func (l *login) snapshot() *view.Login {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shown
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Checks = slices.Clone(step.Checks)
		for k, line := range step.Checks {
			step.Checks[k] = l.g.Secrets.Text(line)
		}
		step.Requests = slices.Clone(step.Requests)
		for k := range step.Requests {
			r := &step.Requests[k]
			r.URL = l.g.Secrets.Text(r.URL)
			r.Request = l.g.Secrets.Text(r.Request)
			r.Response = l.g.Secrets.Text(r.Response)
		}
	}
	return &s
}
