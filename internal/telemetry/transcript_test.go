package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A transcript is a run as a text, one step a line, each a millisecond after the one before:
//
//	stdio | http         the transport of what follows; http is where it begins
//	conn N               the number of the conversation
//	with FIELD: VALUE    a field of the next head
//	> JSON               the client sends a message; over HTTP in a POST of its own
//	again ID             the next message is the request ID sent again by mcpc itself
//	get | delete         an HTTP request without a message
//	head STATUS TYPE     the head of the response
//	< JSON               the server sends a message: an event in an event stream
//	event ID             an event without data
//	endpoint URL         the event that begins HTTP+SSE
//	noise TEXT           bytes that are no message
//	on N                 what follows is on that stream
//	close client|server HOW TEXT
//	held sent|received HOW KIND ID MS
//	fault sent|received ACTION ID
//	fail ID KIND TEXT    the caller reports the end of a request; of all where ID is *
//	+ DURATION           time passes
type transcript struct {
	now     time.Time
	http    bool
	events  map[int]bool
	fields  []wire.Field
	again   string
	streams int
	stream  int
	conn    int
	seq     uint64
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

const serverURL = "https://user:hunter22@mcp.example.com:8443/mcp?api_key=abcdefabcdef"

// step is a step of a Builder: a frame, or a failure.
type step struct {
	frame *wire.Frame
	fail  func(b *Builder)
}

func parse(t testing.TB, script string) (steps []step, end time.Time) {
	t.Helper()
	p := &transcript{now: noon, http: true, events: map[int]bool{}}
	for n, line := range strings.Split(script, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		more, err := p.step(word, rest)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		steps = append(steps, more...)
		if len(more) > 0 {
			p.now = p.now.Add(time.Millisecond)
		}
	}
	return steps, p.now
}

func (p *transcript) step(word, rest string) (steps []step, err error) {
	words := strings.Fields(rest)
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	add := func(f wire.Frame) {
		p.seq++
		f.Seq, f.Time, f.Conn = p.seq, p.now, p.conn
		if p.http {
			f.Stream = p.stream
		}
		steps = append(steps, step{frame: &f})
	}
	request := func(method string) {
		p.streams++
		p.stream = p.streams
		add(wire.Frame{Kind: wire.Head, HTTP: &wire.HTTPHead{Method: method, URL: serverURL, Proto: "HTTP/1.1", Fields: p.fields}})
		p.fields = nil
	}
	dir, _ := wire.ParseDirection(arg(0))
	switch word {
	case "stdio", "http":
		p.http = word == "http"
	case "conn":
		p.conn, err = strconv.Atoi(rest)
	case "with":
		name, value, _ := strings.Cut(rest, ": ")
		p.fields = append(p.fields, wire.Field{Name: name, Value: value})
	case ">":
		if p.http {
			request("POST")
		}
		add(wire.Frame{Kind: wire.Body, Raw: []byte(rest), PreviousID: p.again})
		p.again = ""
	case "again":
		p.again = rest
	case "get", "delete":
		request(strings.ToUpper(word))
	case "head":
		status, _ := strconv.Atoi(arg(0))
		p.events[p.stream] = arg(1) == "text/event-stream"
		fields := append(p.fields, wire.Field{Name: "Content-Type", Value: cmp.Or(arg(1), "application/json")})
		add(wire.Frame{Dir: wire.Received, Kind: wire.Head, HTTP: &wire.HTTPHead{Status: status, Proto: "HTTP/2.0", Fields: fields}})
		p.fields = nil
	case "<":
		f := wire.Frame{Dir: wire.Received, Kind: wire.Body, Raw: []byte(rest)}
		if p.http && p.events[p.stream] {
			f.Kind, f.SSE = wire.Event, &sse.Facts{Event: "message"}
		}
		add(f)
	case "event":
		add(wire.Frame{Dir: wire.Received, Kind: wire.Event, SSE: &sse.Facts{ID: &rest}})
	case "endpoint":
		add(wire.Frame{Dir: wire.Received, Kind: wire.Event, Raw: []byte(rest), SSE: &sse.Facts{Event: "endpoint"}})
	case "noise":
		add(wire.Frame{Dir: wire.Received, Kind: wire.Noise, Raw: []byte(rest)})
	case "on":
		p.stream, err = strconv.Atoi(rest)
	case "close":
		by := wire.Received
		if arg(0) == "client" {
			by = wire.Sent
		}
		add(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: arg(1), Text: strings.Join(words[min(2, len(words)):], " ")}})
	case "held":
		ms, _ := strconv.Atoi(arg(4))
		add(wire.Frame{Dir: dir, Kind: wire.Held, Held: &wire.HeldFacts{How: arg(1), Kind: arg(2), ID: arg(3), Milliseconds: int64(ms)}})
	case "fault":
		add(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &wire.FaultFacts{Rule: "tools/call: " + arg(1), Action: arg(1), ID: arg(2)}})
	case "fail":
		id, at := []byte(arg(0)), p.now
		if arg(0) == "*" {
			id = nil
		}
		text := strings.Join(words[2:], " ")
		steps = append(steps, step{fail: func(b *Builder) { b.Fail(id, wire.Kind(arg(1)), text, at) }})
	case "+":
		var d time.Duration
		d, err = time.ParseDuration(rest)
		p.now = p.now.Add(d)
	default:
		err = fmt.Errorf("unknown step %q", word)
	}
	return steps, err
}

