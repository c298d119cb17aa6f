//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/tests/terminal"
)

// Whatever a server writes, in whatever place, is text: no terminal takes it for
// a command and the user is shown no other text than there is. In a pipe it is what
// it was, byte for byte. The script puts the same few sequences into every string
// that a server may choose.

var hostileCommands = []struct {
	ending string
	args   []string
}{
	{"0", []string{"list"}},
	{"0", []string{"list", "--long"}},
	{"0", []string{"list", "--json"}},
	{"0", []string{"list", "--wire"}},
	{"0", []string{"list", "--jq", ".tools[]"}},
	{"0", []string{"list", "--jq", ".tools[].description"}},
	{"0", []string{"describe", "evil\x1b[2J"}},
	{"0", []string{"describe", "evil\x1b[2J", "--json"}},
	{"3", []string{"call", "evil"}},
	{"3", []string{"call", "evil\x1b[2J", `{"p\u001b[6n\rEVIL":1}`}},
	{"5", []string{"call", "evil\x1b[2J"}},
	{"5", []string{"call", "evil\x1b[2J", "--json"}},
	{"5", []string{"call", "evil\x1b[2J", "--wire"}},
	{"5", []string{"call", "evil\x1b[2J", "--jq", ".content[].text"}},
	{"5", []string{"call", "evil\x1b[2J", "-vvv"}},
	{"5", []string{"call", "evil\x1b[2J", "--explain"}},
	{"6", []string{"raw", "ping"}},
	{"6", []string{"raw", "ping", "--json", "-vv"}},
	{"7", []string{"raw", "dies"}},
	{"8", []string{"raw", "broken", "-v"}},
	{"0", []string{"init", "--as", "x"}},
	{"0", []string{"init", "--as", "x", "--json"}},
	{"2", []string{"-s", "evil\x1b[2J\rEVIL", "sessions", "extra\x1b[2J\rEVIL"}},
}

func TestHostileOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range hostileCommands {
		argv := append([]string{"mcpc"}, c.args...)
		if c.args[0] != "-s" {
			argv = append(argv, "--", "spied", hostileScript(t), filepath.Join(t.TempDir(), "log"))
		}
		out := terminal.Start(t, 80, nil, argv...).Ends(c.ending)
		if bad := terminal.Forbidden(out); bad != "" {
			t.Errorf("%q lets %s through:\n%q", c.args, bad, out)
		}
	}
}

// The same by HTTP, where the server also chooses a status, a type and header
// fields.
func TestHostileHTTPOnATerminal(t *testing.T) {
	t.Parallel()
	s := servers.ForTest(t)
	for _, c := range []struct{ ending, rule string }{
		{"7", `on server/discover
    status 500 \x1b[2J
    header Content-Type: text/\x1b[2J
    text text/html <title>\x1b[2J\rEVIL\xe2\x80\xae</title>`},
		{"7", `on server/discover
    status 302
    header Location: https://\xe2\x80\xaeEVIL\x9b2J/`},
		{"4", `on server/discover
    status 401
    header WWW-Authenticate: Bearer realm="\x9b2J\xe2\x80\xae"`},
		{"7", `on server/discover
    status 503
    header Retry-After: \x9b2J\xe2\x80\xae`},
		{"8", `speaks 2025-11-25
on tools/list
    text text/\x9b2J \x1b[2J\rEVIL`},
		{"8", `speaks 2025-11-25
on tools/list
    sse
    send event: \x1b[2J\ndata: \x1b[2J\n\n
    send data: \x1b[2J\rEVIL\n\n`},
	} {
		if err := s.Play(c.rule); err != nil {
			t.Fatal(err)
		}
		for _, flags := range [][]string{nil, {"-vvv", "--json"}, {"--explain"}} {
			out := terminal.Start(t, 80, []string{"MCPC_NO_AUTH_PROMPT=1"}, append([]string{"mcpc", "list", "-s", s.URL("/mcp")}, flags...)...).Ends(c.ending)
			if bad := terminal.Forbidden(out); bad != "" {
				t.Errorf("%s\n%q lets %s through:\n%q", c.rule, flags, bad, out)
			}
		}
		s.Stop()
	}
}

func hostileScript(t *testing.T) string {
	t.Helper()
	name, err := filepath.Abs(filepath.Join("testdata", "hostile.play"))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// In a pipe the answer is the server's bytes.
func TestHostileInAPipe(t *testing.T) {
	answer := regexp.MustCompile(`(?m)^    json \{"jsonrpc":"2.0","id":\$ID,"result":(.*)\}$`).FindStringSubmatch(program.Read(t, hostileScript(t)))
	if answer == nil {
		t.Fatal("the script has no result")
	}
	cmd := exec.Command("mcpc", "call", "evil\x1b[2J", "--json", "--", "spied", hostileScript(t), filepath.Join(t.TempDir(), "log"))
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir())
	out, err := cmd.Output()
	if got := program.Ending(cmd.ProcessState); got != "5" {
		t.Fatalf("it ended with %s: %v", got, err)
	}
	if string(out) != answer[1]+"\n" {
		t.Errorf("got  %q\nwant %q", out, answer[1])
	}
}
