package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is the time limit for an expected event. A passing test does not reach it.
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
var Signals = map[string]syscall.Signal{
	"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM,
	"SIGHUP": syscall.SIGHUP, "SIGPIPE": syscall.SIGPIPE, "SIGKILL": syscall.SIGKILL, "SIGABRT": syscall.SIGABRT,
}

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

// A Process is a running process of the system.
type Process struct {
	Pid int
	// Line is its command line.
	Line string
}

// Processes returns the processes with a command line that matches the pattern.
func Processes(t testing.TB, pattern string) []Process {
	t.Helper()
	found, err := FindProcesses(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// FindProcesses returns the processes with a command line that matches the pattern. It reads /proc,
// or the output of ps on a system without /proc.
func FindProcesses(pattern string) ([]Process, error) {
	want, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	all, err := allProcesses()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p Process) bool { return !want.MatchString(p.Line) }), nil
}

// allProcesses returns all processes with a command line. It reads /proc, or the output of ps
// without /proc.
func allProcesses() ([]Process, error) {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, name := range names {
		line, err := os.ReadFile(name)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(line) > 0 {
			all = append(all, Process{pid, strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")})
		}
	}
	if len(names) > 0 {
		return all, nil
	}
	out, err := exec.Command("ps", "-Aww", "-o", "pid=", "-o", "args=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		number, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil {
			all = append(all, Process{pid, args})
		}
	}
	return all, nil
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
