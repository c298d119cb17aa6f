//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/shellwords"
	"mcpc/internal/tests/servers"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// The program as a person meets it: on a terminal, where there is colour, a bar,
// a question, Ctrl-C, and where a server's text must not become a command.

// A terminal is a command on a pseudo-terminal of its own.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// onTerminal starts a command on a terminal that is so many columns wide, with
// the variables of env beside those that every test has. There is no pager.
func onTerminal(t *testing.T, columns int, env []string, argv ...string) *terminal {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cleanEnv(), "TERM=xterm-256color", "MCPC_NO_PAGER=1", "LC_ALL=C.UTF-8", "HOME="+cmd.Dir, "MCPC_STATE="+filepath.Join(cmd.Dir, "state"))
	cmd.Env = append(cmd.Env, env...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: uint16(columns)})
	if err != nil {
		t.Fatal(err)
	}
	tm := &terminal{t: t, cmd: cmd, pty: f, done: make(chan struct{})}
	go tm.read()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); f.Close() })
	return tm
}

func (tm *terminal) read() {
	defer close(tm.done)
	for block := make([]byte, 4096); ; {
		n, err := tm.pty.Read(block)
		tm.mu.Lock()
		tm.out.Write(block[:n])
		tm.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (tm *terminal) output() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.out.String()
}

// await waits until the output matches.
func (tm *terminal) await(pattern string) {
	tm.t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); !want.MatchString(tm.output()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tm.t.Fatalf("the terminal never showed %s:\n%q", pattern, tm.output())
		}
	}
}

func (tm *terminal) typed(text string) {
	tm.t.Helper()
	if _, err := io.WriteString(tm.pty, text); err != nil {
		tm.t.Fatal(err)
	}
}

// ends waits for the command's end, and gives all that it wrote.
func (tm *terminal) ends(want string) string {
	tm.t.Helper()
	out := tm.endsSomehow()
	if got := ending(tm.cmd.ProcessState); got != want {
		tm.t.Errorf("%q ended with %s, want %s\n%q", tm.cmd.Args, got, want, out)
	}
	return out
}

// endsSomehow is ends where only what was written matters.
func (tm *terminal) endsSomehow() string {
	tm.t.Helper()
	stop := time.AfterFunc(patience, func() { _ = tm.cmd.Process.Kill() })
	defer stop.Stop()
	err := tm.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tm.t.Fatal(err)
	}
	select {
	case <-tm.done:
	case <-time.After(patience):
		holders, _ := exec.Command("sh", "-c", "ps axww -o pid,ppid,stat,args; ls -l /proc/[0-9]*/fd 2>/dev/null | grep -e : -e pts/").CombinedOutput()
		tm.t.Fatalf("a process still holds the terminal:\n%s", holders)
	}
	return tm.output()
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// shown is what stands on the screen in the end: a line that was drawn over is
// what was drawn last.
func shown(output string) []string {
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(sgr.ReplaceAllString(output, ""), "\r\n", "\n"), "\n") {
		var cells []rune
		for _, part := range strings.Split(line, "\r") {
			over := []rune(part)
			cells = append(over, cells[min(len(over), len(cells)):]...)
		}
		lines = append(lines, strings.TrimRight(string(cells), " "))
	}
	return lines
}

func TestShownDrawsOver(t *testing.T) {
	if got := strings.Join(shown("a\r\n[##--] 1/2\r           \rdone\r\n"), "|"); got != "a|done|" {
		t.Errorf("%q", got)
	}
}

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
		out := onTerminal(t, 80, c.env, append([]string{"mcpc", "-s", "demo", "call", "nothing"}, c.flags...)...).ends("3")
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
			out := onTerminal(t, columns, nil, append([]string{"mcpc", "-s", "demo"}, args...)...).ends("0")
			if args[0] == "list" && !strings.Contains(out, "get-sum") {
				t.Errorf("%q at %d columns does not name get-sum:\n%s", args, columns, out)
			}
			for _, line := range shown(out) {
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
	tm := onTerminal(t, 80, nil, "mcpc", "-s", "demo", "call", "trigger-long-running-operation", `{"duration":1.6,"steps":4}`)
	out := tm.ends("0")
	if !bar.MatchString(out) {
		t.Errorf("no bar was drawn: %q", out)
	}
	if screen := shown(out); len(screen) != 2 || !strings.HasPrefix(screen[0], "Long running operation completed") {
		t.Errorf("the screen shows %q", screen)
	}
}

