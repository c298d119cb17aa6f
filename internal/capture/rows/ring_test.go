package rows

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// A counter that is no plain file is neither read nor written: a link could lead to any file of the
// user. A run gets its number nevertheless.
func TestRunCounterIgnoresLinks(t *testing.T) {
	for _, planted := range []string{"link", "link to nothing", "folder"} {
		t.Run(planted, func(t *testing.T) {
			if runtime.GOOS == "windows" && planted != "folder" {
				t.Log("links are for administrators there")
				return
			}
			ring := capture.NewRing(t.TempDir())
			precious, counter := filepath.Join(t.TempDir(), "precious"), filepath.Join(ring.Dir(), "last")
			var err error
			switch planted {
			case "folder":
				err = os.Mkdir(counter, 0o700)
			case "link":
				if err = os.WriteFile(precious, []byte("000000000041\nprecious"), 0o600); err == nil {
					err = os.Symlink(precious, counter)
				}
			default:
				err = os.Symlink(precious, counter)
			}
			if err != nil {
				t.Fatal(err)
			}
			for want := 1; want <= 2; want++ {
				f, run, err := ring.Create()
				if err != nil || run != want {
					t.Fatalf("run %d, %v, want %d", run, err, want)
				}
				f.Close()
			}
			raw, err := os.ReadFile(precious)
			if planted == "link" && string(raw) != "000000000041\nprecious" || planted != "link" && err == nil {
				t.Errorf("the file behind the link is %q", raw)
			}
		})
	}
}

// A run whose recorder has its file open is kept beyond each limit, however long it had no traffic,
// even after its end; once the recorder is closed it is deleted.
func TestPruneKeepsALivingRun(t *testing.T) {
	for name, limits := range map[string]capture.Limits{"runs": {Runs: 1}, "bytes": {Bytes: 1}, "age": {Age: time.Hour}} {
		for _, ended := range []bool{false, true} {
			ring := capture.NewRing(t.TempDir())
			living := capture.NewRecorder(capture.Recording{Open: ring.Create, Head: capture.Head{Started: noon, By: capture.ByTap}})
			living.Tap(ping(1))
			if living.Flush(); ended {
				living.End(capture.End{Time: noon})
			}
			other := capture.NewRecorder(capture.Recording{Open: ring.Create, Head: capture.Head{Started: noon, By: capture.ByTap}})
			other.Tap(ping(1))
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			later := time.Now().Add(48 * time.Hour)
			removed, err := ring.Prune(limits, later)
			if slices.ContainsFunc(removed, func(r capture.Run) bool { return r.Number == 1 }) || err != nil {
				t.Errorf("%s: removed %v, %v", name, removed, err)
			}
			living.Tap(ping(2))
			if err := living.Close(); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(ring.Path(1)); err != nil || c.Count() != 2 {
				t.Errorf("%s: %v", name, err)
			}
			if removed, err = ring.Prune(capture.Limits{Bytes: 1}, later); len(removed) == 0 || removed[len(removed)-1].Number != 1 || err != nil {
				t.Errorf("%s: removed %v, %v once it is closed", name, removed, err)
			}
		}
	}
}

// A run is compressed once its recorder is closed, not just after its end.
func TestLivingRunIsNotCompressed(t *testing.T) {
	defer func(n int64) { capture.CompressFrom = n }(capture.CompressFrom)
	capture.CompressFrom = 1
	ring := capture.NewRing(t.TempDir())
	r := capture.NewRecorder(capture.Recording{Open: ring.Create, Head: capture.Head{Started: noon, By: capture.ByTap}})
	r.Tap(ping(1))
	r.End(capture.End{Time: noon})
	if compressRun(ring, 1) {
		t.Error("compressed")
	}
	r.Tap(ping(2))
	r.End(capture.End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !compressRun(ring, 1) {
		t.Error("not compressed")
	}
	if c, err := Open(ring.Path(1)); err != nil || c.Count() != 2 {
		t.Errorf("%v", err)
	}
}

// A recorder that still runs when the whole state directory is deleted does not make that again.
func TestRecorderOfADeletedStateDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("it deletes no file that is open")
		return
	}
	state := filepath.Join(t.TempDir(), "state")
	ring := capture.NewRing(filepath.Join(state, "traffic"))
	r := capture.NewRecorder(capture.Recording{Open: ring.Create, Head: capture.Head{Started: noon, By: capture.ByTap}})
	r.Tap(ping(1))
	r.Flush()
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	r.Tap(ping(2))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state directory is there again: %v", err)
	}
}

// Traffic after the deletion of a recorder's file, or of its folder, is recorded in a new file.
func TestRecorderOfADeletedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("it deletes no file that is open")
		return
	}
	for name, remove := range map[string]func(string) error{"file": os.Remove, "folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) }} {
		for kind, rotation := range map[string]int64{"plain": 0, "rotates": 400} {
			ring := capture.NewRing(filepath.Join(t.TempDir(), "traffic"))
			rec := capture.Recording{Open: ring.Create, Head: capture.Head{Started: noon, By: capture.ByTap}}
			if rotation > 0 {
				rec.Rotation = capture.Rotation{Ring: ring, Bytes: rotation, Files: 100, Carry: Carry}
			}
			r := capture.NewRecorder(rec)
			for i := range 7 {
				r.Tap(ping(i))
			}
			r.Flush()
			if err := remove(ring.Path(r.Run())); err != nil {
				t.Fatal(err)
			}
			for i := 7; i < 30; i++ {
				r.Tap(ping(i))
				r.Flush()
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			runs, err := ring.Runs()
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range runs {
				c, err := Open(run.Path)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range c.Rows() {
					ids[row.ID] = true
				}
				c.Close()
			}
			for i := 7; i < 30; i++ {
				if !ids[strconv.Itoa(i)] {
					t.Errorf("%s, %s: %d is in none of %d files", name, kind, i, len(runs))
				}
			}
		}
		path := filepath.Join(t.TempDir(), "given", "a.jsonl")
		_ = os.Mkdir(filepath.Dir(path), 0o700)
		r := capture.NewRecorder(capture.Recording{Open: capture.File(path), Head: capture.Head{Started: noon, By: capture.ByTap}})
		r.Tap(ping(1))
		r.Flush()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		r.Tap(ping(2))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if c, err := Open(path); err != nil || c.Count() != 1 || c.Row(1).ID != "2" {
			t.Errorf("a file that was named: %v", err)
		}
	}
}

// ping returns the frame of a request.
func ping(id int) wire.Frame {
	return wire.Frame{Seq: uint64(id), Time: noon.Add(time.Duration(id) * time.Second), Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)}
}
