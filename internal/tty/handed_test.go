//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHandedOverDescriptors(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if f, err := OpenInherited(int(file.Fd())); err == nil {
		f.Close()
		t.Error("what is opened here is taken for what was handed over")
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, "before, "); err != nil {
		t.Fatal(err)
	}
	f, err := OpenInherited(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "then"); err != nil {
		t.Error(err)
	}
	f.Close()
	if _, err := io.WriteString(file, ", after"); err != nil {
		t.Error("the descriptor is closed with the file:", err)
	}
	if got, _ := os.ReadFile(file.Name()); string(got) != "before, then, after" {
		t.Errorf("got %q", got)
	}
	if _, err := OpenInherited(1 << 20); err == nil {
		t.Error("a descriptor that is not open was opened")
	}
}

func TestHandedOverDescriptorMustBeWritable(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := unix.FcntlInt(null.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenInherited(int(null.Fd())); err == nil {
		f.Close()
		t.Error("what can only be read was opened to write")
	}
}
