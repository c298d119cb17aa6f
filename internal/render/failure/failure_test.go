package failure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/wire"
)

func rpcMessage(code int64, message, data string) *wire.Message {
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":%s`, code, jsonraw.Quote(message))
	if data != "" {
		raw += `,"data":` + data
	}
	return wire.ParseMessage([]byte(raw + "}}"))
}

const everythingURL = "http://localhost:3001/mcp"

// call is an outcome of `mcpc call get-sum`.
func callOutcome(kind wire.Kind, more func(*wire.Outcome)) wire.Outcome {
	o := wire.Outcome{Kind: kind, Method: "tools/call", Name: "get-sum", ServerName: everythingURL, Reached: wire.Answered}
	if more != nil {
		more(&o)
	}
	return o
}

var failures = []struct {
	name string
	o    wire.Outcome
}{
	{"tool_error", callOutcome(wire.ToolError, func(o *wire.Outcome) {
		o.Text = "the tool ran and reported a failure"
	})},
	{"rpc_error: a code of the specification", callOutcome(wire.RPCFailed, func(o *wire.Outcome) {
		o.Message = rpcMessage(-32602, "Tool get-sum not found", `{"tool": "get-sum"}`)
		o.Text = o.Message.Error.Message
	})},
	{"rpc_error: the server's own result is invalid", callOutcome(wire.RPCFailed, func(o *wire.Outcome) {
		o.Message = rpcMessage(-32602, "MCP error -32602: Invalid tools/call result: [\n  {\n    \"path\": [\n      \"text\"\n"+
			"    ],\n    \"message\": \"expected string, received number\"\n  }\n]", "")
	})},
	{"rpc_error: no method, with its HTTP status", wire.Outcome{
		Kind: wire.RPCFailed, Method: "tools/cull",
		ServerName: everythingURL, Reached: wire.Answered, Message: rpcMessage(-32601, "Method not found", ""),
		HTTP: &wire.HTTPFacts{Status: 404, URL: everythingURL, ContentType: "application/json"},
	}},
	{"rpc_error: nothing in common", callOutcome(wire.RPCFailed, func(o *wire.Outcome) {
		o.Message = rpcMessage(-32022, "Unsupported protocol version", `{"supported":["2099-01-01"],"requested":"2026-07-28"}`)
		o.Text = "mcpc speaks 2026-07-28 and older, the server only 2099-01-01"
	})},
	{"rpc_error: a code without a meaning", callOutcome(wire.RPCFailed, func(o *wire.Outcome) {
		o.Message = rpcMessage(-32000, "Bad Request: Server not initialized", "")
	})},
	{"rpc_error: code 0", callOutcome(wire.RPCFailed, func(o *wire.Outcome) { o.Message = rpcMessage(0, "", "") })},
	{"rpc_error without an error object", wire.Outcome{
		Kind: wire.RPCFailed, Method: "initialize", ServerName: "demo",
		Text: "the server wants revision 2099-01-01, which mcpc does not speak", Reached: wire.Answered,
	}},
	{"invalid_arguments", callOutcome(wire.InvalidArguments, func(o *wire.Outcome) {
		o.Reached, o.Phase = wire.Unsent, "arguments"
		o.Findings = []wire.Finding{
			{Rule: "type", Severity: wire.Error, Pointer: "/a", Text: "must be number, got string", Want: "number", Got: "string"},
			{Rule: "enum", Severity: wire.Error, Pointer: "/op", Text: "is none of the values allowed", Want: `"add", "mul"`, Got: `"ad"`},
			{Rule: "required", Severity: wire.Error, Text: "/b is required"},
			{Rule: "pattern", Severity: wire.Warning, Pointer: "/id", Text: "the pattern could not be checked"},
		}
	})},
	{"invalid_arguments: no such tool", callOutcome(wire.InvalidArguments, func(o *wire.Outcome) {
		o.Reached, o.Text, o.Hint = wire.Unsent, `the server has no tool "get-sun"`, "mcpc call get-sum, if that is the one you mean"
	})},
	{"output_invalid", callOutcome(wire.OutputInvalid, func(o *wire.Outcome) {
		o.Findings = []wire.Finding{{Rule: "type", Severity: wire.Error, Pointer: "/sum", Text: "must be number, got string"}}
	})},
	{"transport: refused", callOutcome(wire.Transport, func(o *wire.Outcome) {
		o.Text, o.Phase, o.Reached, o.Retryable = "connection refused by localhost:3001", "connect", wire.Unsent, true
		o.Hint = "check that the server is running, or use another URL with -s"
	})},
	{"transport: a page in place of an endpoint", callOutcome(wire.Transport, func(o *wire.Outcome) {
		o.Text = "the server returned HTTP 404 Not Found: no MCP endpoint here"
		o.HTTP = &wire.HTTPFacts{
			Status: 404, URL: everythingURL, ContentType: "text/html",
			Body: []byte("<!doctype html>\n<html><head><Title> Not here </title></head>\n<body>Cannot POST /</body></html>\n"),
		}
	})},
	{"transport: redirect", callOutcome(wire.Transport, func(o *wire.Outcome) {
		o.HTTP = &wire.HTTPFacts{
			Status: 307, URL: everythingURL,
			Fields: []wire.Field{{Name: "Location", Value: "https://example.com/mcp?token=secret"}},
		}
	})},
	{"transport: cut", callOutcome(wire.Transport, func(o *wire.Outcome) {
		o.Text, o.Phase, o.Reached = "the response was cut off after 211 bytes", "read", wire.Unknown
		o.Took = 1234 * time.Millisecond
	})},
	{"transport: process", wire.Outcome{
		Kind: wire.Transport, Method: "initialize", ServerName: "node server.js",
		Text: "the server exited before it answered", Phase: "initialize", Reached: wire.Unknown,
		Process: &wire.ProcessFacts{HowEnded: "exit status 1", Stderr: "node:internal/modules\n  throw err;\nError: Cannot find module 'x'\n"},
	}},
	{"bad_response: cut JSON", callOutcome(wire.BadResponse, func(o *wire.Outcome) {
		o.Text = "the answer is no message"
		o.Message = wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"grüße"},}]}}`))
		o.HTTP = &wire.HTTPFacts{Status: 200, URL: everythingURL, ContentType: "application/json"}
	})},
	{"bad_response: JSON and no message", callOutcome(wire.BadResponse, func(o *wire.Outcome) {
		o.Message = wire.ParseMessage([]byte(`{"result":{}}`))
	})},
	{"bad_response: a page", callOutcome(wire.BadResponse, func(o *wire.Outcome) {
		o.Text = "expected application/json or text/event-stream, got text/html"
		o.Message = wire.ParseMessage([]byte("<html><title>Hotel WLAN: sign in</title></html>"))
		o.HTTP = &wire.HTTPFacts{Status: 200, URL: everythingURL, ContentType: "text/html; charset=utf-8"}
	})},
	{"timeout: waiting", callOutcome(wire.Timeout, func(o *wire.Outcome) {
		o.Text, o.Phase, o.Reached, o.Took = "no response within 60 s", "wait", wire.Unknown, 60*time.Second
	})},
	{"timeout: connecting", callOutcome(wire.Timeout, func(o *wire.Outcome) {
		o.Text, o.Phase, o.Reached, o.Retryable = "no connection to 10.0.0.1:80 in time", "connect", wire.Unsent, true
	})},
	{"auth", callOutcome(wire.Auth, func(o *wire.Outcome) {
		o.HTTP = &wire.HTTPFacts{
			Status: 401, URL: everythingURL,
			Fields: []wire.Field{{Name: "Www-Authenticate", Value: `Bearer resource_metadata="https://as.example/x"`}},
		}
	})},
	{"refused", callOutcome(wire.Refused, func(o *wire.Outcome) {
		o.Text, o.Hint, o.Reached = "get-sum declares that it destroys, and nobody confirmed", "--yes confirms", wire.Unsent
	})},
	{"input_required", callOutcome(wire.InputRequired, nil)},
	{"local_io", callOutcome(wire.LocalIO, func(o *wire.Outcome) { o.Text = "writing out.json: no space left on device" })},
	{"usage", wire.Outcome{Kind: wire.Usage, Text: "unknown flag: --tiemout", Hint: "did you mean --timeout?"}},
	{"internal", wire.Outcome{Kind: wire.Internal, Err: errors.New("nil pointer"), Reached: wire.Unknown}},
	{"hostile everywhere", wire.Outcome{
		Kind: wire.Transport, Method: rendertest.HostileText, Name: rendertest.HostileText, ServerName: rendertest.HostileText, Text: rendertest.HostileText,
		Hint: rendertest.HostileText, Phase: rendertest.HostileText, Reached: wire.Unknown,
		HTTP: &wire.HTTPFacts{
			Status: 500, ContentType: rendertest.HostileText, Body: []byte("<title>" + rendertest.HostileText + "</title>"),
			Fields: []wire.Field{{Name: rendertest.HostileText, Value: rendertest.HostileText}},
		},
		Findings: []wire.Finding{{Pointer: rendertest.HostileText, Text: rendertest.HostileText, Want: rendertest.HostileText + "w", Got: rendertest.HostileText + "g"}},
		Process:  &wire.ProcessFacts{HowEnded: rendertest.HostileText, Stderr: rendertest.HostileText},
	}},
	{"hostile error", callOutcome(wire.RPCFailed, func(o *wire.Outcome) {
		o.Name = "x; rm -rf ~ $(id)"
		o.Message = rpcMessage(-32602, rendertest.HostileText, string(jsonraw.Quote(rendertest.HostileText)))
	})},
	{"hostile bytes", callOutcome(wire.BadResponse, func(o *wire.Outcome) {
		o.Message = wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":7,"result":` + rendertest.HostileText + "\xff}"))
	})},
}

