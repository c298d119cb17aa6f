package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shown returns an event on one line: its fields and its data.
func (e Event) shown() string {
	var b strings.Builder
	if e.IsComment {
		b.WriteString("comment ")
	}
	if e.Event != "" {
		fmt.Fprintf(&b, "event=%q ", e.Event)
	}
	if e.ID != nil {
		fmt.Fprintf(&b, "id=%q ", *e.ID)
	}
	if e.Retry != nil {
		fmt.Fprintf(&b, "retry=%s ", *e.Retry)
	}
	if e.HasData {
		fmt.Fprintf(&b, "data=%q ", e.Data)
	}
	if len(e.Dropped) > 0 {
		fmt.Fprintf(&b, "dropped=%q", e.Dropped)
	}
	return strings.TrimSpace(b.String())
}

func events(src io.Reader, limit int64) []string {
	r := NewReader(src, limit)
	var out []string
	for {
		ev, err := r.Next()
		if err != nil {
			if len(ev.Dropped) > 0 {
				out = append(out, fmt.Sprintf("rest=%q", withLF(ev.Dropped)))
			}
			if !errors.Is(err, io.EOF) {
				out = append(out, "error: "+err.Error())
			}
			return out
		}
		out = append(out, ev.shown())
	}
}

// withLF is text whose lines all end in LF.
func withLF(text []byte) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
}

// WHATWG HTML, section 9.2.6, "Interpreting an event stream", and what servers
// were seen to send.
var eventCases = []struct {
	name, stream string
	want         []string
}{
	{"nothing", "", nil},
	{"one", "data: a\n\n", []string{`data="a"`}},
	{"lines are joined", "data: YHOO\ndata: +2\ndata: 10\n\n", []string{`data="YHOO\n+2\n10"`}},
	{"the specification's example", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", []string{
		`comment`, `id="1" data="first event"`, `id="" data="second event"`, `data=" third event"`,
	}},
	{"colon-less data", "data\n\ndata\ndata\n\ndata:", []string{`data=""`, `data="\n"`, `rest="data:"`}},
	{"one space only", "data:test\n\ndata: test\n\ndata:  test\n\ndata:\ttest\n\n", []string{`data="test"`, `data="test"`, `data=" test"`, `data="\ttest"`}},
	{"CR", "data: a\rdata: b\r\rdata: c\r\r", []string{`data="a\nb"`, `data="c"`}},
	{"CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{`data="a\nb"`, `data="c"`}},
	{"mixed line ends", "data: a\rdata: b\ndata: c\r\n\rdata: d\n\r\n", []string{`data="a\nb\nc"`, `data="d"`}},
	{"LF CR is two", "data: a\n\r", []string{`data="a"`}},
	{"CR at the end of the stream", "data: a\r\r", []string{`data="a"`}},
	{"byte order mark", "\xEF\xBB\xBFdata: a\n\n", []string{`data="a"`}},
	{"two marks", "\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", []string{`dropped="\ufeffdata: a\n"`}},
	{"half a mark", "\xEF\xBBdata: a\n\ndata: b\n\n", []string{`dropped="\xef\xbbdata: a\n"`, `data="b"`}},
	{"only a mark", "\xEF\xBB\xBF", nil},
	{"only half a mark", "\xEF\xBB", []string{`rest="\xef\xbb"`}},
	{"comments", ": a\n:b\n\n:\n\n", []string{"comment", "comment"}},
	{"a comment beside a field", ": a\ndata: x\n: b\n\n", []string{`data="x"`}},
	{"unknown fields", "foo: bar\nDATA: x\n data: y\n\ndata: z\n\n", []string{`dropped="foo: bar\nDATA: x\n data: y\n"`, `data="z"`}},
	{"an unknown field within", "data: x\nfoo: bar\r\n\n", []string{`data="x" dropped="foo: bar\n"`}},
	{"JSON alone", "{\"a\": 1}\n\n{\"a\": 2}", []string{`dropped="{\"a\": 1}\n"`, `rest="{\"a\": 2}"`}},
	{"id with NUL", "id: a\x00b\ndata: x\n\nid: c\nid: d\x00\ndata: y\n\n", []string{`data="x"`, `id="c" data="y"`}},
	{"the last id counts", "id: a\nid: b\ndata: x\n\n", []string{`id="b" data="x"`}},
	{"retry", "retry: 1500\n\nretry: 0\n\n", []string{"retry=1.5s", "retry=0s"}},
	{
		"retry that is no number", "retry: -1\ndata: a\n\nretry: 1.5\ndata: b\n\nretry: x\ndata: c\n\nretry:\ndata: d\n\nretry: \xd9\xa1\ndata: e\n\n",
		[]string{`data="a"`, `data="b"`, `data="c"`, `data="d"`, `data="e"`},
	},
	{"a bad retry does not undo a good one", "retry: 5\nretry: x\n\n", []string{"retry=5ms"}},
	{"retry for ever", "retry: 99999999999999999999999\n\n", []string{"retry=8760h0m0s"}},
	{"priming event", "id: 1\ndata:\n\nid: 2\n\n", []string{`id="1" data=""`, `id="2"`}},
	{"event without data", "event: ping\n\nevent: endpoint\ndata: /m\n\n", []string{`event="ping"`, `event="endpoint" data="/m"`}},
	{"the type does not stay", "event: a\ndata: 1\n\ndata: 2\n\n", []string{`event="a" data="1"`, `data="2"`}},
	{"end within an event", "data: a\n\nid: 1\r\ndata: b\n", []string{`data="a"`, `rest="id: 1\ndata: b\n"`}},
	{"end within a line", "data: a\n\ndata: b", []string{`data="a"`, `rest="data: b"`}},
	{"blank lines", "\n\n\r\n\rdata: a\n\n\n\n", []string{`data="a"`}},
	{"line ends inside a message are escaped", "data: {\"a\":\"\\u2028\\n\\nevent: fake\"}\n\n", []string{`data="{\"a\":\"\\u2028\\n\\nevent: fake\"}"`}},
	{"colons in the value", "data: a:b: c\nid:: x\n\n", []string{`id=": x" data="a:b: c"`}},
	{"NUL in data", "data: a\x00b\n\n", []string{`data="a\x00b"`}},
}

