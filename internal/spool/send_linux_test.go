package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// inFile gives bytes in a file.
func inFile(t *testing.T, want []byte) []byte {
	b := Dir(t.TempDir()).New(Memory + 1)
	if _, err := b.Write(want); err != nil {
		t.Fatal(err)
	}
	all, err := b.Bytes()
	if err != nil || Noted(all) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return all
}

// What is sent arrives as it was, wherever it goes and from wherever in the file it is.
func TestTo(t *testing.T) {
	want := random(5*Piece + 77)
	all := inFile(t, want)
	for _, how := range []struct {
		name string
		open func() (*os.File, func() []byte)
	}{
		{"pipe", func() (*os.File, func() []byte) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan []byte)
			go func() {
				defer r.Close()
				p, _ := io.ReadAll(r)
				got <- p
			}()
			return w, func() []byte { return <-got }
		}},
		{"file", file(t, os.O_CREATE|os.O_WRONLY)},
		{"file to append to", file(t, os.O_CREATE|os.O_WRONLY|os.O_APPEND)},
	} {
		for _, part := range [][2]int{{0, len(all)}, {1, len(all) - 1}, {4095, 4095 + sent}, {sent, sent + 10}, {Piece + 3, 3 * Piece}, {7, 7}} {
			f, read := how.open()
			to := To(f)
			_, before := to.Write([]byte("before "))
			n, err := to.Write(all[part[0]:part[1]])
			_, behind := to.Write([]byte(" behind"))
			if err := errors.Join(before, err, behind, f.Close()); err != nil || n != part[1]-part[0] {
				t.Fatalf("%s, %d: wrote %d, %v", how.name, part, n, err)
			}
			if got := read(); string(got) != "before "+string(want[part[0]:part[1]])+" behind" {
				t.Errorf("%s, %d: others arrived", how.name, part)
			}
		}
	}
}

func file(t *testing.T, mode int) func() (*os.File, func() []byte) {
	return func() (*os.File, func() []byte) {
		name := filepath.Join(t.TempDir(), "out")
		f, err := os.OpenFile(name, mode, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f, func() []byte {
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
	}
}

// A writer that is no file gets what it always got, and a file that takes nothing fails as it
// always did.
func TestToFails(t *testing.T) {
	all := inFile(t, random(Piece))
	var b bytes.Buffer
	if n, err := To(&b).Write(all); n != len(all) || err != nil || !bytes.Equal(b.Bytes(), all) {
		t.Errorf("wrote %d, %v", n, err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if n, err := To(full).Write(all); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	if n, err := To(w).Write(all); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("wrote %d, %v", n, err)
	}
}
