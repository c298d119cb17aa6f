package rows

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
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

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// sample is one run with every kind of frame and every member.
func sample() (capture.Head, []wire.Frame, capture.End) {
	id, retry := "e-1", 1500*time.Millisecond
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Millisecond) }
	head := capture.Head{
		Mcpc: "0.1.0", Started: noon, Target: "http://127.0.0.1:3001/mcp", Argv: []string{"mcpc", "call", "a\"b"},
		Run: 42, By: "command", ReplayOf: "41.2",
	}
	frames := []wire.Frame{
		{Seq: 1, Time: at(1), Kind: wire.Head, Stream: 1, HTTP: &wire.HTTPHead{
			Method: "POST", URL: "http://127.0.0.1:3001/mcp",
			Proto: "HTTP/1.1", Fields: []wire.Field{{Name: "Accept", Value: "application/json"}},
		}},
		{Seq: 2, Time: at(1), Kind: wire.Body, Stream: 1, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{Seq: 3, Time: at(5), Dir: wire.Received, Kind: wire.Head, Stream: 1, HTTP: &wire.HTTPHead{
			Status: 200, Proto: "HTTP/1.1",
			Timing: &wire.Timing{DNS: 1, Connect: 2, TLS: 3, FirstByte: 4},
		}},
		{
			Seq: 4, Time: at(6), Dir: wire.Received, Kind: wire.Event, Stream: 1, Raw: []byte("{\"a\":\"\\u0001\n\t\r\x00\x1f\u2028\"}"),
			SSE: &sse.Facts{Event: "message", ID: &id, Retry: &retry},
		},
		{Seq: 5, Time: at(7), Dir: wire.Received, Kind: wire.Event, Stream: 1, Raw: []byte{}, SSE: &sse.Facts{IsComment: true}},
		{Seq: 6, Time: at(8), Dir: wire.Received, Kind: wire.Stderr, Conn: 7, Raw: []byte("caf\xe9 \x1b[31m")},
		{Seq: 7, Time: at(9), Dir: wire.Received, Kind: wire.Noise, Raw: []byte("x"), Hidden: 1, Size: 30},
		{
			Seq: 8, Time: at(10), Dir: wire.Received, Kind: wire.Closed, Stream: 1,
			Close: &wire.CloseFacts{By: wire.Received, How: "cut", Text: "connection reset"},
		},
		{Seq: 9, Time: at(10), Dir: wire.Received, Kind: wire.Fault, Stream: 1, Fault: &wire.FaultFacts{
			Rule: `when "a" do rpc 1 "x"`, Source: "rules.txt", Line: 2,
			Action: "rpc", ID: "1", Method: "tools/call", Name: "echo", Seed: 18446744073709551615, Text: "nothing",
		}},
	}
	end := capture.End{
		Time: at(11), Exit: 7, Kind: wire.Transport, Method: "tools/call", Name: "echo", Text: "it was cut", Hint: "try again",
		Took: 10 * time.Millisecond, Findings: []wire.Finding{{Rule: "type", Severity: wire.Error, Pointer: "/a", Text: "no", Want: "string", Got: "1"}},
	}
	return head, frames, end
}

func sampleCapture() []byte {
	head, frames, end := sample()
	b := capture.AppendHead(nil, head)
	for _, f := range frames {
		b = capture.AppendFrame(b, f)
	}
	return capture.AppendEnd(b, end)
}