func TestEvents(t *testing.T) {
	for _, c := range eventCases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, events(strings.NewReader(c.stream), 0)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, events(iotest.OneByteReader(strings.NewReader(c.stream)), 0)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, events(iotest.DataErrReader(strings.NewReader(c.stream)), 0)); diff != "" {
				t.Errorf("the last bytes with EOF (-want +got):\n%s", diff)
			}
			for at := range len(c.stream) {
				src := io.MultiReader(strings.NewReader(c.stream[:at]), strings.NewReader(c.stream[at:]))
				if diff := cmp.Diff(c.want, events(src, 0)); diff != "" {
					t.Fatalf("split at %d (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}

func TestEventLimit(t *testing.T) {
	data := strings.Repeat("x", 100)
	if got := events(strings.NewReader("data: "+data+"\n\n"), 100); len(got) != 1 || !strings.HasPrefix(got[0], "data=") {
		t.Errorf("an event at the limit: got %q", got)
	}
	for name, stream := range map[string]string{
		"one line":       "data: " + data + "x\n\n",
		"many lines":     strings.Repeat("data: 0123456789\n", 11),
		"no line end":    strings.Repeat("x", 1000),
		"an endless id":  "id: " + data + data,
		"unknown fields": strings.Repeat("unknown: 0123456789\n", 11),
	} {
		if got := events(strings.NewReader(stream), 100); len(got) != 1 || got[0] != "error: larger than the limit" {
			t.Errorf("%s: got %q, want the limit", name, got)
		}
	}
	// Comments take no room: a server may send them for hours.
	if got := events(strings.NewReader(strings.Repeat(": keep-alive\n", 1000)+"data: a\n\n"), 100); len(got) != 1 || got[0] != `data="a"` {
		t.Errorf("comments: got %q", got)
	}
}

func TestEventKeepsDataAfterNext(t *testing.T) {
	r := NewReader(strings.NewReader("data: first\nid: 1\n\ndata: other\nid: 2\n\n"), 0)
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if got := first.shown(); got != `id="1" data="first"` {
		t.Errorf("after the next event the first is %s", got)
	}
}

func TestLongEvent(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<20)
	r := NewReader(strings.NewReader("data: "+long+"\n\n"), 64<<20)
	ev, err := r.Next()
	if err != nil || string(ev.Data) != long {
		t.Errorf("got %d bytes and %v, want %d", len(ev.Data), err, len(long))
	}
}

// referenceEvents reads a whole stream in the words of the specification. It is
// slow, and obviously right.
func referenceEvents(stream []byte) []string {
	text := strings.TrimPrefix(string(stream), "\xEF\xBB\xBF")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	var out []string
	var ev Event
	seen, rest := false, 0
	for i, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if seen || ev.Dropped != nil {
				out = append(out, ev.shown())
			}
			ev, seen, rest = Event{}, false, i+1
			continue
		case name == "":
			ev.IsComment = ev.IsComment || !seen
		case name == "data":
			if ev.HasData {
				value = string(ev.Data) + "\n" + value
			}
			ev.Data, ev.HasData, ev.IsComment = []byte(value), true, false
		case name == "event":
			ev.Event, ev.IsComment = value, false
		case name == "id":
			if ev.IsComment = false; !strings.Contains(value, "\x00") {
				ev.ID = &value
			}
		case name == "retry":
			ev.IsComment = false
			if value != "" && strings.Trim(value, "0123456789") == "" {
				d := 365 * 24 * time.Hour
				if digits := strings.TrimLeft(value, "0"); len(digits) <= 10 {
					parsed, _ := time.ParseDuration("0" + digits + "ms")
					d = parsed
				}
				ev.Retry = &d
			}
		default:
			ev.Dropped = append(ev.Dropped, line+"\n"...)
			continue
		}
		seen = true
	}
	if rest := strings.Join(lines[rest:], "\n"); rest != "" {
		out = append(out, fmt.Sprintf("rest=%q", rest))
	}
	return out
}

