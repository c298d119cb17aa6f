package wire

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name; with -update it becomes that file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// A sample is a message that a real program sent.
type sample struct {
	name string
	raw  []byte
}

// samples returns the messages of testdata/messages and, if the specification's schema is next to
// the repository, its examples.
func samples(t testing.TB) []sample {
	t.Helper()
	all := files(t, filepath.Join("testdata", "messages"))
	if len(all) < 15 {
		t.Fatalf("only %d messages", len(all))
	}
	return append(all, examples(t)...)
}

func examples(t testing.TB) []sample {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "spec", "schema", "2026-07-28", "examples")
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	return files(t, dir)
}

func files(t testing.TB, dir string) (all []sample) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		raw, err := os.ReadFile(path)
		all = append(all, sample{strings.TrimSuffix(filepath.Base(path), ".json"), raw})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
