//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/shellwords"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// What a server asks, as a user at a terminal sees it. Where CI is set mcpc does not
// prompt, so the tests clear it.

// rules 90
func TestTerminalFormIsAnsweredAndSaved(t *testing.T) {
	t.Parallel()
	for _, revision := range client.Revisions()[:2] {
		file := filepath.Join(t.TempDir(), "tea.mcpc.yaml")
		tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "--protocol", revision, "call", "order-tea", "--save", file, "--expect-result")
		tm.Await(`mcpc demo server .* asks: \x1b\[1mWho\?`)
		tm.Await(`at least 1 character> $`)
		tm.Type("Ada\n")
		tm.Await(`\[c\]ancel> $`)
		tm.Type("send\n")
		tm.Await(`0 to 9 \[1\]> $`)
		tm.Type("2\n")
		tm.Await(`sugar  2(?s:.)*\[c\]ancel> $`)
		tm.Type("s\n")
		tm.Await(`\[mint\]> $`)
		tm.Type("1\n")
		tm.Await(`tea  "green"(?s:.)*\[c\]ancel> $`)
		tm.Type("s\n")
		if out := tm.Ends("0"); !strings.Contains(out, "Tea for Ada: green, sugar 2.") {
			t.Errorf("%s: %q", revision, out)
		}
		terminal.Start(t, 80, nil, "mcpc", "run", file).Ends("0") // what was typed is saved
	}
}

// Ctrl-D is a cancel, and the call goes on.
func TestTerminalAskedAndCancelled(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 300, nil, "mcpc", "-s", "demo", "call", "trigger-elicitation-request", "--save", "x.mcpc.yaml")
	tm.Await(`> $`)
	tm.Type("\x04")
	out := tm.Ends("0")
	for _, want := range []string{"cancelled the elicitation", "the file does not contain your answers"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q", out)
		}
	}
}

// Where a server fails because of a person's no, that comes before what the server makes
// of it.
func TestTerminalRefusalComesBeforeServerError(t *testing.T) {
	t.Parallel()
	const question = `"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}`
	modern, log := playFile(t, `tool x

on tools/call #1
    result {"resultType":"input_required","inputRequests":{"q":{`+question+`}}}

on tools/call
    error -32603 Internal error
`)
	page, _ := playFile(t, `speaks `+client.Revisions()[1]+`
tool x

on tools/call
    error -32042 Internal error | {"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com/","message":"?"}]}
`)
	legacy, _ := playFile(t, strings.ReplaceAll(`say() { read -r line; echo "{\"jsonrpc\":\"2.0\",$1}"; }
say '"id":1,"result":{"protocolVersion":"REVISION","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
read -r line
say '"id":2,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}'
say '"id":"q",`+question+`'
say '"id":3,"error":{"code":-32603,"message":"Internal error"}'
cat
`, "REVISION", client.Revisions()[1]))
	for _, c := range []struct{ typed, want, noted, program, script string }{
		{"\x04", "you cancelled the form", "-32603", "spied", modern},
		{"/decline\n", "you declined the form", "-32603", "spied", modern},
		{"\x04", "you cancelled the form", "-32603", "bash", legacy},
		{"\x04", "you cancelled the page", "", "spied", page},
	} {
		argv := []string{"mcpc", "call", "x", "--protocol", client.Revisions()[1], "--", c.program, c.script, log}
		if c.script == modern {
			argv[4] = client.Revisions()[0]
		}
		tm := terminal.Start(t, 300, nil, argv...)
		tm.Await(`> $`)
		tm.Type(c.typed)
		out := tm.Ends("11")
		said, noted := strings.Index(out, "input required: "+c.want), strings.Index(out, `the server then returned the error -32603 "Internal error"`)
		if said < 0 || c.noted != "" && noted < said {
			t.Errorf("%v: %q", c, out)
		}
	}
}