func FuzzEvents(f *testing.F) {
	for _, c := range eventCases {
		f.Add([]byte(c.stream), uint8(3))
	}
	// Streams of real servers, up to the places where they may have been cut.
	real, err := filepath.Glob(filepath.Join("testdata", "events", "*.sse"))
	if err != nil || len(real) == 0 {
		f.Fatalf("no streams: %v", err)
	}
	for _, name := range real {
		stream, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream, uint8(40))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole := events(bytes.NewReader(stream), 0)
		if want := referenceEvents(stream); !cmp.Equal(want, whole) {
			t.Errorf("%q: (-want +got)\n%s", stream, cmp.Diff(want, whole))
		}
		n := int(size)%17 + 1
		var pieces []io.Reader
		for rest := stream; len(rest) > 0; {
			k := min(n, len(rest))
			pieces = append(pieces, bytes.NewReader(rest[:k]))
			rest, n = rest[k:], n%5+1
		}
		if got := events(io.MultiReader(pieces...), 0); !cmp.Equal(whole, got) {
			t.Errorf("%q in pieces: (-whole +pieces)\n%s", stream, cmp.Diff(whole, got))
		}
	})
}

// The kept bytes of a stream that never ends an event are bounded, and a cut long event is
// complete.
func TestUnfinishedEventIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   int
	}{
		"lines":    {strings.Repeat("data: 0123456789\n", 20_000), 340_000},
		"a line":   {"data: " + strings.Repeat("x", 3<<20), 3<<20 + 6},
		"comments": {strings.Repeat(":\n", 3<<20), maxEarlierBytes},
	} {
		ev, err := NewReader(strings.NewReader(c.stream), 0).Next()
		if got := string(ev.Dropped); len(got) != c.want || !strings.HasPrefix(c.stream, got) || !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %d bytes and %v, want the first %d", name, len(got), err, c.want)
		}
	}
}

// An event keeps its data until it is released, wherever the blocks end.
func TestEventKeepsDataUntilReleased(t *testing.T) {
	var text bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&text, "data: %s %d\n\n", strings.Repeat("word ", i%40), i)
	}
	for _, every := range []int{-1, 0, 1, 2, 700} {
		r := NewReader(&pieces{text.Bytes(), every == -1}, 0)
		kept := map[int][]byte{}
		blocks := map[*byte]bool{}
		for i := range 5000 {
			ev, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%s %d", strings.Repeat("word ", i%40), i); string(ev.Data) != want {
				t.Fatalf("event %d is %q", i, ev.Data)
			}
			blocks[&r.buf[:1][0]] = true
			if every > 0 && i%every == 0 {
				kept[i] = ev.Data
			} else {
				r.Release()
			}
		}
		for i, data := range kept {
			if want := fmt.Sprintf("%s %d", strings.Repeat("word ", i%40), i); string(data) != want {
				t.Errorf("event %d reads %q later", i, data)
			}
		}
		if n := len(blocks); every == 0 && n > 5 || every == 1 && n < 8 {
			t.Errorf("%d blocks for every %d", n, every)
		}
	}
}

// A pieces returns a text in pieces that end anywhere, or as late as possible between a data line
// and the blank line after it.
type pieces struct {
	rest   []byte
	within bool
}

func (s *pieces) Read(b []byte) (int, error) {
	n := min(len(b), len(s.rest), 1000+len(s.rest)%977)
	if s.within {
		n = min(len(b), len(s.rest))
		if end := bytes.LastIndex(s.rest[:n], []byte("\n\n")); end > 0 && n < len(s.rest) {
			n = end + 1
		}
	}
	copy(b, s.rest[:n])
	s.rest = s.rest[n:]
	return n, nil
}
