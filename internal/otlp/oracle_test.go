package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The official generated types are the oracle: the intended values are set in them by name, and
// compared with the values that they read from the bytes.

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func officialAttributes(all []Attribute) (out []*commonpb.KeyValue) {
	for _, a := range all {
		v := &commonpb.AnyValue{}
		switch is := a.Value.(type) {
		case string:
			v.Value = &commonpb.AnyValue_StringValue{StringValue: validText(is)}
		case bool:
			v.Value = &commonpb.AnyValue_BoolValue{BoolValue: is}
		case int64:
			v.Value = &commonpb.AnyValue_IntValue{IntValue: is}
		case float64:
			v.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: is}
		}
		out = append(out, &commonpb.KeyValue{Key: validText(a.Key), Value: v})
	}
	return out
}

func officialResource(r Resource) *resourcepb.Resource {
	return &resourcepb.Resource{Attributes: officialAttributes(r.Attributes)}
}

func officialScope(s Scope) *commonpb.InstrumentationScope {
	return &commonpb.InstrumentationScope{Name: validText(s.Name), Version: validText(s.Version), Attributes: officialAttributes(s.Attributes)}
}

func officialID[T TraceID | SpanID](id T) []byte {
	var none T
	if id == none {
		return nil
	}
	switch id := any(id).(type) {
	case TraceID:
		return id[:]
	case SpanID:
		return id[:]
	}
	return nil
}

func officialSpan(s Span) *tracepb.Span {
	out := &tracepb.Span{
		TraceId: officialID(s.Trace), SpanId: officialID(s.ID), ParentSpanId: officialID(s.Parent),
		TraceState: validText(s.TraceState), Name: validText(s.Name), Kind: tracepb.Span_SpanKind(s.Kind),
		StartTimeUnixNano: uint64(s.Start.UnixNano()), EndTimeUnixNano: uint64(s.End.UnixNano()),
		Attributes: officialAttributes(s.Attributes), DroppedEventsCount: s.DroppedEvents,
		Flags: uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK),
	}
	if s.Sampled {
		out.Flags |= 1
	}
	if s.Remote {
		out.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	if s.Failed {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: validText(s.Message)}
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, &tracepb.Span_Event{TimeUnixNano: uint64(e.Time.UnixNano()), Name: validText(e.Name), Attributes: officialAttributes(e.Attributes)})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, &tracepb.Span_Link{TraceId: officialID(l.Trace), SpanId: officialID(l.Span), TraceState: validText(l.TraceState), Attributes: officialAttributes(l.Attributes)})
	}
	return out
}

func officialTraces(r Resource, s Scope, spans []Span) proto.Message {
	scoped := &tracepb.ScopeSpans{Scope: officialScope(s), SchemaUrl: validText(s.SchemaURL)}
	for _, span := range spans {
		scoped.Spans = append(scoped.Spans, officialSpan(span))
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: officialResource(r), ScopeSpans: []*tracepb.ScopeSpans{scoped}, SchemaUrl: validText(r.SchemaURL),
	}}}
}

func officialPoint(p HistogramPoint) *metricspb.HistogramDataPoint {
	out := &metricspb.HistogramDataPoint{
		Attributes: officialAttributes(p.Attributes), StartTimeUnixNano: uint64(p.Start.UnixNano()), TimeUnixNano: uint64(p.Time.UnixNano()),
		Count: p.Count, Sum: &p.Sum, BucketCounts: p.Counts, ExplicitBounds: p.Bounds,
	}
	if p.Count > 0 {
		out.Min, out.Max = &p.Min, &p.Max
	}
	return out
}

func officialMetrics(r Resource, s Scope, ms []Histogram) proto.Message {
	scoped := &metricspb.ScopeMetrics{Scope: officialScope(s), SchemaUrl: validText(s.SchemaURL)}
	for _, m := range ms {
		h := &metricspb.Histogram{AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
		if m.Delta {
			h.AggregationTemporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
		}
		for _, p := range m.Points {
			h.DataPoints = append(h.DataPoints, officialPoint(p))
		}
		scoped.Metrics = append(scoped.Metrics, &metricspb.Metric{
			Name: validText(m.Name), Description: validText(m.Description), Unit: validText(m.Unit),
			Data: &metricspb.Metric_Histogram{Histogram: h},
		})
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource: officialResource(r), ScopeMetrics: []*metricspb.ScopeMetrics{scoped}, SchemaUrl: validText(r.SchemaURL),
	}}}
}

// checkOfficial compares both encodings with what they should say.
func checkOfficial(t *testing.T, want proto.Message, encode func(f Format) []byte) {
	t.Helper()
	got := want.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(encode(Protobuf), got); err != nil {
		t.Fatalf("protobuf: %v", err)
	}
	if !proto.Equal(got, want) {
		t.Fatalf("protobuf:\n got %v\nwant %v", got, want)
	}
	raw := encode(JSON)
	got = want.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(standardJSON(t, raw), got); err != nil {
		t.Fatalf("JSON: %v\n%s", err, raw)
	}
	if !proto.Equal(got, want) {
		t.Fatalf("JSON:\n got %v\nwant %v", got, want)
	}
}

// standardJSON undoes the deviations of OTLP from the JSON of protobuf: identifiers in
// hexadecimal become base64. Enumerations must be numbers, which both understand.
func standardJSON(t *testing.T, raw []byte) []byte {
	t.Helper()
	var doc any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON value (%v): %q", err, raw)
	}
	standardIDs(t, doc)
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func standardIDs(t *testing.T, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			standardIDs(t, item)
		}
	case map[string]any:
		for name, value := range v {
			switch name {
			case "traceId", "spanId", "parentSpanId":
				id, err := hex.DecodeString(value.(string))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				v[name] = base64.StdEncoding.EncodeToString(id)
			case "kind", "code", "aggregationTemporality":
				if _, ok := value.(json.Number); !ok {
					t.Fatalf("%s is %T, not a number", name, value)
				}
			default:
				standardIDs(t, value)
			}
		}
	}
}

// float64s are numbers that encodings get wrong.
var float64s = []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, 1e21, 1e-9, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
