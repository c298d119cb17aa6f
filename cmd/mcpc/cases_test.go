package main

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"mcpc/internal/mock"
)

// Each file of testdata/cases is one fault: a command, the script that the mock
// server plays to it, and what must come of it. The files of a case:
//
//	(the text before the first)  "F32: what is wrong", then anything
//	command   run by bash in an empty directory; MCPC_SERVER is the mock's URL,
//	          and $MOCK is its command line over stdio
//	script    what the mock plays (see `mcpc help mock-scripts`)
//	stdout    what must stand there; "..." is any number of lines, or of
//	          characters in a line. No such file: empty.
//	stderr    the same. No such file: not looked at.
//	exit      the exit code, or the signal as a shell gives it: 130
//	error     members of the JSON error that the command gives with --json, as
//	          "sent true"
//	requests  how many HTTP requests the mock must have seen
//	protected in place of a script: the server is mcpc demo --auth, which answers
//	          otherwise at some paths, see answerLine
//	untouched paths at which it must have seen nothing
//
// Any other file is put into the directory.

var updateFaults = flag.Bool("faults", false, "write docs/faults.md anew")

type faultCase struct {
	name, head string
	files      map[string]string
}

func readCases(t *testing.T) []faultCase {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "cases", "*.txtar"))
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
	binary := builtBinary(t)
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, needed := range []string{"command", "exit"} {
				if c.files[needed] == "" {
					t.Fatalf("the case has no file %q", needed)
				}
			}
			c.run(t, binary, nil)
			if c.files["error"] != "" && !testing.Short() {
				c.run(t, binary, []string{"MCPC_JSON=1"})
			}
		})
	}
}

// run plays the case once. With env it is asked for the JSON error.
func (c faultCase) run(t *testing.T, binary string, env []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url, requests, stop := c.mock(t)
	defer stop(t)
	stdout, stderr, code := c.bash(t, dir, url, binary, env)
	place := strings.NewReplacer("$URL", url, "$HOST", strings.TrimSuffix(strings.SplitN(url, "://", 2)[1], "/mcp"))
	if want := strings.TrimSpace(c.files["exit"]); strconv.Itoa(code) != want {
		t.Errorf("exit %d, want %s\nstdout: %s\nstderr: %s", code, want, stdout, stderr)
	}
	if env != nil {
		c.checkError(t, stderr)
		return
	}
	if want := place.Replace(c.files["stdout"]); !matches(want, stdout) {
		t.Errorf("stdout:\n%s\nwant:\n%s", stdout, want)
	}
	if want, ok := c.files["stderr"]; ok && !matches(place.Replace(want), stderr) {
		t.Errorf("stderr:\n%s\nwant:\n%s", stderr, place.Replace(want))
	}
	if text := strings.TrimSpace(c.files["requests"]); text != "" {
		want, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		// The command does not wait until the server has read the DELETE.
		for end := time.Now().Add(time.Minute); requests.Load() < want && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if got := requests.Load(); got != want {
			t.Errorf("the server saw %d requests, want %d", got, want)
		}
	}
}

// mock plays the script over HTTP, in this process, so that nothing of it has
// to be waited for.
func (c faultCase) mock(t *testing.T) (url string, requests *atomic.Int64, stop func(*testing.T)) {
	t.Helper()
	if lines, ok := c.files["protected"]; ok {
		p := protectedCase(t, lines)
		return p.URL + "/mcp", &p.n, func(t *testing.T) {
			_ = p.Close()
			for _, path := range strings.Fields(c.files["untouched"]) {
				if _, asked := p.asked.Load(path); asked {
					t.Errorf("%s was asked", path)
				}
			}
		}
	}
	requests = &atomic.Int64{}
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
	go func() { done <- script.HTTP(ctx, l, func(mock.Request) { requests.Add(1) }) }()
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
	return fmt.Sprintf("%s://%s/mcp", scheme, l.Addr()), requests, stop
}

func (c faultCase) bash(t *testing.T, dir, url, binary string, env []string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("bash", "-c", c.files["command"])
	cmd.Dir = dir
	cmd.Env = append(cleanEnv(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"MCPC_STATE="+t.TempDir(), "MCPC_SERVER="+url, "MOCK=mcpc mock --stdio --script script", "LC_ALL=C.UTF-8", "HOME="+dir)
	cmd.Env = append(cmd.Env, env...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	failed := cmd.Run()
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		t.Fatal(failed)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// cleanEnv is the environment without anything that steers mcpc.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "MCPC_") || strings.HasPrefix(s, "NO_COLOR") ||
			strings.HasPrefix(s, "CLICOLOR") || strings.HasPrefix(s, "CI=") || strings.HasPrefix(s, "OTEL_") ||
			strings.HasPrefix(s, "TRACEPARENT=") || strings.HasPrefix(s, "TRACESTATE=") || strings.HasPrefix(s, "BAGGAGE=")
	})
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

// builtBinary is mcpc as users get it, without the race detector.
func builtBinary(t *testing.T) string {
	t.Helper()
	return built(t, ".")
}

// builds are the programs that were built, by their directories.
var builds sync.Map

// built builds the program of a directory, once for all tests, beside what TestMain
// put into the PATH and with it removed in the end.
func built(t *testing.T, dir string) string {
	t.Helper()
	once, _ := builds.LoadOrStore(dir, sync.OnceValues(func() (string, error) {
		self, err := exec.LookPath("mcpc")
		if err != nil {
			return "", err
		}
		place, err := os.MkdirTemp(filepath.Dir(filepath.Dir(self)), "built")
		if err != nil {
			return "", err
		}
		binary := filepath.Join(place, "mcpc")
		if out, err := exec.Command("go", "build", "-o", binary, dir).CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", dir, err, out)
		}
		return binary, nil
	}))
	binary, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
