package otlp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A generator makes random values; many are zero, long, or invalid as UTF-8.
type generator struct{ *rand.Rand }

func (g generator) text() string {
	pieces := []string{"", "tools/call", "é", "日本", "\xff", "\xc3(", "\x00", "\"\\\n\t", "\u2028</script>", "🙂", "\ud7ff", strings.Repeat("x", 200)}
	var b strings.Builder
	for range g.IntN(4) {
		b.WriteString(pieces[g.IntN(len(pieces))])
	}
	return b.String()
}

func (g generator) moment() time.Time {
	return []time.Time{time.Unix(0, 0), time.Unix(0, g.Int64()), time.Unix(0, math.MaxInt64), time.Unix(1764000000, g.Int64N(1e9))}[g.IntN(4)]
}

func (g generator) attributes() (all []Attribute) {
	for range g.IntN(4) {
		value := []any{g.text(), g.IntN(2) == 0, int64(g.Uint64()), int64(0), float64s[g.IntN(len(float64s))], g.NormFloat64()}[g.IntN(6)]
		all = append(all, Attribute{Key: g.text(), Value: value})
	}
	return all
}

func (g generator) trace() (id TraceID) {
	for i := range id {
		id[i] = byte(g.Uint32() * uint32(min(1, g.IntN(4))))
	}
	return id
}

func (g generator) id() (id SpanID) {
	trace := g.trace()
	return SpanID(trace[:8])
}

func (g generator) span() Span {
	s := Span{
		Trace: g.trace(), ID: g.id(), Parent: g.id(), Remote: g.IntN(2) == 0, TraceState: g.text(), Sampled: g.IntN(2) == 0,
		Name: g.text(), Kind: Kind(g.IntN(4)), Start: g.moment(), End: g.moment(), Attributes: g.attributes(),
		Failed: g.IntN(2) == 0, Message: g.text(), DroppedEvents: g.Uint32() >> g.IntN(33),
	}
	for range g.IntN(3) {
		s.Events = append(s.Events, Event{Time: g.moment(), Name: g.text(), Attributes: g.attributes()})
	}
	for range g.IntN(3) {
		s.Links = append(s.Links, Link{Trace: g.trace(), Span: g.id(), TraceState: g.text(), Attributes: g.attributes()})
	}
	return s
}

func (g generator) histogram() Histogram {
	h := Histogram{Name: g.text(), Description: g.text(), Unit: g.text(), Delta: g.IntN(2) == 0}
	for range g.IntN(4) {
		p := HistogramPoint{
			Attributes: g.attributes(), Start: g.moment(), Time: g.moment(), Count: g.Uint64() >> g.IntN(65),
			Sum: float64s[g.IntN(len(float64s))], Min: float64s[g.IntN(len(float64s))], Max: g.NormFloat64(),
		}
		for range g.IntN(20) {
			p.Bounds, p.Counts = append(p.Bounds, float64s[g.IntN(len(float64s))]), append(p.Counts, g.Uint64()>>g.IntN(65))
		}
		h.Points = append(h.Points, p)
	}
	return h
}

func TestOfficialTypesReadRandomMessages(t *testing.T) {
	for seed := range uint64(400) {
		g := generator{rand.New(rand.NewPCG(seed, 20))}
		r := Resource{Attributes: g.attributes(), SchemaURL: g.text()}
		s := Scope{Name: g.text(), Version: g.text(), Attributes: g.attributes(), SchemaURL: g.text()}
		var spans []Span
		var ms []Histogram
		for range g.IntN(5) {
			spans, ms = append(spans, g.span()), append(ms, g.histogram())
		}
		checkOfficial(t, officialTraces(r, s, spans), func(f Format) []byte { return AppendTraces(nil, f, r, s, spans) })
		checkOfficial(t, officialMetrics(r, s, ms), func(f Format) []byte { return AppendMetrics(nil, f, r, s, ms) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzStrings(f *testing.F) {
	f.Add("tools/call", "vendor=1", "boom", "key", "value")
	f.Add("\xff\xfe", "\xed\xa0\x80", "\x00\x1f\x7f", "\"\\/", "\u2028\U0010ffff")
	f.Fuzz(func(t *testing.T, name, state, message, key, value string) {
		attributes := []Attribute{{key, value}}
		r, s := Resource{attributes, value}, Scope{name, message, attributes, state}
		spans := []Span{{
			Name: name, TraceState: state, Failed: true, Message: message, Start: time.Unix(1, 0), End: time.Unix(2, 0), Attributes: attributes,
			Events: []Event{{time.Unix(1, 5), name, attributes}}, Links: []Link{{TraceState: state, Attributes: attributes}},
		}}
		ms := []Histogram{{Name: name, Description: message, Unit: state, Points: []HistogramPoint{{Attributes: attributes, Start: time.Unix(1, 0), Time: time.Unix(1, 0)}}}}
		checkOfficial(t, officialTraces(r, s, spans), func(f Format) []byte { return AppendTraces(nil, f, r, s, spans) })
		checkOfficial(t, officialMetrics(r, s, ms), func(f Format) []byte { return AppendMetrics(nil, f, r, s, ms) })
	})
}

// The JSON follows the examples of the protocol: names, hexadecimal ids, numbers of enumerations,
// strings for 64 bits.
func TestJSONEncoding(t *testing.T) {
	spans := []Span{{
		Trace: TraceID{0x5b, 15: 0x0c}, ID: SpanID{0xee, 7: 1}, Sampled: true, Remote: true, Name: "tools/call get-sum", Kind: Client,
		Start: time.Unix(1544712660, 0), End: time.Unix(1544712661, 1), Attributes: []Attribute{{"n", int64(7)}, {"x", math.NaN()}, {"y", false}, {"z", ""}},
		Failed: true, Message: "boom",
	}}
	const want = `before {"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"mcpc"},"spans":[{"traceId":"5b00000000000000000000000000000c",` +
		`"spanId":"ee00000000000001","name":"tools/call get-sum","kind":3,"startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000001",` +
		`"attributes":[{"key":"n","value":{"intValue":"7"}},{"key":"x","value":{"doubleValue":"NaN"}},{"key":"y","value":{"boolValue":false}},{"key":"z","value":{"stringValue":""}}],` +
		`"status":{"message":"boom","code":2},"flags":769}]}]}]}`
	if got := string(AppendTraces([]byte("before "), JSON, Resource{}, Scope{Name: "mcpc"}, spans)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestTimesOutsideOfRangeAreClamped(t *testing.T) {
	for at, want := range map[time.Time]uint64{
		{}:               0,
		time.Unix(-1, 0): 0,
		time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC): 9214646400000000000,
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): math.MaxInt64,
	} {
		var got tracepb.TracesData
		if err := proto.Unmarshal(AppendTraces(nil, Protobuf, Resource{}, Scope{}, []Span{{Start: at}}), &got); err != nil {
			t.Fatal(err)
		}
		if is := got.ResourceSpans[0].ScopeSpans[0].Spans[0].StartTimeUnixNano; is != want {
			t.Errorf("%v: got %d, want %d", at, is, want)
		}
	}
}

// A wrong type that another package puts into an Attribute is shown as text, and breaks no message.
func TestAttributeOfUnknownTypeIsText(t *testing.T) {
	got := string(AppendTraces(nil, JSON, Resource{Attributes: []Attribute{{"a", 5}, {"b", nil}}}, Scope{}, nil))
	const want = `{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"5"}},{"key":"b","value":{"stringValue":"<nil>"}}]},"scopeSpans":[{"scope":{}}]}]}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
