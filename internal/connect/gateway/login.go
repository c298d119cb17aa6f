package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver"
	"mcpc/internal/pause"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// LoginOptions say how the user logs in to a server that requires it.
type LoginOptions struct {
	// Wait limits how long a request waits for a login that the user can see, since the login began.
	Wait time.Duration
	// Browse opens an address in a browser, and calls failed if the browser fails later. It is nil if
	// there is no browser.
	Browse func(address string, failed func(error)) error
	// Settings are the user's settings for logins.
	Settings auth.Settings
}

// A login is an attempt to log in to a server. All peers use it: a token is for all connections.
type login struct {
	began time.Time
	// refused is the token that the server refused, or "".
	refused auth.Secret
	// shown is closed when the address is known, or the login has ended. ended is closed when the
	// login has ended.
	shown, ended chan struct{}
	markShown    func()
	cancel       context.CancelCauseFunc

	mu   sync.Mutex
	page page
	// isOpen is set if a browser or the host has the page, hasBrowser if this process opened a browser.
	isOpen, hasBrowser bool
	// err is why the login failed. It is set when ended is closed.
	err error
}

// A page is the address where the user logs in, and the code to enter there, or "".
type page struct{ address, code string }

// The causes that end a login before the authorization server does.
var (
	errDeclined = errors.New("the login was declined")
	errLoggedIn = errors.New("another process has logged in")
)

// hasEnded reports whether the login has ended.
func (a *login) hasEnded() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// markOpen records whether a browser or the host has the page.
func (a *login) markOpen(isOpen bool) {
	a.mu.Lock()
	a.isOpen = isOpen
	a.mu.Unlock()
	a.markShown()
}

// invitation returns the text that tells the user where to log in to a server, or "" if the page is
// not known yet.
func (a *login) invitation(server string) string {
	shown := a.currentPage()
	if shown.address == "" {
		return ""
	}
	text := fmt.Sprintf("log in to %s here: %s", server, shown.address)
	if shown.code != "" {
		text += " and enter the code " + shown.code
	}
	return text
}

// currentPage returns the page of the login, or the zero page if it is not known yet.
func (a *login) currentPage() page {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.page
}

// hasPage reports whether the login has had a page: another attempt will have one, too.
func (a *login) hasPage() bool { return a.currentPage().address != "" }

// runningLogin returns the login at the server that has not ended, or nil.
func (l *link) runningLogin() *login {
	g := l.peer.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.logins[l.Member]; a != nil && !a.hasEnded() {
		return a
	}
	return nil
}

// startLogin starts a login at a server that has refused the link's last request, unless a login
// would not help. It does nothing if a login is running, or if the last one failed: only a call of
// the login tool starts the next one. The link must not be dialing, except in dial itself.
func (l *link) startLogin() {
	g := l.peer.gateway
	request, refused, mayHelp := connect.LoginRequest(l.env)
	if !mayHelp || g.Login == nil {
		return
	}
	request.Settings = g.Login.Settings
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isClosed || g.logins[l.Member] != nil {
		return
	}
	ctx, cancel := context.WithCancelCause(g.ctx)
	a := &login{began: g.Now(), refused: refused, shown: make(chan struct{}), ended: make(chan struct{}), cancel: cancel}
	a.markShown = sync.OnceFunc(func() { close(a.shown) })
	g.logins[l.Member] = a
	flow := connect.NewAuthFlow(ctx, l.env, request.Endpoint)
	g.closingPeers.Go(func() {
		defer cancel(nil)
		defer flow.Net.Close()
		l.finishLogin(a, l.runLogin(ctx, a, flow, request))
	})
}

