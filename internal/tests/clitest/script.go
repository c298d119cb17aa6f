package clitest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
)

// Scripts runs the files of testdata/script, one after the other. They are testscript files with
// these commands:
//
//	mcpc ARG...            runs in this process; "! mcpc" must fail
//	exits CODE COMMAND...  runs a command; CODE is its exact exit code, or the name of the signal
//	                       that ended it, such as SIGINT. mcpc runs in this process, "exec mcpc" as a program
//	sh -c SCRIPT, sh FILE  runs a script of a Shell
//	input FILE             sets the standard input of the next mcpc or sh ("stdin" is for exec)
//	needs PROGRAM...       fails if a program is not installed
//	failure PATH=VALUE...  the last line of stderr is the JSON error with these members; [!] there is no error
//	json FILE PATH=VALUE.. the file is exactly one JSON document with these members
//	jsonlike FILE1 FILE2   the files have equal JSON values
//	demo NAME [FLAG...]    (re)starts mcpc demo; its URL is $NAME, its HTTP+SSE URL $NAME_old,
//	                       its host and port $NAME_address; the requests are in the file NAME.log
//	play NAME PLAY         the same for a script of internal/mock
//	down NAME              ends a server; its address stays taken
//	start NAME COMMAND...  runs a program in the background, into NAME.out and NAME.err
//	await FILE REGEXP      waits until the file matches
//	signal NAME SIGNAL     sends a program in the background a signal
//	ends NAME CODE         waits for its end; CODE, stdout and stderr as for exits
//	address NAME FILE      sets $NAME to the first URL in the file
//	protected NAME [HOW..] mcpc demo --auth at $NAME, with the failures HOW of servers.Login.Fail; its
//	                       requests are in NAME.log
//	secure NAME URL [mtls] TLS in front of a server, with a certificate of ca.pem; mtls requires a
//	                       client certificate: client.pem, client.key, both.pem
//	socket PATH URL        a unix socket in front of a server
//	tunnel NAME [USER:PW]  a proxy at $NAME; its requests are in the file NAME.log
//	socks NAME URL         a SOCKS5 proxy at $NAME for one server
//	gone REGEXP            waits until no process has a matching command line
func Scripts(t *testing.T) {
	runScripts(t, "script", false)
}

// ScriptsOfPrograms runs the files of testdata/programs like Scripts, with mcpc and sh as programs.
// These scripts start programs that a machine may lack, such as a shell with signals.
func ScriptsOfPrograms(t *testing.T) {
	runScripts(t, "programs", true)
}

// runScripts runs the files of a directory in testdata.
func runScripts(t *testing.T, name string, programs bool) {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", os.TempDir()) // a script sets it, see enter
	t.Cleanup(func() {
		if err := os.Chdir(folder); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(folder, "testdata", name)
	testscript.RunT(serial{t}, testscript.Params{
		Dir:                dir,
		RequireUniqueNames: true,
		WorkdirRoot:        program.ShortDir(t), // testscript does not remove its directory if a script is skipped
		Setup:              func(env *testscript.Env) error { return setUp(env, dir, programs) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mcpc": runMCPC, "sh": runShell, "input": setInput, "exits": runExits, "needs": checkPrograms,
			"failure": checkFailure, "json": checkJSON, "jsonlike": compareJSON,
			"demo": startDemo, "play": startPlay, "down": stopServer,
			"start": startCommand, "await": awaitFile, "signal": sendSignal, "ends": awaitEnd, "gone": awaitGone, "address": setAddress,
			"protected": startProtected, "secure": startTLS, "socket": startSocket, "tunnel": startTunnel, "socks": startSOCKS,
		},
	})
}

// serial is a test with scripts that run one after the other, because they share the working
// directory.
type serial struct{ *testing.T }

func (serial) Parallel() {}

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

func (serial) Verbose() bool { return testing.Verbose() }

type stateKey struct{}

// A world is the state of a script.
type scriptState struct {
	dir        string // of the script files
	programs   bool   // mcpc and sh are programs
	variables  []string
	input      io.Reader // of the next command, or nil
	servers    map[string]*servers.Server
	background map[string]*exec.Cmd
	fronts     []io.Closer
	logins     map[string]*servers.Login
}

// stateOf returns the state of a script.
func stateOf(ts *testscript.TestScript) *scriptState { return ts.Value(stateKey{}).(*scriptState) }

// setUp prepares the environment and the state of a script.
func setUp(env *testscript.Env, dir string, programs bool) error {
	w := &scriptState{
		dir: dir, programs: programs, servers: map[string]*servers.Server{}, background: map[string]*exec.Cmd{},
		logins: map[string]*servers.Login{},
	}
	env.Values[stateKey{}] = w
	env.Defer(w.close)
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("MCPC_STATE", filepath.Join(env.WorkDir, "state"))
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("PATH", os.Getenv("PATH"))
	if programs {
		env.Setenv("PATH", RealPath())
	}
	env.Setenv("UNREACHABLE", "http://127.0.0.1:1/mcp")
	for _, variable := range env.Vars {
		name, _, _ := strings.Cut(variable, "=")
		w.variables = append(w.variables, name)
	}
	return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
}

func (w *scriptState) close() {
	for _, s := range w.servers {
		_ = s.Close()
	}
	for _, f := range w.fronts {
		_ = f.Close()
	}
	for _, c := range w.background {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

var envStatement = regexp.MustCompile(`(?m)^\s*env ([A-Za-z_][A-Za-z0-9_]*)=`)

// scriptEnvironment returns the environment of a command of the script. testscript does not provide it.
func scriptEnvironment(ts *testscript.TestScript) []string {
	w := stateOf(ts)
	names := slices.Clone(w.variables)
	text, err := os.ReadFile(filepath.Join(w.dir, ts.Name()+".txtar"))
	ts.Check(err)
	for _, set := range envStatement.FindAllStringSubmatch(string(text), -1) {
		names = append(names, set[1])
	}
	var entries []string
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			entries = append(entries, name+"="+value)
		}
	}
	return entries
}

// setenv sets a variable for all later commands of the script.
func setenv(ts *testscript.TestScript, name, value string) {
	ts.Setenv(name, value)
	stateOf(ts).variables = append(stateOf(ts).variables, name)
}

// takeInput returns and clears the standard input of the next command.
func takeInput(ts *testscript.TestScript) io.Reader {
	w := stateOf(ts)
	in := w.input
	w.input = nil
	if in == nil {
		in = strings.NewReader("")
	}
	return in
}

func setInput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: input FILE")
	}
	stateOf(ts).input = strings.NewReader(ts.ReadFile(args[0]))
}

