package rows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// pings returns a capture of requests whose ids begin with a name.
func pings(name string, count int) []byte {
	lines := capture.AppendHead(nil, capture.Head{Started: noon, Run: 1, By: capture.ByProxy})
	for i := range count {
		lines = capture.AppendFrame(lines, wire.Frame{Seq: uint64(i + 1), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s %d","method":"ping"}`, name, i)})
	}
	return lines
}

// A replaced file is not read further, and no row of it has the bytes of another row: neither of a
// row in its place nor of data written over it. A file that only grew, was copied or was compressed
// is the same file.
func TestReplacedFileIsNotReadOn(t *testing.T) {
	moved := func(lines []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			put(t, path+".new", lines)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
	}
	written := func(lines []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { put(t, path, lines) }
	}
	for name, c := range map[string]struct {
		change   func(t *testing.T, path string)
		replaced bool
		rows     int
	}{
		"another one, shorter":        {moved(pings("b", 10)), true, 0},
		"another one, as long":        {moved(pings("b", 40)), true, 0},
		"another one, longer":         {moved(pings("b", 90)), true, 0},
		"written over, shorter":       {written(pings("b", 10)), true, 0},
		"written over, as long":       {written(pings("b", 40)), true, 0},
		"written over, longer":        {written(pings("b", 90)), true, 0},
		"cut":                         {written(pings("a", 30)), true, 0},
		"emptied":                     {written(nil), true, 0},
		"grown":                       {written(pings("a", 50)), false, 50},
		"a copy of it":                {moved(pings("a", 40)), false, 40},
		"a copy of it that has grown": {moved(pings("a", 50)), false, 50},
		"compressed": {func(t *testing.T, path string) {
			defer func(n int64) { capture.CompressFrom = n }(capture.CompressFrom)
			capture.CompressFrom = 1
			put(t, path, append(pings("a", 40), capture.AppendEnd(nil, capture.End{Time: noon})...))
			if !compressRun(capture.NewRing(filepath.Dir(path)), 1) {
				t.Fatal("not compressed")
			}
		}, false, 40},
	} {
		for _, indexed := range []bool{false, true} {
			name := fmt.Sprintf("%s, index %v", name, indexed)
			path := filepath.Join(t.TempDir(), "000001.jsonl")
			put(t, path, pings("a", 40))
			_ = os.Chtimes(path, longAgo, longAgo)
			least := int64(1 << 30)
			if indexed {
				least = 0
				first, err := openIndexed(path, "", least)
				if err != nil {
					t.Fatal(err)
				}
				first.Close()
			}
			read, err := openIndexed(path, "", least)
			if err != nil {
				t.Fatal(err)
			}
			rows := read.Rows()
			c.change(t, path)
			own := func() {
				read.CloseIdle()
				for i, row := range rows {
					frames, err := row.Frames()
					if err == nil && !strings.Contains(string(frames[0].Raw), fmt.Sprintf(`"a %d"`, i)) {
						t.Fatalf("%s: row %d has %s", name, i, frames[0].Raw)
					}
					if errors.Is(err, ErrReplaced) != c.replaced {
						t.Fatalf("%s: %v", name, err)
					}
				}
			}
			own()
			if _, err := read.Refresh(); errors.Is(err, ErrReplaced) != c.replaced || !c.replaced && (err != nil || read.Count() != c.rows) {
				t.Errorf("%s: %v, %d rows", name, err, read.Count())
			}
			own()
			read.Close()
			plain, failed := Open(path)
			again, err := openIndexed(path, "", 0)
			if (failed == nil) != (err == nil) {
				t.Fatal(failed, err)
			}
			if err == nil && (again.Count() != plain.Count() || again.Count() > 0 && again.Row(1).ID != plain.Row(1).ID) {
				t.Errorf("%s: the index has %d rows of %s, the file has %d", name, again.Count(), again.Row(1).ID, plain.Count())
			}
		}
	}
}

// Rows of a recording that is removed with its index while it is read are left out.
func TestRowsOfARemovedIndexAreLeftOut(t *testing.T) {
	smallPages(t, 4, 1)
	path := filepath.Join(t.TempDir(), "000001.jsonl")
	put(t, path, pings("a", 40))
	_ = os.Chtimes(path, longAgo, longAgo)
	opened(t, path, "", false).Close()
	c, err := openIndexed(path, "", 0)
	if err != nil || len(c.pages) != 10 || c.pages[0].rows != nil {
		t.Fatalf("%v, %d pages", err, len(c.pages))
	}
	for _, file := range []string{path, indexPath(path, "")} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range c.Rows() {
		if !row.ListedElsewhere {
			t.Fatalf("%s is listed: %+v", row.Number(), row)
		}
	}
}
