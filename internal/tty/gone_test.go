//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"
	"path/filepath"
	"testing"
)

func TestClosedReaderIsDetected(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if ReaderClosed(w) {
		t.Error("somebody reads, and is gone")
	}
	w.Write([]byte("unread"))
	if ReaderClosed(w) {
		t.Error("somebody may yet read, and is gone")
	}
	r.Close()
	if !ReaderClosed(w) {
		t.Error("nobody reads, and is not gone")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, f := range []*os.File{file, null} {
		if ReaderClosed(f) {
			t.Errorf("%s is gone", f.Name())
		}
	}
	null.Close()
	if ReaderClosed(null) {
		t.Error("what is closed here is gone")
	}
}
