//go:build programs

package terminal

import (
	"strings"
	"testing"
)

func TestStartRunsACommandOnATerminal(t *testing.T) {
	tm := Start(t, 30, []string{"WORD=hello"}, "sh", "-c", `stty size; read line; echo "$WORD $line"; exit 3`)
	tm.Await(`^24 30\r\n$`)
	tm.Type("you\n")
	if out := tm.Ends("3"); !strings.HasSuffix(out, "hello you\r\n") {
		t.Errorf("%q", out)
	}
}
