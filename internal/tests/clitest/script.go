package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The program as its users meet it: each file in testdata/script is a script in
// the language of testscript, in which these commands are added.
//
//	needs PROGRAM...           fails where one of them is not installed
//	exits CODE COMMAND...      runs it; CODE is its exact exit code, or SIGINT and
//	                           the like for the signal that it died of
//	failure PATH=VALUE...      the last line of stderr is the JSON error with these
//	                           members; [!] there is none
//	json FILE PATH=VALUE...    the file is exactly one JSON document with these members
//	jsonlike FILE1 FILE2       two files are the same JSON
//	demo NAME [FLAG...]        (re)starts mcpc demo; its URL is $NAME, that of the old
//	                           transport $NAME_old, its host and port $NAME_address;
//	                           what it got to see is in the file NAME.log
//	play NAME PLAY             the same for a script of internal/mock
//	stop NAME                  ends a server; its address stays taken
//	start NAME COMMAND...      runs it in the background, into NAME.out and NAME.err
//	await FILE REGEXP          waits until the file matches
//	signal NAME SIGNAL         sends it a signal
//	ends NAME CODE             waits for its end; CODE, stdout and stderr as with exits
//	address NAME FILE          $NAME is the first URL in the file
//	protected NAME [HOW...]    mcpc demo --auth at $NAME, something of which goes wrong from
//	                           now on, see protected_test.go; what it was asked is in NAME.log
//	secure NAME URL [mtls] TLS in front of a server, with a certificate of ca.pem; mtls
//	                       wants one of the client's: client.pem, client.key, both.pem
//	socket PATH URL        a unix socket in front of a server
//	tunnel NAME [USER:PW]  a proxy at $NAME; what it was asked is in the file NAME.log
//	socks NAME URL         a SOCKS5 proxy at $NAME that leads to one server
//	gone REGEXP                no process with such a command line is left
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		WorkdirRoot:        shortDir(t), // testscript leaves its own behind unless every script runs
		Setup:              setUpScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"needs": scriptNeeds, "exits": exits, "failure": failure, "json": jsonHas, "jsonlike": jsonLike,
			"demo": startDemo, "play": startPlay, "down": stopServer,
			"start": startCommand, "await": await, "signal": sendSignal, "ends": ends, "gone": gone, "address": address,
			"protected": startProtected, "secure": secure, "socket": socket, "tunnel": tunnel, "socks": socks,
		},
	})
}

// shortDir is a temporary folder whose path is short enough for sockets in it. It is removed
// after the test, as soon as no process writes there any more.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcpc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return dir
}

// patience is how long a test waits for what must happen. It is spent only
// where something is broken.
const patience = 30 * time.Second

type worldKey struct{}

// A world is what one script has running.
type world struct {
	servers    map[string]*server
	background map[string]*exec.Cmd
	fronts     []io.Closer
	protected  map[string]*protected
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func setUpScript(env *testscript.Env) error {
	w := &world{servers: map[string]*server{}, background: map[string]*exec.Cmd{}, protected: map[string]*protected{}}
	env.Values[worldKey{}] = w
	env.Defer(func() {
		for _, s := range w.servers {
			s.stop()
			s.listener.Close()
		}
		for _, f := range w.fronts {
			_ = f.Close()
		}
		for _, c := range w.background {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("MCPC_STATE", filepath.Join(env.WorkDir, "state"))
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("NOBODY", "http://127.0.0.1:1/mcp")
	return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
}

// exits is exec with the exact exit code: "!" would take any failure for the
// right one.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	got := "0"
	if exit != nil {
		got = ending(exit.ProcessState)
	}
	if got != args[0] {
		for name := range worldOf(ts).background {
			text, _ := os.ReadFile(ts.MkAbs(name + ".err"))
			ts.Logf("standard error of %s:\n%s", name, text)
		}
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// ending is how a process ended: its exit code, or the signal that killed it.
func ending(p *os.ProcessState) string {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		for name, sig := range namedSignals {
			if sig == status.Signal() {
				return name
			}
		}
	}
	return strconv.Itoa(p.ExitCode())
}

var namedSignals = map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM,
	"SIGHUP": syscall.SIGHUP, "SIGPIPE": syscall.SIGPIPE, "SIGKILL": syscall.SIGKILL, "SIGABRT": syscall.SIGABRT}

// failure checks the JSON error, whose members always stand (design, section 7).
func failure(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimRight(ts.ReadFile("stderr"), "\n")
	line := text[strings.LastIndex(text, "\n")+1:]
	if neg {
		if strings.Contains(text, `{"error":`) {
			ts.Fatalf("there is a JSON error: %s", text)
		}
		return
	}
	var doc struct{ Error map[string]any }
	if err := json.Unmarshal([]byte(line), &doc); err != nil || doc.Error == nil {
		ts.Fatalf("the last line of stderr is no JSON error: %v\n%s", err, line)
	}
	for _, name := range []string{"kind", "exit", "message", "sent", "outcome", "operation_sent", "retryable"} {
		if _, ok := doc.Error[name]; !ok {
			ts.Fatalf("the JSON error has no %q: %s", name, line)
		}
	}
	checkMembers(ts, doc.Error, args)
}

func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: json FILE PATH=VALUE...")
	}
	var doc any
	text := ts.ReadFile(args[0])
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		ts.Fatalf("not one JSON document: %v\n%s", err, text)
	}
	checkMembers(ts, doc, args[1:])
}

