//go:build peers

package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// pageLogin returns a login in a state of its authorization.
func pageLogin(state view.LoginState) *view.Login {
	return &view.Login{
		Target: "github", URL: "http://127.0.0.1:9/authorize?x=1", Code: "ABCD-EFGH", Done: state != view.LoginNow,
		Steps: []view.LoginStep{
			{Name: "challenge of the server", State: view.LoginDone, Note: "HTTP 401", Checks: []string{`WWW-Authenticate: Bearer scope="x"`}, Row: "1.2"},
			{
				Name: "resource metadata", State: view.LoginDone, Checks: []string{"pass  it is JSON", "warning: it is odd"},
				Requests: []view.LoginRequest{
					{Method: "GET", URL: "http://127.0.0.1:9/.well-known/oauth-protected-resource/" + strings.Repeat("long", 60), Status: 404, Seconds: 0.001},
					{Method: "GET", URL: "http://127.0.0.1:9/.well-known/b", Status: 200, Seconds: 0.012, Response: `{"resource": "<img src=x onerror=alert(1)>"}`},
				},
			},
			{Name: "authorization server metadata", State: view.LoginSkipped, Note: "not needed"},
			{Name: "authorization", State: state, Note: "log in on the page that the browser shows"},
			{Name: "token"},
		},
	}
}

// TestPeerLogin holds: key L and the button of a card start a login; its dialog shows each step as it
// happens, and cancels the login when it is closed.
func TestPeerLogin(t *testing.T) {
	a := &fakeActor{powers: allPowers, servers: homeServers(), login: pageLogin(view.LoginDone)}
	p, _ := open(t, chromium.Share(t), unrecorded{newDummy()}, a)
	look := accessFaults(t, p)
	p.Await(`document.querySelectorAll('.card').length === 5`)
	p.Eval(`document.querySelectorAll('.card')[1].click()`, nil)
	p.Await(`document.querySelector('.card.on h2').textContent === 'github'`)
	a.mu.Lock()
	a.loginToStart = pageLogin(view.LoginNow)
	a.mu.Unlock()
	p.Type("L")
	p.Await(`document.querySelector('dialog[open] h2').textContent === 'Login at github'`)
	p.Await(`document.querySelector('dialog [aria-current=step]').textContent.includes('authorization')`)
	for _, want := range []string{"HTTP 401", "ABCD-EFGH", "http://127.0.0.1:9/authorize?x=1", "HTTP 404", "warning: it is odd", "onerror=alert(1)", "Exchange 1.2"} {
		p.Await(fmt.Sprintf(`document.querySelector('dialog[open]').textContent.includes(%q)`, want))
	}
	p.Await(`document.querySelectorAll('dialog img').length === 0 && document.querySelector('dialog a').href === 'http://127.0.0.1:9/authorize?x=1'`)
	look("a login that runs")
	p.SetSize(390, 800, 1)
	p.Await(settled)
	look("a login on a phone")
	p.Type(kb.Escape)
	p.Await(`!document.querySelector('dialog')`)
	eventually(t, "the login is not cancelled", func() bool { return slices.Contains(a.deeds(), `["login-cancel","github"]`) })
	a.mu.Lock()
	a.loginToStart = pageLogin(view.LoginNow)
	a.login = nil
	a.mu.Unlock()
	p.Eval(`document.querySelector('[aria-label="Log in to github"]').click()`, nil)
	p.Await(`document.querySelector('dialog[open]').textContent.includes('Cancel the login')`)
	failed := pageLogin(view.LoginFailed)
	failed.Error = "the code expired"
	failed.Help = "mcpc auth explain github"
	a.setLogin(failed)
	p.Await(`document.querySelector('dialog[open]').textContent.includes('Failed: the code expired')`)
	look("a failed login")
	p.Eval(`[...document.querySelectorAll('dialog button')].find(b => b.textContent === 'Exchange 1.2').click()`, nil)
	p.Await(`!document.querySelector('dialog') && location.hash.includes('1.2')`)
}

// A refused is a Reader whose exchanges were all refused with HTTP 401.
type refused struct{ *dummy }

func (r refused) Detail(ctx context.Context, key string) (view.Detail, error) {
	d, err := r.dummy.Detail(ctx, key)
	d.Row.Status = 401
	d.Row.Target = "http://127.0.0.1:9/mcp"
	return d, err
}

// TestPeerLoginFromExchange holds: an exchange that was refused has a login, with a question if mcpc asks
// it, and others have none.
func TestPeerLoginFromExchange(t *testing.T) {
	for name, r := range map[string]view.Reader{"refused": refused{newDummy()}, "other": newDummy()} {
		a := &fakeActor{powers: allPowers, loginToStart: pageLogin(view.LoginNow), loginQuestion: "Log in there?"}
		p, _ := open(t, chromium.Share(t), r, a)
		p.Eval(`void (location.hash = 'v=table&d=1&row=1.1')`, nil)
		p.Await(`document.querySelector('#panel')`)
		p.Await(settled)
		p.Eval(`document.activeElement.blur()`, nil)
		p.Type("L")
		if name == "other" {
			p.Await(`document.querySelector('.toast.bad').textContent.includes('was not refused')`)
			continue
		}
		p.Await(`document.querySelector('dialog[open]').textContent.includes('Log in there?')`)
		p.Eval(`document.querySelector('dialog .danger').click()`, nil)
		p.Await(`document.querySelector('dialog[open] h2').textContent === 'Login at github'`)
		want := []string{`["login","http://127.0.0.1:9/mcp",false]`, `["login","http://127.0.0.1:9/mcp",true]`}
		if got := a.deeds(); !slices.Equal(got, want) {
			t.Errorf("did %q, want %q", got, want)
		}
	}
}
