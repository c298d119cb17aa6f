//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpc/internal/demo"
	"mcpc/internal/shellwords"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/tests/terminal"
)

// Logging in as a person at a terminal meets it.

func newProtectedDemo(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(demo.Protect(demo.Handler(demo.Options{}), time.Now))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// A 401 in the middle of a command offers to log in, and so does a 403 that asks for
// more; then the command goes on.
//
// authorization 1, 3, 73
func TestTerminalOffersToLogIn(t *testing.T) {
	t.Parallel()
	url := newProtectedDemo(t)
	tm := terminal.Start(t, 80, []string{"BROWSER=visit"}, "mcpc", "-s", url, "call", "echo", `{"message":"x"}`)
	tm.Await(`requires authentication\.\r\nLog in now\? \[y\]es, \[n\]o> $`)
	tm.Type("y\n")
	tm.Await(`requires more scopes: mcp:call\.\r\nLog in now\? \[y\]es, \[n\]o> $`)
	tm.Type("y\n")
	if out := tm.Ends("0"); !strings.Contains(out, "Echo: x") || strings.Contains(out, "demo-access") {
		t.Errorf("%q", out)
	}
}

// The grant of the stored token is used again when a call needs more scopes.
func TestTerminalOffersTheDeviceGrantAgain(t *testing.T) {
	t.Parallel()
	url, state := newProtectedDemo(t), "MCPC_STATE="+t.TempDir()
	terminal.Start(t, 80, []string{state}, "mcpc", "login", url, "--grant", "device").Ends("0")
	tm := terminal.Start(t, 80, []string{state}, "mcpc", "-s", url, "call", "get-sum", "a=1", "b=2")
	tm.Await(`requires more scopes: mcp:call\.\r\nLog in now\? \[y\]es, \[n\]o> $`)
	tm.Type("y\n")
	if out := tm.Ends("0"); !strings.Contains(out, "DEMO-CODE") || !strings.Contains(out, "sum of 1 and 2 is 3") {
		t.Errorf("%q", out)
	}
}

func TestTerminalLoginIsDeclined(t *testing.T) {
	t.Parallel()
	url := newProtectedDemo(t)
	for answer, ending := range map[string]string{"n\n": "4", "\x04": "4", "\x03": "SIGINT"} {
		tm := terminal.Start(t, 80, []string{"BROWSER=visit"}, "mcpc", "-s", url, "list")
		tm.Await(`Log in now\? \[y\]es, \[n\]o> $`)
		tm.Type(answer)
		if out := tm.Ends(ending); strings.Contains(out, " mcpc login "+url+"\r\n") != (ending == "4") {
			t.Errorf("%q: %q", answer, out)
		}
	}
}

func TestTerminalNoAuthPromptSkipsLogin(t *testing.T) {
	t.Parallel()
	url := newProtectedDemo(t)
	terminal.Start(t, 80, nil, "mcpc", "-s", url, "list", "--no-auth-prompt").Ends("4")
	terminal.Start(t, 80, []string{"CI=1"}, "mcpc", "-s", url, "list").Ends("4")
}

// Without a browser the address is shown, and the one that a browser elsewhere ends
// at is pasted, again where that went wrong; the server is on a machine where it leads
// nowhere.
func TestTerminalLoginByPasting(t *testing.T) {
	t.Parallel()
	url := newProtectedDemo(t)
	opened := filepath.Join(t.TempDir(), "opened")
	tm := terminal.Start(t, 80, []string{"BROWSER=" + program.InPath(t, "#!/bin/sh\ntouch "+shellwords.Quote(opened)+"\n")}, "mcpc", "login", url, "--no-browser")
	tm.Await(`then paste the URL`)
	shown := regexp.MustCompile(`(?s)log in here, in any browser:\s+(http.*?)\r\nmcpc: note`).FindStringSubmatch(terminal.Colors.ReplaceAllString(tm.Output(), ""))
	if shown == nil {
		t.Fatalf("no address: %q", tm.Output())
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(shown[1])
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back := resp.Header.Get("Location")
	tm.Type(back[1:] + "\n")
	tm.Await(`(?s)this is not the redirect URI.*paste it again; Ctrl-C cancels:\r\n`)
	tm.Type(strings.Replace(back, "state=", "state=x", 1) + "\n")
	tm.Await(`(?s)this URL belongs to another login.*paste it again; Ctrl-C cancels:\r\n`)
	tm.Type(" " + back + "\n")
	if out := tm.Ends("0"); !strings.Contains(out, "mcp:read") {
		t.Errorf("%q", out)
	}
	if _, err := os.Stat(opened); err == nil {
		t.Error("a browser was started")
	}
}

// Of several authorization servers a person picks one, once.
func TestTerminalPicksAnIssuer(t *testing.T) {
	t.Parallel()
	p := servers.NewLogin(servers.NewLog(filepath.Join(t.TempDir(), "log")), nil)
	t.Cleanup(func() { _ = p.Close() })
	if err := p.Fail("several"); err != nil {
		t.Fatal(err)
	}
	state := "MCPC_STATE=" + t.TempDir()
	env := []string{"BROWSER=visit", state}
	tm := terminal.Start(t, 80, env, "mcpc", "login", p.URL())
	tm.Await(`has several authorization servers:\r\n +1  http://127\.0\.0\.1:1\r\n +2  http://127.*\r\nWhich one\?> $`)
	tm.Type("3\n")
	tm.Await(`type a number from 1 to 2\r\nWhich one\?> $`)
	tm.Type("2\n")
	tm.Ends("0")
	terminal.Start(t, 80, env, "mcpc", "logout", p.URL()).Ends("0")
	if out := terminal.Start(t, 80, env, "mcpc", "login", p.URL()).Ends("0"); strings.Contains(out, "Which one?") {
		t.Errorf("asked again: %q", out)
	}
	tm = terminal.Start(t, 80, []string{"BROWSER=visit"}, "mcpc", "login", p.URL())
	tm.Await(`Which one\?> $`)
	tm.Type("\x04")
	if out := tm.Ends("4"); !strings.Contains(out, "use mcpc login --issuer URL") {
		t.Errorf("%q", out)
	}
}
