package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the programs that the tests run: copies of it
// stand in the PATH under these names, so that mcpc is a real process with a
// real exit code, and dies of real signals.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		// A process under the race detector sleeps a second before it ends.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){"mcpc": main, "spied": spied})
}
