package liveview

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/auth"
	"mcpc/internal/demo"
	"mcpc/internal/live/view"
	"mcpc/internal/redact"
	"mcpc/internal/target"
)

// protectedServer returns the URL of a demo server that requires a login. change, if not nil, handles a
// request in its place if it returns true.
func protectedServer(t *testing.T, change func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	handler := demo.Protect(demo.Handler(demo.Options{Now: time.Now}), time.Now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change == nil || !change(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// loginActor returns an Actor with a card "cursor:box" of a server. browser is the value of $BROWSER; a
// machine without one has no display either.
func loginActor(t *testing.T, server, browser string) *Actor {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("a browser of the system would open")
	}
	var a *Actor
	a = homeActor(t, view.Powers{Call: true}, func(context.Context, *cmdutil.Factory, *cmdutil.KnownServer) view.Health {
		if l := a.LoginState(); l != nil && l.Done {
			return view.Health{State: "after the login"}
		}
		return view.Health{State: "needs login"}
	})
	files := *a.Factory.Known
	files[0].Servers = []target.Server{{Client: files[0].Client, Name: "box", Kind: target.HTTP, URL: server}}
	a.Factory.Getenv = func(name string) string {
		if name == "BROWSER" {
			return browser
		}
		return ""
	}
	return a
}

// awaitLoginState waits until the login has a property, and returns it.
func awaitLoginState(t *testing.T, a *Actor, what string, has func(*view.Login) bool) *view.Login {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if l := a.LoginState(); l != nil && has(l) {
			return l
		}
	}
	raw, _ := json.MarshalIndent(a.LoginState(), "", " ")
	t.Fatalf("the login does not get to: %s\n%s", what, raw)
	return nil
}

func isDone(l *view.Login) bool  { return l.Done }
func hasPage(l *view.Login) bool { return l.URL != "" }

// statesOf returns the states of all steps.
func statesOf(l *view.Login) string {
	var states []string
	for _, s := range l.Steps {
		states = append(states, string(s.State))
	}
	return strings.Join(states, " ")
}

// open opens a page as a browser does.
func open(t *testing.T, address string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "Login received") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// redirectAddress returns the host and port of the redirect URI of a login's page.
func redirectAddress(t *testing.T, page string) string {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(u.Query().Get("redirect_uri"))
	if err != nil || back.Host == "" {
		t.Fatalf("%s: %v", page, err)
	}
	return back.Host
}

func TestLoginShowsEachStepWithoutSecrets(t *testing.T) {
	t.Parallel()
	server := protectedServer(t, nil)
	a := loginActor(t, server, "true")
	checkHome(t, a)
	if sent, err := a.Login("cursor:box", false); err != nil || sent.Confirm != "" {
		t.Fatalf("%+v, %v", sent, err)
	}
	waiting := awaitLoginState(t, a, "the redirect", func(l *view.Login) bool { return l.Steps[stepRedirect].State == view.LoginNow })
	if got, want := statesOf(waiting), "done done done done done now  "; got != want {
		t.Errorf("while the page is open: %q, want %q", got, want)
	}
	if _, err := a.Login("cursor:box", false); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Errorf("a second login: %v", err)
	}
	open(t, waiting.URL)
	l := awaitLoginState(t, a, "its end", isDone)
	if got, want := statesOf(l), "done done done done done done done done"; got != want || l.Error != "" {
		t.Fatalf("%s: %q, want %q", l.Error, got, want)
	}
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"HTTP 401", "WWW-Authenticate: Bearer", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/register",
		"redirect_uri http://127.0.0.1:", "resource " + server, "PKCE", "/callback?code=", `\"token_type\"`, `grant_type=authorization_code\n`, "stored, scope",
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the login does not show %q:\n%s", want, raw)
		}
	}
	if first, last := l.Steps[stepChallenge].Row, l.Steps[stepFirstRequest].Row; first == "" || last == "" || first == last {
		t.Errorf("rows %q and %q", first, last)
	}
	for _, secret := range storedSecrets(t, a) {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the login shows the secret %s", secret)
		}
	}
	awaitLoginState(t, a, "the new state of the card", func(*view.Login) bool {
		return stateOf(t, a, "cursor:box").State == "after the login"
	})
}

