package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

// clockStart is the time of the tests.
var clockStart = time.Date(2026, 11, 23, 10, 2, 50, 0, time.UTC)

func testNow() time.Time { return clockStart }

// A reader is a view.Reader of fixed documents. Its fields may be changed under mu.
type reader struct {
	mu      sync.Mutex
	blocks  []view.Block
	talks   []view.Conversation
	many    int           // rows that are made up
	stuck   chan struct{} // Rows and Talk wait for it
	seq     uint64
	changed chan struct{}
	asked   []view.Query
	pending int
	hint    string
	absent  string
	noDocs  bool // no tools, streams and secrets
	// noSchema is set if the recordings have no list with the tools of the calls.
	noSchema bool
	// startsServer is set if the view starts a server, and own once it has.
	startsServer, own bool
}

func at(seconds float64) time.Time {
	return clockStart.Add(-49 * time.Second).Add(time.Duration(seconds * float64(time.Second)))
}

func newReader() *reader {
	r := &reader{seq: 1, changed: make(chan struct{})}
	row := func(n int, s float64, method, name, channel string, took float64) view.Row {
		return view.Row{
			Key: fmt.Sprintf("42.%d", n), Time: at(s), Talk: "42.1", Client: "Claude Desktop", Server: "github", Target: "github", Method: method, Name: name,
			Dir: "sent", State: "done", Channel: channel, Seconds: took, Sent: 120, Received: 3100, Tokens: 800, Status: 200,
			Phases: []view.Phase{{Name: "wait", Seconds: took * 0.6}, {Name: "events", Seconds: took * 0.4}},
		}
	}
	add := func(row view.Row, lines ...view.Line) {
		for i := range lines {
			if lines[i].Time.IsZero() {
				lines[i].Time = row.Time.Add(time.Duration(i) * 150 * time.Millisecond)
			}
			lines[i].Times = max(lines[i].Times, 1)
		}
		r.blocks = append(r.blocks, view.Block{Row: row, Lines: lines})
	}
	sent := func(kind, text string) view.Line { return view.Line{Dir: "sent", Kind: kind, Text: text} }
	got := func(kind, text string) view.Line { return view.Line{Dir: "received", Kind: kind, Text: text} }
	add(row(1, 0, "initialize", "", "ok", 0.041), sent("request", "initialize"), got("response", "github 2.1, tools, prompts"))
	list := row(2, 0.2, "tools/list", "", "ok", 0.012)
	list.Findings = 2
	add(list, sent("request", "tools/list"), view.Line{Dir: "received", Kind: "response", Text: "27 tools, 2 not callable", Level: "warning"})
	search := row(3, 8, "tools/call", "search_issues", "ok", 1.2)
	search.Arguments = `{"q":"crash on start"}`
	search.Phases = []view.Phase{{Name: "wait", Seconds: 0.2}, {Name: "person", Seconds: 0.64}, {Name: "events", Seconds: 0.36}}
	progress := got("progress", `progress 3/4 "page 3"`)
	progress.Times = 3
	add(search, sent("request", `call search_issues {"q":"crash on start"}`), progress, got("question", "asks: elicitation/create \"Which repository?\""),
		sent("answer", "answered by the client after 640 ms: accept {\"repo\":\"mcpc\"}"), got("response", "ok, 14 items, 31 kB"))
	failed := row(4, 12, "tools/call", "get_file", "tool_error", 0.08)
	failed.Failed, failed.Text, failed.Mark, failed.Note = true, "no such file: README.rst", true, "look at this"
	add(failed, sent("request", `call get_file {"path":"README.rst"}`), view.Line{Dir: "received", Kind: "response", Text: "tool error: no such file: README.rst", Level: "error"})
	evil := row(5, 15, "tools/call", "ev\x1b[31mil\u202e\u0301", "ok", 0.3)
	add(evil, sent("request", "call ev\x1b[31mil\u202e {\"name\":\"日本語テキスト\u200b\"}"), got("response", "日本語の答え 👩‍👩‍👧 \x1b]0;title\x07 e\u0301"))
	open := row(6, 20, "tools/call", "create_issue", "open", 29)
	open.State, open.Quiet, open.Received, open.Phases = "open", 28, 0, nil
	add(open, sent("request", `call create_issue {"title":"crash"}`), view.Line{Kind: "remark", Text: "open, last heard 0:28 ago"})
	stream := row(7, 30, "(server stream)", "", "ok", 0)
	stream.Dir = "received"
	add(stream, view.Line{Dir: "received", Kind: "notification", Text: "tools/list_changed: no tools/list followed", Level: "warning"})
	r.talks = []view.Conversation{
		{ID: "42.1", Client: "Claude Desktop", Server: "github", By: "tap", Rows: 83, Open: 1, Failed: 4, Live: true, First: true, Began: at(0), Last: at(40)},
		{ID: "41.1", Client: "Claude Desktop", Server: "files", By: "tap", Rows: 12, Began: at(-600), Last: at(-500)},
		{ID: "40.1", Client: "cursor", Server: "github", By: "proxy", Rows: 4, Live: true, Began: at(-900), Last: at(-880)},
	}
	return r
}