// enterDirectory sets the working directory and the temporary directory of the process to the directories of
// the script.
func enterDirectory(ts *testscript.TestScript) {
	ts.Check(os.Chdir(ts.MkAbs(".")))
	ts.Check(os.Setenv("TMPDIR", ts.Getenv("TMPDIR")))
}

// runMCPCLine runs a command line in this process, in the directory of the script, and returns its exit code.
func runMCPCLine(ts *testscript.TestScript, args []string) int {
	enterDirectory(ts)
	run := Run{Args: args, Env: scriptEnvironment(ts), Stdin: takeInput(ts), Stdout: ts.Stdout(), Stderr: ts.Stderr()}
	return run.Do()
}

func runMCPC(ts *testscript.TestScript, neg bool, args []string) {
	if ended := runToEnd(ts, append([]string{"mcpc"}, args...)); (ended == "0") == neg {
		ts.Fatalf("mcpc %s ended with %s", strings.Join(args, " "), ended)
	}
}

// runShellLine runs sh -c SCRIPT [WORD...], or sh FILE [WORD...], and returns its exit code.
func runShellLine(ts *testscript.TestScript, args []string) int {
	if len(args) > 0 && args[0] != "-c" {
		args = append([]string{"-c", ts.ReadFile(args[0])}, args...)
	}
	if len(args) < 2 {
		ts.Fatalf("usage: sh -c SCRIPT, or sh FILE")
	}
	enterDirectory(ts)
	s := Shell{Dir: ts.MkAbs("."), Env: scriptEnvironment(ts), Stdin: takeInput(ts), Stdout: ts.Stdout(), Stderr: ts.Stderr()}
	code, err := s.Run(context.Background(), args[1], args[2:]...)
	ts.Check(err)
	return code
}

func runShell(ts *testscript.TestScript, neg bool, args []string) {
	if ended := runToEnd(ts, append([]string{"sh"}, args...)); (ended == "0") == neg {
		ts.Fatalf("sh ended with %s", ended)
	}
}

// runExits runs a command that must end with the given exit code, because "!" accepts any failure.
func runExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	ended := runToEnd(ts, args[1:])
	if ended == args[0] {
		return
	}
	for name := range stateOf(ts).background {
		text, _ := os.ReadFile(ts.MkAbs(name + ".err"))
		ts.Logf("standard error of %s:\n%s", name, text)
	}
	ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), ended, args[0])
}

// runToEnd runs a command and returns how it ended.
func runToEnd(ts *testscript.TestScript, argv []string) string {
	inProcess := !stateOf(ts).programs
	if argv[0] == "mcpc" && inProcess {
		return strconv.Itoa(runMCPCLine(ts, argv[1:]))
	}
	if argv[0] == "sh" && inProcess {
		return strconv.Itoa(runShellLine(ts, argv[1:]))
	}
	if argv[0] == "exec" {
		return runProgramToEnd(ts, argv[1:])
	}
	return runProgramToEnd(ts, argv)
}