func TestFormatGolden(t *testing.T) {
	name := filepath.Join("testdata", "format.jsonl")
	if *update {
		if err := os.WriteFile(name, sampleCapture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(sampleCapture())); diff != "" {
		t.Error(diff)
	}
}

func TestWrittenCaptureIsReadBack(t *testing.T) {
	head, frames, end := sample()
	lines, found := readAll(t, sampleCapture())
	if len(found) > 0 || len(lines) != len(frames)+2 {
		t.Fatalf("%d lines, %v", len(lines), found)
	}
	if diff := cmp.Diff(&head, lines[0].Head); diff != "" {
		t.Error(diff)
	}
	for i, f := range frames {
		if diff := cmp.Diff(&f, lines[i+1].Frame); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(&end, lines[len(lines)-1].End); diff != "" {
		t.Error(diff)
	}
}

// A later version may have more kinds of frames: they are no finding, and the lines around them are
// read.
func TestUnknownKindsAreSkipped(t *testing.T) {
	_, frames, _ := sample()
	raw := capture.AppendHead(nil, capture.Head{Mcpc: "9.0.0"})
	raw = append(capture.AppendFrame(raw, frames[1]), `{"seq":2,"dir":"sent","kind":"dream","stream":1,"dream":{"of":1},"raw":"x"}`+"\n"...)
	raw = capture.AppendFrame(raw, frames[8])
	lines, found := readAll(t, raw)
	var kinds []wire.FrameKind
	for _, line := range lines {
		if line.Frame != nil {
			kinds = append(kinds, line.Frame.Kind)
		}
	}
	if len(found) > 0 || !cmp.Equal(kinds, []wire.FrameKind{wire.Body, wire.Fault}) {
		t.Errorf("got %v, findings %v", kinds, found)
	}
}

func readAll(t *testing.T, raw []byte) (lines []capture.Line, found []wire.Finding) {
	t.Helper()
	r := wholeLines(bytes.NewReader(raw))
	r.OnFinding = func(f wire.Finding) { found = append(found, f) }
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, found
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

// A testLines parses the lines that a lineReader reads.
type testLines struct {
	*lineReader
	begun bool
}

func wholeLines(r interface {
	io.Reader
	io.ReaderAt
},
) *testLines {
	return &testLines{lineReader: newLineReader(r)}
}

// Next is the next line that is understood, as Capture lists it.
func (r *testLines) Next() (capture.Line, error) {
	for {
		raw, _, err := r.nextLine()
		if err != nil {
			return capture.Line{}, err
		}
		line, err := capture.ParseLine(bytes.Clone(raw))
		_, newer := errors.AsType[*capture.VersionError](err)
		switch {
		case newer:
			return capture.Line{}, err
		case !r.begun && line.Head == nil:
			return capture.Line{}, ErrNoCapture
		case err != nil:
			r.report("damaged_line", fmt.Sprintf("line %d", r.line))
			continue
		case line.Head == nil && line.Frame == nil && line.End == nil && line.Lost == 0 && line.Next == 0 && line.Carried == nil:
			continue
		}
		r.begun = true
		return line, nil
	}
}

// A capture that ends anywhere is read up to the last whole line.
func TestTornCaptureIsRead(t *testing.T) {
	whole := sampleCapture()
	first := bytes.IndexByte(whole, '\n') + 1
	for n := first; n < len(whole); n++ {
		lines, found := readAll(t, whole[:n])
		kept := bytes.Count(whole[:n], []byte("\n"))
		missesFeed := whole[n] == '\n'
		if missesFeed {
			kept++
		}
		torn := whole[n-1] != '\n' && !missesFeed
		if len(lines) != kept || torn != (len(found) == 1) {
			t.Fatalf("cut at %d: %d lines of %d, %v", n, len(lines), kept, found)
		}
	}
}

func TestUnknownAndDamagedLinesAreLeftOut(t *testing.T) {
	text := `{"mcpc-traffic":1,"new":true}
{"something":"else"}

{"kind":"teleport","dir":"sent"}
{"kind":"body","dir":"sent","more":[1],"raw":"{}","after":1}
{"kind":"body","dir":"sideways"}
{"kind":"body","dir":"sent","raw64":"!"}
nonsense
{"lost":3}
{"end":{"exit":0}}
`
	lines, found := readAll(t, []byte(text))
	if len(lines) != 4 || string(lines[1].Frame.Raw) != "{}" || lines[2].Lost != 3 || lines[3].End == nil {
		t.Errorf("%+v", lines)
	}
	if len(found) != 3 {
		t.Errorf("%v", found)
	}
}

func TestNoCapture(t *testing.T) {
	for text, want := range map[string]string{
		"hello\n": "not a capture", "{}\n": "not a capture", `{"kind":"body","dir":"sent"}` + "\n": "not a capture",
		"{\"mcpc-traffic\":2}\n": "version 2", "{\"mcpc-tr": "not a capture", "\x00\xff": "not a capture", "\n\n[1]\n": "not a capture",
	} {
		if _, err := wholeLines(strings.NewReader(text)).Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := wholeLines(strings.NewReader("")).Next(); !errors.Is(err, io.EOF) {
		t.Errorf("nothing: %v", err)
	}
}

// Bytes in equal bytes out.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0"}`), "text", int64(5))
	f.Add([]byte{0xff, 0, '"', '\\'}, "\x1b", int64(-1))
	f.Fuzz(func(t *testing.T, raw []byte, text string, n int64) {
		text = strings.ToValidUTF8(text, "?")
		duration := time.Duration(n)
		in := wire.Frame{
			Seq: uint64(n) >> 1, Time: noon, Dir: wire.Received, Kind: wire.Event, Stream: int(n), Conn: int(n >> 3), Raw: raw,
			Hidden: 1, Size: int(n), SSE: &sse.Facts{Event: text, ID: &text, Retry: &duration},
			HTTP:  &wire.HTTPHead{Method: text, URL: text, Status: int(n), Proto: text, Fields: []wire.Field{{Name: text, Value: text}}},
			Close: &wire.CloseFacts{By: wire.Received, How: text, Text: text},
		}
		b := capture.AppendHead(nil, capture.Head{Mcpc: text, Target: text, Argv: []string{text}, By: text})
		b = capture.AppendEnd(capture.AppendFrame(b, in), capture.End{Text: text})
		if bytes.Count(b, []byte("\n")) != 3 {
			t.Fatalf("not three lines: %q", b)
		}
		lines, found := readAll(t, b)
		if len(lines) != 3 || len(found) > 0 {
			t.Fatalf("%d lines, %v: %q", len(lines), found, b)
		}
		if diff := cmp.Diff(&in, lines[1].Frame); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add(sampleCapture())
	f.Add([]byte("{\"mcpc-traffic\":1}\n{\"kind\":\"body\",\"dir\":\"sent\",\"raw\":\"\\ud800\"}\n{\"end\":{\"exit\":1e9}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := wholeLines(bytes.NewReader(raw))
		for {
			if _, err := r.Next(); err != nil {
				return
			}
			if r.offset > int64(len(raw)) {
				t.Fatalf("a line up to %d of %d bytes", r.offset, len(raw))
			}
		}
	})
}
