package rows

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// The finding of a line that is too long to be read comes after the findings of the lines before it
// and before the findings of the lines after it; the rows of both are there.
func TestALineThatIsSkippedIsFoundInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	put(t, path, slices.Concat(capture.AppendHead(nil, capture.Head{Started: noon}), asks(1), []byte("damaged\n"), longLine(mostInTest+1), []byte("damaged\n"), asks(2)))
	c, err := Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.reading, err = newStepReader(c); err != nil {
		t.Fatal(err)
	}
	c.reading.lines.maxBytes = mostInTest
	if _, err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range c.Findings() {
		found = append(found, f.Rule+" "+strings.Join(strings.Fields(f.Text)[:2], " "))
	}
	want := []string{"damaged_line line 3", "long_line line 4", "damaged_line line 5"}
	if diff := cmp.Diff(want, found); diff != "" || c.Count() != 2 {
		t.Errorf("%d rows (-want +got):\n%s", c.Count(), diff)
	}
}

// Heads without "http", which no Recorder writes, make no difference to the rows of others.
func TestHeadsWithoutHTTPChangeNoRows(t *testing.T) {
	for _, by := range []string{capture.ByCommand, capture.ByProxy} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		lines := capture.AppendFrame(capture.AppendHead(nil, capture.Head{Started: noon, By: by}), wire.Frame{Time: noon, Kind: wire.Head, Stream: 1, HTTP: &wire.HTTPHead{Method: "POST"}})
		for _, dir := range []string{"received", "sent", "received"} {
			lines = fmt.Appendf(lines, `{"seq":1,"time":"2026-11-21T12:00:00Z","dir":"%s","kind":"head","stream":1}`+"\n", dir)
		}
		put(t, path, append(lines, asks(1)...))
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.Count() != 1 {
			t.Errorf("%s: %d rows", by, c.Count())
		}
		c.Close()
	}
}
