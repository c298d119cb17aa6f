package telemetry

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// convention is testdata/convention.json, written by hand from the files that it names.
type convention struct {
	SchemaURL  string                       `json:"schema_url"`
	Commit     string                       `json:"commit"`
	StatusFree []string                     `json:"server_status_unset"`
	Spans      map[string]map[string]string `json:"spans"`
	Metrics    map[string]struct {
		Unit       string
		Boundaries []float64
		Attributes map[string]string
	} `json:"metrics"`
}

func readConvention(t testing.TB) (c convention) {
	t.Helper()
	raw, err := os.ReadFile("testdata/convention.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// beyond are the attributes of spans and events that the convention for MCP does not have.
var beyond = []string{
	"http.response.status_code", "mcpc.round", "mcpc.rounds", "mcpc.incomplete",
	"mcpc.progress", "mcpc.progress.total", "mcpc.log.level", "mcpc.fault.rule", "mcpc.fault.action", "mcpc.held.how", "mcpc.held.kind", "mcpc.held.duration",
}

// eventsBeyond are the names of events that are no notifications.
var eventsBeyond = []string{"mcpc.retry", "mcpc.resume", "mcpc.stream.cut", "mcpc.late_answer", "mcpc.fault", "mcpc.held"}

// A recording is one run.
type recording struct {
	name  string
	steps []step
	end   time.Time
}

// recordings are the transcripts, and captures of real clients and servers: each run is one.
func recordings(t testing.TB) (all []recording) {
	t.Helper()
	trees, _ := filepath.Glob("testdata/trees/*.txt")
	for _, file := range trees {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		steps, end := parse(t, string(a.Files[0].Data))
		all = append(all, recording{file, steps, end})
	}
	captures, _ := filepath.Glob("../capture/rows/testdata/sessions/*.jsonl")
	for _, file := range append(captures, "../capture/rows/testdata/golden.jsonl", "../capture/rows/testdata/format.jsonl") {
		c, err := rows.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		runs := make([]recording, len(c.Heads))
		if err := c.EachFrame(func(run int, f wire.Frame) error {
			runs[run].steps = append(runs[run].steps, step{frame: &f})
			runs[run].name, runs[run].end = file, f.Time
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		c.Close()
		all = append(all, slices.DeleteFunc(runs, func(r recording) bool { return r.steps == nil })...)
	}
	if len(all) < 35 {
		t.Fatalf("only %d recordings", len(all))
	}
	return all
}

func (r recording) run(o Options) (all []emitted) {
	o.Emit = func(ref int64, s otlp.Span) { all = append(all, emitted{ref, s}) }
	b := New(o)
	for i, s := range r.steps {
		if s.fail != nil {
			s.fail(b)
			continue
		}
		b.Add(int64(i), *s.frame)
	}
	b.Close(r.end)
	return all
}

// variants are Options of all kinds.
func variants() []Options {
	return []Options{
		{Seed: "a", ContextIsOwnSpan: true},
		{Seed: "b", IsRelay: true},
		{Seed: "c", Content: true, URINames: true, IsRelay: true},
		{Seed: "d", Parent: Context{Trace: otlp.TraceID{1}, Span: otlp.SpanID{1}, Sampled: true}, Target: "http://127.0.0.1:80/mcp"},
	}
}

// Everything that is emitted has a name that the convention has, and what it requires is there.
func TestSpansAndMetricsFollowConvention(t *testing.T) {
	c := readConvention(t)
	seen := map[string]bool{}
	for _, r := range recordings(t) {
		for _, o := range variants() {
			o.Metrics = &Metrics{}
			for _, e := range r.run(o) {
				checkSpan(t, c, r, o, e, seen)
			}
			for _, h := range o.Metrics.Collect(r.end, false) {
				checkHistogram(t, c, h)
				seen[h.Name] = true
			}
		}
	}
	missing := slices.DeleteFunc(slices.Concat(slices.Collect(maps.Keys(c.Spans["CLIENT"])), slices.Collect(maps.Keys(c.Metrics)), beyond, eventsBeyond),
		func(name string) bool { return seen[name] || strings.HasSuffix(name, "*") })
	if len(missing) > 0 {
		t.Errorf("the recordings have no case for %v", missing)
	}
}

func defines(names map[string]string, key string) bool {
	return names[key] != "" || strings.HasPrefix(key, promptVariable) && names[promptVariable+"*"] != ""
}

func checkSpan(t *testing.T, c convention, r recording, o Options, e emitted, seen map[string]bool) {
	t.Helper()
	s := e.span
	has := map[string]any{}
	kind := kindName(s.Kind)
	if s.Kind == otlp.Internal {
		kind = "SERVER" // which the convention lacks
	}
	for _, a := range s.Attributes {
		if _, twice := has[a.Key]; twice {
			t.Errorf("%s: %s has %s twice", r.name, s.Name, a.Key)
		}
		has[a.Key], seen[a.Key] = a.Value, true
		level := c.Spans[kind][a.Key]
		if !defines(c.Spans[kind], a.Key) && !slices.Contains(beyond, a.Key) {
			t.Errorf("%s: %s span %s has %s, which the convention does not define", r.name, kind, s.Name, a.Key)
		}
		if (level == "opt-in" || strings.HasPrefix(a.Key, promptVariable)) && !o.Content {
			t.Errorf("%s: %s span %s has %s without being asked", r.name, kind, s.Name, a.Key)
		}
	}
	for _, ev := range s.Events {
		seen[ev.Name] = true
		isNotice := len(ev.Attributes) > 0 && ev.Attributes[0] == text(methodName, ev.Name)
		if !isNotice && !slices.Contains(eventsBeyond, ev.Name) {
			t.Errorf("%s: %s has the event %s", r.name, s.Name, ev.Name)
		}
		for _, a := range ev.Attributes {
			seen[a.Key] = true
			if c.Spans[kind][a.Key] == "" && !slices.Contains(beyond, a.Key) {
				t.Errorf("%s: the event %s has %s", r.name, ev.Name, a.Key)
			}
		}
	}
	if s.Failed != (has[errorType] != nil) {
		t.Errorf("%s: %s has the status ERROR: %v, error.type %v", r.name, s.Name, s.Failed, has[errorType])
	}
	if code, _ := has[statusCode].(string); code != "" && s.Failed != !(s.Kind == otlp.Server && slices.Contains(c.StatusFree, code)) {
		t.Errorf("%s: %s span %s with code %s: failed is %v", r.name, kind, s.Name, code, s.Failed)
	}
	checkRequired(t, r, e, has)
}

// checkRequired reads the request again, with encoding/json.
func checkRequired(t *testing.T, r recording, e emitted, has map[string]any) {
	t.Helper()
	type request struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name, URI string }
	}
	var m request
	if json.Unmarshal(r.steps[e.ref].frame.Raw, &m) != nil {
		return // an array of them
	}
	want := map[string]string{methodName: m.Method}
	switch m.Method {
	case "tools/call":
		want[toolName] = m.Params.Name
		if e.span.Kind != otlp.Internal {
			want[operationName] = "execute_tool"
		}
	case "prompts/get":
		want[promptName] = m.Params.Name
	case "resources/read", "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated":
		want[resourceURI] = safeText(m.Params.URI)
	}
	for key, value := range want {
		if has[key] != value {
			t.Errorf("%s: %s has %s %v, want %s", r.name, e.span.Name, key, has[key], value)
		}
	}
	if id := has[requestID]; (id != nil) != (m.ID != nil && e.span.Kind != otlp.Internal) {
		t.Errorf("%s: %s has the id %v, want %s", r.name, e.span.Name, id, m.ID)
	} else if id != nil && !slices.ContainsFunc(r.steps, func(s step) bool { // a request that was sent again has the later id
		var other request
		return s.frame != nil && json.Unmarshal(s.frame.Raw, &other) == nil && other.Method == m.Method && jsonraw.TextOrRaw(other.ID) == id
	}) {
		t.Errorf("%s: %s has the id %v, want %s", r.name, e.span.Name, id, m.ID)
	}
	if name := want[toolName] + want[promptName]; name != "" && e.span.Name != m.Method+" "+name {
		t.Errorf("%s: the name is %s", r.name, e.span.Name)
	}
}

func checkHistogram(t *testing.T, c convention, h otlp.Histogram) {
	t.Helper()
	is, ok := c.Metrics[h.Name]
	if !ok || h.Unit != is.Unit || h.Description == "" {
		t.Errorf("metric %s with unit %s", h.Name, h.Unit)
	}
	for _, p := range h.Points {
		if !slices.Equal(p.Bounds, is.Boundaries) || len(p.Counts) != len(p.Bounds)+1 {
			t.Errorf("%s has bounds %v", h.Name, p.Bounds)
		}
		has := map[string]bool{}
		for _, a := range p.Attributes {
			has[a.Key] = true
			if level := is.Attributes[a.Key]; level == "" || level == "opt-in" {
				t.Errorf("%s has %s", h.Name, a.Key)
			}
		}
		for key, level := range is.Attributes {
			if level == "required" && !has[key] {
				t.Errorf("%s lacks %s", h.Name, key)
			}
		}
	}
}

func TestScope(t *testing.T) {
	c, s := readConvention(t), Scope()
	if s.Name != "mcpc" || s.SchemaURL != c.SchemaURL || !strings.HasSuffix(s.SchemaURL, "/"+s.Version) || s.Attributes[0].Value != c.Commit {
		t.Errorf("got %+v", s)
	}
}
