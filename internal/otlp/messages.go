package otlp

import "fmt"

// Each function here is one message: its fields with their numbers and JSON names, as in the
// .proto files of OTLP 1.11. The writer knows the encodings.

// The bits of a span's flags.
const (
	flagSampled     = 1
	flagHasIsRemote = 1 << 8
	flagIsRemote    = 1 << 9
)

// The numbers of enumerations.
const (
	statusError           = 2
	temporalityDelta      = 1
	temporalityCumulative = 2
)

// AppendTraces appends an ExportTraceServiceRequest, which is encoded like a TracesData.
func AppendTraces(dst []byte, f Format, r Resource, s Scope, spans []Span) []byte {
	return appendRequest(dst, f, names{"resourceSpans", "scopeSpans", "spans"}, r, s, spans, writeSpan)
}

// AppendMetrics appends an ExportMetricsServiceRequest, which is encoded like a MetricsData.
func AppendMetrics(dst []byte, f Format, r Resource, s Scope, ms []Histogram) []byte {
	return appendRequest(dst, f, names{"resourceMetrics", "scopeMetrics", "metrics"}, r, s, ms, writeMetric)
}

// names are the JSON names of the lists around the items of a request.
type names struct{ ofResources, ofScopes, items string }

// appendRequest appends a request with one resource and one scope. The requests of all signals
// have the same field numbers.
func appendRequest[T any](
	dst []byte,
	f Format,
	is names,
	r Resource,
	s Scope,
	items []T,
	fields func(*writer, *T),
) []byte {
	w := &writer{b: dst, json: f == JSON}
	byScope := func(w *writer, s *Scope) {
		w.message(1, "scope", func() { writeScope(w, s) })
		messages(w, 2, is.items, items, fields)
		w.text(3, "schemaUrl", s.SchemaURL)
	}
	byResource := func(w *writer, r *Resource) {
		w.message(1, "resource", func() { writeAttributes(w, 1, r.Attributes) })
		messages(w, 2, is.ofScopes, []Scope{s}, byScope)
		w.text(3, "schemaUrl", r.SchemaURL)
	}
	request := func() { messages(w, 1, is.ofResources, []Resource{r}, byResource) }
	if w.json {
		w.object(request)
	} else {
		request()
	}
	return w.b
}

func writeScope(w *writer, s *Scope) {
	w.text(1, "name", s.Name)
	w.text(2, "version", s.Version)
	writeAttributes(w, 3, s.Attributes)
}

func writeAttributes(w *writer, n int, all []Attribute) {
	messages(w, n, "attributes", all, writeAttribute)
}

func writeAttribute(w *writer, a *Attribute) {
	w.text(1, "key", a.Key)
	w.message(2, "value", func() { writeValue(w, a.Value) })
}

// writeValue writes the fields of an AnyValue. It writes a value even if it is zero.
func writeValue(w *writer, v any) {
	switch v := v.(type) {
	case string:
		w.alwaysText(1, "stringValue", v)
	case bool:
		w.alwaysBool(2, "boolValue", v)
	case int64:
		w.alwaysInt(3, "intValue", v)
	case float64:
		w.alwaysDouble(4, "doubleValue", v)
	default: // Attribute does not allow other types
		w.alwaysText(1, "stringValue", fmt.Sprint(v))
	}
}

func writeSpan(w *writer, s *Span) {
	w.id(1, "traceId", s.Trace[:])
	w.id(2, "spanId", s.ID[:])
	w.text(3, "traceState", s.TraceState)
	w.id(4, "parentSpanId", s.Parent[:])
	w.text(5, "name", s.Name)
	w.number(6, "kind", uint32(s.Kind))
	w.time(7, "startTimeUnixNano", s.Start)
	w.time(8, "endTimeUnixNano", s.End)
	writeAttributes(w, 9, s.Attributes)
	messages(w, 11, "events", s.Events, writeEvent)
	w.number(12, "droppedEventsCount", s.DroppedEvents)
	messages(w, 13, "links", s.Links, writeLink)
	if s.Failed {
		w.message(15, "status", func() {
			w.text(2, "message", s.Message)
			w.number(3, "code", statusError)
		})
	}
	w.bits(16, "flags", s.flags())
}

// flags returns the trace flags with the bits for a remote parent.
func (s *Span) flags() uint32 {
	flags := uint32(flagHasIsRemote)
	if s.Sampled {
		flags |= flagSampled
	}
	if s.Remote {
		flags |= flagIsRemote
	}
	return flags
}

func writeEvent(w *writer, e *Event) {
	w.time(1, "timeUnixNano", e.Time)
	w.text(2, "name", e.Name)
	writeAttributes(w, 3, e.Attributes)
}

func writeLink(w *writer, l *Link) {
	w.id(1, "traceId", l.Trace[:])
	w.id(2, "spanId", l.Span[:])
	w.text(3, "traceState", l.TraceState)
	writeAttributes(w, 4, l.Attributes)
}

func writeMetric(w *writer, h *Histogram) {
	w.text(1, "name", h.Name)
	w.text(2, "description", h.Description)
	w.text(3, "unit", h.Unit)
	w.message(9, "histogram", func() {
		messages(w, 1, "dataPoints", h.Points, writePoint)
		temporality := uint32(temporalityCumulative)
		if h.Delta {
			temporality = temporalityDelta
		}
		w.number(2, "aggregationTemporality", temporality)
	})
}

func writePoint(w *writer, p *HistogramPoint) {
	w.time(2, "startTimeUnixNano", p.Start)
	w.time(3, "timeUnixNano", p.Time)
	w.fixed(4, "count", p.Count)
	w.alwaysDouble(5, "sum", p.Sum)
	w.uints(6, "bucketCounts", p.Counts)
	w.doubles(7, "explicitBounds", p.Bounds)
	writeAttributes(w, 9, p.Attributes)
	if p.Count > 0 { // without values there is no minimum
		w.alwaysDouble(11, "min", p.Min)
		w.alwaysDouble(12, "max", p.Max)
	}
}
