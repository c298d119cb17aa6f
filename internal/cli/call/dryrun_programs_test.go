//go:build programs

package call_test

import (
	"os/exec"
	"testing"

	"mcpc/internal/tests/program"
)

// The command of --curl sends the same as the call, byte for byte except the id.
func TestDryRunAsCurl(t *testing.T) {
	program.MustHave(t, "curl")
	l := newDryRun(t, "")
	l.call()
	_, raw := l.lastCall()
	command := l.call("--curl")
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	if _, again := l.lastCall(); sansID(again) != sansID(raw) || again == raw {
		t.Errorf("curl sent %s, not %s", again, raw)
	}
}
