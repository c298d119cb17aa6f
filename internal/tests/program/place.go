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

// MustHave returns the path of a program that a test starts. The test fails if it is missing,
// because a skipped test looks like a passed one.
func MustHave(t testing.TB, name string) string {
	t.Helper()
	path, err := LookFor(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// LookFor returns the path of a program. If it is missing, the error names the command that
// installs it.
func LookFor(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed: scripts/preflight.sh install", name)
	}
	return path, nil
}

// inPathCount counts the programs that InPath wrote.
var inPathCount atomic.Int64

// InPath writes a program into the directory of mcpc in the PATH, and returns its name. A name is
// needed because readers of $BROWSER and $PAGER split a path at spaces.
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

// ShortDir returns a temporary directory with a path that is short enough for unix sockets. It is
// removed after the test, once no process writes to it.
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

// givenPorts are the ports that FreePort has returned, so that parallel tests get different ports.
var givenPorts sync.Map

// FreePort returns a free port for a server that listens later. It is not an ephemeral port, so
// that the system does not assign it to a different process.
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
