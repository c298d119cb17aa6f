package live

import (
	"os"
	"sync"
	"testing"
	"time"

	"mcpc/internal/capture"
)

// A run that is compressed while it is followed is read on where reading stopped.
func TestRunIsCompressedWhileItIsFollowed(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	const first, all = 100, 3500
	head := capture.Head{Started: noon, Target: "t", By: capture.ByTap, Run: 1}
	write(t, ring.Path(1), calls(head, 0, first))
	tail, err := NewTail(Options{Ring: ring, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	c, _, err := tail.OpenOlder()
	if err != nil || c.Count() != first {
		t.Fatal(c, err)
	}
	write(t, ring.Path(1), append(calls(head, first, all-first), "{\"next\":2}\n"...))
	runs, err := ring.Runs()
	if err != nil {
		t.Fatal(err)
	}
	ring.CompressEnded(runs, time.Now().Add(time.Hour))
	if _, err := os.Stat(ring.Path(1)); !os.IsNotExist(err) {
		t.Fatal("it was not compressed:", err)
	}
	tail.Step(new(sync.Mutex), func(changed Changed) {
		if changed.DeletedPath != "" || changed.Warnings != nil {
			t.Errorf("%+v", changed)
		}
	})
	last := c.Row(all)
	if last == nil {
		t.Fatalf("%d rows, want %d", c.Count(), all)
	}
	if x, err := last.Exchange(); err != nil || x.Response.Raw == nil || len(tail.growing) > 0 {
		t.Errorf("%v, %d grow", err, len(tail.growing))
	}
	c.Close()
}
