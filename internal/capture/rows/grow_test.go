package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// rowsOf is all that is known of the rows of a capture.
func rowsOf(t *testing.T, c *Capture) (rows []string) {
	t.Helper()
	for _, row := range c.Rows() {
		frames, err := row.Frames()
		if err != nil {
			t.Errorf("%s: %v", row.Number(), err)
		}
		plain := *row
		plain.capture, plain.lines, plain.conn, plain.Within, plain.SameAs, plain.Guesses, plain.Cancel = nil, nil, nil, nil, nil, nil, nil
		rows = append(rows, fmt.Sprintf("%s: %+v, %d frames, %+v, %s, %s, %s", rowText(row), plain, len(frames), row.Cancel, row.Client(), row.Server(), row.Session()))
	}
	return rows
}

// keysOf returns the keys of the rows of a capture.
func keysOf(c *Capture) (keys []RowKey) {
	for _, row := range c.Rows() {
		keys = append(keys, row.Key())
	}
	return keys
}

// A capture is the same whether it is read at once or wherever its recorder stopped between two
// writes, and a line is read once although it was complete except for its line end.
func TestCaptureGrowsByAnyByte(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	// A head that is cut after a brace looks complete to the fast reader.
	timed := capture.AppendFrame(capture.AppendFrame(capture.AppendHead(nil, capture.Head{Started: noon, Run: 1, By: capture.ByCommand}),
		wire.Frame{Seq: 1, Time: noon, Stream: 1, Kind: wire.Head, HTTP: &wire.HTTPHead{Method: "POST", URL: "http://x/"}}),
		wire.Frame{Seq: 2, Time: noon, Stream: 1, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	timed = capture.AppendFrame(timed, wire.Frame{
		Seq: 3, Time: noon, Dir: wire.Received, Stream: 1, Kind: wire.Head,
		HTTP: &wire.HTTPHead{Status: 200, Proto: "HTTP/1.1", Timing: &wire.Timing{FirstByte: time.Millisecond}},
	})
	for name, c := range map[string]struct {
		whole []byte
		steps func(whole []byte, at int) int // where the next write ends
	}{
		"all but the line feed": {golden, func(whole []byte, at int) int {
			if end := bytes.IndexByte(whole[at:], '\n'); end > 0 {
				return at + end
			}
			return at + 1
		}},
		"behind each brace": {timed, func(whole []byte, at int) int { return at + 1 + bytes.IndexAny(whole[at+1:], "}\n") + 1 }},
		"some":              {golden, func(_ []byte, at int) int { return at + 997 }},
	} {
		path := filepath.Join(t.TempDir(), "whole.jsonl")
		if err := os.WriteFile(path, c.whole, 0o600); err != nil {
			t.Fatal(err)
		}
		whole, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(t.TempDir(), "growing.jsonl")
		var growing *Capture
		for at := 0; at < len(c.whole); {
			at = min(c.steps(c.whole, at), len(c.whole))
			if err := os.WriteFile(path, c.whole[:at], 0o600); err != nil {
				t.Fatal(err)
			}
			if growing == nil {
				growing, _ = Open(path) // until there is a head it is no capture
			} else if _, err := growing.Refresh(); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(rowsOf(t, whole), rowsOf(t, growing)); diff != "" {
			t.Errorf("%s (-at once +growing):\n%s", name, diff)
		}
		if diff := cmp.Diff(keysOf(whole), keysOf(growing)); diff != "" {
			t.Errorf("%s, keys (-at once +growing):\n%s", name, diff)
		}
		growing.Close()
		whole.Close()
	}
}

// A line that is written in another way than a Recorder's is read in another way, and
// makes the same row.
func TestLinesThatAreReadQuicklyMakeTheSameRows(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	large := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}],"isError":true}}`, bytes.Repeat([]byte(`a \"b\" `), 500))
	for i, f := range []wire.Frame{
		{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)},
		{Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{Event: "message", ID: new("{\"}")}, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/message"}`)},
		{Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{Event: "message", ID: new("")}, Raw: []byte{}},
		{Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{IsComment: true}},
		{Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{Event: "message"}, Raw: []byte(large)},
	} {
		f.Seq, f.Time, f.Stream = uint64(9000+i), noon.Add(time.Duration(i)*time.Second), 77
		golden = capture.AppendFrame(golden, f)
	}
	rows := func(lines []byte) []string {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return rowsOf(t, c)
	}
	quick := rows(golden)
	if diff := cmp.Diff(rows(bytes.ReplaceAll(golden, []byte("\n{\"seq\""), []byte("\n{ \"seq\""))), quick); diff != "" {
		t.Errorf("(-otherwise +quickly):\n%s", diff)
	}
	if last := quick[len(quick)-1]; !strings.Contains(last, "Channel:tool_error") || !strings.Contains(last, "1 notification") {
		t.Errorf("the last row is %s", last)
	}
}

