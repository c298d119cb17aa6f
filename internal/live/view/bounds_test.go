package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// Each row may have a name of a megabyte.
func TestLongNamesAreCutInRows(t *testing.T) {
	long := strings.Repeat("é", 200_000)
	lines := []string{
		`0 > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"` + long + `"}}}`,
		`1 < {"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"` + long + `"}}}`,
	}
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`%d > {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a  b"}}`, 10+i, i+1))
	}
	v := views(t, made(t, strings.Join(lines, "\n")), view.Options{})
	page, err := v.Rows(t.Context(), view.Query{})
	if err != nil || len(page.Rows) != 21 {
		t.Fatalf("%d rows, %v", len(page.Rows), err)
	}
	blocks, _, err := v.Talk(t.Context(), view.Query{})
	if err != nil {
		t.Fatal(err)
	}
	lanes, err := v.Lanes(t.Context(), view.Query{}, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	const most = 200 << 10
	if n := len(fmt.Sprint(page, blocks, lanes, v.Conversations())); n > most {
		t.Errorf("%d bytes of text, want at most %d", n, most)
	}
	if got := page.Rows[20].Name; got != "a  b" {
		t.Errorf("a short name is %q", got)
	}
	if got := page.Rows[20].Client; !strings.HasPrefix(got, "éé") || !strings.HasSuffix(got, "é…") {
		t.Errorf("a long one begins %.20q", got)
	}
}

// Bars are merged even if the times between them exceed a Duration.
func TestLanesOverLongTimesAreBounded(t *testing.T) {
	const rows = 5000
	var lines strings.Builder
	lines.WriteString(`{"mcpc-traffic":1,"mcpc":"test","started":"2026-01-01T00:00:00Z","target":"https://example.com/mcp","by":"tap"}` + "\n")
	for i := range rows {
		at := []string{"0001-01-01", "2026-01-02", "9999-12-31"}[i*3/rows]
		fmt.Fprintf(&lines, `{"seq":%d,"time":"%sT00:00:00.%06dZ","dir":"sent","kind":"body","conn":%d,"raw":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"}`+"\n", i+1, at, i, i%2+1, i)
	}
	path := filepath.Join(t.TempDir(), "years.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	v := views(t, path, view.Options{})
	lanes, err := v.Lanes(t.Context(), view.Query{}, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, lane := range lanes {
		n += len(lane.Bars)
	}
	if n > 2100 {
		t.Errorf("%d bars", n)
	}
}
