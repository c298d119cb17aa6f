package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// A counter that is no plain file is neither read nor written: a link could lead to any
// file of the user's. A run gets its number all the same.
func TestTheCounterFollowsNoLink(t *testing.T) {
	for _, planted := range []string{"link", "link to nothing", "folder"} {
		t.Run(planted, func(t *testing.T) {
			if runtime.GOOS == "windows" && planted != "folder" {
				t.Log("links are for administrators there")
				return
			}
			ring := NewRing(t.TempDir())
			precious, counter := filepath.Join(t.TempDir(), "precious"), filepath.Join(ring.Dir(), counterName)
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

// A run whose recorder has its file open is kept beyond each of the limits, however long nothing crossed, also behind
// its end; once the recorder is closed it goes.
func TestPruneKeepsALivingRun(t *testing.T) {
	for name, limits := range map[string]Limits{"runs": {Runs: 1}, "bytes": {Bytes: 1}, "age": {Age: time.Hour}} {
		for _, ended := range []bool{false, true} {
			ring := NewRing(t.TempDir())
			living := NewRecorder(Recording{Open: ring.Create, Head: Head{Started: noon, By: ByTap}})
			living.Tap(ping(1))
			if living.Flush(); ended {
				living.End(End{Time: noon})
			}
			other := NewRecorder(Recording{Open: ring.Create, Head: Head{Started: noon, By: ByTap}})
			other.Tap(ping(1))
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			later := time.Now().Add(48 * time.Hour)
			removed, err := ring.Prune(limits, later)
			if slices.ContainsFunc(removed, func(r Run) bool { return r.Number == 1 }) || err != nil {
				t.Errorf("%s: removed %v, %v", name, removed, err)
			}
			living.Tap(ping(2))
			if err := living.Close(); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(ring.Path(1)); err != nil || c.Count() != 2 {
				t.Errorf("%s: %v", name, err)
			}
			if removed, err = ring.Prune(Limits{Bytes: 1}, later); len(removed) == 0 || removed[len(removed)-1].Number != 1 || err != nil {
				t.Errorf("%s: removed %v, %v once it is closed", name, removed, err)
			}
		}
	}
}

// A run is compressed once its recorder is closed, not behind its end alone.
func TestLivingRunIsNotCompressed(t *testing.T) {
	defer func(n int64) { compressFrom = n }(compressFrom)
	compressFrom = 1
	ring := NewRing(t.TempDir())
	r := NewRecorder(Recording{Open: ring.Create, Head: Head{Started: noon, By: ByTap}})
	r.Tap(ping(1))
	r.End(End{Time: noon})
	if done, err := ring.compress(1, nil); done || err != nil {
		t.Errorf("compressed %v, %v", done, err)
	}
	r.Tap(ping(2))
	r.End(End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if done, err := ring.compress(1, nil); !done || err != nil {
		t.Errorf("compressed %v, %v", done, err)
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
	ring := NewRing(filepath.Join(state, "traffic"))
	r := NewRecorder(Recording{Open: ring.Create, Head: Head{Started: noon, By: ByTap}})
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

// What crosses after the deletion of a recorder's file, or of its folder, is recorded in another one.
func TestRecorderOfADeletedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("it deletes no file that is open")
		return
	}
	for name, remove := range map[string]func(string) error{"file": os.Remove, "folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) }} {
		for kind, rotation := range map[string]int64{"plain": 0, "rotates": 400} {
			ring := NewRing(filepath.Join(t.TempDir(), "traffic"))
			rec := Recording{Open: ring.Create, Head: Head{Started: noon, By: ByTap}}
			if rotation > 0 {
				rec.Rotation = Rotation{Ring: ring, Bytes: rotation, Files: 100, Carry: Carry}
			}
			r := NewRecorder(rec)
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
		r := NewRecorder(Recording{Open: File(path), Head: Head{Started: noon, By: ByTap}})
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

// A file counts as held if another one has locked it, and not if it cannot be locked: on a file system without locks
// runs are pruned and compressed, too.
func TestFileThatCannotBeLockedIsNotHeld(t *testing.T) {
	ring := NewRing(t.TempDir())
	recorder, n, err := ring.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	f, err := openPlain(ring.Path(n), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !lockAlone(f) {
		t.Error("the file that a recorder has open is not held")
	}
	f.Close() // which cannot be locked
	if lockAlone(f) {
		t.Error("a file that cannot be locked is held")
	}
}
