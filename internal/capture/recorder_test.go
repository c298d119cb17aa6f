package capture

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/wire"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// A slowDisk takes nothing until it is let go, and counts lines.
type slowDisk struct {
	letGo chan struct{}
	lines int
}

func (s *slowDisk) Write(b []byte) (int, error) {
	<-s.letGo
	s.lines += bytes.Count(b, []byte("\n"))
	return len(b), nil
}

func (s *slowDisk) Close() error { return nil }

// If too many frames wait for a disk, the caller waits, and no frame is lost.
func TestSlowDiskLosesNothing(t *testing.T) {
	defer func(bytes int) { maxQueuedBytes = bytes }(maxQueuedBytes)
	maxQueuedBytes = 2 << 20
	disk := &slowDisk{letGo: make(chan struct{})}
	r := NewRecorder(Recording{Open: func() (io.WriteCloser, int, error) { return disk, 1, nil }})
	large, came := bytes.Repeat([]byte("word "), maxQueuedBytes/5/5), make(chan int, 10)
	go func() {
		defer close(came)
		for i := range 10 {
			r.Tap(wire.Frame{Raw: large})
			came <- i
		}
	}()
	for range 4 {
		<-came
	}
	r.queue.mu.Lock()
	if waiting := r.queue.waitingBytes + r.queue.composingBytes; waiting > maxQueuedBytes+5*200 {
		t.Errorf("%d bytes wait", waiting)
	}
	r.queue.mu.Unlock()
	close(disk.letGo)
	for range came {
	}
	if err := r.Close(); err != nil || disk.lines != 11 {
		t.Errorf("%d lines: %v", disk.lines, err)
	}
}

// Frames that arrive faster than their lines are composed wait for that outside of memory; frames
// that wait for the disk, and a large frame among few, do not block the caller.
func TestQueueBoundsUnwrittenFrames(t *testing.T) {
	for _, c := range []struct {
		frames, bytes, onDisk, more int
		want                        bool
	}{
		{0, 0, 0, maxQueuedBytes + 1, true},
		{1, 1 << 20, 0, 8 << 20, true},
		{manyFrames, maxComposingBytes - 100, 0, 100, true},
		{manyFrames, maxComposingBytes, 0, 1, false},
		{manyFrames, maxComposingBytes, 1, 1, true},
		{manyFrames, maxUnwrittenBytes, 1, 1, false},
		{manyFrames - 1, maxUnwrittenBytes, 1, 1, true},
		{1, maxQueuedBytes, 1, 1, false},
		{1, maxQueuedBytes, 0, 1, false},
	} {
		q := &queue{uncomposed: c.frames, waitingBytes: c.bytes / 2, composingBytes: c.bytes - c.bytes/2, diskWaiters: c.onDisk}
		if q.hasRoom(c.more) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// The count of waiting frames returns to 0, however they are written.
func TestQueueCountsWhatWaits(t *testing.T) {
	disk := &slowDisk{letGo: make(chan struct{})}
	close(disk.letGo)
	r := NewRecorder(Recording{Open: func() (io.WriteCloser, int, error) { return disk, 1, nil }})
	for i := range 10_000 {
		r.Tap(wire.Frame{Seq: uint64(i), Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/progress"}`)})
		if i%1000 == 0 {
			r.Flush()
		}
	}
	if err := r.Close(); err != nil || disk.lines != 10_001 {
		t.Errorf("%d lines: %v", disk.lines, err)
	}
	r.queue.mu.Lock() // a timer may still run Flush
	defer r.queue.mu.Unlock()
	if r.queue.uncomposed != 0 || r.queue.waitingBytes != 0 || r.queue.composingBytes != 0 || r.queue.diskWaiters != 0 {
		t.Errorf("%d frames wait, %d and %d bytes, %d times for the disk", r.queue.uncomposed, r.queue.waitingBytes, r.queue.composingBytes, r.queue.diskWaiters)
	}
}

// A date is written as package time writes it.
func TestTimesAreWrittenLikePackageTime(t *testing.T) {
	for _, at := range []time.Time{
		noon, noon.Add(1), noon.Add(120 * time.Millisecond), noon.Add(time.Second - 1), noon.Add(time.Second),
		noon.In(time.FixedZone("", -3600)), time.Unix(-1, 5), time.Date(12345, 1, 2, 3, 4, 5, 600, time.UTC), noon,
	} {
		got, want := string(appendRFC3339(nil, at)), at.UTC().Format(time.RFC3339Nano)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A file counts as held if another one has locked it, and not if it cannot be locked: on a file system without locks
// runs are pruned and compressed, too.
func TestFileThatCannotBeLockedIsNotHeld(t *testing.T) {
	ring := NewRing(t.TempDir())
	recorder, n, err := ring.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	f, err := OpenPlain(ring.Path(n), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !lockExclusive(f) {
		t.Error("the file that a recorder has open is not held")
	}
	f.Close() // which cannot be locked
	if lockExclusive(f) {
		t.Error("a file that cannot be locked is held")
	}
}

// A stopped compression leaves the plain run, and no other file.
func TestStoppedCompressionKeepsPlainRun(t *testing.T) {
	defer func(n int64) { CompressFrom = n }(CompressFrom)
	CompressFrom = 1
	ring := NewRing(t.TempDir())
	if err := os.WriteFile(ring.Path(1), AppendEnd(AppendHead(nil, Head{Started: noon}), End{Time: noon}), 0o600); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	stop.Store(true)
	done, err := ring.compress(1, &stop)
	names, _ := filepath.Glob(filepath.Join(ring.Dir(), "*"))
	if done || err == nil || len(names) != 1 || names[0] != ring.Path(1) {
		t.Error(done, err, names)
	}
}