// checkMembers holds a document against `path.to.1.member=value`; a value that
// is a string stands without quotes, and nothing means that there is none.
func checkMembers(ts *testscript.TestScript, doc any, wants []string) {
	for _, want := range wants {
		path, value, _ := strings.Cut(want, "=")
		if got := memberText(doc, path); got != value {
			ts.Fatalf("%s is %s, want %s", path, got, value)
		}
	}
}

func memberText(doc any, path string) string {
	for _, name := range strings.Split(path, ".") {
		switch parent := doc.(type) {
		case map[string]any:
			doc = parent[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i < len(parent) {
				doc = parent[i]
				continue
			}
			doc = nil
		default:
			doc = nil
		}
	}
	switch v := doc.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, _ := json.Marshal(doc)
	return string(raw)
}

func jsonLike(ts *testscript.TestScript, neg bool, args []string) {
	var docs [2]string
	for i, name := range args {
		var doc any
		if err := json.Unmarshal([]byte(ts.ReadFile(name)), &doc); err != nil {
			ts.Fatalf("%s: %v", name, err)
		}
		raw, _ := json.MarshalIndent(doc, "", " ")
		docs[i] = string(raw)
	}
	if (docs[0] == docs[1]) == neg {
		ts.Fatalf("%s:\n%s\n%s:\n%s", args[0], docs[0], args[1], docs[1])
	}
}

// serverNamed is the script's server of that name, at an address that $NAME
// keeps.
func serverNamed(ts *testscript.TestScript, name string) *server {
	servers := worldOf(ts).servers
	if servers[name] == nil {
		s, err := newServer(ts.MkAbs(name + ".log"))
		ts.Check(err)
		servers[name] = s
		ts.Setenv(name, s.url("/mcp"))
		ts.Setenv(name+"_old", s.url("/sse"))
		ts.Setenv(name+"_address", s.listener.Addr().String())
		_, port, err := net.SplitHostPort(s.listener.Addr().String())
		ts.Check(err)
		ts.Setenv(name+"_port", port)
	}
	servers[name].stop()
	return servers[name]
}

func startPlay(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: play NAME SCRIPT")
	}
	ts.Check(serverNamed(ts, args[0]).play(ts.ReadFile(args[1])))
}

func startDemo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: demo NAME [FLAG...]")
	}
	ts.Check(serverNamed(ts, args[0]).demo(args[1:]...))
}

func stopServer(ts *testscript.TestScript, neg bool, args []string) { serverNamed(ts, args[0]) }

func startCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME COMMAND...")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "MCPC_STATE", "LC_ALL", "TMPDIR", "CI", "BROWSER"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, stream := range map[string]*io.Writer{".out": &cmd.Stdout, ".err": &cmd.Stderr} {
		file, err := os.Create(ts.MkAbs(args[0] + name))
		ts.Check(err)
		defer file.Close()
		*stream = file
	}
	ts.Check(cmd.Start())
	worldOf(ts).background[args[0]] = cmd
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[1])
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if want.Match(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], text)
		}
	}
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(worldOf(ts).background[args[0]].Process.Signal(namedSignals[args[1]]))
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	cmd := worldOf(ts).background[args[0]]
	stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	_ = cmd.Wait()
	out, words := ts.ReadFile(args[0]+".out"), ts.ReadFile(args[0]+".err")
	if got := ending(cmd.ProcessState); got != args[1] {
		ts.Fatalf("%s ended with %s, want %s\n%s", args[0], got, args[1], words)
	}
	_, _ = io.WriteString(ts.Stdout(), out)
	_, _ = io.WriteString(ts.Stderr(), words)
}

func address(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`http://[0-9.:]+/mcp`).FindString(ts.ReadFile(args[1]))
	if neg || found == "" {
		ts.Fatalf("there is no URL in %s", args[1])
	}
	ts.Setenv(args[0], found)
}

// gone waits until no process is left whose command line matches; the script
// makes it unique by naming files in $WORK.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := processes(ts.Fatalf, args[0])
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running: %v", left)
		}
	}
}

type process struct {
	pid  int
	line string
}

// processes are those whose command line matches.
func processes(fail func(string, ...any), pattern string) (found []process) {
	ps, err := lookFor("ps")
	if err != nil {
		fail("%v", err)
	}
	out, err := exec.Command(ps, "-Aww", "-o", "pid=", "-o", "args=").Output()
	if err != nil {
		fail("ps: %v", err)
	}
	want := regexp.MustCompile(pattern)
	for _, line := range strings.Split(string(out), "\n") {
		number, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil && want.MatchString(args) {
			found = append(found, process{pid, args})
		}
	}
	return found
}
