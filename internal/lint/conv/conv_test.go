package conv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

func TestParseRev(t *testing.T) {
	for text, want := range map[string]Rev{
		"2024-11-05": Rev20241105, "2025-03-26": Rev20250326, "2025-06-18": Rev20250618, "2025-11-25": Rev20251125, "2026-07-28": Rev20260728,
		"2024-10-07": Rev20241105, "2025-01-01": Rev20241105, "2026-08-01": Rev20260728, "": Unknown, "draft": Unknown, "2025-3-26x": Unknown, "20250-3-26": Unknown,
	} {
		if got := ParseRev(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	for _, short := range []string{"24", "25m", "25a", "25b", "26"} {
		if r, ok := ParseShort(short); !ok || r.Short() != short || ParseRev(r.String()) != r {
			t.Error(short, r, ok)
		}
	}
	if _, ok := ParseShort("?"); ok {
		t.Error("an unknown revision is a name")
	}
}

func TestKeysTellTypesApart(t *testing.T) {
	for _, same := range [][2]string{{`1`, `1.0`}, {`"a"`, `"\u0061"`}, {`10`, `1e1`}} {
		if Key([]byte(same[0])) != Key([]byte(same[1])) {
			t.Errorf("%s is not %s", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{`1`, `"1"`}, {`9007199254740993`, `9007199254740992`}, {`null`, `"null"`}} {
		if Key([]byte(other[0])) == Key([]byte(other[1])) {
			t.Errorf("%s is %s", other[0], other[1])
		}
	}
	if keyInOtherType([]byte(`"1"`)) != Key([]byte(`1`)) || keyInOtherType([]byte(`1`)) != Key([]byte(`"1"`)) || keyInOtherType([]byte(`"x"`)) != "" {
		t.Error("the other type")
	}
}

// body is a frame on a pipe.
func body(dir wire.Direction, format string, args ...any) wire.Frame {
	return wire.Frame{Dir: dir, Raw: fmt.Appendf(nil, format, args...)}
}

// events returns the events of frames, as kind, method and revision.
func events(frames ...wire.Frame) (all []string) {
	c := New(func(e *Event) {
		if e.Kind != OnFrame && e.Kind != OnMessage && e.Kind != OnDone && e.Kind != OnSent {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, e.Method, e.Rev.Short())))
		}
	})
	for _, f := range frames {
		c.Add(f)
	}
	c.End()
	return all
}

// A server that does not know server/discover is judged by what initialize agrees on.
func TestRevisionIsNegotiated(t *testing.T) {
	const stamped = `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	probe := body(wire.Sent, `{"jsonrpc":"2.0","id":1,"method":"server/discover",%s}`, stamped)
	for name, test := range map[string]struct {
		frames []wire.Frame
		want   []string
	}{
		"older": {
			[]wire.Frame{
				probe, body(wire.Received, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`),
				body(wire.Sent, `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`),
				body(wire.Received, `{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18"}}`),
			},
			[]string{"response server/discover ?", "error server/discover ?", "response initialize 25a", "result initialize 25a", "conversation  25a"},
		},
		"older only": {
			[]wire.Frame{probe, body(wire.Received, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}}`)},
			[]string{"response server/discover ?", "result server/discover ?", "conversation  26"},
		},
		"2026": {
			[]wire.Frame{probe, body(wire.Received, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`)},
			[]string{"response server/discover 26", "result server/discover 26", "conversation  26"},
		},
		"2026, with an error": {
			[]wire.Frame{probe, body(wire.Received, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}`)},
			[]string{"response server/discover 26", "error server/discover 26", "conversation  26"},
		},
		"2026, without a probe": {
			[]wire.Frame{
				body(wire.Sent, `{"jsonrpc":"2.0","id":1,"method":"tools/list",%s}`, stamped),
				body(wire.Received, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{}]}}`),
			},
			[]string{"response tools/list 26", "result tools/list 26", "tool tools/list 26", "conversation  26"},
		},
		"batch": {
			[]wire.Frame{
				body(wire.Sent, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`),
				body(wire.Received, `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"y"}]`),
			},
			[]string{"batch  ?", "response ping ?", "result ping ?", "notification y ?", "conversation  ?"},
		},
	} {
		if diff := cmp.Diff(test.want, events(test.frames...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Clients that send each request by itself may number them all alike.
func TestResponsesMatchRequestsByStream(t *testing.T) {
	var got []string
	c := New(func(e *Event) {
		if e.Kind == OnResult {
			got = append(got, e.Method)
		}
	})
	for stream, method := range map[int]string{1: "ping", 2: "tools/list"} {
		f := body(wire.Sent, `{"jsonrpc":"2.0","id":1,"method":%q}`, method)
		f.Stream = stream
		c.Add(f)
	}
	for _, stream := range []int{2, 1} {
		f := body(wire.Received, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		f.Stream, f.Kind, f.SSE = stream, wire.Event, &sse.Facts{}
		c.Add(f)
	}
	if diff := cmp.Diff([]string{"tools/list", "ping"}, got); diff != "" {
		t.Error(diff)
	}
}

// Lines that could be one JSON value are kept until they are, or until they are too many.
func TestLinesAreBounded(t *testing.T) {
	noise := func(text string) wire.Frame {
		return wire.Frame{Kind: wire.Noise, Dir: wire.Received, Raw: []byte(text)}
	}
	var frames []wire.Frame
	for range 2*maxNoiseLines + 10 {
		frames = append(frames, noise("["))
	}
	if n := len(events(frames...)); n != len(frames)+1 {
		t.Errorf("%d events", n)
	}
	long := noise("[" + strings.Repeat(" ", maxNoiseBytes))
	if got := events(long, noise("]")); len(got) != 3 {
		t.Error(got)
	}
	if got := events(noise("{"), noise(`"a}\"":1`), noise("}")); len(got) != 2 {
		t.Error(got)
	}
	if got := events(noise("{"), noise("x"), noise("}")); len(got) != 4 {
		t.Error(got)
	}
}
