package program

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen. It is spent only if something is broken.
const Patience = 30 * time.Second

// CleanEnv returns the environment of the test without the variables that control mcpc.
func CleanEnv() []string {
	controls := []string{
		"MCPC_", "NO_COLOR", "CLICOLOR", "CI=", "OTEL_", "TRACEPARENT=", "TRACESTATE=", "BAGGAGE=",
	}
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(controls, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// Signals are the signals that a test sends, by name.
var Signals = map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM,
	"SIGHUP": syscall.SIGHUP, "SIGPIPE": syscall.SIGPIPE, "SIGKILL": syscall.SIGKILL, "SIGABRT": syscall.SIGABRT}

// Ending returns how a process ended: its exit code, or the name of the signal that killed it.
func Ending(p *os.ProcessState) string {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		for name, sig := range Signals {
			if sig == status.Signal() {
				return name
			}
		}
	}
	return strconv.Itoa(p.ExitCode())
}

// A Process is a process of the system.
type Process struct {
	Pid int
	// Line is its command line.
	Line string
}

// Processes returns the processes whose command line matches the pattern.
func Processes(t testing.TB, pattern string) (found []Process) {
	t.Helper()
	out, err := exec.Command(MustHave(t, "ps"), "-Aww", "-o", "pid=", "-o", "args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	want := regexp.MustCompile(pattern)
	for _, line := range strings.Split(string(out), "\n") {
		number, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil && want.MatchString(args) {
			found = append(found, Process{pid, args})
		}
	}
	return found
}

// AwaitTrue waits until a condition holds.
func AwaitTrue(t testing.TB, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition never held")
		}
	}
}

// AwaitFile waits until the text of a file matches the pattern.
func AwaitFile(t testing.TB, name, pattern string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(Patience); !want.MatchString(Read(t, name)); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s never matched %s:\n%s", name, pattern, Read(t, name))
		}
	}
}

// Read returns the text of a file, "" if there is no such file.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}
