package telemetry

import (
	"maps"
	"slices"
	"testing"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// oracle counts what has spans, with a separate Correlator.
type oracle struct {
	correlator wire.Correlator
	// requests are the refs of requests and rounds, again the repeated requests that may be a new
	// exchange.
	requests, again int
	refs            map[int64]bool
}

func (o *oracle) add(ref int64, f *wire.Frame) {
	var t wire.Traits
	if f.Kind == wire.Body || f.Kind == wire.Event && f.SSE.MayCarryMessage() {
		t = wire.ParseMessage(f.Raw).Traits()
	}
	for _, p := range o.correlator.Add(ref, f, &t) {
		switch p.Role {
		case wire.RoleRequest:
			o.requests++
			o.refs[ref] = true
		case wire.RoleContinuation:
			o.requests++
			o.refs[ref] = true
		case wire.RoleRepeat:
			o.again++
			o.refs[ref] = true
		}
	}
}

// checkAll compares the emitted spans with the frames.
func checkAll(t *testing.T, o Options, frames []wire.Frame, all []emitted) {
	t.Helper()
	count := oracle{refs: map[int64]bool{}}
	for i := range frames {
		count.add(int64(i), &frames[i])
	}
	ids := map[otlp.SpanID]bool{}
	got := map[otlp.Kind]int{}
	for _, e := range all {
		s := e.span
		if ids[s.ID] || s.ID == (otlp.SpanID{}) || s.Trace == (otlp.TraceID{}) || s.ID == s.Parent {
			t.Errorf("%s has the id %x of trace %x below %x", s.Name, s.ID, s.Trace, s.Parent)
		}
		ids[s.ID] = true
		if s.End.Before(s.Start) || len(s.Events) > maxEvents || s.Name == "" && s.Attributes[0].Value != "" {
			t.Errorf("got %+v", s)
		}
		if f := frames[e.ref]; len(f.Raw) == 0 {
			t.Errorf("the ref of %s is that of %+v", s.Name, f)
		}
		hasID := slices.ContainsFunc(s.Attributes, func(a otlp.Attribute) bool { return a.Key == requestID })
		if count.refs[e.ref] && hasID { // an array may have notifications as well
			got[s.Kind]++
		}
	}
	if !o.IsRelay {
		got[otlp.Client] += got[otlp.Server]
	} else if got[otlp.Client] != got[otlp.Server] {
		t.Errorf("%d on one side, %d on the other", got[otlp.Server], got[otlp.Client])
	}
	if n := got[otlp.Client]; n < count.requests || n > count.requests+count.again {
		t.Errorf("%d requests and %d again, but %d spans", count.requests, count.again, n)
	}
}

func pool(t testing.TB) (frames []wire.Frame) {
	for _, r := range recordings(t) {
		for _, s := range r.steps {
			if s.frame != nil {
				frames = append(frames, *s.frame)
			}
		}
	}
	return frames
}

func build(o Options, frames []wire.Frame) (all []emitted) {
	o.Emit = func(ref int64, s otlp.Span) { all = append(all, emitted{ref, s}) }
	b := New(o)
	for i, f := range frames {
		b.Add(int64(i), f)
	}
	b.Close(noon)
	return all
}

// Each request of each recording has its spans, once; so it has where all are in one run.
func TestEachRequestHasSpansOnce(t *testing.T) {
	runs := [][]wire.Frame{pool(t)}
	for _, r := range recordings(t) {
		var frames []wire.Frame
		for _, s := range r.steps {
			if s.frame != nil {
				frames = append(frames, *s.frame)
			}
		}
		runs = append(runs, frames)
	}
	for _, frames := range runs {
		for _, o := range variants() {
			checkAll(t, o, frames, build(o, frames))
		}
	}
}

// FuzzFrames takes frames of recordings in the order that data determines: two bytes are a frame,
// the third changes it.
func FuzzFrames(f *testing.F) {
	all := pool(f)
	f.Add([]byte{})
	for start := 0; start < len(all); start += 40 { // as they were recorded
		var data []byte
		for i := start; i < min(start+40, len(all)); i++ {
			data = append(data, byte(i>>8), byte(i), 0)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var frames []wire.Frame
		for part := range slices.Chunk(data, 3) {
			if len(part) < 3 {
				break
			}
			frames = append(frames, changed(all[(int(part[0])<<8|int(part[1]))%len(all)], part[2]))
		}
		for _, o := range variants() {
			checkAll(t, o, frames, build(o, frames))
		}
	})
}

// changed is a frame with what the bits say.
func changed(f wire.Frame, bits byte) wire.Frame {
	if bits&1 > 0 {
		f.Dir = 1 - f.Dir
	}
	if bits&2 > 0 {
		f.Stream = int(bits >> 5)
	}
	if bits&4 > 0 {
		f.Conn = int(bits >> 6)
	}
	if bits&8 > 0 {
		f.Time = noon.Add(time.Duration(bits) * time.Minute)
	}
	if bits&16 > 0 && len(f.Raw) > 0 {
		f.Raw = slices.Clone(f.Raw)
		f.Raw[int(bits)%len(f.Raw)] ^= bits
	}
	return f
}

// Traces are whole: a span below another one is of its trace.
func TestChildSpansShareTraceOfParent(t *testing.T) {
	for _, r := range recordings(t) {
		for _, o := range variants() {
			all := r.run(o)
			trace := map[otlp.SpanID]otlp.TraceID{}
			for _, e := range all {
				trace[e.span.ID] = e.span.Trace
			}
			for _, e := range all {
				if of, ok := trace[e.span.Parent]; ok && of != e.span.Trace {
					t.Errorf("%s: %s is below a span of another trace", r.name, e.span.Name)
				}
			}
			if len(all) == 0 && slices.ContainsFunc(r.steps, func(s step) bool { return s.frame != nil && wire.ParseMessage(s.frame.Raw).Kind == wire.Request }) {
				t.Errorf("%s has no spans: %v", r.name, slices.Collect(maps.Keys(trace)))
			}
		}
	}
}
