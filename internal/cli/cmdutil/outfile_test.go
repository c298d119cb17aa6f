package cmdutil

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestOutputNamesThatAreStreams(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no name that leads to a stream")
	}
	dir := t.TempDir()
	link := func(to, name string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := os.WriteFile(filepath.Join(dir, "1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/7": 7, "/dev/fd/../fd/7": 7, "/dev/fd/x": -1, "/dev/fd/-1": -1,
		link("/dev/fd/7", "straight"): 7, link("straight", "again"): 7, link("/dev/fd", "folder") + "/7": 7,
		link("round", "round"): -1, link("1", "file"): -1, link("nowhere", "dangling"): -1,
		filepath.Join(dir, "1"): -1, filepath.Join(dir, "none"): -1, filepath.Join(dir, "none", "1"): -1, os.DevNull: -1, "": -1,
	} {
		fd, ok := ownDescriptor(name)
		if !ok {
			fd = -1
		}
		if fd != want {
			t.Errorf("%q is %d, want %d", name, fd, want)
		}
	}
}

// A file among the devices is never replaced by a regular file.
func TestOutputDoesNotReplaceDevices(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{link: file, filepath.Join(dir, "null"): os.DevNull} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		if got, want := isDevice(name), to == os.DevNull; got != want {
			t.Errorf("%s is a device: %t", name, got)
		}
	}
	if isDevice(file) || isDevice(dir) || isDevice(filepath.Join(dir, "none")) || !isDevice(os.DevNull) {
		t.Error("a file, a folder or nothing is a device, or a device is none")
	}
	if info, err := os.Lstat("/dev/stdout"); err == nil && info.Mode()&os.ModeSymlink != 0 && !isDevice("/dev/stdout") {
		t.Error("a link among the devices is taken for a file")
	}
	if err := ReplaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a link to a file was written through: %v %v", info, err)
	}
	if text, _ := os.ReadFile(file); string(text) != "as it was" {
		t.Errorf("what the link led to is now %q", text)
	}
}
