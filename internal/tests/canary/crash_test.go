package canary

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/connect/host"
	"mcpc/internal/tests/program"
)

// crashing is mcpc with a clock that breaks when it is read for the n-th time, as $CRASH sets:
// "command 7" in the goroutine of the command, "beside 7" in another one.
func crashing() {
	where, at, _ := strings.Cut(os.Getenv("CRASH"), " ")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		panic(err)
	}
	var looked atomic.Int64
	f := cli.New(os.Stdin, os.Stdout, os.Stderr)
	f.Leave = os.Exit
	f.Getenv = os.Getenv
	f.Environ = os.Environ
	f.Version = "test"
	f.Now = func() time.Time {
		if inCommand() != (where == "command") || looked.Add(1) != n {
			return time.Now()
		}
		if where == "command" {
			panic(errors.New("broken: " + os.Getenv("CRASH_SAYS")))
		}
		var nothing *time.Time
		return *nothing
	}
	code, _ := cli.Run(f, os.Args[1:], nil)
	os.Exit(code)
}

// inCommand reports whether the caller's goroutine runs the command.
func inCommand() bool {
	callers := make([]uintptr, 200)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "internal/cli.execute") {
			return true
		}
		if !more {
			return false
		}
	}
}

// A bug that ends mcpc at any moment of a call shows no secret, on standard error with all that can
// be asked for or on the disk: neither its own text, nor the stacks of all goroutines, some with
// secrets.
func TestNoSecretIsShownByACrash(t *testing.T) {
	s := canaryServer(t, make(chan bool, 1))
	c := canaries
	says := "password=" + c["argument"] + " at " + c["own field"] + " for Bearer " + c["bearer"]
	for where, code := range map[string]int{"command": 70, "beside": 2} {
		crashes, stacks := 0, 0
		for n := 1; ; n++ {
			dir := t.TempDir()
			args := []string{
				"call", "leak", `{"password":"` + c["argument"] + `"}`, "-vvv", "-s", s.URL + "/mcp?access_token=" + c["url query"],
				"-H", "Authorization: Bearer " + c["bearer"], "-H", "X-Own-Secret: " + c["own field"],
			}
			if where == "beside" { // only the pipe of a child is read by a separate goroutine
				args = []string{"call", "echo", `{"message":"password=` + c["argument"] + `"}`, "-vvv", "--", "mcpc", "demo", "--stdio"}
			}
			cmd := exec.Command("crashing", args...)
			cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+dir, "HOME="+dir, "SOME_TOKEN="+c["environment"], "GOTRACEBACK=all",
				"CRASH="+where+" "+strconv.Itoa(n), "CRASH_SAYS="+says)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() == 0 {
				break
			}
			crashes++
			if strings.Contains(stderr.String(), "goroutine ") {
				stacks++
			}
			if got := cmd.ProcessState.ExitCode(); got != code {
				t.Fatalf("%s %d: exit code %d\n%s", where, n, got, stderr.String())
			}
			if where == "command" && !strings.Contains(stderr.String(), "mcpc: internal error, a bug in mcpc: broken: ") {
				t.Errorf("%d: the bug is not told:\n%s", n, stderr.String())
			}
			findCanaries(t, "standard error of a crash "+where+" "+strconv.Itoa(n), []byte(stderr.String()))
			if _, err := os.Stat(filepath.Join(dir, host.TrafficDir)); err == nil {
				findCanariesIn(t, filepath.Join(dir, host.TrafficDir))
			}
		}
		if crashes < 3 || stacks < 2 {
			t.Errorf("%s: only %d crashes, %d of them with a stack", where, crashes, stacks)
		}
	}
}
