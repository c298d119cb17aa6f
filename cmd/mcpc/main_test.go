package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the programs that the tests run: copies of it
// stand in the PATH under these names, so that mcpc is a real process with a
// real exit code, and dies of real signals. Under the race detector they take four times
// as long as without it: where $TEST_PROGRAMS names another test binary of this package,
// the copies are of that one.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		// A process under the race detector sleeps a second before it ends.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	if strings.HasSuffix(os.Args[0], ".test") {
		heed(os.Interrupt, syscall.SIGHUP)
	}
	programs := map[string]func(){"mcpc": main, "crashing": crashing, "spied": spied, "visit": visit, "leaking": leaking}
	testscript.Main(tests{m, programs, os.Getenv("TEST_PROGRAMS")}, programs)
}

// tests are run after the programs in the PATH were replaced by copies of a test binary,
// unless that is "".
type tests struct {
	*testing.M
	programs map[string]func()
	binary   string
}

func (r tests) Run() int {
	if r.binary != "" {
		for name := range r.programs {
			if err := replaceProgram(name, r.binary); err != nil {
				fmt.Fprintln(os.Stderr, "TEST_PROGRAMS:", err)
				return 1
			}
		}
	}
	return r.M.Run()
}

// replaceProgram puts a copy of a file in the place of a program of the PATH. It is no
// symbolic link: what a program starts anew by its own path is told by its name.
func replaceProgram(name, file string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	if os.Link(file, path) == nil {
		return nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o700)
}

// heed undoes what a shell without job control does to what it starts in the background,
// and nohup to anything: Ctrl-C or a hang-up is ignored there, and would be by everything
// that a test starts. The tests themselves still end by Ctrl-C alone.
func heed(sigs ...os.Signal) {
	ignored := make(chan os.Signal, 1)
	for _, sig := range sigs {
		if signal.Ignored(sig) {
			signal.Notify(ignored, sig)
		}
	}
	go func() {
		for sig := range ignored {
			if sig == os.Interrupt {
				os.Exit(130)
			}
		}
	}()
}

// visit is a browser that goes to one address, and tells where it ended.
func visit() {
	resp, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resp.Body.Close()
	fmt.Println(resp.Request.URL)
}