func TestCancelledLoginFreesItsPort(t *testing.T) {
	t.Parallel()
	a := loginActor(t, protectedServer(t, nil), "true")
	for _, end := range []func(){
		func() {
			if err := a.CancelLogin("cursor:box"); err != nil {
				t.Error(err)
			}
		},
		func() { // a closed view ends its login, and waits for its end
			a.Close(context.Background())
			if !a.LoginState().Done {
				t.Error("the login runs after the end of the view")
			}
		},
	} {
		if _, err := a.Login("cursor:box", false); err != nil {
			t.Fatal(err)
		}
		l := awaitLoginState(t, a, "the page", func(l *view.Login) bool { return !l.Done && hasPage(l) })
		address := redirectAddress(t, l.URL)
		end()
		l = awaitLoginState(t, a, "its end", isDone)
		if l.Error != "cancelled" || l.Steps[stepRedirect].State != view.LoginFailed || l.Steps[stepToken].State != "" {
			t.Errorf("%q, %s", l.Error, statesOf(l))
		}
		free, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		free.Close()
		if err := a.CancelLogin("cursor:box"); err == nil {
			t.Error("a login that has ended is cancelled")
		}
	}
}

// A browser that cannot be started leaves the page to the user.
func TestLoginWithUnusableBrowser(t *testing.T) {
	t.Parallel()
	a := loginActor(t, protectedServer(t, nil), filepath.Join(t.TempDir(), "none"))
	if _, err := a.Login("cursor:box", false); err != nil {
		t.Fatal(err)
	}
	isWarned := func(l *view.Login) bool {
		return strings.Contains(strings.Join(l.Steps[stepAuthorization].Checks, "\n"), "warning: cannot start a browser (")
	}
	open(t, awaitLoginState(t, a, "the warning", isWarned).URL)
	if l := awaitLoginState(t, a, "its end", isDone); l.Error != "" {
		t.Error(l.Error)
	}
}

func TestLoginWithoutBrowserShowsCode(t *testing.T) {
	t.Parallel()
	a := loginActor(t, protectedServer(t, nil), "")
	if _, err := a.Login("cursor:box", false); err != nil {
		t.Fatal(err)
	}
	l := awaitLoginState(t, a, "the code", func(l *view.Login) bool { return l.Code != "" })
	if l.URL == "" {
		t.Errorf("%+v", l)
	}
	l = awaitLoginState(t, a, "its end", isDone)
	if got, want := statesOf(l), "done done done done done skipped done done"; got != want || l.Error != "" {
		t.Errorf("%s: %q, want %q", l.Error, got, want)
	}
}

// A server without a device grant gets a browser, which the user starts.
func TestLoginWithoutBrowserAndCodeShowsPage(t *testing.T) {
	t.Parallel()
	server := protectedServer(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/oauth-authorization-server") {
			return false
		}
		base := "http://" + r.Host
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
			"registration_endpoint": base + "/register", "code_challenge_methods_supported": []string{"S256"},
		})
		return true
	})
	a := loginActor(t, server, "")
	if _, err := a.Login("cursor:box", false); err != nil {
		t.Fatal(err)
	}
	l := awaitLoginState(t, a, "the page", hasPage)
	if !strings.Contains(strings.Join(l.Steps[stepChallenge].Checks, "\n"), "no device_authorization_endpoint") {
		t.Errorf("%q", l.Steps[stepChallenge].Checks)
	}
	open(t, l.URL)
	if l = awaitLoginState(t, a, "its end", isDone); l.Error != "" || l.Code != "" {
		t.Errorf("%+v", l)
	}
}