// emitted is a span with its ref.
type emitted struct {
	ref  int64
	span otlp.Span
}

// run gives a transcript to a Builder.
func run(t testing.TB, o Options, script string) (all []emitted) {
	t.Helper()
	steps, end := parse(t, script)
	o.Seed = cmp.Or(o.Seed, "seed")
	o.Emit = func(ref int64, s otlp.Span) { all = append(all, emitted{ref, s}) }
	b := New(o)
	for i, s := range steps {
		if s.fail != nil {
			s.fail(b)
			continue
		}
		b.Add(int64(i), *s.frame)
	}
	b.Close(end)
	return all
}

// tree writes spans as a person would compare them: ids by their place, times from noon.
func tree(all []emitted) string {
	var b strings.Builder
	below := map[otlp.SpanID][]emitted{}
	here, traces := map[otlp.SpanID]bool{}, map[otlp.TraceID]int{}
	for _, e := range all {
		here[e.span.ID] = true
	}
	var roots []emitted
	for _, e := range all {
		if here[e.span.Parent] {
			below[e.span.Parent] = append(below[e.span.Parent], e)
		} else {
			roots = append(roots, e)
		}
	}
	byStart := func(a, b emitted) int { return cmp.Or(a.span.Start.Compare(b.span.Start), cmp.Compare(a.ref, b.ref)) }
	var write func(e emitted, depth int)
	write = func(e emitted, depth int) {
		s, in := e.span, strings.Repeat("  ", depth)
		if traces[s.Trace] == 0 {
			traces[s.Trace] = len(traces) + 1
		}
		fmt.Fprintf(&b, "%s%s %s, trace %d, %v to %v\n", in, kindName(s.Kind), s.Name, traces[s.Trace], s.Start.Sub(noon), s.End.Sub(noon))
		if s.Parent != (otlp.SpanID{}) && !here[s.Parent] {
			fmt.Fprintf(&b, "%s    parent %x of trace %x, remote %v\n", in, s.Parent, s.Trace, s.Remote)
		}
		if s.TraceState != "" {
			fmt.Fprintf(&b, "%s    tracestate %s\n", in, s.TraceState)
		}
		if s.Failed {
			fmt.Fprintf(&b, "%s    ERROR %s\n", in, s.Message)
		}
		fmt.Fprintf(&b, "%s    %s\n", in, attributesText(s.Attributes))
		for _, ev := range s.Events {
			fmt.Fprintf(&b, "%s    at %v %s %s\n", in, ev.Time.Sub(noon), ev.Name, attributesText(ev.Attributes))
		}
		for _, l := range s.Links {
			fmt.Fprintf(&b, "%s    link to %x of trace %x\n", in, l.Span, l.Trace)
		}
		slices.SortStableFunc(below[s.ID], byStart)
		for _, c := range below[s.ID] {
			if c.span.Trace != s.Trace {
				fmt.Fprintf(&b, "%s  of another trace:\n", in)
			}
			write(c, depth+1)
		}
	}
	slices.SortStableFunc(roots, byStart)
	for _, r := range roots {
		write(r, 0)
	}
	return b.String()
}

func kindName(k otlp.Kind) string {
	return map[otlp.Kind]string{otlp.Internal: "INTERNAL", otlp.Server: "SERVER", otlp.Client: "CLIENT"}[k]
}

func attributesText(all []otlp.Attribute) string {
	var parts []string
	for _, a := range all {
		parts = append(parts, fmt.Sprintf("%s=%v", a.Key, a.Value))
	}
	return strings.Join(parts, " ")
}
