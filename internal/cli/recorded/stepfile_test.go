package recorded

import (
	"testing"

	"mcpc/internal/connect"
)

func TestStepsNameTheWatchedCommand(t *testing.T) {
	c := &connect.Conn{Shown: []string{"node", "src/server.js"}}
	if got := newFileFor(c).Command; len(got) != 2 || got[0] != "node" {
		t.Errorf("got the command %q, want node src/server.js", got)
	}
	if got, want := RunLine("calls.mcpc.yaml", c), "mcpc run calls.mcpc.yaml --allow-exec"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
