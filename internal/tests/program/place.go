package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// MustHave returns the path of a program that a test starts. If it is missing the test fails: a
// test that is skipped looks like one that passed.
func MustHave(t testing.TB, name string) string {
	t.Helper()
	path, err := LookFor(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// LookFor returns the path of a program, or an error that names the command which installs it.
func LookFor(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed: scripts/preflight.sh install", name)
	}
	return path, nil
}

// inPathCount counts the programs of InPath.
var inPathCount atomic.Int64

// InPath writes a program into the directory of mcpc in the PATH, and returns its name. What reads
// $BROWSER or $PAGER would split a path at its blanks.
func InPath(t testing.TB, text string) string {
	t.Helper()
	self, err := exec.LookPath("mcpc")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(filepath.Dir(self), fmt.Sprint("written-", inPathCount.Add(1)))
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(name) })
	return filepath.Base(name)
}

// ShortDir returns a temporary directory whose path is short enough for sockets in it. It is removed
// after the test, as soon as no process writes there any more.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcpc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deadline := time.Now().Add(Patience)
		err := os.RemoveAll(dir)
		for err != nil && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return dir
}

// givenPorts are the ports that FreePort has returned: tests that run side by side get different
// ones.
var givenPorts sync.Map

// FreePort returns a free port for a server that takes a moment to listen. It is not an ephemeral
// port, so that the system gives it to no other process meanwhile.
func FreePort(t testing.TB) string {
	t.Helper()
	for {
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
}