func TestFailure(t *testing.T) {
	for name, st := range map[string]term.Style{
		"failure_people.txt": {Width: 80},
		"failure_ascii.txt":  {Width: 80, ASCII: true},
		"failure_color.txt":  {Width: 80, Terminal: true, Color: true},
	} {
		var all bytes.Buffer
		for _, f := range failures {
			var b bytes.Buffer
			Write(&b, st, f.o)
			if !st.Color {
				rendertest.AssertVisible(t, b.String())
			}
			if !strings.Contains(strings.SplitN(b.String(), "\n", 2)[0], "mcpc:") {
				t.Errorf("%s: the first line does not begin with mcpc:\n%s", f.name, b.String())
			}
			fmt.Fprintf(&all, "# %s\n%s\n", f.name, b.String())
		}
		rendertest.Golden(t, name, all.Bytes())
	}
}

func TestEveryKindHasAChannelAndAHintOrNone(t *testing.T) {
	for _, e := range wire.ExitCodes {
		var b bytes.Buffer
		Write(&b, term.Style{}, wire.Outcome{Kind: e.Kind})
		if e.Kind == wire.OK {
			if b.Len() > 0 {
				t.Errorf("the good answer is no failure: %s", b.String())
			}
			continue
		}
		first, _, _ := strings.Cut(b.String(), "\n")
		if len(first) < len("mcpc: interrupted") || strings.HasSuffix(first, ": ") || strings.HasSuffix(first, ".") {
			t.Errorf("%s: %q", e.Kind, first)
		}
	}
}

