package shell

import (
	"slices"
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/state"
)

// The history has the lines that were typed, except secrets, lines that begin with a space, and
// repetitions.
func TestHistory(t *testing.T) {
	t.Parallel()
	f := cmdutil.New(nil, nil, nil)
	f.Now = time.Now
	f.Secrets.Learn("s3cret-s3cret-s3cret")
	store, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &shellRun{f: f, c: &connect.Conn{Store: store}}
	for _, c := range []struct {
		line string
		kept bool
	}{
		{"list\n", true},
		{" call x a=1\n", false},
		{"call x key=s3cret-s3cret-s3cret\n", false},
		{"call x -H 'Authorization: Bearer abcdefgh12345678'\n", false},
		{"call x a=1\n", true},
		{"call x a=1\n", true},
	} {
		if kept := s.keep(t.Context(), c.line); kept != c.kept {
			t.Errorf("%q: remembered %t", c.line, kept)
		}
	}
	if got := s.history(); !slices.Equal(got, []string{"list", "call x a=1"}) {
		t.Errorf("got %q", got)
	}
}
