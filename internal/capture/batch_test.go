package capture

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// However few lines are looked at together, the rows and the findings are those of lines that are
// read as JSON, one after the other. Lines of several runs, damaged ones, long ones, and an answer
// that opens a conversation and is too long to be read as a whole otherwise are among them.
func TestBatchesMakeTheSameRows(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "large.jsonl")
	large(t, name, 200, 4000)
	lines, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, golden...)
	for i, f := range []wire.Frame{
		{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)},
		{Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"%s"}}}`, strings.Repeat("long", 500))},
		{Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)},
		{Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"%s"}]}}`, strings.Repeat("long", 100<<10))},
	} {
		f.Seq, f.Time, f.Conn = uint64(9000+i), noon, 99
		lines = append(AppendFrame(lines, f), "damaged\n"...)
	}
	rows := func(lines []byte) []string {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		put(t, path, lines)
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all := rowsOf(t, c)
		for _, r := range c.Rows() {
			all = append(all, fmt.Sprint(r.Client(), r.Server(), r.Session()))
		}
		for _, f := range c.Findings() {
			all = append(all, fmt.Sprint(f))
		}
		return all
	}
	otherwise := rows(bytes.ReplaceAll(lines, []byte("\n{\"seq\""), []byte("\n{ \"seq\"")))
	defer func(was int) { batchBytes = was }(batchBytes)
	for _, batchBytes = range []int{1, 700, 5000, batchBytes} {
		if diff := cmp.Diff(otherwise, rows(lines)); diff != "" {
			t.Errorf("%d bytes (-otherwise +quickly):\n%s", batchBytes, diff)
		}
	}
}

// The finding of a line that is too long to be read follows those of the lines before, and those of
// the lines behind it follow; the rows of both are there.
func TestALineThatIsSkippedIsFoundInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	put(t, path, slices.Concat(AppendHead(nil, Head{Started: noon}), asks(1), []byte("damaged\n"), longLine(mostInTest+1), []byte("damaged\n"), asks(2)))
	c, err := Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.reading, err = newReading(c); err != nil {
		t.Fatal(err)
	}
	c.reading.lines.most = mostInTest
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
func TestHeadsOfNothingAreRead(t *testing.T) {
	for _, by := range []string{ByCommand, ByProxy} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		lines := AppendFrame(AppendHead(nil, Head{Started: noon, By: by}), wire.Frame{Time: noon, Kind: wire.Head, Stream: 1, HTTP: &wire.HTTPHead{Method: "POST"}})
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

// largeResult are the lines of a request, and of a result that has one member and is only peeked at.
func largeResult(method, member string) string {
	request := AppendFrame(nil, wire.Frame{Seq: 1, Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"%s"}`, method)})
	return string(AppendFrame(request, wire.Frame{Seq: 2, Time: noon, Dir: wire.Received,
		Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"%s":["%s"]}}`, member, strings.Repeat("x", peekFrom))}))
}

// Lines that begin as a Recorder writes them have the rows of lines that begin otherwise, whatever
// follows.
func FuzzLinesReadQuickly(f *testing.F) {
	head := string(AppendHead(nil, Head{Started: noon, In: "a"}))
	for _, lines := range []string{
		string(asks(1)),
		string(Marked(asks(2), "a")) + string(Marked(asks(3), "b")),
		`{"in":"a","seq":1,"time":"2026-11-21T12:00:00.5Z","dir":"received","kind":"event","stream":1,"sse":{"event":"","id":"7"},"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}"}`,
		`{"in":"a","seq":1,"time":"2026-11-21T12:00:00,5Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools\\u002fcall\",\"params\":{\"name\":\"é\"}}"}`,
		`{"in":"a","seq":3,"time":"2026-11-21T12:00:00Z","dir":"received","kind":"head","stream":1,"http":{"proto":"HTTP/1.1","status":202,"fields":[["Content-Type","text/html"]]}}`,
		`{"in":"a\u0062","seq":4,"time":"2026-11-21T12:00:00Z","dir":"sent","kind":"body","raw64":"e30="}` + "\n{\"in\":\"a\",\"end\":{\"exit\":9,\"id\":10,\"kind\":\"timeout\"}}",
		`{"seq":5,"dir":"received","kind":"event","stream":1}`,
		largeResult("tools/list", "resources"), largeResult("tools/list", "tools"), largeResult("tools/call", "task"), largeResult("tools/call", "tools"),
	} {
		f.Add([]byte(lines))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		if len(lines) > 20_000 {
			return
		}
		rows := func(lines []byte) (all []string) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			put(t, path, slices.Concat([]byte(head), lines, []byte("\n")))
			c, err := Open(path)
			if err != nil {
				return []string{err.Error()}
			}
			defer c.Close()
			for _, r := range c.Rows() {
				r.lines = nil // they stand elsewhere
				all = append(all, fmt.Sprint(rowText(r), r.Client(), r.Server(), r.Session()))
			}
			for _, f := range c.Findings() {
				all = append(all, f.Rule)
			}
			return all
		}
		var otherwise []byte
		for line := range bytes.Lines(lines) {
			parsed, err := parseLine(bytes.TrimSpace(line))
			if f := parsed.Frame; err != nil || f != nil && len(f.Raw) >= peekFrom/2 && jsonraw.Valid(f.Raw) != nil {
				return // what is damaged may look whole to the quick reader
			}
			if rest, ok := bytes.CutPrefix(line, []byte("{")); ok {
				line = append([]byte("{ "), rest...)
			}
			otherwise = append(otherwise, line...)
		}
		if diff := cmp.Diff(rows(otherwise), rows(lines)); diff != "" {
			t.Errorf("%q (-otherwise +quickly):\n%s", lines, diff)
		}
	})
}
