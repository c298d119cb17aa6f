package spool

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/iotest"
)

// All pieces come in order, each as it was made; a loop that ends early stops the goroutine.
func TestAhead(t *testing.T) {
	const pieces = 7
	for stop := range pieces + 2 {
		made, ended := 0, 0
		var got []byte
		for p := range Ahead(make([]byte, 4), func(p []byte) []byte {
			if made == pieces {
				ended++
				return p
			}
			made++
			return append(p, byte(made), byte(2*made))
		}) {
			if got = append(got, p...); len(got)/2 == stop {
				break
			}
		}
		// The goroutine has ended, so that made can be read.
		if want := min(stop, pieces); stop > 0 && len(got)/2 != want || stop == 0 && len(got)/2 != pieces {
			t.Fatalf("%d pieces, stopped at %d", len(got)/2, stop)
		}
		for i := range len(got) / 2 {
			if !slices.Equal(got[2*i:2*i+2], []byte{byte(i + 1), byte(2 * (i + 1))}) {
				t.Fatalf("piece %d is %d", i, got[2*i:2*i+2])
			}
		}
		if ended > 1 || made > len(got)/2+2 {
			t.Fatalf("made %d pieces of which %d were taken, ended %d times", made, len(got)/2, ended)
		}
	}
}

// A watcher keeps what it was given.
type watcher struct{ written, noted []byte }

func (w *watcher) Write(p []byte) (int, error) {
	w.written = append(w.written, p...)
	return len(p), nil
}

func (w *watcher) Note(all []byte) { w.noted = bytes.Clone(all) }

// A Watcher gets what is in the file, and nothing where there is none.
func TestWatch(t *testing.T) {
	for _, dir := range []Dir{"", Dir(t.TempDir())} {
		for _, size := range sizes {
			want := random(size)
			b, seen := dir.New(0), &watcher{}
			b.Watch = func() Watcher { return seen }
			half := size / 2
			_, err := b.Write(want[:half])
			_, failed := b.ReadFrom(iotest.HalfReader(bytes.NewReader(want[half:])))
			inFile := b.InFile()
			got, unread := b.Bytes()
			if err := errors.Join(err, failed, unread); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes: others, or %v", size, err)
			}
			if !inFile {
				want = nil
			}
			if !bytes.Equal(seen.written, want) || !bytes.Equal(seen.noted, want) {
				t.Errorf("%d bytes in %q: %d were watched, %d noted", size, dir, len(seen.written), len(seen.noted))
			}
			b.Close()
		}
	}
}

// A file that takes no more ends ReadFrom, although there is more to read.
func TestReadFromIntoAFullFile(t *testing.T) {
	if !mappable {
		return
	}
	b := Dir(t.TempDir()).New(Memory + 1)
	b.file.Close()
	src := &endless{}
	_, err := b.ReadFrom(src)
	if src.reads > 2*2*Piece/1000+1 {
		t.Errorf("read %d times", src.reads)
	}
	if _, isFile := errors.AsType[*FileError](err); !isFile {
		t.Errorf("%v, want a FileError", err)
	}
}

// An endless has bytes for ever.
type endless struct{ reads int }

func (e *endless) Read(p []byte) (int, error) {
	e.reads++
	return min(len(p), 1000), nil
}
