//go:build unix

package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/tests/terminal"
)

// The program as a person meets it: on a terminal, where there is colour, a bar,
// a question, Ctrl-C, and where a server's text must not become a command.

func TestTerminalColour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   []string
		flags []string
		want  bool
	}{
		{nil, nil, true},
		{[]string{"NO_COLOR=1"}, nil, false},
		{[]string{"NO_COLOR="}, nil, true},
		{[]string{"TERM=dumb"}, nil, false},
		{[]string{"CLICOLOR=0"}, nil, false},
		{nil, []string{"--color", "never"}, false},
		{[]string{"NO_COLOR=1"}, []string{"--color", "always"}, true},
	} {
		out := terminal.Start(t, 80, c.env, append([]string{"mcpc", "-s", "demo", "call", "nothing"}, c.flags...)...).Ends("3")
		if got := strings.Contains(out, "\x1b["); got != c.want {
			t.Errorf("%q %q: colour is %v\n%q", c.env, c.flags, got, out)
		}
	}
}

// A list fits the terminal, however narrow; what is meant to be read or pasted
// fits one of the usual width.
func TestTerminalWidths(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 80, 200} {
		for _, args := range [][]string{{"list"}, {"list", "--long"}, {"describe", "get-structured-content"}, {"sessions"}} {
			if columns < 80 && len(args) > 1 {
				continue
			}
			out := terminal.Start(t, columns, nil, append([]string{"mcpc", "-s", "demo"}, args...)...).Ends("0")
			if args[0] == "list" && !strings.Contains(out, "get-sum") {
				t.Errorf("%q at %d columns does not name get-sum:\n%s", args, columns, out)
			}
			for _, line := range terminal.Shown(out) {
				if w := ansi.StringWidth(line); w > columns && !strings.HasPrefix(line, "mcpc: note:") {
					t.Errorf("%q at %d columns: a line has %d: %q", args, columns, w, line)
				}
			}
		}
	}
}

// The bar is drawn while there is progress and gone when the answer comes.
func TestTerminalProgress(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "trigger-long-running-operation", `{"duration":1.6,"steps":4}`)
	out := tm.Ends("0")
	if !bar.MatchString(out) {
		t.Errorf("no bar was drawn: %q", out)
	}
	if screen := terminal.Shown(out); len(screen) != 2 || !strings.HasPrefix(screen[0], "Long running operation completed") {
		t.Errorf("the screen shows %q", screen)
	}
}

// No response was received yet, and the user sees that mcpc waits for a response. Progress of
// another request is not shown, and a message is a text and no command.
func TestTerminalShowsWaitingAndProgress(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, waiting)
	out := terminal.Start(t, 80, nil, "mcpc", "call", "wait", "--", "spied", script, log).Ends("0")
	for pattern, want := range map[string]bool{`[|/\\-]  waiting for the response`: true, `2/4  50%  [^\r]*␛\[2Jours`: true, `theirs`: false, "\x1b\\[2J": false} {
		if regexp.MustCompile(pattern).MatchString(out) != want {
			t.Errorf("that it shows %s is not %v: %q", pattern, want, out)
		}
	}
	if screen := strings.Join(terminal.Shown(out), "|"); screen != "done|" {
		t.Errorf("the screen shows %q", screen)
	}
}

const waiting = `tool wait

on tools/call
    wait 1s
    event {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":3,"total":4,"message":"theirs"}}
    event {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":2,"total":4,"message":"\u001b[2Jours"}}
    wait 1s
    result {"content":[{"type":"text","text":"done"}]}
`

const burning = `tool {"name":"burn","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}

on tools/call
    wait 300ms
    event {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":1,"total":2}}
    wait 1s
    event {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":2,"total":2}}
    result {"content":[{"type":"text","text":"burnt"}]}
`

var bar = regexp.MustCompile(`\r\[[█░]+\]  \d/\d  \d+%`)

// A destructive tool is called after a yes, and after nothing else. The question
// says which tool of which server is called with what, and why it asks.
//
// rules 24
func TestTerminalConfirmsDestructiveTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, ending, shows string }{
		{"y\n", "0", "burnt"},
		{"YES\n", "0", "burnt"},
		{"\n", "12", "not confirmed"},
		{"n\n", "12", "not confirmed"},
		{"yesterday\n", "12", "not confirmed"},
		{"\x04", "12", "not confirmed"},
		{"\x03", "SIGINT", ""},
	} {
		script, log := playFile(t, burning)
		tm := terminal.Start(t, 80, nil, "mcpc", "call", "burn", `{"all":"\u001b[2J"}`, "--", "spied", script, log)
		tm.Await(`(?s)burn of spied.*is\s+marked\s+as\s+destructive.*\{"all":"\\u001b\[2J"\}.*\[y/N\] $`)
		tm.Type(c.typed)
		out := tm.Ends(c.ending)
		if !strings.Contains(out, c.shows) {
			t.Errorf("after %q it shows %q", c.typed, out)
		}
		// The question must not keep the bar away for good.
		if c.ending == "0" && !bar.MatchString(out) {
			t.Errorf("after %q there was no bar: %q", c.typed, out)
		}
		if called := strings.Contains(program.Read(t, log), "IN tools/call"); called != (c.ending == "0") {
			t.Errorf("after %q the tool was called: %v", c.typed, called)
		}
	}
}