// runProgramToEnd runs a program and returns how it ended.
func runProgramToEnd(ts *testscript.TestScript, argv []string) string {
	err := ts.Exec(argv[0], argv[1:]...)
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed {
		ts.Check(err)
		return "0"
	}
	return program.Ending(exit.ProcessState)
}

func checkPrograms(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: needs PROGRAM...")
	}
	for _, name := range args {
		_, err := program.LookFor(name)
		ts.Check(err)
	}
}

// checkFailure checks the members of the JSON error. All members must be present (design, section 7).
func checkFailure(ts *testscript.TestScript, neg bool, args []string) {
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
		ts.Fatalf("the last line of stderr is not a JSON error: %v\n%s", err, line)
	}
	for _, name := range []string{"kind", "exit", "message", "sent", "outcome", "operation_sent", "retryable"} {
		if _, ok := doc.Error[name]; !ok {
			ts.Fatalf("the JSON error has no %q: %s", name, line)
		}
	}
	checkMembers(ts, doc.Error, args)
}

// checkJSON checks the members of a file that must be one JSON document.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
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

// checkMembers compares a document with lines of the form `path.to.1.member=value`. A string value
// is written without quotes. An empty value means that the member is missing.
func checkMembers(ts *testscript.TestScript, doc any, wants []string) {
	for _, want := range wants {
		path, value, _ := strings.Cut(want, "=")
		if got := memberText(doc, path); got != value {
			ts.Fatalf("%s is %s, want %s", path, got, value)
		}
	}
}

// memberText returns the member at a path such as a.0.b: a string as it is, other values as JSON,
// "" if it is missing.
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

// compareJSON compares the JSON values of two files.
func compareJSON(ts *testscript.TestScript, neg bool, args []string) {
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

// stoppedServer stops and returns the script's server with the name. Its address stays the same, in
// $NAME.
func stoppedServer(ts *testscript.TestScript, name string) *servers.Server {
	w := stateOf(ts)
	s := w.servers[name]
	if s != nil {
		s.Stop()
		return s
	}
	s, err := servers.New(ts.MkAbs(name + ".log"))
	ts.Check(err)
	w.servers[name] = s
	setenv(ts, name, s.URL("/mcp"))
	setenv(ts, name+"_old", s.URL("/sse"))
	setenv(ts, name+"_address", s.Address())
	setenv(ts, name+"_port", s.Port())
	return s
}

func startPlay(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: play NAME SCRIPT")
	}
	ts.Check(stoppedServer(ts, args[0]).Play(ts.ReadFile(args[1])))
}

func startDemo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: demo NAME [FLAG...]")
	}
	ts.Check(stoppedServer(ts, args[0]).Demo(args[1:]...))
}

func stopServer(ts *testscript.TestScript, neg bool, args []string) { stoppedServer(ts, args[0]) }

// startCommand starts a program in the background.
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
	stateOf(ts).background[args[0]] = cmd
}

// awaitFile waits until a file matches a regular expression.
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[1])
	for deadline := time.Now().Add(program.Patience); ; time.Sleep(5 * time.Millisecond) {
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
	ts.Check(stateOf(ts).background[args[0]].Process.Signal(program.Signals[args[1]]))
}

// awaitEnd waits for the end of a background program and checks how it ended.
func awaitEnd(ts *testscript.TestScript, neg bool, args []string) {
	cmd := stateOf(ts).background[args[0]]
	stop := time.AfterFunc(program.Patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	_ = cmd.Wait()
	out := ts.ReadFile(args[0] + ".out")
	words := ts.ReadFile(args[0] + ".err")
	if got := program.Ending(cmd.ProcessState); got != args[1] {
		ts.Fatalf("%s ended with %s, want %s\n%s", args[0], got, args[1], words)
	}
	_, _ = io.WriteString(ts.Stdout(), out)
	_, _ = io.WriteString(ts.Stderr(), words)
}

func setAddress(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`http://[0-9.:]+/mcp`).FindString(ts.ReadFile(args[1]))
	if neg || found == "" {
		ts.Fatalf("no URL in %s", args[1])
	}
	setenv(ts, args[0], found)
}

// awaitGone waits until no process has a matching command line. Scripts make the command line unique
// with file names in $WORK.
func awaitGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone REGEXP")
	}
	deadline := time.Now().Add(program.Patience)
	for {
		left, err := program.FindProcesses(args[0])
		ts.Check(err)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running: %v", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
