package main

import (
	"fmt"
	"net/http"
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
	testscript.Main(m, map[string]func(){"mcpc": main, "crashing": crashing, "spied": spied, "visit": visit})
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
