package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/otlp"
)

// An instrument identifies a metric.
type instrument int

const (
	clientOperation instrument = iota
	serverOperation
	clientSession
	serverSession
)

var instruments = [...]otlp.Histogram{
	clientOperation: {
		Name:        "mcp.client.operation.duration",
		Unit:        "s",
		Description: "Duration of MCP requests and notifications, as seen by their sender.",
	},
	serverOperation: {
		Name:        "mcp.server.operation.duration",
		Unit:        "s",
		Description: "Duration of MCP requests and notifications, as seen by their receiver.",
	},
	clientSession: {
		Name:        "mcp.client.session.duration",
		Unit:        "s",
		Description: "Duration of MCP sessions, as seen by the client.",
	},
	serverSession: {
		Name:        "mcp.server.session.duration",
		Unit:        "s",
		Description: "Duration of MCP sessions, as seen by the server.",
	},
}

// boundaries are the bucket boundaries of all metrics, in seconds.
var boundaries = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// maxSets is the maximum number of attribute sets of a metric. Values with further sets count in
// the point with the attribute overflow.
const (
	maxSets  = 2000
	overflow = "otel.metric.overflow"
)

// Metrics collect durations. All methods may be called from several goroutines.
type Metrics struct {
	// Start is the start time of the counts. If it is zero, the first value sets it to the start of
	// its duration.
	Start time.Time

	mu     sync.Mutex
	points [len(instruments)]map[string]*otlp.HistogramPoint
}

// observe adds a duration that ended at the time end. A negative duration counts as 0. Equal sets
// of attributes count in one point, whatever their order.
func (m *Metrics) observe(metric instrument, attributes []otlp.Attribute, end time.Time, duration time.Duration) {
	attributes = slices.Clone(attributes)
	slices.SortFunc(attributes, func(a, b otlp.Attribute) int { return strings.Compare(a.Key, b.Key) })
	var key []byte
	for _, a := range attributes {
		key = appendValue(append(append(key, a.Key...), '='), a.Value)
	}
	seconds := max(duration, 0).Seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Start.IsZero() {
		m.Start = end.Add(-max(duration, 0))
	}
	p := m.point(metric, key, attributes)
	if p.Count == 0 || seconds < p.Min {
		p.Min = seconds
	}
	p.Max = max(p.Max, seconds)
	p.Sum += seconds
	p.Count++
	i, _ := slices.BinarySearch(boundaries, seconds) // a bound belongs to the bucket below it
	p.Counts[i]++
}

// appendValue appends an attribute value in a form that differs for different values.
func appendValue(key []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return strconv.AppendQuote(key, v)
	case int64:
		return append(strconv.AppendInt(key, v, 10), ';')
	}
	return fmt.Appendf(key, "%v;", value)
}

// point returns the point for a set of attributes, which setKey identifies, and creates it if
// needed. Beyond maxSets it returns the overflow point. m.mu is locked.
func (m *Metrics) point(metric instrument, setKey []byte, attributes []otlp.Attribute) *otlp.HistogramPoint {
	all := m.points[metric]
	if all == nil {
		all = map[string]*otlp.HistogramPoint{}
		m.points[metric] = all
	}
	if found := all[string(setKey)]; found != nil {
		return found
	}
	key := string(setKey)
	if len(all) >= maxSets {
		key = overflow
		attributes = []otlp.Attribute{{Key: overflow, Value: true}}
	}
	found := all[key]
	if found == nil {
		found = &otlp.HistogramPoint{Attributes: attributes, Bounds: boundaries, Counts: make([]uint64, len(boundaries)+1)}
		all[key] = found
	}
	return found
}

// Collect returns the counts since the last Collect if delta is set, else since Start. delta must
// be the same in every call.
func (m *Metrics) Collect(now time.Time, delta bool) []otlp.Histogram {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []otlp.Histogram
	for metric, points := range m.points {
		if len(points) == 0 {
			continue
		}
		h := instruments[metric]
		h.Delta = delta
		for _, p := range points {
			copied := *p
			copied.Counts = slices.Clone(p.Counts)
			copied.Start = m.Start
			copied.Time = now
			if copied.Start.After(now) { // the clocks of frames and of now may differ
				copied.Start = now
			}
			h.Points = append(h.Points, copied)
		}
		slices.SortFunc(h.Points, func(a, b otlp.HistogramPoint) int {
			return slices.CompareFunc(a.Attributes, b.Attributes, func(a, b otlp.Attribute) int {
				return strings.Compare(fmt.Sprint(a.Key, " ", a.Value), fmt.Sprint(b.Key, " ", b.Value))
			})
		})
		all = append(all, h)
		if delta {
			m.points[metric] = nil
		}
	}
	if delta && !m.Start.IsZero() {
		m.Start = now
	}
	return all
}