// No response was received yet, and the user sees that mcpc waits for a response. Progress of
// another request is not shown, and a message is a text and no command.
func TestTerminalWaiting(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, waiting)
	out := onTerminal(t, 80, nil, "mcpc", "call", "wait", "--", "spied", script, log).ends("0")
	for pattern, want := range map[string]bool{`[|/\\-]  waiting for the response`: true, `2/4  50%  [^\r]*␛\[2Jours`: true, `theirs`: false, "\x1b\\[2J": false} {
		if regexp.MustCompile(pattern).MatchString(out) != want {
			t.Errorf("that it shows %s is not %v: %q", pattern, want, out)
		}
	}
	if screen := strings.Join(shown(out), "|"); screen != "done|" {
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
func TestTerminalQuestion(t *testing.T) {
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
		tm := onTerminal(t, 80, nil, "mcpc", "call", "burn", `{"all":"\u001b[2J"}`, "--", "spied", script, log)
		tm.await(`(?s)burn of spied.*is\s+marked\s+as\s+destructive.*\{"all":"\\u001b\[2J"\}.*\[y/N\] $`)
		tm.typed(c.typed)
		out := tm.ends(c.ending)
		if !strings.Contains(out, c.shows) {
			t.Errorf("after %q it shows %q", c.typed, out)
		}
		// The question must not keep the bar away for good.
		if c.ending == "0" && !bar.MatchString(out) {
			t.Errorf("after %q there was no bar: %q", c.typed, out)
		}
		if called := strings.Contains(read(t, log), "IN tools/call"); called != (c.ending == "0") {
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
	call := func() *terminal {
		return onTerminal(t, 80, env, "mcpc", "-s", url, "--resolve", resolve, "-H", "Host: localhost", "call", "x")
	}
	if err := server.Play(before); err != nil {
		t.Fatal(err)
	}
	call().ends("0")
	if err := server.Play(after); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typed, ending string }{{"n\n", "12"}, {"y\n", "0"}} {
		tm := call()
		tm.await(`(?s)changed since it was\s+approved.*- \S*Adds numbers of a list\..*\+ \S*Deletes all files\..*x of http.*changed\s+since.*\[y/N\] $`)
		tm.typed(c.typed)
		tm.ends(c.ending)
	}
	if out := call().ends("0"); strings.Contains(out, "changed") {
		t.Errorf("after a yes it shows %q", out)
	}
}

// awaitFile waits until a file matches.
func awaitFile(t *testing.T, name, pattern string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); !want.MatchString(read(t, name)); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s never matched %s:\n%s", name, pattern, read(t, name))
		}
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
	for args, want := range map[string]bool{"-s http://127.0.0.1:1/ ping": true, "-v -s http://127.0.0.1:1/ ping": false, "-s demo call fail": false,
		"--no-record -s http://127.0.0.1:1/ ping": false, "--json -s http://127.0.0.1:1/ ping": false, "call": false} {
		out := onTerminal(t, 80, nil, append([]string{"mcpc"}, strings.Fields(args)...)...).endsSomehow()
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
	tm := onTerminal(t, 80, nil, "mcpc", "call", "wait", "--", "spied", script, log)
	awaitFile(t, log, "IN tools/call")
	tm.typed("\x03")
	tm.ends("SIGINT")
	awaitFile(t, log, `IN notifications/cancelled .*"requestId":4`)
	if left := processes(t.Fatalf, regexp.QuoteMeta(script)); len(left) > 0 {
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
		tm := onTerminal(t, 80, nil, "mcpc", "call", "wait", "--", "spied", script, log)
		awaitFile(t, log, "IN tools/call")
		tm.typed("\x03")
		awaitFile(t, log, "notifications/cancelled")
		started := time.Now()
		tm.typed("\x03")
		tm.ends("SIGINT")
		quickest = min(quickest, time.Since(started))
		for _, p := range processes(t.Fatalf, regexp.QuoteMeta(script)) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	if quickest > 3*time.Second {
		t.Errorf("it took %s", quickest)
	}
}

func TestTerminalCtrlCStopsALoop(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, silent)
	loop := "for i in 1 2 3; do mcpc call wait -- spied " + shellwords.Quote(script) + " " + shellwords.Quote(log) + "; done; echo the loop went on"
	tm := onTerminal(t, 80, nil, mustHave(t, "bash"), "-c", loop)
	awaitFile(t, log, "IN tools/call")
	tm.typed("\x03")
	out := tm.ends("SIGINT")
	if strings.Contains(out, "went on") || strings.Count(read(t, log), "IN tools/call") != 1 {
		t.Errorf("the loop went on: %q", out)
	}
}
