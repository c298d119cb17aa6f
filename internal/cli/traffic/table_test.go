package traffic

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/exchange"
	"mcpc/internal/render/term"
)

// A terminal of 80 columns has a line for each exchange, in which it can be told from
// others; sizes, exit codes and notes stand where there is room, and always in a pipe.
func TestLogTable(t *testing.T) {
	c, err := rows.Open(filepath.Join("..", "..", "capture", "rows", "testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	table := func(st term.Style, all ...*rows.Row) []string {
		var b bytes.Buffer
		if err := logTable(&b, st, append(c.Rows(), all...), time.Time{}); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	for width, head := range map[int]string{80: "# TIME SERVER WHAT CHANNEL TOOK", 120: "# TIME SERVER WHAT CHANNEL TOOK SIZE EXIT NOTES"} {
		lines := table(term.Style{Terminal: true, Width: width, ASCII: true})
		if got := strings.Join(strings.Fields(lines[0]), " "); got != head {
			t.Errorf("at %d: %s", width, got)
		}
		for _, line := range lines {
			if len(line) > width {
				t.Errorf("%d columns in %d: %s", len(line), width, line)
			}
		}
		if !strings.Contains(strings.Join(lines, "\n"), "call get-sum ") {
			t.Errorf("at %d what was asked is cut:\n%s", width, strings.Join(lines, "\n"))
		}
	}
	for _, line := range table(term.Style{}) {
		if n := strings.Count(line, "\t"); n != 10 {
			t.Errorf("%d cells in a pipe: %s", n+1, line)
		}
	}
	proxied := *c.Rows()[0]
	proxied.By, proxied.Target, proxied.Method, proxied.Name = capture.ByProxy, "http://127.0.0.1:3964/some/way/to/mcp", "tools/call", "trigger-long-running-operation"
	for width, want := range map[int]string{80: "proxy ...way/to/mcp call trigger-long-r... ok", 120: "proxy .../way/to/mcp call trigger-long-running-operation ok 12 ms"} {
		lines := table(term.Style{Terminal: true, Width: width, ASCII: true}, &proxied)
		if !strings.Contains(strings.Join(strings.Fields(lines[len(lines)-1]), " "), want) {
			t.Errorf("at %d: %s", width, lines[len(lines)-1])
		}
	}
}

// What is cut keeps what tells it from others.
func TestCutTextsStayDistinguishable(t *testing.T) {
	for _, c := range []struct {
		cut   func(string, int, string) string
		text  string
		width int
		want  string
	}{
		{cutServer, "127.0.0.1:3964/mcp", 11, "…1:3964/mcp"},
		{cutServer, "box, http://127.0.0.1:3964/mcp", 11, "box"},
		{cutServer, "npx -y @modelcontextprotocol/server-everything stdio", 24, "…server-everything stdio"},
		{cutRequest, "tools/call get-structured-content", 27, "call get-structured-content"},
		{cutRequest, "resources/read demo://resource/static/document/features.md", 30, "read …tic/document/features.md"},
		{cutRequest, "notifications/initialized", 20, "notifications/initialized"},
	} {
		if got := c.cut(c.text, c.width, "…"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestDescribeRequest(t *testing.T) {
	for _, c := range [][3]string{{"tools/call", "get-sum", "tools/call get-sum"}, {"ping", "", "ping"}, {"", "", "(no request)"}} {
		if got := describeRequest(c[0], c[1]); got != c[2] {
			t.Errorf("%q, want %q", got, c[2])
		}
	}
}

// The help of --prune names the limits that it applies.
func TestPruneHelpNamesTheLimits(t *testing.T) {
	l := capture.DefaultLimits
	want := fmt.Sprintf("%d runs, %d MiB, %d days", l.Runs, l.Bytes>>20, l.Age/(24*time.Hour))
	if got := NewLog(cmdutil.New(nil, nil, nil)).Flags().Lookup("prune").Usage; !strings.Contains(got, want) {
		t.Errorf("%q does not name %q", got, want)
	}
}

// A request that was sent again is marked in every table: in the notes, or before its method if there are none.
func TestLogTableMarksRetries(t *testing.T) {
	c, err := rows.Open(filepath.Join("..", "..", "capture", "rows", "testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first, again, retried := *c.Rows()[0], *c.Rows()[0], *c.Rows()[0]
	first.Method, first.Name = "tools/call", "add"
	again.Method, again.Name, again.SameAs = "tools/call", "add", &first
	retried.Method, retried.Name, retried.Notes = "tools/list", "", exchange.Notes{Retries: 1, Cuts: 1}
	for width, want := range map[int][]string{
		80:  {"tools/call add", "again: tools/call add", "retried: tools/list"},
		120: {"tools/call add", "same request as", "1 retry, 1 connection error"},
	} {
		var b bytes.Buffer
		if err := logTable(&b, term.Style{Terminal: true, Width: width}, []*rows.Row{&first, &again, &retried}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		for i, words := range want {
			isMarked := strings.Contains(lines[i+1], "again: ") || strings.Contains(lines[i+1], "retried: ")
			if !strings.Contains(lines[i+1], words) || isMarked != (width == 80 && i > 0) {
				t.Errorf("at %d: %q, want %q", width, lines[i+1], words)
			}
		}
	}
}