// A tool that is no longer as it was approved is shown as a difference, and called after a yes,
// which approves it as it is now.
func TestTerminalChangedTool(t *testing.T) {
	t.Parallel()
	before, after := `tool {"name":"x","description":"Adds numbers of a list.","inputSchema":{"type":"object"}}`+"\n",
		`tool {"name":"x","description":"Deletes all files.","inputSchema":{"type":"object"}}`+"\n"
	server, env := servers.ForTest(t), []string{"MCPC_STATE=" + t.TempDir()}
	url := "http://tools.example:" + server.Port() + "/mcp" // a remote server
	resolve := "tools.example:" + server.Port() + ":127.0.0.1"
	call := func() *terminal.Terminal {
		return terminal.Start(t, 80, env, "mcpc", "-s", url, "--resolve", resolve, "-H", "Host: localhost", "call", "x")
	}
	if err := server.Play(before); err != nil {
		t.Fatal(err)
	}
	call().Ends("0")
	if err := server.Play(after); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typed, ending string }{{"n\n", "12"}, {"y\n", "0"}} {
		tm := call()
		tm.Await(`(?s)changed since it was\s+approved.*- \S*Adds numbers of a list\..*\+ \S*Deletes all files\..*x of http.*changed\s+since.*\[y/N\] $`)
		tm.Type(c.typed)
		tm.Ends(c.ending)
	}
	if out := call().Ends("0"); strings.Contains(out, "changed") {
		t.Errorf("after a yes it shows %q", out)
	}
}

const silent = `speaks 2025-11-25
tool wait

on tools/call
    wait 1ms
`

// A failure's hint says where its recording is, unless it was shown or there is none.
func TestTerminalHintAtRecord(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-s http://127.0.0.1:1/ ping": true, "-v -s http://127.0.0.1:1/ ping": false, "-s demo call fail": false,
		"--no-record -s http://127.0.0.1:1/ ping": false, "--json -s http://127.0.0.1:1/ ping": false, "call": false,
	} {
		out := terminal.Start(t, 80, nil, append([]string{"mcpc"}, strings.Fields(args)...)...).EndsSomehow()
		if strings.Contains(out, "mcpc show last shows the exchange") != want {
			t.Errorf("mcpc %s: %q", args, out)
		}
	}
}

// Ctrl-C during a call: the server gets notifications/cancelled, its process is
// gone, and the command dies of the signal, so that a loop around it stops.
func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, silent)
	tm := terminal.Start(t, 80, nil, "mcpc", "call", "wait", "--", "spied", script, log)
	program.AwaitFile(t, log, "IN tools/call")
	tm.Type("\x03")
	tm.Ends("SIGINT")
	program.AwaitFile(t, log, `IN notifications/cancelled .*"requestId":4`)
	if left := program.Processes(t, regexp.QuoteMeta(script)); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// Another Ctrl-C does not wait for a server that takes its time to end.
func TestTerminalCtrlCTwice(t *testing.T) {
	t.Parallel()
	// Without the second one it takes all of the staged shutdown, four seconds, each
	// time; with it a machine with much to do takes long at times.
	quickest := time.Hour
	for try := 0; try < 5 && quickest > 3*time.Second; try++ {
		script, log := playFile(t, silent+"\non start\n    ignore term\non eof\n    ignore eof\n")
		tm := terminal.Start(t, 80, nil, "mcpc", "call", "wait", "--", "spied", script, log)
		program.AwaitFile(t, log, "IN tools/call")
		tm.Type("\x03")
		program.AwaitFile(t, log, "notifications/cancelled")
		started := time.Now()
		tm.Type("\x03")
		tm.Ends("SIGINT")
		quickest = min(quickest, time.Since(started))
		for _, p := range program.Processes(t, regexp.QuoteMeta(script)) {
			_ = syscall.Kill(p.Pid, syscall.SIGKILL)
		}
	}
	if quickest > 3*time.Second {
		t.Errorf("it took %s", quickest)
	}
}

// The view is drawn before the server of its command has answered, and takes keys.
func TestTerminalInspectDoesNotWaitForItsServer(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, "on *\n    hang\n")
	tm := terminal.Start(t, 100, nil, "mcpc", "inspect", "--", "spied", script, log)
	tm.Await(`server/discover`)
	tm.Type("q")
	tm.Ends("0")
}

// A server that cannot be started ends the view with its error.
func TestTerminalInspectOfAServerThatExits(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 100, nil, "mcpc", "inspect", "--", "sh", "-c", "echo no key >&2; exit 3")
	out := tm.Ends("7")
	if !strings.Contains(out, "the server exited (exit status 3)") || !strings.Contains(out, "no key") {
		t.Errorf("%q", out)
	}
}
