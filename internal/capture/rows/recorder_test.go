package rows

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

	"mcpc/internal/capture"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

func frame(i int) wire.Frame {
	return wire.Frame{Seq: uint64(i), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)}
}

func TestRecorderWritesARun(t *testing.T) {
	ring := capture.NewRing(filepath.Join(t.TempDir(), "state", "traffic"))
	var secrets redact.Secrets
	secrets.Learn("a-known-secret")
	r := capture.NewRecorder(capture.Recording{Open: ring.Create, Secrets: &secrets, Head: capture.Head{Target: "t", By: capture.ByCommand, Argv: []string{"--token", "a-known-secret"}}})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { r.Tap(frame(i)) })
	}
	all.Wait()
	r.Tap(wire.Frame{Raw: []byte("it said a-known-secret")})
	r.End(capture.End{Kind: wire.Timeout, Exit: 9, Text: "with a-known-secret"})
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
	ring := capture.NewRing(filepath.Join(t.TempDir(), "traffic"))
	if err := capture.NewRecorder(capture.Recording{Open: ring.Create}).Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ring.Dir()); err == nil {
		t.Error("there is a folder")
	}
}

// fullDisk accepts a number of writes, then fails.
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
		r := capture.NewRecorder(capture.Recording{
			Open:    func() (io.WriteCloser, int, error) { return &fullDisk{left}, 1, nil },
			OnError: func(err error) { told = append(told, err) },
		})
		for range 3 {
			r.Tap(frame(1))
			r.Flush()
		}
		r.End(capture.End{})
		if err := r.Close(); !errors.Is(err, errFull) || len(told) != 1 {
			t.Errorf("after %d writes: %v, told %v", left, err, told)
		}
	}
}

// A frame that is written in pieces is one line, whatever its bytes are, and comes after the
// earlier lines.
func TestLongFrames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "long.jsonl")
	r := capture.NewRecorder(capture.Recording{Open: capture.File(name), Head: capture.Head{By: capture.ByCommand}})
	text := []byte(strings.Repeat("ünï\"\n", capture.LongFrame/6) + "end")
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

// A frame that was made safe by the caller is not looked at again.
func TestSafeFrameIsNotRedactedAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "safe.jsonl")
	var s redact.Secrets
	r := capture.NewRecorder(capture.Recording{Open: capture.File(name), Secrets: &s})
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
	ring := capture.NewRing(os.Getenv("TRACE_TEST_RING"))
	if ring.Dir() != "" {
		r := capture.NewRecorder(capture.Recording{Open: ring.Create, Head: capture.Head{By: capture.ByCommand}})
		r.Tap(frame(1))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	ring = capture.NewRing(filepath.Join(t.TempDir(), "traffic"))
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
	ring := capture.NewRing(t.TempDir())
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
		limits capture.Limits
		left   int
	}{{capture.Limits{}, 10}, {capture.Limits{Runs: 8}, 8}, {capture.Limits{Bytes: 650}, 6}, {capture.Limits{Age: 3*time.Hour + time.Minute}, 3}, {capture.Limits{Runs: 1}, 1}} {
		if _, err := ring.Prune(c.limits, now); err != nil {
			t.Fatal(err)
		}
		runs, err := ring.Runs()
		if err != nil || len(runs) != c.left || runs[len(runs)-1].Number != 10 {
			t.Errorf("%+v leaves %v, %v", c.limits, runs, err)
		}
	}
	// A run that may still be written to remains, and no number is used twice.
	if removed, _ := ring.Prune(capture.Limits{Bytes: 1}, now.Add(-time.Hour+time.Second)); len(removed) > 0 {
		t.Errorf("%v was removed", removed)
	}
	if err := os.Remove(filepath.Join(ring.Dir(), "last")); err != nil {
		t.Fatal(err)
	}
	w, run, err := ring.Create()
	if run != 11 || err != nil {
		t.Fatalf("run %d, %v", run, err)
	}
	w.Close()
	if _, err := ring.Find(3); !errors.Is(err, capture.ErrNoRun) {
		t.Error(err)
	}
}

// A run that is written after a killed run is read.
func TestRunAfterTornLineIsRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "own.jsonl")
	for range 2 {
		r := capture.NewRecorder(capture.Recording{Open: capture.File(name), Head: capture.Head{By: capture.ByCommand}})
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
