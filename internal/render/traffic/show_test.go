package traffic

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// A long message is shown in pieces: its memory is not allocated again.
func TestLongMessagesTakeNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	st, raw := term.Style{Terminal: true, Width: 80}, []byte(`{"a":["`+strings.Repeat(`x y \"{\\`, 1<<20)+`"]}`)
	view := View{Exchange: &wire.Exchange{Response: wire.Frame{Raw: raw}}}
	for name, shown := range map[string]func(w io.Writer) error{
		"show":   func(w io.Writer) error { return Show(w, st, view) },
		"report": func(w io.Writer) error { return WriteIssueReport(w, IssueReport{View: view}) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := shown(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(raw)) {
			t.Errorf("%s took %d bytes for %d", name, took, len(raw))
		}
	}
}

// A pipe gets the facts of an exchange in columns too, and each on one line.
func TestShownFactsStayWhole(t *testing.T) {
	command := "run" + strings.Repeat(" --answer name=Ada", 10)
	for _, c := range []struct {
		st   term.Style
		want string
	}{
		{term.Style{Width: 80}, "#1\ncommand  " + command + "\n"},
		{term.Style{Terminal: true, Width: 120}, "#1\ncommand  run" + strings.Repeat(" --answer name=Ada", 6) + "\n         " +
			strings.TrimSpace(strings.Repeat(" --answer name=Ada", 4)) + "\n"},
	} {
		var b bytes.Buffer
		if err := Show(&b, c.st, View{Title: "#1", Facts: [][]string{{"command", command}}}); err != nil || b.String() != c.want {
			t.Errorf("%v\ngot\n%s\nwant\n%s", err, b.String(), c.want)
		}
	}
}

// A client gets 404 in a session that the server does not know any more. Another 404 is about the path, the method or
// its params.
func TestShowExplainsLostSessions(t *testing.T) {
	const lost = "the server does not know the session any more; the client has to initialize again (basic/transports)"
	session := wire.Field{Name: "mcp-session-id", Value: "s-1"}
	failed := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"no"}}`, code)
	}
	for name, c := range map[string]struct {
		verb     string
		status   int
		response string
		fields   []wire.Field
		want     bool
	}{
		"-32001":            {"POST", 404, failed(-32001), []wire.Field{session}, true},
		"no body":           {"POST", 404, "", []wire.Field{session}, true},
		"a stream":          {"GET", 404, "", []wire.Field{session}, true},
		"the session's end": {"DELETE", 404, "", []wire.Field{session}, false},
		"no session":        {"POST", 404, failed(-32001), nil, false},
		"no such method":    {"POST", 404, failed(-32601), []wire.Field{session}, false},
		"no id":             {"POST", 404, strings.Replace(failed(-32601), `"id":1`, `"id":null`, 1), []wire.Field{session}, true},
		"stateless":         {"POST", 404, "", []wire.Field{session, {Name: "Mcp-Method", Value: "ping"}}, false},
		"400":               {"POST", 400, failed(-32001), []wire.Field{session}, false},
	} {
		x := &wire.Exchange{Heads: []wire.Frame{
			{Seq: 1, Dir: wire.Sent, Kind: wire.Head, HTTP: &wire.HTTPHead{Method: c.verb, URL: "http://localhost/mcp", Fields: c.fields}},
			{Seq: 3, Dir: wire.Received, Kind: wire.Head, HTTP: &wire.HTTPHead{Status: c.status}},
		}}
		if c.verb == "POST" {
			x.Request = wire.Frame{Seq: 2, Dir: wire.Sent, Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
		}
		if c.response != "" {
			x.Response = wire.Frame{Seq: 4, Dir: wire.Received, Kind: wire.Body, Raw: []byte(c.response)}
		}
		var shown, explained bytes.Buffer
		if err := Show(&shown, term.Style{Width: 200}, View{Title: "#1", Exchange: x}); err != nil {
			t.Fatal(err)
		}
		Explain(&explained, term.Style{Width: 200}, []*wire.Exchange{x})
		if got := strings.Contains(shown.String(), lost); got != c.want {
			t.Errorf("%s: show:\n%s", name, shown.String())
		}
		if got := strings.Contains(explained.String(), "does not know the session any more"); got != c.want {
			t.Errorf("%s: explain:\n%s", name, explained.String())
		}
	}
}

// A message that matches no request has no timing: nothing was sent. mcpc closes the
// stdin of a server, which then exits or is terminated.
func TestShownWithoutRequest(t *testing.T) {
	message := wire.Frame{Time: time.Unix(100, 0), Dir: wire.Received, Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":999,"result":{}}`)}
	for how, want := range map[string]string{
		"exit status 0":      "  the client closed the server's stdin; the server then exited (exit status 0)\n",
		"signal: terminated": "  the client closed the server's stdin; the server was then terminated (signal: terminated)\n",
	} {
		closed := wire.Frame{
			Time: time.Unix(101, 0), Dir: wire.Sent, Kind: wire.Closed,
			Close: &wire.CloseFacts{By: wire.Sent, How: "end", Text: "the server exited (" + how + ")"},
		}
		x := &wire.Exchange{OtherMessages: []wire.Frame{message}, NonMessages: []wire.Frame{closed}}
		var b bytes.Buffer
		if err := Show(&b, term.Style{Width: 120}, View{Title: "#1", Exchange: x}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.HasSuffix(text, want) || strings.Contains(text, "timing") {
			t.Errorf("%s:\n%s", how, text)
		}
	}
}
