package cmdutil

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

// Files that cannot be written are refused before anything is sent, and nothing is left of the
// attempt.
func TestWritableFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, hint string }{
		{"", "", ""},
		{file, "", ""},
		{filepath.Join(dir, "new"), "", ""},
		{os.DevNull, "", ""},
		{dir, "--x: " + dir + " is a directory", "--x " + filepath.Join(dir, "FILE")},
		{filepath.Join(dir, "none", "x"), "--x: no such directory: " + filepath.Join(dir, "none"), ""},
		{filepath.Join(file, "x"), "--x: no such directory: " + file, ""},
	} {
		out := CheckWritable("--x", c.name)
		if out.OK() != (c.text == "") || out.Text != c.text || string(out.Hint) != c.hint {
			t.Errorf("%s: got %q %q %q", c.name, out.Kind, out.Text, out.Hint)
		}
	}
	if out := CheckOutput(dir); !strings.HasPrefix(out.Text, "-o: ") {
		t.Errorf("got %q", out.Text)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("files are left: %v", all)
	}
}

// A file is replaced as a whole: if it cannot be written to its end, the file before stays.
func TestFilesAreReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := ReplaceFile(file, []byte("before")); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	_, err := ReplaceBy(file, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return failed
	})
	text, _ := os.ReadFile(file)
	all, _ := os.ReadDir(dir)
	if !errors.Is(err, failed) || string(text) != "before" || len(all) != 1 {
		t.Errorf("got %v, %q and %v", err, text, all)
	}
	n, err := ReplaceBy(file, func(w io.Writer) error {
		_, err := io.WriteString(w, "after")
		return err
	})
	if text, _ := os.ReadFile(file); n != 5 || err != nil || string(text) != "after" {
		t.Errorf("got %d bytes, %v, %q", n, err, text)
	}
}

// Text is added to a file, which is created if it does not exist.
func TestFilesThatAreAddedTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"a", "b"} {
		if out := CheckAppendable("--save", file); !out.OK() {
			t.Fatal(out.Text)
		}
		if err := AppendTo(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(file); string(text) != "ab" {
		t.Errorf("got %q", text)
	}
	if !IsFile(file) || IsFile(filepath.Dir(file)) || IsFile(os.DevNull) || IsFile(file+"x") {
		t.Error("what is a file")
	}
	if err := AppendTo(filepath.Join(file, "x"), nil); err == nil {
		t.Error("a file is a directory")
	}
	if out := CheckAppendable("--save", filepath.Dir(file)); out.Kind != wire.LocalIO {
		t.Errorf("got %q", out.Kind)
	}
	if ShownFile("-") != "stdin" || ShownFile("x") != "x" {
		t.Error("the name of a file")
	}
}
