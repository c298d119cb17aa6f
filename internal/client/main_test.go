package client

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpc/internal/client/process"
)

// TestMain turns the test binary into a stdio server if it is started as one, and checks for leaked
// goroutines.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "helper" {
		os.Exit(runHelper(os.Args[2]))
	}
	// Tests of processes wait more than they work.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	process.StderrGrace = 500 * time.Millisecond // on a busy machine the last words come late
	goleak.VerifyTestMain(m)
}
