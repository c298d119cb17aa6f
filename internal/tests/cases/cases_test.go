// Package cases_test plays the faults of servers and networks to mcpc.
package cases_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"mcpc/internal/mock"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/servers"
)

// Each file of testdata is one fault: a command, the script that the mock server plays to it, and
// the expected result. The files of a case:
//
//	(the text before the first)  "F32: what is wrong", then anything
//	command   a shell script, run in an empty directory; mcpc runs in the process of the test.
//	          MCPC_SERVER is the mock's URL, and $MOCK is its command line over stdio
//	process   mcpc runs as a process, for the reason that the file states
//	bash      the command is run by the program bash, and mcpc as a process
//	script    what the mock plays (see `mcpc help mock-scripts`)
//	stdout    the expected text; "..." is any number of lines, or of characters in a line.
//	          No such file: empty.
//	stderr    the same. No such file: anything.
//	exit      the exit code, or the signal as a shell reports it: 130
//	error     members of the JSON error that the command writes with --json, as "sent true"
//	requests  how many HTTP requests the mock must receive
//	protected in place of a script: the server is mcpc demo --auth with other responses at some
//	          paths, see servers.ParseAnswers
//	untouched paths at which it must receive no request
//
// Any other file is put into the directory.

var updateFaults = flag.Bool("faults", false, "write docs/reference/faults.md anew")

type faultCase struct {
	name, head string
	files      map[string]string
}

func readCases(t *testing.T) []faultCase {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	slices.Sort(names)
	var cases []faultCase
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := faultCase{strings.TrimSuffix(filepath.Base(name), ".txtar"), string(archive.Comment), map[string]string{}}
		for _, f := range archive.Files {
			c.files[f.Name] = string(f.Data)
		}
		cases = append(cases, c)
	}
	return cases
}

func TestCases(t *testing.T) {
	for _, c := range readCases(t) {
		if !c.inBash() {
			t.Run(c.name, c.test)
		}
	}
}

// inBash reports whether the case needs the program bash. TestCasesInBash runs it.
func (c faultCase) inBash() bool { return c.files["bash"] != "" }

// hasOwnDirectory reports whether the case may run beside others: it reads and writes no file, or mcpc is a
// process in the directory of the case.
func (c faultCase) hasOwnDirectory() bool {
	return c.inBash() || c.files["process"] != "" || aloneCommand.MatchString(c.files["command"]) && !c.hasFiles()
}

// hasFiles reports whether the command may read files of the case.
func (c faultCase) hasFiles() bool {
	for name := range c.files {
		if !slices.Contains(parts, name) {
			return true
		}
	}
	return false
}

// parts are the names of the files of a case that describe it.
var parts = []string{"command", "process", "bash", "script", "stdout", "stderr", "exit", "error", "requests", "protected", "untouched"}

// aloneCommand matches one command line of mcpc without names of files.
var aloneCommand = regexp.MustCompile(`^mcpc [^|;&<>$@/\n]*\n$`)

func (c faultCase) test(t *testing.T) {
	if c.hasOwnDirectory() {
		t.Parallel()
	}
	for _, needed := range []string{"command", "exit"} {
		if c.files[needed] == "" {
			t.Fatalf("the case has no file %q", needed)
		}
	}
	c.run(t, nil)
	if c.files["error"] != "" {
		c.run(t, []string{"MCPC_JSON=1"})
	}
}