// A failed step says why and what helps. What a hostile server writes is short and has no control
// characters.
func TestFailedLoginShowsReason(t *testing.T) {
	t.Parallel()
	respond := func(path, body string, status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, path) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}
			return strings.HasPrefix(r.URL.Path, path)
		}
	}
	const evil = "\x1b]0;x\x07\u202e\r\n"
	evilJSON := strings.Trim(string(jsonQuote(evil)), `"`)
	for _, c := range []struct {
		path, body   string
		status, step int
		want         string
	}{
		{"/.well-known/oauth-protected", "<html>" + evil + strings.Repeat("x", 200<<10), 404, stepResource, "cannot be read"},
		{"/.well-known/oauth-protected", strings.Repeat("x", 2<<20), 200, stepResource, "more than 1 MiB"},
		{"/.well-known/oauth-authorization", `{"issuer":"http://` + evilJSON + `"}`, 200, stepServer, "has another issuer"},
		{"/register", `{"error":"invalid_client_metadata","error_description":"` + evilJSON + strings.Repeat("y", 1000) + `"}`, 400, stepClient, "rejected the registration"},
	} {
		a := loginActor(t, protectedServer(t, respond(c.path, c.body, c.status)), "true")
		if _, err := a.Login("cursor:box", false); err != nil {
			t.Fatal(err)
		}
		l := awaitLoginState(t, a, "its end", isDone)
		step := l.Steps[c.step]
		if step.State != view.LoginFailed || !strings.Contains(l.Error, c.want) || l.Help == "" || step.Note != l.Error {
			t.Errorf("%s: %q (%q), %s", c.path, l.Error, l.Help, statesOf(l))
		}
		raw, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 100<<10 {
			t.Errorf("%s: %d bytes are shown", c.path, len(raw))
		}
		if strings.ContainsAny(fmt.Sprintf("%+v", *l), "\u202e\x1b\x07") {
			t.Errorf("%s: a control character is shown: %s", c.path, raw)
		}
	}
}

// jsonQuote returns the JSON of a text.
func jsonQuote(text string) []byte {
	raw, _ := json.Marshal(text)
	return raw
}

// A secret of a form is masked with its spaces, and one without a name also if the body is cut within it,
// or if it is learned later.
func TestLoginMasksLearnedSecrets(t *testing.T) {
	t.Parallel()
	const early, late = "verifier-0123456789", "later-0123456789"
	l := &login{g: cmdutil.New(nil, nil, nil), changed: func() {}}
	l.shown.Steps = make([]view.LoginStep, loginStepCount)
	l.g.Secrets.Learn(early)
	l.addStep(auth.Step{
		Method: "GET", URL: "http://h/" + late, Text: late, Sent: []byte("password=one%20two-words&x=" + late),
		Received: []byte(strings.Repeat("x", maxLoginBody-9) + early),
	})
	l.g.Secrets.Learn(late)
	raw, err := json.Marshal(l.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"two-words", early[:9], late} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the secret %s is shown: %s", secret, raw)
		}
	}
}

func TestLoginNeedsPowerAndConsent(t *testing.T) {
	t.Parallel()
	server := protectedServer(t, nil)
	a := loginActor(t, server, "true")
	for target, want := range map[string]string{
		"demo":  "only HTTP servers have a login",
		"ls -l": "starts no recorded command",
		"http://h/?token=" + redact.Redacted("hunter2"): "has a secret",
	} {
		sent, err := a.Login(target, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", target, sent, err)
		}
	}
	if a.LoginState() != nil {
		t.Error("a login was started")
	}
	sent, err := a.Login(server, false) // an address, as of a recorded exchange
	if err != nil || !strings.Contains(sent.Confirm, server) || a.LoginState() != nil {
		t.Errorf("%+v, %v", sent, err)
	}
	if sent, err = a.Login(server, true); err != nil || sent.Confirm != "" {
		t.Errorf("%+v, %v", sent, err)
	}
	open(t, awaitLoginState(t, a, "the page", hasPage).URL)
	if l := awaitLoginState(t, a, "its end", isDone); l.Error != "" {
		t.Error(l.Error)
	}
	a.ActorOptions.Powers.Call = false
	if _, err := a.Login("cursor:box", false); err == nil || !strings.Contains(err.Error(), "--allow=call") {
		t.Errorf("without the power: %v", err)
	}
}

// checkHome asks the servers of Home, and waits for their results.
func checkHome(t *testing.T, a *Actor) {
	t.Helper()
	if err := a.CheckServers(); err != nil {
		t.Fatal(err)
	}
	a.awaitChecks()
}

// storedSecrets returns the tokens that the login stored.
func storedSecrets(t *testing.T, a *Actor) []string {
	t.Helper()
	store, err := a.Factory.Env.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	records, err := store.Load()
	if err != nil || len(records.Tokens) != 1 {
		t.Fatalf("%d tokens: %v", len(records.Tokens), err)
	}
	var all []string
	for _, stored := range []auth.Secret{records.Tokens[0].Access, records.Tokens[0].Refresh} {
		text, err := store.Open(stored)
		if err != nil || text == "" {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, text)
	}
	return all
}
