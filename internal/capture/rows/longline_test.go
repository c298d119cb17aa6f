package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// mostInTest is the limit of a line in these tests; MaxLine would take half a gigabyte.
const mostInTest = 1 << 20

// The tests write and read several long frames, which under the race detector takes
// seconds for each of the true size.
func init() { capture.LongFrame = 1 << 20 }

// longLine returns a line of a capture with length bytes, its line feed included.
func longLine(length int) []byte {
	const begin, end = `{"kind":"stderr","dir":"received","raw":"`, `"}` + "\n"
	return []byte(begin + strings.Repeat("x", length-len(begin)-len(end)) + end)
}

// asks is the line of a request with this id.
func asks(id int) []byte {
	return capture.AppendFrame(nil, wire.Frame{Seq: uint64(id), Time: noon, Kind: wire.Body, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)})
}

// A line above the limit is left out with a finding, and the lines after it have the right
// positions.
func TestReaderSkipsOverlongLines(t *testing.T) {
	for _, c := range []struct {
		length int
		left   bool
	}{
		{mostInTest - 1, false},
		{mostInTest, false},
		{mostInTest + 1, true},
		{mostInTest + 256<<10, true},
		{3*mostInTest + 7, true},
	} {
		before := slices.Concat(capture.AppendHead(nil, capture.Head{Started: noon}), asks(1))
		raw := slices.Concat(before, longLine(c.length), asks(2))
		r := wholeLines(bytes.NewReader(raw))
		r.maxBytes = mostInTest
		var found []wire.Finding
		r.OnFinding = func(f wire.Finding) { found = append(found, f) }
		var lines []capture.Line
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		want, text := 4, ""
		if c.left {
			want, text = 3, "line 3 is longer than 1 MiB and was skipped"
		}
		if len(lines) != want || c.left != (len(found) == 1) || c.left && (found[0].Rule != "long_line" || found[0].Text != text) {
			t.Errorf("%d bytes: %d lines, want %d; %v", c.length, len(lines), want, found)
			continue
		}
		if got := raw[r.offset-int64(len(asks(2))) : r.offset]; !bytes.Equal(got, asks(2)) {
			t.Errorf("%d bytes: the last line is said to be %.100q", c.length, got)
		}
	}
}

// refreshBounded is Refresh with the limit of these tests.
func refreshBounded(t *testing.T, c *Capture) {
	t.Helper()
	var err error
	if c.reading, err = newStepReader(c); err != nil {
		t.Fatal(err)
	}
	c.reading.lines.maxBytes = mostInTest
	if _, err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
}