// Some servers list more tools to a client that declares elicitation, as mcpc does at a
// terminal. A list says so once both numbers are known, and only where a person reads it.
func TestTerminalListMentionsToolsForElicitation(t *testing.T) {
	t.Parallel()
	revision := client.Revisions()[1]
	server, _ := playFile(t, strings.ReplaceAll(`while read -r line; do
	id=${line#*'"id":'} id=${id%%,*}
	case $line in
	*'"method":"initialize"'*)
		case $line in *'"elicitation":{'*) more=',{"name":"y","inputSchema":{"type":"object"}}';; esac
		result='"protocolVersion":"REVISION","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}' ;;
	*'"method":"tools/list"'*) result='"tools":[{"name":"x","inputSchema":{"type":"object"}}'$more']' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'$id',"result":{'$result'}}'
done
`, "REVISION", revision))
	state := t.TempDir()
	with := func(session string) {
		list := func(more ...string) []string {
			argv := append([]string{"sh", "-c", `cd "$0" && exec mcpc "$@"`, state, "--state", state, "list"}, more...)
			if session != "" {
				return append(argv, "-s", session)
			}
			return append(argv, "--protocol", revision, "--", "bash", server)
		}
		piped := func(more ...string) string {
			argv := list(more...)
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = program.CleanEnv()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%q: %v\n%s", argv, err, out)
			}
			return string(out)
		}
		const says = "elicitation, which mcpc declares at a terminal, the server listed"
		if out := piped(); out != "x\t\t\t\n" {
			t.Errorf("%q", out)
		}
		if out := terminal.Start(t, 200, nil, list()...).Ends("0"); !strings.Contains(out, " without "+says+" 1 tool (just now)") {
			t.Errorf("%q", out)
		}
		for range 2 {
			if out := piped(); out != "x\t\t\t\nmcpc: note: with "+says+" 2 tools (just now)\n" {
				t.Errorf("%q", out)
			}
		}
		for _, quiet := range []string{"--json", "--jq=.tools[].name", "--answer-defaults", "--sampling=" + server} {
			if out := piped(quiet); strings.Contains(out, says) {
				t.Errorf("%s: %q", quiet, out)
			}
		}
	}
	with("")
	init := exec.Command("mcpc", "--state", state, "init", "--as", "kept", "--protocol", revision, "--", "bash", server)
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	with("kept")
}

// Ctrl-C at a question ends the command, the first time that it is pressed, whatever the
// server asks besides and however it asks.
func TestTerminalCtrlCAtAQuestion(t *testing.T) {
	t.Parallel()
	const form = `"method":"elicitation/create","params":{"mode":"form","message":"Q%[1]d?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`
	requests, events := "", ""
	for i := range 3 {
		requests += fmt.Sprintf(`,"k%[1]d":{`+form+`}`, i)
		events += fmt.Sprintf(`    event {"jsonrpc":"2.0","id":"q%[1]d",`+form+"}\n", i)
	}
	for revision, play := range map[string]string{
		client.Revisions()[0]: `    result {"resultType":"input_required","inputRequests":{` + requests[1:] + "}}\n",
		client.Revisions()[1]: events + "    wait 1ms\n",
	} {
		script, log := playFile(t, "speaks "+revision+"\ntool x\n\non tools/call\n"+play)
		tm := terminal.Start(t, 80, nil, "mcpc", "call", "x", "--", "spied", script, log)
		tm.Await(`\n\S*a\S*\r\n> $`)
		tm.Type("\x03")
		if out := tm.Ends("SIGINT"); strings.Count(out, "asks:") != 1 {
			t.Errorf("%s: %q", revision, out)
		}
	}
	for _, words := range [][]string{
		{"trigger-url-elicitation"},
		{"trigger-sampling-request", `{"prompt":"Say hi"}`, "--sampling", "-"},
		{"get-sum", "a=1"},
		{"trigger-elicitation-request"},
	} {
		tm := terminal.Start(t, 80, nil, append([]string{"mcpc", "-s", "demo", "call"}, words...)...)
		tm.Await(`> $`)
		tm.Type("\x03")
		if out := tm.Ends("SIGINT"); strings.Contains(out, "hint:") {
			t.Errorf("%q: %q", words, out)
		}
	}
}

