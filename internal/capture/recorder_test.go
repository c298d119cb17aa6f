package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

func frame(i int) wire.Frame {
	return wire.Frame{Seq: uint64(i), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)}
}

func TestRecorderWritesARun(t *testing.T) {
	ring := NewRing(filepath.Join(t.TempDir(), "state", "traffic"))
	var secrets redact.Secrets
	secrets.Learn("a-known-secret")
	r := NewRecorder(Recording{Open: ring.Create, Secrets: &secrets, Head: Head{Target: "t", By: ByCommand, Argv: []string{"--token", "a-known-secret"}}})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { r.Tap(frame(i)) })
	}
	all.Wait()
	r.Tap(wire.Frame{Raw: []byte("it said a-known-secret")})
	r.End(End{Kind: wire.Timeout, Exit: 9, Text: "with a-known-secret"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.Tap(frame(1)) // too late, and harmless
	raw, err := os.ReadFile(ring.Path(1))
	if err != nil || strings.Contains(string(raw), "a-known-secret") || strings.Count(string(raw), "\n") != 103 {
		t.Errorf("%v\n%s", err, raw)
	}
	info, _ := os.Stat(ring.Path(1))
	dir, _ := os.Stat(ring.Dir())
	// On Windows the access control list of the user's profile protects both.
	if runtime.GOOS != "windows" && (info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700) {
		t.Errorf("file %v, folder %v", info.Mode(), dir.Mode())
	}
}

func TestNothingIsOpenedBeforeTheFirstLine(t *testing.T) {
	ring := NewRing(filepath.Join(t.TempDir(), "traffic"))
	if err := NewRecorder(Recording{Open: ring.Create}).Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ring.Dir()); err == nil {
		t.Error("there is a folder")
	}
}

// fullDisk takes so many writes.
type fullDisk struct{ left int }

var errFull = errors.New("no space")

func (f *fullDisk) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return len(b) / 2, errFull
	}
	return len(b), nil
}

func (f *fullDisk) Close() error { return nil }

func TestFullDiskIsToldOnce(t *testing.T) {
	for left := range 3 {
		var told []error
		r := NewRecorder(Recording{
			Open:    func() (io.WriteCloser, int, error) { return &fullDisk{left}, 1, nil },
			OnError: func(err error) { told = append(told, err) },
		})
		for range 3 {
			r.Tap(frame(1))
			r.Flush()
		}
		r.End(End{})
		if err := r.Close(); !errors.Is(err, errFull) || len(told) != 1 {
			t.Errorf("after %d writes: %v, told %v", left, err, told)
		}
	}
}

// A frame that is written in pieces is one line, whatever its bytes are, and is
// behind what came before it.
func TestLongFrames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "long.jsonl")
	r := NewRecorder(Recording{Open: File(name), Head: Head{By: ByCommand}})
	text := []byte(strings.Repeat("ünï\"\n", longFrame/6) + "end")
	for _, raw := range [][]byte{[]byte("before"), text, append([]byte{0xff}, text...), []byte("behind")} {
		r.Tap(wire.Frame{Raw: raw})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got [][]byte
	lines := wholeLines(f)
	for line, err := lines.Next(); err == nil; line, err = lines.Next() {
		if line.Frame != nil {
			got = append(got, line.Frame.Raw)
		}
	}
	if len(got) != 4 || !bytes.Equal(got[1], text) || !bytes.Equal(got[2][1:], text) || got[2][0] != 0xff || string(got[3]) != "behind" {
		t.Errorf("%d frames", len(got))
	}
}

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

// What is too much to wait for a disk makes the caller wait, and is not lost.
func TestSlowDiskLosesNothing(t *testing.T) {
	defer func(bytes int) { mostWaiting = bytes }(mostWaiting)
	mostWaiting = 2 << 20
	disk := &slowDisk{letGo: make(chan struct{})}
	r := NewRecorder(Recording{Open: func() (io.WriteCloser, int, error) { return disk, 1, nil }})
	large, came := bytes.Repeat([]byte("word "), mostWaiting/5/5), make(chan int, 10)
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
	r.mu.Lock()
	if waiting := r.bytes + r.taken; waiting > mostWaiting+5*200 {
		t.Errorf("%d bytes wait", waiting)
	}
	r.mu.Unlock()
	close(disk.letGo)
	for range came {
	}
	if err := r.Close(); err != nil || disk.lines != 11 {
		t.Errorf("%d lines: %v", disk.lines, err)
	}
}

// A frame that was made safe by the caller is not looked at again.
func TestSafeFrame(t *testing.T) {
	name := filepath.Join(t.TempDir(), "safe.jsonl")
	var s redact.Secrets
	r := NewRecorder(Recording{Open: File(name), Secrets: &s})
	r.TapSafe(s.Frame(wire.Frame{Raw: []byte(`{"password":"canary"}`)}))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	raw, _ := os.ReadFile(name)
	if strings.Contains(string(raw), "canary") || !strings.Contains(string(raw), `"hidden":1`) {
		t.Errorf("%s", raw)
	}
}

