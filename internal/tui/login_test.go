package tui

import (
	"strings"
	"testing"

	"mcpc/internal/live/view"
)

// loginState returns a login that waits for the browser.
func loginState() *view.Login {
	return &view.Login{
		Target: "github", URL: "http://127.0.0.1:9/authorize?x=1",
		Steps: []view.LoginStep{
			{Name: "challenge of the server", State: view.LoginDone, Note: "HTTP 401", Checks: []string{`WWW-Authenticate: Bearer scope="x"`}, Row: "42.4"},
			{Name: "resource metadata", State: view.LoginDone, Checks: []string{"pass  it is JSON"}, Requests: []view.LoginRequest{
				{Method: "GET", URL: "http://127.0.0.1:9/.well-known/a", Status: 404, Seconds: 0.001, Response: "not\x1b[31m found\u202e"},
				{Method: "GET", URL: "http://127.0.0.1:9/.well-known/b", Status: 200, Seconds: 0.012, Response: "{\n  \"resource\": \"日本語\"\n}" + strings.Repeat("\nmore", 60) + "\nthe last line"},
			}},
			{Name: "authorization server metadata", State: view.LoginSkipped, Note: "not needed"},
			{Name: "authorization", State: view.LoginNow, Note: "log in on the page that the browser shows"},
			{Name: "token"},
		},
	}
}

func TestLoginFromHomeShowsSteps(t *testing.T) {
	a := newActor()
	a.login = &view.Login{Target: "old", Done: true}
	play(t, 120, 30, nil, a, func(p *player) {
		p.keys("H", "j")
		p.shows("L log in")
		a.mu.Lock()
		a.login = loginState()
		a.login.Done = true // an earlier one
		a.mu.Unlock()
		p.keys("L")
		a.mu.Lock()
		a.login = loginState()
		a.mu.Unlock()
		p.send(secondPassed{})
		p.shows("Login at github", "page: http://127.0.0.1:9/authorize?x=1", "✓ 1 challenge of the server  HTTP 401", "– 3 authorization server metadata  not needed",
			"… 4 authorization  log in on the page", "· 5 token", "GET http://127.0.0.1:9/.well-known/a  HTTP 404", "Esc cancel the login")
		p.hides("pass  it is JSON", "日本語")
		golden(t, "login_120x30", p.screen())
		p.keys("y")
		p.shows("copied")
		p.keys("k", "k", "enter")
		p.shows("pass  it is JSON", "日本語", "not␛[31m found")
		p.keys("pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
		p.shows("the last line")
		p.keys("k", "o")
		p.shows("no such file: README.rst") // the detail of the exchange
		p.keys("L")
		p.shows("Login at github")
		p.keys("L")
		p.hides("Login at github")
		p.keys("L", "esc")
		p.shows("the login was cancelled")
		if got := a.done(); !strings.HasSuffix(got, "login github\ncancel github") {
			t.Errorf("did %q", got)
		}
	})
}

func TestFailedLoginShowsWhatHelps(t *testing.T) {
	a := newActor()
	play(t, 80, 24, nil, a, func(p *player) {
		p.keys("H", "j", "L")
		a.mu.Lock()
		a.login = loginState()
		a.login.Done, a.login.Error, a.login.Help = true, "the code\x1b[31m expired", "mcpc auth explain github"
		a.login.Steps[3].State, a.login.Steps[3].Note = view.LoginFailed, "the code expired"
		a.mu.Unlock()
		p.send(secondPassed{})
		p.shows("failed: the code", "helps: mcpc auth explain github", "✗ 4 authorization", "Esc close")
		p.keys("esc")
		p.hides("Login at github")
	})
}

func TestLoginFromTry(t *testing.T) {
	a := newActor()
	a.login = loginState()
	a.login.Done = true
	play(t, 120, 30, nil, a, func(p *player) {
		p.keys("H", "enter")
		p.shows("create_issue")
		p.keys("L")
		p.shows("Login at ")
		if got := a.done(); !strings.HasSuffix(got, "login cursor:files") {
			t.Errorf("did %q", got)
		}
	})
}

// An exchange of a server is a reason for a login only if it was refused, and after a question.
func TestLoginFromExchange(t *testing.T) {
	a := newActor()
	a.confirm = "Log in to it?"
	a.login = loginState()
	a.login.Done = true
	r := newReader()
	r.blocks[3].Row.Status = 401
	play(t, 120, 30, r, a, func(p *player) {
		p.keys("g", "L")
		p.shows("refused with HTTP 401 or 403")
		p.keys("j", "j", "j", "L")
		p.shows("Log in to it?")
		p.keys("enter")
		p.shows("nothing was sent")
		p.keys("L", "down", "enter")
		p.shows("Login at ")
		if got := a.done(); got != "login github" {
			t.Errorf("did %q", got)
		}
	})
	play(t, 120, 30, r, nil, func(p *player) {
		p.keys("L")
		p.shows("not allowed here")
	})
}

func TestTryContinuesAfterLogin(t *testing.T) {
	a := newActor()
	play(t, 120, 30, nil, a, func(p *player) {
		p.keys("H", "A").types("secure").keys("enter")
		p.shows("log in to secure?", "HTTP 401")
		p.keys("down", "enter")
		a.mu.Lock()
		a.login = &view.Login{Target: "secure", Done: true}
		a.mu.Unlock()
		p.send(secondPassed{})
		p.keys("esc")
		p.shows("Git Hub 2.1", "create_issue")
	})
}