// Traffic after a command's end is a separate row.
func TestTrafficAfterEndHasOwnRow(t *testing.T) {
	c, err := Open(written(t, `{"end":{"exit":7,"kind":"transport","method":"tools/call"}}`,
		`> {"jsonrpc":"2.0","id":1,"method":"ping"}`, `< {"jsonrpc":"2.0","id":1,"result":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for _, row := range c.Rows() {
		got = append(got, row.Method+" "+row.Channel)
	}
	if diff := cmp.Diff([]string{"tools/call transport", "ping ok"}, got); diff != "" {
		t.Error(diff)
	}
}

// A line that ends where its bytes begin is damaged, and nothing worse.
func TestLineThatEndsTooEarly(t *testing.T) {
	for _, end := range []string{`,"raw":"}`, `,"raw":"`, `,"raw":}`, `,"sse":}`, `,"sse":{}}`, `,"sse":{"a":"\"}`, `,"http":{},"raw":"}`, `}`, `,}`} {
		for _, kind := range []string{"body", "event", "head", "closed"} {
			line := `{"seq":1,"time":"2026-11-21T12:00:00Z","dir":"received","kind":"` + kind + `"` + end
			path := filepath.Join(t.TempDir(), "x.jsonl")
			if err := os.WriteFile(path, append(capture.AppendHead(nil, capture.Head{Started: noon}), line+"\n"...), 0o600); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(path); err != nil || len(c.Rows()) > 0 {
				t.Errorf("%s: %v", line, err)
			}
			if _, ok := capture.FrameBytes([]byte(line), nil); ok && !json.Valid([]byte(line)) {
				t.Errorf("%s has bytes", line)
			}
		}
	}
}

// Rows that a part repeats are listed only in the earlier part, even while they are being repeated,
// and a copy has the chosen rows.
func TestRepeatedRowsBelongToEarlierPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.jsonl")
	part := capture.AppendHead(nil, capture.Head{Started: noon, Run: 2, By: capture.ByProxy, PreviousRun: 1})
	cross := func(dir wire.Direction, raw string) {
		part = capture.AppendFrame(part, wire.Frame{Time: noon, Dir: dir, Raw: []byte(`{"jsonrpc":"2.0",` + raw + `}`)})
	}
	shown := func() (shown string) {
		t.Helper()
		if err := os.WriteFile(path, part, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, row := range c.Rows() {
			if !row.ListedElsewhere {
				shown += row.Method + " "
			}
		}
		return shown
	}
	cross(wire.Sent, `"id":1,"method":"initialize"`)
	cross(wire.Received, `"id":1,"result":{}`)
	cross(wire.Sent, `"id":2,"method":"tools/call"`)
	if got := shown(); got != "" {
		t.Errorf("while it is repeated: %s", got)
	}
	part = append(part, `{"carried":3}`+"\n"...)
	if got := shown(); got != "tools/call " {
		t.Errorf("when it was repeated: %s", got)
	}
	cross(wire.Received, `"id":2,"result":{}`)
	cross(wire.Sent, `"id":3,"method":"ping"`)
	if got := shown(); got != "tools/call ping " {
		t.Errorf("after that: %s", got)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var copied bytes.Buffer
	if err := c.Copy(&copied, c.Rows()[1:]); err != nil {
		t.Fatal(err)
	}
	part = copied.Bytes()
	if got := shown(); got != "tools/call ping " {
		t.Errorf("in a copy: %s", got)
	}
}
