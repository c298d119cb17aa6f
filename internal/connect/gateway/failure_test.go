package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// A client learns why a server failed, without the secrets that the error repeats.
func TestFailuresShowNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-s3cret-s3cret"
	l := &link{Member: &Member{Name: "one"}, env: &host.Env{Shared: new(host.Shared)}}
	l.env.Secrets.Learn(secret)
	out := wire.Outcome{Kind: wire.Transport, Text: "GET http://h.example/" + secret + " failed"}
	for _, method := range []string{"tools/call", "prompts/get"} {
		m := &wire.Message{Kind: wire.Request, ID: json.RawMessage("1"), Method: method}
		got := string(l.failureResponse(mcpserver.Caller{}, m, out))
		if strings.Contains(got, secret) || !strings.Contains(got, `the server \"one\": GET http://h.example/`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// A client and the user get the first and the last lines of the stderr of a server that exited,
// without its secrets.
func TestFailuresHaveTheMainLinesOfStderr(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-s3cret-s3cret"
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = fmt.Sprintf("at %d", i)
	}
	long := "\x1b[31mError: no key " + secret + "\x1b[0m" + strings.Repeat("é", maxStderrLine)
	exited := wire.Outcome{
		Kind: wire.Transport, Text: "the server exited (exit status 1) before it answered",
		Process: &wire.ProcessFacts{HowEnded: "exit status 1", Stderr: strings.Join(lines, "\n") + "\n\n" + long + "\r\n"},
	}
	for name, out := range map[string]wire.Outcome{"exited": exited, "silent": {Text: "exited", Process: &wire.ProcessFacts{HowEnded: "x"}}, "HTTP": {Text: "HTTP 503"}} {
		var told []string
		l := &link{
			Member: &Member{Name: "one"}, env: &host.Env{Shared: new(host.Shared)},
			peer: &peer{gateway: &Gateway{Options: Options{Tell: func(text string, stderr ...string) { told = append(append(told, text), stderr...) }}}},
		}
		l.env.Secrets.Learn(secret)
		l.showExit(out)
		got := string(l.failureResponse(mcpserver.Caller{}, &wire.Message{Kind: wire.Request, ID: json.RawMessage("1"), Method: "tools/call"}, out))
		if strings.Contains(got+strings.Join(told, ""), secret) || strings.Contains(got, "stderr") != (name == "exited") {
			t.Errorf("%s: %s", name, got)
		}
		if want := map[string]int{"exited": 1 + 5 + 1 + 14, "silent": 1}[name]; len(told) != want {
			t.Errorf("%s: the user is told %q", name, told)
		}
		if name == "exited" && (!strings.Contains(got, `its stderr:\nat 0\nat 1\n`) ||
			!strings.Contains(got, `\n… 22 lines\nat 27\n`) || !strings.Contains(got, "Error: no key ") || strings.Contains(got, `\u001b`)) {
			t.Errorf("%s", got)
		}
	}
}

// The note of a server that was restarted describes its end, like the note of a failed call.
func TestRestartHasTheEndOfStderr(t *testing.T) {
	t.Parallel()
	var told []string
	l := &link{
		Member: &Member{Name: "one"}, env: &host.Env{Shared: new(host.Shared)},
		peer: &peer{gateway: &Gateway{hub: &mcpserver.Hub{}, Options: Options{Tell: func(text string, stderr ...string) { told = append(append(told, text), stderr...) }}}},
	}
	l.reportRenewal(client.Renewal{Why: "it was restarted", Process: &wire.ProcessFacts{HowEnded: "exit status 1", Stderr: "Error: no key\n"}})
	l.reportRenewal(client.Renewal{Why: "a new session was opened"})
	ended := wire.ProcessFacts{HowEnded: "exit status 2", Stderr: "Error: no disk\n"}
	l.showExit(wire.Outcome{Text: "it exited", Process: &ended})
	l.reportRenewal(client.Renewal{Why: "it was restarted", Process: &ended})
	if want := []string{"one: it was restarted", "Error: no key", "one: a new session was opened", "one: it exited", "Error: no disk", "one: it was restarted"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
