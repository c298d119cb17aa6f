package telemetry

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

func toolCall(id int, at time.Time) wire.Frame {
	return wire.Frame{Time: at, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)}
}

// TestOldestOpenRequestsAreEvicted: too many requests without an answer are ended, the oldest first, and each once.
func TestOldestOpenRequestsAreEvicted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	refs := map[int64]int{}
	b := New(Options{Emit: func(ref int64, s otlp.Span) {
		refs[ref]++
		if !cmp.Equal(s.Attributes[len(s.Attributes)-1], otlp.Attribute{Key: "mcpc.incomplete", Value: true}) {
			t.Errorf("got %+v", s)
		}
	}})
	const more = 2*maxOpen + 50
	for i := range maxOpen + more {
		b.Add(int64(i), toolCall(i, noon))
		if len(b.open) > maxOpen || len(b.openOrder) > 3*maxOpen {
			t.Fatalf("%d open, %d begun", len(b.open), len(b.openOrder))
		}
	}
	if len(refs) != more || refs[0] != 1 || refs[more-1] != 1 || b.Evicted() != more {
		t.Errorf("%d ended, %d evicted", len(refs), b.Evicted())
	}
	b.Close(noon)
	for ref, n := range refs {
		if n != 1 {
			t.Errorf("%d has %d spans", ref, n)
		}
	}
	if len(refs) != maxOpen+more {
		t.Errorf("%d ended", len(refs))
	}
}

// TestRepeatedFailuresLeaveNoState: a request that fails for ever leaves no state.
func TestRepeatedFailuresLeaveNoState(t *testing.T) {
	n := 0
	b := New(Options{Emit: func(int64, otlp.Span) { n++ }})
	at := noon
	const rounds = 2*maxOpen + 1000
	for i := range rounds {
		f := toolCall(1, at)
		f.Stream = i + 1
		b.Add(int64(i), f)
		b.Add(int64(i), wire.Frame{Time: at, Dir: wire.Received, Kind: wire.Head, Stream: i + 1, HTTP: &wire.HTTPHead{Status: 503}})
		at = at.Add(time.Hour)
	}
	b.Close(at)
	if n != rounds || len(b.openOrder) > 2*maxOpen+1 || len(b.settling) > 2 || len(b.open) > 0 {
		t.Errorf("%d spans, %d begun, %d settling, %d open", n, len(b.openOrder), len(b.settling), len(b.open))
	}
}

// TestFailedRequestsEndWithoutPassingTime: a failed request ends although no time passes.
func TestFailedRequestsEndWithoutPassingTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	b := New(Options{})
	for i := range 2 * maxOpen {
		b.Add(0, toolCall(i, noon))
		b.Add(0, wire.Frame{Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)})
	}
	if len(b.settling) > maxOpen+1 || len(b.open) > maxOpen {
		t.Errorf("%d settling, %d open", len(b.settling), len(b.open))
	}
}

func TestManyEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	var got []otlp.Span
	b := New(Options{Emit: func(_ int64, s otlp.Span) { got = append(got, s) }})
	const requests, each = 1000, 200
	for i := range requests {
		b.Add(0, wire.Frame{Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"_meta":{"progressToken":%d}}}`, i, i)})
		for range each {
			b.Add(0, wire.Frame{Time: noon, Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, i)})
		}
	}
	b.Close(noon)
	all := 0
	for _, s := range got {
		if all += len(s.Events); len(s.Events) > maxEvents || len(s.Events)+int(s.DroppedEvents) != each {
			t.Fatalf("%d events, %d dropped", len(s.Events), s.DroppedEvents)
		}
	}
	if all != maxEventsInAll || b.eventCount != 0 {
		t.Errorf("%d events, %d are left", all, b.eventCount)
	}
}

// TestLongTexts: texts of a peer are bounded and valid UTF-8, and the memory of its messages is not
// kept.
func TestLongTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	long := strings.Repeat("é", 1<<17)
	var got []otlp.Span
	b := New(Options{Content: true, URINames: true, Emit: func(_ int64, s otlp.Span) { got = append(got, s) }})
	for i, method := range []string{"tools/call", "prompts/get", "resources/read", long} {
		raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s%d","method":"%s","params":{"name":"%[1]s","uri":"%[1]s","arguments":{"%[1]s":"%[1]s"},"_meta":{"io.modelcontextprotocol/protocolVersion":"%[1]s"}}}`,
			long, i, method)
		b.Add(0, wire.Frame{Time: noon, Raw: raw})
		b.Add(0, wire.Frame{Time: noon, Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s%d","error":{"code":1,"message":"%[1]s"}}`, long, i)})
		b.Add(0, wire.Frame{Time: noon, Raw: raw})
	}
	b.Close(noon)
	if len(got) != 8 {
		t.Fatalf("%d spans", len(got))
	}
	check := func(what, text string, most int) {
		t.Helper()
		if len(text) > most || !utf8.ValidString(text) {
			t.Errorf("%s has %d bytes", what, len(text))
		}
	}
	for _, s := range got {
		check("the name", s.Name, maxName+1+maxMessage)
		check("the message", s.Message, maxMessage)
		for _, a := range s.Attributes {
			check(a.Key[:min(len(a.Key), 40)], a.Key, len(promptVariable)+maxName)
			if text, ok := a.Value.(string); ok {
				check(a.Key[:min(len(a.Key), 40)], text, maxContent)
			}
		}
	}
}

func TestCutText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abcd": "abcd", "abcde": "abcd", "abcé": "abc", "ab世": "ab", "a世": "a世", "世世": "世", "\xff": "\uFFFD", "\xff\xff": "\uFFFD",
		"\xff\xfe\xfd\xfc\xfb\xfa": "\uFFFD", "abc\xff": "abc", "𝔸𝔸": "𝔸",
	} {
		if got := cutText(text, 4); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestMemory: a long stream needs no more memory than a short one.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	used := func(requests int) uint64 {
		b := New(Options{IsRelay: true, Metrics: &Metrics{}})
		filler := strings.Repeat("x", 2000)
		for i := range requests {
			f := toolCall(i, noon.Add(time.Duration(i)*time.Millisecond))
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"a":"%s"}}}`, i, filler)
			f.Conn, f.Stream = i, 1
			b.Add(0, f)
			switch i % 3 {
			case 0:
				b.Add(0, wire.Frame{Time: f.Time, Dir: wire.Received, Conn: i, Stream: 1, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i)})
			case 1:
				b.Add(0, wire.Frame{Time: f.Time, Dir: wire.Received, Conn: i, Stream: 1, Kind: wire.Closed, Close: &wire.CloseFacts{By: wire.Received, How: "cut"}})
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(b)
		return m.HeapAlloc
	}
	few, many := used(45_000), used(90_000)
	if many > few+few/3 {
		t.Errorf("%d kB after few, %d kB after many", few>>10, many>>10)
	}
}