// run plays the case once. With env it expects the JSON error.
func (c faultCase) run(t *testing.T, env []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url, requests, stop := c.mock(t)
	defer stop(t)
	var stdout, stderr bytes.Buffer
	code := c.command(t, dir, url, env, &stdout, &stderr)
	place := strings.NewReplacer("$URL", url, "$HOST", strings.TrimSuffix(strings.SplitN(url, "://", 2)[1], "/mcp"))
	if want := strings.TrimSpace(c.files["exit"]); strconv.Itoa(code) != want {
		t.Errorf("exit %d, want %s\nstdout: %s\nstderr: %s", code, want, &stdout, &stderr)
	}
	if env != nil {
		c.checkError(t, stderr.String())
		return
	}
	if want := place.Replace(c.files["stdout"]); !clitest.Matches(want, stdout.String()) {
		t.Errorf("stdout:\n%s\nwant:\n%s", &stdout, want)
	}
	if want, ok := c.files["stderr"]; ok && !clitest.Matches(place.Replace(want), stderr.String()) {
		t.Errorf("stderr:\n%s\nwant:\n%s", &stderr, place.Replace(want))
	}
	if text := strings.TrimSpace(c.files["requests"]); text != "" {
		want, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		// The command does not wait until the server has read the DELETE.
		for end := time.Now().Add(time.Minute); requests() < want && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if got := requests(); got != want {
			t.Errorf("the server saw %d requests, want %d", got, want)
		}
	}
}

// mock serves the script, or the login server of the case, in this process.
func (c faultCase) mock(t *testing.T) (url string, requests func() int64, stop func(*testing.T)) {
	t.Helper()
	if lines, ok := c.files["protected"]; ok {
		return c.login(t, lines)
	}
	script, err := mock.Parse(c.files["script"])
	if err != nil {
		t.Fatalf("script: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var received atomic.Int64
	go func() { done <- script.HTTP(ctx, l, func(mock.Request) { received.Add(1) }) }()
	stop = func(t *testing.T) {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("mock: %v", err)
		}
	}
	scheme := "http"
	if script.TLS != "" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s/mcp", scheme, l.Addr()), received.Load, stop
}

func (c faultCase) login(t *testing.T, lines string) (url string, requests func() int64, stop func(*testing.T)) {
	t.Helper()
	answers, err := servers.ParseAnswers(lines)
	if err != nil {
		t.Fatal(err)
	}
	login := servers.NewLogin(servers.NewLog(filepath.Join(t.TempDir(), "log")), answers)
	return login.URL(), login.Requests, func(t *testing.T) {
		_ = login.Close()
		for _, path := range strings.Fields(c.files["untouched"]) {
			if login.Received(path) {
				t.Errorf("%s was asked", path)
			}
		}
	}
}

// command runs the command of the case and returns its exit code.
func (c faultCase) command(t *testing.T, dir, url string, env []string, stdout, stderr *bytes.Buffer) int {
	t.Helper()
	env = append(append(clitest.Env(dir), "MCPC_STATE="+t.TempDir(), "MCPC_SERVER="+url, "MOCK=mcpc mock --stdio --script script"), env...)
	if c.inBash() {
		return c.bash(t, dir, env, stdout, stderr)
	}
	if !c.hasOwnDirectory() {
		t.Chdir(dir)
	}
	_, process := c.files["process"]
	shell := clitest.Shell{Dir: dir, Env: env, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Process: process}
	code, err := shell.Run(t.Context(), c.files["command"])
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// bash runs the command by the program bash and returns its exit code, or -1 after a signal.
func (c faultCase) bash(t *testing.T, dir string, env []string, stdout, stderr *bytes.Buffer) int {
	t.Helper()
	path := clitest.RealPath()
	bash, err := clitest.LookPath("bash", path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "-c", c.files["command"])
	cmd.Dir = dir
	cmd.Env = append(env, "PATH="+path)
	cmd.Stdout = stdout
	cmd.Stderr = stderr
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// checkError compares members of the JSON error, the last line of stderr.
func (c faultCase) checkError(t *testing.T, stderr string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	var failed struct{ Error map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &failed); err != nil {
		t.Fatalf("the last line of stderr is no JSON error: %v\n%s", err, stderr)
	}
	for _, line := range strings.Split(strings.TrimSpace(c.files["error"]), "\n") {
		name, want, _ := strings.Cut(line, " ")
		got := strings.Trim(string(failed.Error[name]), `"`)
		if got != want {
			t.Errorf("error.%s is %s, want %s", name, got, want)
		}
	}
}
