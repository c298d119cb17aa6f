package main

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/program"
)

// TestASignalEndsTheWaitForLateResponses has a tap whose server ends long before its response is
// to come.
func TestASignalEndsTheWaitForLateResponses(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // where no signal can be sent
	}
	r := program.Start(t, func(cmd *exec.Cmd) {
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	}, "tap", "--state", t.TempDir(), "--no-record", "-v", "--fault", "when do delay 1h", "--", "mcpc", "demo", "--stdio")
	for deadline := time.Now().Add(program.Patience); !strings.Contains(r.Stderr(), "fault: delay"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no fault: %s", r.Stderr())
		}
	}
	ended := make(chan string, 1)
	go func() { ended <- r.Stop() }()
	select {
	case <-ended:
	case <-time.After(program.Patience):
		t.Error("the tap waits for a response that is delayed")
	}
}
