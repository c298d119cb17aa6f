package diff_test

import (
	"os"
	"path/filepath"
	"testing"

	"mcpc/internal/diff"
	"mcpc/internal/diff/lockfile"
)

// The tools of two releases of a real server, as it sent them. The changes were found by hand: 11
// of 18 inputSchemas no longer have additionalProperties false, each tool got all four annotations,
// and there is one new tool.
func TestRealPair(t *testing.T) {
	var pair [2]diff.Snapshot
	for i, release := range []string{"2026.1.26", "2026.8.31"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "real", "server-everything-"+release+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if pair[i], err = lockfile.ParseAny(raw); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join("testdata", "real", "want")
	got := lines(diff.Compare(pair[0], pair[1], options))
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || got != string(want) {
		t.Errorf("%v: got\n%s", err, got)
	}
	if n := diff.Failing(diff.Compare(pair[0], pair[1], options), diff.Risky); n != 0 {
		t.Errorf("%d changes are not harmless", n)
	}
	if n := diff.Failing(diff.Compare(pair[1], pair[0], options), diff.Breaking); n == 0 {
		t.Error("the way back breaks nothing")
	}
}