func (r *reader) Status() view.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return view.Status{Status: live.Status{Seq: r.seq, Rows: max(len(r.blocks), r.many), Open: 1, Failed: 4}, Title: "all recordings", Hint: r.hint, Home: true, Own: r.own}
}

// announce lets Wait return.
func (r *reader) announce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *reader) Wait(ctx context.Context, after uint64) uint64 {
	for {
		r.mu.Lock()
		seq, changed := r.seq, r.changed
		r.mu.Unlock()
		if seq > after {
			return seq
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seq
		}
	}
}

// page is the part of a query; the filter is a word that title or text of a row has.
func (r *reader) page(q view.Query) ([]view.Block, view.Page, error) {
	if _, err := filter.Parse(q.Filter, clockStart, nil); err != nil {
		return nil, view.Page{}, err
	}
	r.mu.Lock()
	stuck := r.stuck
	r.asked = append(r.asked, q)
	r.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	total := r.many
	block := func(n int) view.Block {
		b := r.blocks[n%len(r.blocks)]
		b.Row.Key = fmt.Sprintf("42.%d", n+1)
		return b
	}
	var found []view.Block
	if total == 0 {
		for i := range r.blocks {
			b := r.blocks[i]
			if len(q.Only) > 0 && q.Only[0] != b.Row.Key || q.Talk != "" && q.Talk != b.Row.Talk {
				continue
			}
			if q.Filter == "" || strings.Contains(b.Row.Method+b.Row.Name+b.Row.Channel, strings.TrimPrefix(strings.TrimPrefix(q.Filter, "name:"), "method:")) {
				found = append(found, b)
			}
		}
		total = len(found)
		block = func(n int) view.Block { return found[n] }
	}
	from := q.From
	if from < 0 {
		from = max(0, total+from)
	}
	var part []view.Block
	for n := from; n < min(from+q.Count, total); n++ {
		part = append(part, block(n))
	}
	return part, view.Page{From: from, Total: total, Pending: r.pending, Seq: r.seq, Absent: r.absent}, nil
}

func (r *reader) Rows(_ context.Context, q view.Query) (view.Page, error) {
	blocks, page, err := r.page(q)
	for _, b := range blocks {
		page.Rows = append(page.Rows, b.Row)
	}
	return page, err
}

func (r *reader) Talk(_ context.Context, q view.Query) ([]view.Block, view.Page, error) {
	return r.page(q)
}

func (r *reader) Conversations() []view.Conversation { return r.talks }

func (r *reader) Detail(_ context.Context, key string) (view.Detail, error) {
	for _, b := range r.blocks {
		if b.Row.Key != key {
			continue
		}
		body := func(text string) *view.Body { return &view.Body{Text: text, Bytes: len(text)} }
		d := view.Detail{
			Row: b.Row, Lines: b.Lines, Facts: [][2]string{{"client", "Claude Desktop 1.4"}, {"server", "github 2.1"}, {"transport", "stdio"}, {"session", "3f2a"}},
			Why: "The server took 60 % of the time before its first byte.", Group: "slower than 97 % of name:search_issues (p50 44 ms)", Before: "42.1",
			Request:     body(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_issues","arguments":{"q":"crash on start","limit":10}}}`),
			Response:    body(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"line one\nline two with a lot of words that go on and on until the edge of the screen"},{"type":"text","text":"日本語"}],"isError":false}}`),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`),
			Wrong:       []view.Wrong{{Pointer: "/limit", Text: "/limit is not in the schema"}}, Stderr: []string{"warn: cache is cold"},
			Findings: []view.Finding{{Rule: "L106", Severity: "warning", Text: "The result has no structuredContent.", Fix: "Return structuredContent.", Pointer: "/result", Got: "no member\x1b[31m"}},
		}
		if r.noSchema {
			d.InputSchema = nil
		}
		d.Frames = []view.Frame{
			{N: 1, Dir: "sent", Kind: "head", Line: "POST /mcp", Time: b.Row.Time, Head: [][2]string{{"Content-Type", "application/json"}, {"Mcp-Session-Id", "3f2a"}}},
			{N: 2, Dir: "received", Kind: "message", Time: b.Row.Time.Add(100 * time.Millisecond), ID: "k3-2", Event: "message", Body: d.Response},
		}
		return d, nil
	}
	return view.Detail{}, view.ErrGone
}

