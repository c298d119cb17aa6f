package program

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ProcessesLeft waits until no process has the marker in its environment. It returns the processes
// that remain after Patience.
func ProcessesLeft(t testing.TB, marker string) []string {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		left = ProcessesWith(t, marker)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// ProcessesWith returns the processes that have the marker in their environment.
func ProcessesWith(t testing.TB, marker string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		environment, _ := os.ReadFile(filepath.Join(name, "environ"))
		if bytes.Contains(environment, []byte(marker)) {
			command, _ := os.ReadFile(filepath.Join(name, "cmdline"))
			found = append(found, fmt.Sprintf("process %s %q", filepath.Base(name), command))
		}
	}
	return found
}