// runLogin logs in, and returns nil once a token is stored, even if another process has stored it.
func (l *link) runLogin(ctx context.Context, a *login, flow *auth.Flow, request auth.Request) error {
	store, err := l.env.Tokens()
	if err != nil {
		return err
	}
	store.Seals = store.Keyring.IsAvailable() // encrypts the new tokens
	if a.isStored(store, request) {
		return nil
	}
	go a.awaitStoredToken(ctx, store, request)
	request.Visit = func(_ context.Context, address string) {
		const noCode = ""
		l.showPage(ctx, a, store, request, page{address, noCode})
	}
	request.ShowCode = func(_ context.Context, address, code string) {
		l.showPage(ctx, a, store, request, page{address, jsonraw.Excerpt([]byte(code), host.MostSaid)})
	}
	// A code can be entered in any browser. The page of the other grant needs a browser on this machine.
	prefersCode := l.peer.gateway.Login.Browse == nil && !l.hostOpensPages()
	if prefersCode {
		request.Grant = auth.DeviceCode
	}
	_, err = flow.Login(ctx, store, request)
	if err != nil && prefersCode && !a.hasPage() { // such as a server without codes
		request.Grant = auth.AuthorizationCode
		_, err = flow.Login(ctx, store, request)
	}
	if l.peer.gateway.ctx.Err() != nil {
		a.releaseBrowser(store, request)
	}
	switch context.Cause(ctx) {
	case errLoggedIn:
		return nil
	case errDeclined:
		return errDeclined
	}
	return err
}

// storePollInterval is how often a login looks whether another process has logged in.
const storePollInterval = 200 * time.Millisecond

// isStored reports whether the store has another token than the refused one: another process has logged
// in.
func (a *login) isStored(store *auth.Store, request auth.Request) bool {
	records, err := store.Load()
	if err != nil {
		return false
	}
	t, ok := records.Token(request.Endpoint, request.Account)
	return ok && t.Access != a.refused
}

// awaitStoredToken ends the login as soon as another process has logged in.
func (a *login) awaitStoredToken(ctx context.Context, store *auth.Store, request auth.Request) {
	for pause.For(ctx, storePollInterval) == nil {
		if a.isStored(store, request) {
			a.cancel(errLoggedIn)
			return
		}
	}
}

// showPage shows the user the page of a login: the host opens it if it can, else a browser. It always
// shows the address on stderr.
func (l *link) showPage(ctx context.Context, a *login, store *auth.Store, request auth.Request, shown page) {
	a.mu.Lock()
	a.page = shown
	a.mu.Unlock()
	tell := l.peer.gateway.Tell
	tell(a.invitation(l.Name))
	for _, oddity := range question.Oddities(shown.address) {
		tell("warning: " + oddity)
	}
	if l.hostOpensPages() {
		a.markOpen(true)
		go l.askHost(ctx, a, store, request, shown)
		return
	}
	a.markOpen(l.openBrowser(ctx, a, store, request, shown))
}

// openBrowser opens the page of a login in a browser, unless any process opened one for this server in
// the last hour. It reports whether a browser has a page: another process's login is as good.
func (l *link) openBrowser(
	ctx context.Context, a *login, store *auth.Store, request auth.Request, shown page,
) bool {
	browse := l.peer.gateway.Login.Browse
	if browse == nil {
		return false
	}
	isFirst, err := store.ClaimBrowser(
		ctx, request.Endpoint, request.Account, a.refused, l.peer.gateway.Now(),
	)
	if err != nil || !isFirst {
		return err == nil
	}
	a.mu.Lock()
	a.hasBrowser = true
	a.mu.Unlock()
	tellFailure := func(err error) {
		a.markOpen(false)
		l.peer.gateway.Tell("cannot start a browser (" + err.Error() + "): open the address yourself")
	}
	if err := browse(shown.address, tellFailure); err != nil {
		tellFailure(err)
		return false
	}
	return true
}

// releaseLimit is how long the end of the program waits for the store.
const releaseLimit = time.Second

// releaseBrowser lets another process open a browser, because this one ends and its page leads nowhere.
func (a *login) releaseBrowser(store *auth.Store, request auth.Request) {
	a.mu.Lock()
	hasBrowser := a.hasBrowser
	a.mu.Unlock()
	if hasBrowser {
		ctx, stop := context.WithTimeout(context.Background(), releaseLimit)
		defer stop()
		_ = store.ReleaseBrowser(ctx, request.Endpoint, request.Account) // then the next browser opens in an hour
	}
}