// A capture that grows by an overlong line reports it once, when it is complete, and the rows after
// it read their own frames.
func TestCaptureSkipsOverlongLines(t *testing.T) {
	long := longLine(2 * mostInTest)
	c := &Capture{Path: filepath.Join(t.TempDir(), "capture"), endSpans: map[int]span{}, makersByMark: map[string]*rowMaker{}}
	defer c.Close()
	for _, step := range []struct {
		more []byte
		rows int
		want string // the rules of the findings
	}{
		{slices.Concat(capture.AppendHead(nil, capture.Head{Started: noon}), asks(1)), 1, ""},
		{long[:mostInTest+1000], 1, "torn_line"},
		{long[mostInTest+1000 : mostInTest+2000], 1, "torn_line"},
		{long[mostInTest+2000:], 1, "long_line"},
		{nil, 1, "long_line"},
		{asks(2), 2, "long_line"},
		{slices.Concat(long, asks(3), []byte("nonsense\n")), 3, "long_line long_line damaged_line"},
	} {
		f, err := os.OpenFile(c.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.Write(step.more)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		refreshBounded(t, c)
		var rules, texts []string
		for _, f := range c.Findings() {
			rules, texts = append(rules, f.Rule), append(texts, f.Text)
		}
		if got := strings.Join(rules, " "); got != step.want || len(c.Rows()) != step.rows {
			t.Fatalf("%d rows, want %d; %q, want %q", len(c.Rows()), step.rows, texts, step.want)
		}
	}
	for i, row := range c.Rows() {
		frames, err := row.Frames()
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i+1); err != nil || len(frames) != 1 || string(frames[0].Raw) != want {
			t.Errorf("row %d: %+v %v", i+1, frames, err)
		}
	}
	for i, want := range []string{"line 3 is longer than 1 MiB and was skipped", "line 5 is longer than 1 MiB and was skipped", "line 7 is damaged"} {
		if got := c.Findings()[i].Text; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A long line takes its memory once, whatever it contains: while a capture is listed, and
// when a frame is read. Nothing of it is lost.
func TestLongLinesTakeTheirMemoryOnce(t *testing.T) {
	length := 3 * capture.LongFrame
	long := strings.Repeat("x", length)
	results := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + long + `\n"}]}}`)
	for name, f := range map[string]wire.Frame{
		"a result":        {Kind: wire.Body, Dir: wire.Received, Raw: results},
		"an event":        {Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{}, Raw: results},
		"a request":       {Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{"a":"` + long + `"}}}`)},
		"standard error":  {Kind: wire.Stderr, Dir: wire.Received, Raw: []byte(long)},
		"no message":      {Kind: wire.Noise, Dir: wire.Received, Raw: []byte(long + "\t")},
		"with its hidden": {Kind: wire.Body, Dir: wire.Received, Hidden: 1, Raw: results},
	} {
		t.Run(name, func(t *testing.T) {
			f.Seq, f.Time = 2, noon
			path := filepath.Join(t.TempDir(), "capture")
			if err := os.WriteFile(path, slices.Concat(capture.AppendHead(nil, capture.Head{Started: noon}), asks(1), capture.AppendFrame(nil, f)), 0o600); err != nil {
				t.Fatal(err)
			}
			most := uint64(length + length/4)
			var c *Capture
			var err error
			if took := allocated(func() { c, err = Open(path) }); err != nil || took > most {
				t.Fatalf("the listing took %d MiB of memory for a line of %d MiB; %v", took>>20, length>>20, err)
			}
			defer c.Close()
			var frames []wire.Frame
			row := c.Rows()[len(c.Rows())-1]
			if took := allocated(func() { frames, err = row.Frames() }); err != nil || took > most {
				t.Errorf("the frame took %d MiB of memory for a line of %d MiB; %v", took>>20, length>>20, err)
			}
			if n := len(frames); n == 0 || !bytes.Equal(frames[n-1].Raw, f.Raw) {
				t.Errorf("%d frames, and the last one is another", n)
			}
		})
	}
}

// allocated is how many bytes of memory do took in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Output from a long line takes only the memory of the line once more, and equals the output from a
// short line.
func TestLongLinesAreGivenOutInPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	length := capture.LongFrame * 3 / 2
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`x \"é\n`, length/8) + `"}]}}`)
	for kind, most := range map[wire.FrameKind]int{wire.Body: 2, wire.Event: 2} { // times the line
		f := wire.Frame{Seq: 2, Time: noon, Kind: kind, Dir: wire.Received, Raw: answer}
		if kind == wire.Event {
			f.SSE = &sse.Facts{}
		}
		path, line := filepath.Join(t.TempDir(), "capture"), capture.AppendFrame(nil, f)
		if err := os.WriteFile(path, slices.Concat(capture.AppendHead(nil, capture.Head{Started: noon}), asks(1), line), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Hide(&redact.Secrets{})
		for name, give := range map[string]func(w io.Writer) error{
			"jsonl": func(w io.Writer) error { return c.Copy(w, c.Rows()) },
			"frames": func(w io.Writer) error {
				return c.Rows()[0].EachFrame(func(f wire.Frame) error { return capture.WriteFrame(w, f) })
			},
		} {
			if took := allocated(func() { err = give(io.Discard) }); err != nil || took > uint64(len(line)*most) {
				t.Errorf("%s of %s took %d KiB of memory for %d KiB: %v", name, kind, took>>10, len(line)>>10, err)
			}
		}
		var one bytes.Buffer
		if err := capture.WriteFrame(&one, f); err != nil || one.String()+"\n" != string(line) {
			t.Errorf("the line of %s is another: %v", kind, err)
		}
	}
}

// A line that another program wrote in ASCII takes its memory once as well.
func TestLongLinesInASCIITakeTheirMemoryOnce(t *testing.T) {
	raw := []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("é/😀 x", capture.LongFrame/8) + `"}}`)
	line := capture.AppendFrame(nil, wire.Frame{Seq: 2, Time: noon, Dir: wire.Received, Raw: raw})
	line = []byte(strings.NewReplacer("é", `\u00E9`, "😀", `\ud83d\ude00`, "/", `\/`).Replace(string(line)))
	path := filepath.Join(t.TempDir(), "capture")
	if err := os.WriteFile(path, slices.Concat(capture.AppendHead(nil, capture.Head{Started: noon}), asks(1), line), 0o600); err != nil {
		t.Fatal(err)
	}
	var frames []wire.Frame
	took := allocated(func() {
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if frames, err = c.Row(1).Frames(); err != nil {
			t.Fatal(err)
		}
	})
	if most := uint64(len(line)) * 9 / 4; took > most {
		t.Errorf("it took %d MiB of memory, want at most %d", took>>20, most>>20)
	}
	if len(frames) != 2 || !bytes.Equal(frames[1].Raw, raw) {
		t.Errorf("%d frames, and the last one is another", len(frames))
	}
}