func (r *reader) Body(context.Context, string, int) ([]byte, error) { return []byte("{}"), nil }

func (r *reader) Tools(context.Context, view.Query) ([]view.Tool, error) {
	if r.noDocs {
		return nil, nil
	}
	schema := json.RawMessage(`{"type":"object","required":["title"],"properties":{"title":{"type":"string","description":"what is wrong"},"urgent":{"type":"boolean","default":false},
		"kind":{"type":"string","enum":["bug","idea"]},"labels":{"type":"array","items":{"type":"string","enum":["a","b"]}},"count":{"type":"integer","minimum":1},"extra":{"type":"object"}}}`)
	return []view.Tool{
		{Server: "github", Name: "create_issue", Description: "Creates an issue.", Bytes: 812, Listed: "yes", Page: "1 of 2", Schema: "usable", Called: 4, Failed: 1, P50: 0.4, P95: 1.1, LastError: "no such repository", LastRow: "42.6", InputSchema: schema, Target: "github"},
		{Server: "github", Name: "delete_repo", Bytes: 400, Listed: "only on page 2, which was not fetched by Claude Desktop", Page: "2 of 2", Schema: "usable", Reason: "The client fetched page 1 of 2: it does not know this tool.", InputSchema: schema, Target: "github"},
		{Server: "github", Name: "search_issues", Bytes: 655, Listed: "yes", Page: "1 of 2", Schema: "type is not object", Reason: "inputSchema is not an object: clients leave the tool out.", Called: 9, P50: 0.044, P95: 1.2, LastRow: "42.3"},
	}, nil
}

func (r *reader) Streams(context.Context, view.Query) ([]view.Stream, error) {
	if r.noDocs {
		return nil, nil
	}
	return []view.Stream{
		{Row: "42.7", Client: "Claude Desktop", Server: "github", What: "GET", Opened: at(0), Events: 12, LastID: "k4-12", Quiet: 46, Open: true, Text: "open, quiet for 46 s"},
		{Row: "42.3", Client: "Claude Desktop", Server: "github", What: "response to tools/call search_issues", IsResponse: true, Method: "tools/call", Name: "search_issues", Opened: at(8), Events: 5, LastID: "k3-2", Problem: true, Text: "cut by the server after event k3-2; never resumed: the answer is lost"},
	}, nil
}

func (r *reader) Secrets(context.Context, view.Query) ([]view.Secret, error) {
	if r.noDocs {
		return nil, nil
	}
	return []view.Secret{
		{Hash: "1a2b3c", Kind: "bearer token", Places: []string{"header Authorization"}, Servers: []string{"github", "files"}, Times: 83, Rows: []string{"42.3"}},
		{Hash: "99ee01", Kind: "GitHub token", Places: []string{"argument token", "result"}, Servers: []string{"github"}, Times: 2, Rows: []string{"42.4"}},
	}, nil
}

func (r *reader) Lanes(_ context.Context, q view.Query, from, to time.Time) ([]view.Lane, error) {
	lane := view.Lane{Talk: "42.1", Title: "Claude Desktop → github"}
	for i, b := range r.blocks {
		lane.Bars = append(lane.Bars, view.Bar{
			Key: b.Row.Key, From: b.Row.Time, To: b.Row.Time.Add(secondsToDuration(max(b.Row.Seconds, 0.01))), Level: i % 2, Label: b.Row.Method + " " + b.Row.Name,
			Channel: b.Row.Channel, State: b.Row.State, Failed: b.Row.Failed, Phases: b.Row.Phases, Times: 1,
		})
	}
	return []view.Lane{lane}, nil
}

func (r *reader) Diff(context.Context, string, string) (request, response []view.Change, err error) {
	return []view.Change{{Pointer: "/params/arguments/q", Was: json.RawMessage(`"crash"`), Is: json.RawMessage(`"crash on start"`)}}, nil, nil
}

func (r *reader) Compare(context.Context, string, string) (view.Comparison, error) {
	return view.Comparison{A: "github 2.0", B: "github 2.1", Tools: []string{"delete_repo was added"}, Timing: []string{"search_issues: p50 44 ms, was 30 ms"}}, nil
}

func (r *reader) Suggest(text string) []view.Suggestion {
	if text == "is:err" {
		return []view.Suggestion{{Text: "is:error", Count: 4}}
	}
	return []view.Suggestion{{Text: "name:search_issues", Count: 9}, {Text: "name:create_issue", Count: 4}}
}