// Fifty processes take their numbers at once.
func TestRunsOfManyProcesses(t *testing.T) {
	ring := NewRing(os.Getenv("TRACE_TEST_RING"))
	if ring.Dir() != "" {
		r := NewRecorder(Recording{Open: ring.Create, Head: Head{By: ByCommand}})
		r.Tap(frame(1))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	ring = NewRing(filepath.Join(t.TempDir(), "traffic"))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestRunsOfManyProcesses$")
			cmd.Env = append(os.Environ(), "TRACE_TEST_RING="+ring.Dir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	runs, err := ring.Runs()
	if err != nil || len(runs) != 50 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, run := range runs {
		c, err := Open(run.Path)
		if err != nil || len(c.Rows()) != 1 || c.Heads[0].Run != run.Number {
			t.Errorf("run %d: %v", run.Number, err)
		}
	}
}

func TestRingIsBounded(t *testing.T) {
	ring := NewRing(t.TempDir())
	now := noon
	for i := range 10 {
		w, run, err := ring.Create()
		if err != nil || run != i+1 {
			t.Fatal(run, err)
		}
		_, _ = w.Write(make([]byte, 100))
		w.Close()
		at := now.Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(ring.Path(run), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limits Limits
		left   int
	}{{Limits{}, 10}, {Limits{Runs: 8}, 8}, {Limits{Bytes: 650}, 6}, {Limits{Age: 3*time.Hour + time.Minute}, 3}, {Limits{Runs: 1}, 1}} {
		if _, err := ring.Prune(c.limits, now); err != nil {
			t.Fatal(err)
		}
		runs, err := ring.Runs()
		if err != nil || len(runs) != c.left || runs[len(runs)-1].Number != 10 {
			t.Errorf("%+v leaves %v, %v", c.limits, runs, err)
		}
	}
	// What may still be written to stays, and no number is given twice.
	if removed, _ := ring.Prune(Limits{Bytes: 1}, now.Add(-time.Hour+time.Second)); len(removed) > 0 {
		t.Errorf("%v was removed", removed)
	}
	if err := os.Remove(filepath.Join(ring.Dir(), counterName)); err != nil {
		t.Fatal(err)
	}
	w, run, err := ring.Create()
	if run != 11 || err != nil {
		t.Fatalf("run %d, %v", run, err)
	}
	w.Close()
	if _, err := ring.Find(3); !errors.Is(err, ErrNoRun) {
		t.Error(err)
	}
}

// A run that is written behind one that was killed is read.
func TestRunBehindATornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "own.jsonl")
	for range 2 {
		r := NewRecorder(Recording{Open: File(name), Head: Head{By: ByCommand}})
		r.Tap(frame(1))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString(`{"seq":2,"time":"20`)
		f.Close()
	}
	c, err := Open(name)
	if err != nil || len(c.Rows()) != 2 || c.Rows()[1].Number() != "2" || len(c.Findings()) != 2 {
		t.Errorf("%v, %d rows, %v", err, len(c.Rows()), c.Findings())
	}
}

// Frames that come faster than their lines are composed wait for that and not in memory; those that
// wait for the disk, and a large one among few, do not hold up the caller.
func TestQueueIsShort(t *testing.T) {
	for _, c := range []struct {
		frames, bytes, onDisk, more int
		want                        bool
	}{
		{0, 0, 0, mostWaiting + 1, true},
		{1, 1 << 20, 0, 8 << 20, true},
		{mostFrames, mostBehind - 100, 0, 100, true},
		{mostFrames, mostBehind, 0, 1, false},
		{mostFrames, mostBehind, 1, 1, true},
		{mostFrames, mostUnwritten, 1, 1, false},
		{mostFrames - 1, mostUnwritten, 1, 1, true},
		{1, mostWaiting, 1, 1, false},
		{1, mostWaiting, 0, 1, false},
	} {
		q := &queue{frames: c.frames, bytes: c.bytes / 2, taken: c.bytes - c.bytes/2, onDisk: c.onDisk}
		if q.hasRoom(c.more) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// What waits is counted down to nothing, however it is written.
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
	r.mu.Lock() // a timer may still run Flush
	defer r.mu.Unlock()
	if r.frames != 0 || r.bytes != 0 || r.taken != 0 || r.onDisk != 0 {
		t.Errorf("%d frames wait, %d and %d bytes, %d times for the disk", r.frames, r.bytes, r.taken, r.onDisk)
	}
}

// A date is written as package time writes it.
func TestTimesAreThoseOfPackageTime(t *testing.T) {
	for _, at := range []time.Time{noon, noon.Add(1), noon.Add(120 * time.Millisecond), noon.Add(time.Second - 1), noon.Add(time.Second),
		noon.In(time.FixedZone("", -3600)), time.Unix(-1, 5), time.Date(12345, 1, 2, 3, 4, 5, 600, time.UTC), noon} {
		got, want := string(appendRFC3339(nil, at)), at.UTC().Format(time.RFC3339Nano)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