// hostOpensPages reports whether the client has a session and can be asked to open a page. A
// stateless client can only be asked in the response to a call.
func (l *link) hostOpensPages() bool {
	return l.peer.session != nil && jsonraw.First(jsonraw.First(l.peer.capabilities, "elicitation"), "url") != nil
}

// askHost asks the client to open the page of a login. If the client cannot, a browser opens it. If the
// user declines, the login ends.
func (l *link) askHost(ctx context.Context, a *login, store *auth.Store, request auth.Request, shown page) {
	id := l.peer.gateway.Token()
	params := jsonraw.With(l.pageQuestion(shown), "elicitationId", jsonraw.Quote(id))
	var noCall *call
	result := l.askSession(ctx, client.InputRequest{Method: "elicitation/create", Params: params}, noCall)
	switch jsonraw.TextOrRaw(jsonraw.First(result, "action")) {
	case "accept":
		<-a.ended
		completed := jsonraw.With(nil, "elicitationId", jsonraw.Quote(id))
		l.peer.push(&wire.Message{
			Kind: wire.Notification, Method: "notifications/elicitation/complete", Params: completed,
		})
	case "decline", "cancel":
		a.cancel(errDeclined)
	default:
		a.markOpen(l.openBrowser(ctx, a, store, request, shown))
	}
}

// pageQuestion returns the parameters of an elicitation that asks the user to open the page of a
// login.
func (l *link) pageQuestion(shown page) json.RawMessage {
	message := "Log in to " + l.Name + ", so that its tools can be used."
	if shown.code != "" {
		message += " Enter the code " + shown.code + "."
	}
	var b jsonraw.Builder
	b.Text("mode", "url")
	b.Text("message", message)
	b.Text("url", shown.address)
	return b.Bytes()
}

// finishLogin ends a login. After a success it connects the links of all peers to the server first.
func (l *link) finishLogin(a *login, err error) {
	g := l.peer.gateway
	a.mu.Lock()
	a.err = err
	a.mu.Unlock()
	defer a.markShown()
	defer close(a.ended)
	if g.ctx.Err() != nil {
		return
	}
	if err != nil {
		g.showOnce(textIsKey, l.Name+": "+l.loginFailure(err))
		if auth.IsTransient(err) && !a.hasPage() { // the next connection tries again
			l.forgetLogin()
		}
		return
	}
	g.Tell(l.Name + ": logged in")
	g.mu.Lock()
	peers := g.peersLocked()
	g.mu.Unlock()
	for _, p := range peers {
		for _, other := range p.links {
			if other.Member == l.Member {
				other.useLogin()
			}
		}
	}
	l.forgetLogin()
}

// forgetLogin lets the next refused request start a login at the server.
func (l *link) forgetLogin() {
	g := l.peer.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.logins, l.Member)
}

// loginFailure returns the text for a failed login.
func (l *link) loginFailure(err error) string {
	text := jsonraw.Excerpt([]byte(l.env.Secrets.Text(err.Error())), host.MostSaid)
	if failed, ok := errors.AsType[*auth.Error](err); ok && failed.Hint != "" {
		text += " (" + l.env.UI.HintText(failed.Hint) + ")"
	}
	return "the login failed: " + text
}

// useLogin connects the link after a login. If it is connected already, it tells the client that
// lists without this server have changed.
func (l *link) useLogin() {
	l.mu.Lock()
	attempt := l.dialing
	l.mu.Unlock()
	if attempt != nil { // it may have begun before the token was stored
		<-attempt
	}
	l.mu.Lock()
	isConnected := l.conn != nil
	wasOmitted := l.wasOmitted
	if isConnected {
		l.wasOmitted = false
	}
	l.nextAttempt = time.Time{}
	l.mu.Unlock()
	if !isConnected {
		l.startDialing()
	} else if wasOmitted {
		l.pushListChange(allLists)
	}
}