// A page is shown whole and opened after a yes by the program that is asked for,
// with the address as one argument; before that no program gets it.
//
// rules 93, 94, 95, 96, 97, 225
func TestTerminalPageIsOpenedAfterYes(t *testing.T) {
	t.Parallel()
	opened := filepath.Join(t.TempDir(), "opened")
	browser := program.InPath(t, "#!/bin/sh\nprintf '%s|' \"$#\" \"$@\" >"+shellwords.Quote(opened)+"\n")
	if err := os.WriteFile(opened, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	call := []string{"mcpc", "-s", "demo", "call", "trigger-url-elicitation", `{"url":"http://safe.example.co.uk@evil.example.co.uk/$(id)?a=b&c"}`}
	tm := terminal.Start(t, 80, []string{"BROWSER=" + browser}, call...)
	tm.Await(`http://safe\.example\.co\.uk@evil\.example\.co\.uk/\$\(id\)\?a=b&c\r\n  domain: example\.co\.uk\r\n`)
	tm.Await(`warning:\S* the part before the @(?s:.)*not encrypted(?s:.)*\[c\]ancel> $`)
	if program.Read(t, opened) != "" {
		t.Error("it was opened before anybody agreed")
	}
	tm.Type("\n")
	tm.Type("y\n")
	tm.Await(`Press Enter when you are done there, Ctrl-D to cancel> $`)
	program.AwaitFile(t, opened, `^1\|http://safe\.example\.co\.uk@evil\.example\.co\.uk/\$\(id\)\?a=b&c\|$`)
	tm.Type("\n")
	if out := tm.Ends("0"); !strings.Contains(out, ": accept") {
		t.Errorf("%q", out)
	}
	tm = terminal.Start(t, 80, []string{"BROWSER=" + browser + "-not-there"}, "mcpc", "-s", "demo", "call", "trigger-url-elicitation")
	tm.Await(`\[c\]ancel> $`)
	tm.Type("no\n")
	if out := tm.Ends("0"); !strings.Contains(out, ": decline") {
		t.Errorf("%q", out)
	}
	tm = terminal.Start(t, 80, []string{"BROWSER=" + browser}, "mcpc", "-s", "demo", "call", "trigger-url-elicitation",
		`{"url":"https://xn--80ak6aa92e.example/"}`)
	tm.Await(`domain: xn--80ak6aa92e\.example\r\n(?s:.)*warning:\S* the host is in Punycode(?s:.)*\[c\]ancel> $`)
	tm.Type("no\n")
	tm.Ends("0")
	// What is no web page is declined without a prompt.
	out := terminal.Start(t, 80, []string{"BROWSER=" + browser}, "mcpc", "-s", "demo", "call", "trigger-url-elicitation", `{"url":"file:///etc/passwd"}`).Ends("0")
	if !strings.Contains(out, "only http and https") || !strings.Contains(out, ": decline") {
		t.Errorf("%q", out)
	}
}

// -32042 is the same page in an error, after which the call is made again.
//
// rules 100
func TestTerminalPageRequired(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, []string{"BROWSER=true"}, "mcpc", "-s", "demo", "--protocol", client.Revisions()[1], "call",
		"trigger-url-elicitation", `{"errorPath":true}`)
	tm.Await(`\[c\]ancel> $`)
	tm.Type("y\n")
	tm.Await(`done there, Ctrl-D to cancel> $`)
	tm.Type("\n")
	tm.Await(`done there(?s:.)*Open it\? .*\[c\]ancel> $`)
	tm.Type("y\n")
	if out := tm.Ends("0"); !strings.Contains(out, ": accept") {
		t.Errorf("%q", out)
	}
}

// rules 102, 104
func TestTerminalSampling(t *testing.T) {
	t.Parallel()
	call := []string{"mcpc", "-s", "demo", "call", "trigger-sampling-request", `{"prompt":"Say hi","maxTokens":2}`, "--sampling", "-"}
	for end, send := range map[string]string{".\n": "send\n", "\x04": "\n"} {
		tm := terminal.Start(t, 80, nil, call...)
		tm.Await(`user: .*Say hi\r\n  at most 2 tokens(?s:.)*> $`)
		tm.Type("hi to you\n")
		tm.Await(`hi to you\r\n> $`)
		tm.Type(end)
		tm.Await(`\[d\]ecline> $`)
		tm.Type(send)
		if out := tm.Ends("0"); !strings.Contains(out, `"text": "hi to"`) || !strings.Contains(out, `"stopReason": "maxTokens"`) {
			t.Errorf("%q", out)
		}
	}
	tm := terminal.Start(t, 80, nil, call...)
	tm.Await(`Ctrl-C ends the command\.\r\n> $`)
	tm.Type("\x04")
	if out := tm.Ends("11"); !strings.Contains(out, "sampling/createMessage was declined") {
		t.Errorf("%q", out)
	}
}

// Neither --no-input nor CI=true lets mcpc prompt.
func TestTerminalNoInputAndCIPreventQuestions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, flag string }{{"CI=", "--no-input"}, {"CI=true", "--color=auto"}} {
		out := terminal.Start(t, 80, []string{c.env}, "mcpc", "-s", "demo", "call", "trigger-elicitation-request", c.flag).Ends("6")
		if !strings.Contains(out, "-32021") {
			t.Errorf("%v: %q", c, out)
		}
	}
}
