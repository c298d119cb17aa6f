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
	return appendRequest(dst, f, listNames{"resourceSpans", "scopeSpans", "spans"}, r, s, spans, writeSpan)
}

// AppendMetrics appends an ExportMetricsServiceRequest, which is encoded like a MetricsData.
func AppendMetrics(dst []byte, f Format, r Resource, s Scope, ms []Histogram) []byte {
	return appendRequest(dst, f, listNames{"resourceMetrics", "scopeMetrics", "metrics"}, r, s, ms, writeMetric)
}

// listNames are the JSON names of the lists around the items of a request.
type listNames struct{ ofResources, ofScopes, items string }

// appendRequest appends a request with one resource and one scope, as three nested lists. The
// requests of all signals have the same field numbers.
func appendRequest[T any](
	dst []byte,
	f Format,
	lists listNames,
	r Resource,
	s Scope,
	items []T,
	writeItem func(*writer, *T),
) []byte {
	w := &writer{b: dst, isJSON: f == JSON}
	writeScopeList := func(w *writer, s *Scope) {
		w.writeMessage(1, "scope", func() { writeScope(w, s) })
		writeMessages(w, 2, lists.items, items, writeItem)
		w.writeText(3, "schemaUrl", s.SchemaURL)
	}
	writeResourceList := func(w *writer, r *Resource) {
		w.writeMessage(1, "resource", func() { writeAttributes(w, 1, r.Attributes) })
		writeMessages(w, 2, lists.ofScopes, []Scope{s}, writeScopeList)
		w.writeText(3, "schemaUrl", r.SchemaURL)
	}
	writeRequest := func() { writeMessages(w, 1, lists.ofResources, []Resource{r}, writeResourceList) }
	// A protobuf message needs no brackets.
	if w.isJSON {
		w.writeObject(writeRequest)
	} else {
		writeRequest()
	}
	return w.b
}

// writeScope writes the fields of an InstrumentationScope.
func writeScope(w *writer, s *Scope) {
	w.writeText(1, "name", s.Name)
	w.writeText(2, "version", s.Version)
	writeAttributes(w, 3, s.Attributes)
}

// writeAttributes writes attributes as the repeated field n.
func writeAttributes(w *writer, n int, all []Attribute) {
	writeMessages(w, n, "attributes", all, writeAttribute)
}

// writeAttribute writes the fields of a KeyValue.
func writeAttribute(w *writer, a *Attribute) {
	w.writeText(1, "key", a.Key)
	w.writeMessage(2, "value", func() { writeValue(w, a.Value) })
}

// writeValue writes the fields of an AnyValue. It writes a value even if it is zero.
func writeValue(w *writer, v any) {
	switch v := v.(type) {
	case string:
		w.writeTextAlways(1, "stringValue", v)
	case bool:
		w.writeBoolAlways(2, "boolValue", v)
	case int64:
		w.writeIntAlways(3, "intValue", v)
	case float64:
		w.writeDoubleAlways(4, "doubleValue", v)
	default: // Attribute does not allow other types
		w.writeTextAlways(1, "stringValue", fmt.Sprint(v))
	}
}

// writeSpan writes the fields of a Span.
func writeSpan(w *writer, s *Span) {
	w.writeID(1, "traceId", s.Trace[:])
	w.writeID(2, "spanId", s.ID[:])
	w.writeText(3, "traceState", s.TraceState)
	w.writeID(4, "parentSpanId", s.Parent[:])
	w.writeText(5, "name", s.Name)
	w.writeUint32(6, "kind", uint32(s.Kind))
	w.writeTime(7, "startTimeUnixNano", s.Start)
	w.writeTime(8, "endTimeUnixNano", s.End)
	writeAttributes(w, 9, s.Attributes)
	writeMessages(w, 11, "events", s.Events, writeEvent)
	w.writeUint32(12, "droppedEventsCount", s.DroppedEvents)
	writeMessages(w, 13, "links", s.Links, writeLink)
	if s.Failed {
		w.writeMessage(15, "status", func() {
			w.writeText(2, "message", s.Message)
			w.writeUint32(3, "code", statusError)
		})
	}
	w.writeFixed32(16, "flags", s.flags())
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

// writeEvent writes the fields of a Span.Event.
func writeEvent(w *writer, e *Event) {
	w.writeTime(1, "timeUnixNano", e.Time)
	w.writeText(2, "name", e.Name)
	writeAttributes(w, 3, e.Attributes)
}

// writeLink writes the fields of a Span.Link.
func writeLink(w *writer, l *Link) {
	w.writeID(1, "traceId", l.Trace[:])
	w.writeID(2, "spanId", l.Span[:])
	w.writeText(3, "traceState", l.TraceState)
	writeAttributes(w, 4, l.Attributes)
}

// writeMetric writes the fields of a Metric with a histogram.
func writeMetric(w *writer, h *Histogram) {
	w.writeText(1, "name", h.Name)
	w.writeText(2, "description", h.Description)
	w.writeText(3, "unit", h.Unit)
	w.writeMessage(9, "histogram", func() {
		writeMessages(w, 1, "dataPoints", h.Points, writePoint)
		temporality := uint32(temporalityCumulative)
		if h.Delta {
			temporality = temporalityDelta
		}
		w.writeUint32(2, "aggregationTemporality", temporality)
	})
}

// writePoint writes the fields of a HistogramDataPoint.
func writePoint(w *writer, p *HistogramPoint) {
	w.writeTime(2, "startTimeUnixNano", p.Start)
	w.writeTime(3, "timeUnixNano", p.Time)
	w.writeFixed64(4, "count", p.Count)
	w.writeDoubleAlways(5, "sum", p.Sum)
	w.writeUints(6, "bucketCounts", p.Counts)
	w.writeDoubles(7, "explicitBounds", p.Bounds)
	writeAttributes(w, 9, p.Attributes)
	if p.Count > 0 { // without values there is no minimum
		w.writeDoubleAlways(11, "min", p.Min)
		w.writeDoubleAlways(12, "max", p.Max)
	}
}