func TestErrorJSON(t *testing.T) {
	var all bytes.Buffer
	for _, f := range failures {
		raw := errorDocument(term.Style{}, f.o)
		if !json.Valid(raw) || bytes.ContainsAny(raw, "\n\r\x1b") {
			t.Errorf("%s: not one line of JSON: %q", f.name, raw)
		}
		var got struct {
			Error struct {
				Kind string
				Exit int
				Sent bool
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if e := got.Error; e.Kind != string(f.o.Kind) || e.Exit != f.o.Kind.ExitCode() || e.Sent != (f.o.Reached != wire.Unsent) {
			t.Errorf("%s: %+v", f.name, e)
		}
		fmt.Fprintf(&all, "# %s\n%s\n", f.name, term.EscapeHidden(raw))
	}
	rendertest.Golden(t, "failure_json.txt", all.Bytes())
}

func TestErrorJSONKeepsDataBytes(t *testing.T) {
	const data = `{"b":1.10,"a":9007199254740993,"a":"<&>é\u0007"}`
	raw := errorDocument(term.Style{}, wire.Outcome{Kind: wire.RPCFailed, Message: rpcMessage(-32603, "x", data)})
	if !bytes.Contains(raw, []byte(`"data":`+data+`}`)) {
		t.Errorf("the bytes of data were changed: %s", raw)
	}
}

func TestFailureJSONOnATerminalHidesNothing(t *testing.T) {
	o := wire.Outcome{Kind: wire.RPCFailed, Message: rpcMessage(-1, rendertest.HostileText, string(jsonraw.Quote(rendertest.HostileText)))}
	var pipe, terminal bytes.Buffer
	WriteJSON(&pipe, term.Style{}, o)
	WriteJSON(&terminal, term.Style{Terminal: true, Width: 80}, o)
	rendertest.AssertVisible(t, terminal.String())
	var a, b any
	if json.Unmarshal(pipe.Bytes(), &a) != nil || json.Unmarshal(terminal.Bytes(), &b) != nil {
		t.Fatal("not JSON")
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("the value changed:\n%v\n%v", a, b)
	}
	if strings.Count(pipe.String(), "\n") != 1 {
		t.Errorf("not one line: %q", pipe.String())
	}
}

func TestFindingsAreCounted(t *testing.T) {
	findings := make([]wire.Finding, 27)
	for i := range findings {
		findings[i] = wire.Finding{Severity: wire.Error, Pointer: fmt.Sprintf("/%d", i), Text: "is too much"}
	}
	r := &writer{st: term.Style{ASCII: true}}
	r.writeFindings(findings)
	lines := strings.Split(strings.TrimRight(r.b.String(), "\n"), "\n")
	if len(lines) != 21 || lines[0] != "  /0 is too much" || lines[20] != "  ... and 7 more" {
		t.Errorf("%q", lines)
	}
}

func TestWarnAndNote(t *testing.T) {
	var b bytes.Buffer
	Warn(&b, term.Style{}, "line 3 of standard output is no message: "+rendertest.HostileText)
	Note(&b, term.Style{}, "the session had ended; a new one is open")
	rendertest.AssertVisible(t, b.String())
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "mcpc: warning: line 3") ||
		lines[1] != "mcpc: note: the session had ended; a new one is open" {
		t.Errorf("%q", lines)
	}
}

func TestBodiesAndStderrAreBounded(t *testing.T) {
	o := callOutcome(wire.Transport, func(o *wire.Outcome) {
		o.HTTP = &wire.HTTPFacts{Status: 500, Body: bytes.Repeat([]byte("x"), 1<<20)}
		o.Process = &wire.ProcessFacts{Stderr: strings.Repeat("log\n", 1000) + strings.Repeat("y", 1<<20)}
	})
	var b bytes.Buffer
	Write(&b, term.Style{}, o)
	if b.Len() > 8<<10 {
		t.Errorf("%d bytes for one failure", b.Len())
	}
	if !strings.Contains(b.String(), "+1046528 bytes") || !strings.Contains(b.String(), "+1048076 bytes") {
		t.Errorf("what is left out is not counted: %s", b.String())
	}
	if n := strings.Count(b.String(), "| log"); n != 19 {
		t.Errorf("%d lines of stderr", n)
	}
}

func TestHeadlineOfTapErrorIsItsReason(t *testing.T) {
	o := wire.Outcome{Kind: wire.RPCFailed, Message: &wire.Message{Error: &wire.RPCError{
		Code: -32000, Message: "mcpc tap: the server ended: exit status 1", Data: []byte(`{"by":"mcpc"}`),
	}}}
	if got := Headline(o); got != "the server ended: exit status 1" {
		t.Errorf("got %q", got)
	}
}

func TestCodeMeaning(t *testing.T) {
	for code, want := range map[int64]string{
		-32601: "method not found", -32002: "resource not found", -32010: "does not define", -32050: "not defined",
		-32300: "not defined", -1: "server-defined", 404: "server-defined", 0: "no code 0",
	} {
		if got := CodeMeaning(code); !strings.Contains(got, want) {
			t.Errorf("%d: %q does not say %q", code, got, want)
		}
	}
}

func TestWindowIsUnderTheByte(t *testing.T) {
	for _, raw := range []string{`{"a":1,}`, `{"世界":"é",}`, "", "[", strings.Repeat("x", 300), `{"a":"` + "\xff" + `"}`} {
		for at := -1; at <= len(raw)+1; at++ {
			r := &writer{}
			r.writeSyntaxError([]byte(raw), at, at%2 == 0)
			lines := strings.Split(r.b.String(), "\n")
			if len(lines) != 3 {
				t.Fatalf("%q at %d: %q", raw, at, lines)
			}
			rendertest.AssertVisible(t, r.b.String())
		}
	}
	r := &writer{}
	r.writeSyntaxError([]byte(`{"世界":1,}`), 12, false)
	lines := strings.Split(r.b.String(), "\n")
	caret, _, _ := strings.Cut(lines[1], "^")
	if before := lines[0][:strings.LastIndex(lines[0], "}")]; term.Width(caret) != term.Width(before) {
		t.Errorf("the caret is not under the brace:\n%s", r.b.String())
	}
}

func TestExitCodes(t *testing.T) {
	var b bytes.Buffer
	WriteExitCodes(&b, term.Style{})
	rendertest.Golden(t, "failure_exit_codes.txt", b.Bytes())
	for line := range strings.SplitSeq(b.String(), "\n") {
		if term.Width(line) > 80 {
			t.Errorf("wider than 80: %q", line)
		}
	}
	for _, e := range wire.ExitCodes {
		if !strings.Contains(b.String(), string(e.Kind)) {
			t.Errorf("%s is missing", e.Kind)
		}
	}
}

// A clause about -v is left out if the flag is set, and only such a clause: the text of a server that
// looks like one stays.
func TestHintOmitsClausesAboutSetFlags(t *testing.T) {
	t.Parallel()
	rpc := func(code int) wire.Outcome {
		raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"m"}}`, code)
		return wire.Outcome{Kind: wire.RPCFailed, Method: "ping", Message: wire.ParseMessage(raw)}
	}
	alone, first := rpc(-32700), rpc(-32600)
	alone.TryRevision = "2025-06-18"
	last := wire.Outcome{Kind: wire.Auth, Method: "ping", HTTP: &wire.HTTPFacts{Status: 403}}
	const other = "if other clients work, try --protocol 2025-06-18"
	const opens = "mcpc init opens a new session"
	const check = "check the account, its scopes, and the Host and Origin fields"
	for _, c := range []struct {
		o        wire.Outcome
		level    int
		whole    string
		withFlag string
	}{
		{alone, 3, "-vvv shows the bytes that were sent; " + other, other},
		{first, 2, "-vv shows the request; " + opens, opens},
		{last, 3, check + "; -vvv shows the request", check},
		{wire.Outcome{Kind: wire.Usage, Hint: "-v shows x; -vv shows y"}, 9, "-v shows x; -vv shows y", ""},
	} {
		for level := range 5 {
			want := c.whole
			if level >= c.level {
				want = c.withFlag
			}
			if got := HintFor(term.Style{Verbose: level}, c.o).String(); got != want {
				t.Errorf("-v %d times: got %q, want %q", level, got, want)
			}
		}
	}
}

// Shells and env end with status 127 for a program that they do not find.
func TestHintForProgramThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	const name = "npx is not installed, or not on the PATH"
	for stderr, want := range map[string]string{
		"env: ‘npx’: No such file or directory\n":                   name,
		"env: can't execute 'npx': No such file or directory\n":     name,
		"sh: 1: npx: not found\n":                                   name,
		"note\n/bin/sh: npx: not found\n":                           name,
		"bash: line 1: npx: command not found\n":                    name,
		"run.sh: line 3: npx: command not found\nrun.sh: it ends\n": name,
		"zsh:1: command not found: npx\n":                           name,
		"zsh: command not found: npx\n":                             name,
		"/usr/bin/env: ‘npx’: No such file or directory\n":          name,
		"": "a program that the command starts is not installed, or not on the PATH",
	} {
		o := wire.Outcome{Kind: wire.Transport, Method: "initialize", Process: &wire.ProcessFacts{HowEnded: "exit status 127", Stderr: stderr}}
		if got := HintFor(term.Style{}, o).String(); want != "" && got != want {
			t.Errorf("%q: %q", stderr, got)
		}
		o.Process.HowEnded = "exit status 1"
		if got := HintFor(term.Style{}, o).String(); strings.Contains(got, "not installed") {
			t.Errorf("exit status 1, %q: %q", stderr, got)
		}
	}
}