// awaitLogin waits for the login at a server that refused a request with out, if the user can see its
// page. It reports whether the request can be sent again: the user has logged in, now or meanwhile. It
// waits until LoginOptions.Wait after the login began.
func (l *link) awaitLogin(ctx context.Context, out wire.Outcome) bool {
	if out.Kind != wire.Auth {
		return false
	}
	g := l.peer.gateway
	g.mu.Lock()
	a := g.logins[l.Member]
	g.mu.Unlock()
	if a == nil { // the login has ended already, or does not help
		return true
	}
	ctx, stop := context.WithTimeout(ctx, g.Login.Wait-g.Now().Sub(a.began))
	defer stop()
	select {
	case <-a.shown:
	case <-ctx.Done():
		return false
	}
	a.mu.Lock()
	isOpen := a.isOpen
	a.mu.Unlock()
	if !isOpen && !a.hasEnded() {
		return false
	}
	select {
	case <-a.ended:
		return a.err == nil
	case <-ctx.Done():
		return false
	}
}

// logInAgain starts a login at a server that refused a request of an open session, waits for it, and
// reports whether the request can be sent again.
func (l *link) logInAgain(ctx context.Context, out wire.Outcome) bool {
	if out.Kind != wire.Auth {
		return false
	}
	l.startLogin()
	return l.awaitLogin(ctx, out)
}

// standInName returns the name of the tool in place of the tools of a server that does not answer:
// NAME__login if the user can log in, else NAME__status.
func (l *link) standInName() string {
	g := l.peer.gateway
	g.mu.Lock()
	a := g.logins[l.Member]
	g.mu.Unlock()
	if a != nil && a.hasPage() {
		return l.ownToolName("login")
	}
	return l.ownToolName("status")
}

// callLogin answers a call of the login tool. It starts a login unless one is running. A stateless
// client that can open pages is asked to; others get the address in the result.
func (l *link) callLogin(ctx context.Context, c mcpserver.Caller, m *wire.Message) []byte {
	a := l.runningLogin()
	if a == nil {
		conn, out := l.retryLogin(ctx)
		if conn != nil {
			return toolResponse(c, m, "You are logged in to "+l.Name+": list the tools again.")
		}
		a = l.runningLogin()
		if a == nil {
			return l.failureResponse(c, m, out)
		}
	}
	select {
	case <-a.shown:
	case <-ctx.Done():
		return nil
	}
	if c.Stateless && c.Declares("elicitation", "url") && !a.hasEnded() {
		answer := jsonraw.First(jsonraw.First(m.Params, "inputResponses"), answerKey)
		if answer == nil {
			const noState = ""
			return l.peer.gateway.composeQuestion(m, "elicitation/create", l.pageQuestion(a.currentPage()), noState)
		}
		if jsonraw.TextOrRaw(jsonraw.First(answer, "action")) == "accept" {
			wait, stop := context.WithTimeout(ctx, l.peer.gateway.Login.Wait)
			defer stop()
			select {
			case <-a.ended:
			case <-wait.Done():
			}
		} else {
			a.cancel(errDeclined)
			<-a.ended
		}
	}
	if !a.hasEnded() {
		text := a.invitation(l.Name) + "\nThe tools of " + l.Name + " are listed after the login."
		return toolResponse(c, m, strings.ToUpper(text[:1])+text[1:])
	}
	if a.err != nil {
		return toolFailureResponse(c, m, l.loginFailure(a.err))
	}
	return toolResponse(c, m, "You are logged in to "+l.Name+": list the tools again.")
}

// retryLogin connects to the server again. If the server still requires a login, this starts one.
func (l *link) retryLogin(ctx context.Context) (*connect.Conn, wire.Outcome) {
	l.forgetLogin()
	l.mu.Lock()
	l.nextAttempt = time.Time{}
	l.mu.Unlock()
	return l.waitConnected(ctx)
}
