package har

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// captureOf records frames.
func captureOf(t *testing.T, frames ...wire.Frame) *rows.Capture {
	t.Helper()
	var b []byte
	b = capture.AppendHead(b, capture.Head{Mcpc: "1", Started: time.Unix(100, 0), Target: "node server.js", By: capture.ByCommand})
	for i, f := range frames {
		f.Seq, f.Time = uint64(i+1), time.Unix(100, int64(i)*int64(time.Millisecond))
		b = capture.AppendFrame(b, f)
	}
	name := filepath.Join(t.TempDir(), "capture")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// entriesOf returns the entries of all rows of a capture.
func entriesOf(t *testing.T, c *rows.Capture) []entry {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, "1", c.Rows()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Log struct{ Entries []entry }
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	return doc.Log.Entries
}

func sentBody(stream int, raw string) wire.Frame {
	return wire.Frame{Dir: wire.Sent, Kind: wire.Body, Stream: stream, Raw: []byte(raw)}
}

func got(stream int, kind wire.FrameKind, raw string) wire.Frame {
	return wire.Frame{Dir: wire.Received, Kind: kind, Stream: stream, Raw: []byte(raw)}
}

func requestHead(stream int, url string, fields ...wire.Field) wire.Frame {
	return wire.Frame{Dir: wire.Sent, Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Method: "POST", URL: url, Proto: "HTTP/1.1", Fields: fields}}
}

func responseHead(stream, status int, timing *wire.Timing, fields ...wire.Field) wire.Frame {
	return wire.Frame{Dir: wire.Received, Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Status: status, Proto: "HTTP/1.1", Fields: fields, Timing: timing}}
}

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`

func TestHARofAStream(t *testing.T) {
	id, retry := "7", 1500*time.Millisecond
	first := got(1, wire.Event, "{\"jsonrpc\":\"2.0\",\n\"method\":\"notifications/message\"}")
	first.SSE = &sse.Facts{Event: "message", ID: &id, Retry: &retry}
	note := got(1, wire.Event, "")
	note.Raw, note.SSE = nil, &sse.Facts{IsComment: true}
	last := got(1, wire.Event, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	last.SSE = &sse.Facts{}
	e := entriesOf(t, captureOf(t, requestHead(1, "http://x/?a=%20b&c"), sentBody(1, call),
		responseHead(1, 200, &wire.Timing{DNS: time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Millisecond, FirstByte: 10 * time.Millisecond},
			wire.Field{Name: "Content-Type", Value: "text/event-stream"}), first, note, last))
	if len(e) != 1 {
		t.Fatalf("%d entries", len(e))
	}
	want := "id: 7\nretry: 1500\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/message\"}\n\n:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
	if text := e[0].Response.Content.Text; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if got, want := e[0].Timings, (timings{-1, 1, 5, 3, 0, 4, 3}); got != want || e[0].Time != 13 {
		t.Errorf("timings %+v, want %+v; time %v", got, want, e[0].Time)
	}
	if q := e[0].Request.Query; len(q) != 2 || q[0] != (pair{"a", " b"}) || q[1] != (pair{"c", ""}) {
		t.Errorf("query %v", q)
	}
	if len(e[0].Events) != 2 || e[0].Events[0].ID != "7" || e[0].Resource != "eventsource" {
		t.Errorf("events %+v", e[0].Events)
	}
}

func TestHARofOtherThings(t *testing.T) {
	cut := wire.Frame{Dir: wire.Received, Kind: wire.Closed, Stream: 1, Close: &wire.CloseFacts{By: wire.Received, How: "cut", Text: "reset"}}
	isJSON := wire.Field{Name: "Content-Type", Value: "application/json"}
	batch := `[` + call + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	for _, c := range []struct {
		name   string
		frames []wire.Frame
		want   string // of each entry: method, URL, status, type, text, encoding, error
	}{
		{
			"stdio",
			[]wire.Frame{sentBody(0, call), got(0, wire.Body, `{"jsonrpc":"2.0","id":1,"result":{}}`)},
			`POST stdio://local/node%20server.js 200 application/json {"jsonrpc":"2.0","id":1,"result":{}}  `,
		},
		{
			"no text",
			[]wire.Frame{requestHead(1, "http://x/"), sentBody(1, call), responseHead(1, 200, nil, isJSON), got(1, wire.Body, "\xff\x00")},
			"POST http://x/ 200 application/json /wA= base64 ",
		},
		{"cut", []wire.Frame{requestHead(1, "http://x/"), sentBody(1, call), cut}, "POST http://x/ 0 application/json   cut reset"},
		{
			"a batch is one",
			[]wire.Frame{requestHead(1, "http://x/"), sentBody(1, batch), responseHead(1, 202, nil, isJSON)},
			"POST http://x/ 202 application/json   ",
		},
		{
			"redirect",
			[]wire.Frame{requestHead(1, "http://x/"), sentBody(1, call), responseHead(1, 302, nil, wire.Field{Name: "Location", Value: "/y"})},
			"POST http://x/ 302    ",
		},
		{
			"sent again",
			[]wire.Frame{
				requestHead(1, "http://x/"), sentBody(1, call), responseHead(1, 503, nil, isJSON), requestHead(2, "http://x/"), sentBody(2, call),
				responseHead(2, 200, nil, isJSON), got(2, wire.Body, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			},
			"POST http://x/ 503 application/json   \n" + `POST http://x/ 200 application/json {"jsonrpc":"2.0","id":1,"result":{}}  `,
		},
		{
			"elsewhere",
			[]wire.Frame{requestHead(2, "http://x/post"), sentBody(2, call), responseHead(2, 202, nil), got(1, wire.Event, `{"jsonrpc":"2.0","id":1,"result":{}}`)},
			"POST http://x/post 202    \n" + `GET http://x/post 200 text/event-stream data: {"jsonrpc":"2.0","id":1,"result":{}}  `,
		},
		{
			"no events",
			[]wire.Frame{
				requestHead(1, "http://x/"), sentBody(1, call), responseHead(1, 200, nil, wire.Field{Name: "Content-Type", Value: "text/event-stream"}),
				got(1, wire.Noise, "{}\n"), got(1, wire.Event, "a"), got(1, wire.Noise, "data: b\n"),
			},
			"POST http://x/ 200 text/event-stream {}\ndata: a\n\ndata: b  ",
		},
		{"noise of a pipe", []wire.Frame{sentBody(0, call), got(0, wire.Noise, "ready")}, "POST stdio://local/node%20server.js 0 application/json   "},
		{"no URL", []wire.Frame{requestHead(1, "a b"), sentBody(1, call)}, "POST about:invalid#a%20b 0 application/json   "},
	} {
		var lines []string
		for _, e := range entriesOf(t, captureOf(t, c.frames...)) {
			r := e.Response
			lines = append(lines, strings.Join([]string{
				e.Request.Method, e.Request.URL, strings.TrimSuffix(string(mustJSON(t, r.Status)), "\n"), r.Content.MimeType,
				strings.TrimSpace(r.Content.Text), r.Content.Encoding, r.Error,
			}, " "))
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A long text takes only the memory of its line once more, and an event the memory of its stream,
// and is written like a short text.
func TestHAROfLongTexts(t *testing.T) {
	length := longTextBytes + longTextBytes/8
	answer := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`x \"é\n`, length/8) + `"}]}}`
	for kind, most := range map[wire.FrameKind]int{wire.Body: 2, wire.Event: 4} { // times the line
		f := got(1, kind, answer)
		if kind == wire.Event {
			f.SSE = &sse.Facts{}
		}
		c := captureOf(t, requestHead(1, "http://x/"), sentBody(1, call), responseHead(1, 200, nil), f)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Write(io.Discard, "1", c.Rows())
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err != nil || took > uint64(len(capture.AppendFrame(nil, f))*most) {
			t.Errorf("%s took %d KiB of memory for %d KiB: %v", kind, took>>10, len(answer)>>10, err)
		}
		entries := entriesOf(t, c)
		if len(entries) != 1 {
			t.Fatalf("%d entries", len(entries))
		}
		got, want := entries[0], answer
		if kind == wire.Event {
			if len(got.Events) != 1 || got.Events[0].Data != want {
				t.Error("the event is another")
			}
			want = "data: " + want + "\n\n"
		}
		if got.Response.Content.Text != want || got.Request.Post == nil || got.Request.Post.Text == "" {
			t.Errorf("the texts of %s are others", kind)
		}
	}
}

// Values that are secret by now are hidden in exports of an older recording.
func TestHARHidesNewSecrets(t *testing.T) {
	c := captureOf(t, requestHead(1, "http://x/known-one"), sentBody(1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"known-one"}}`))
	var s redact.Secrets
	s.Learn("known-one")
	c.Hide(&s)
	var har bytes.Buffer
	if err := Write(&har, "1", c.Rows()); err != nil {
		t.Fatal(err)
	}
	if found := s.Find(har.Bytes()); len(found) > 0 || har.Len() < 100 {
		t.Errorf("%v in %s", found, har.Bytes())
	}
}

// The client's answer was sent in a separate request, which had a status.
func TestHAROfAnAnswerToTheServer(t *testing.T) {
	entries := entriesOf(t, captureOf(t,
		requestHead(1, "http://h/mcp"), sentBody(1, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`),
		responseHead(1, 200, nil), got(1, wire.Event, `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		requestHead(2, "http://h/mcp"), sentBody(2, `{"jsonrpc":"2.0","id":1,"result":{}}`), responseHead(2, 202, nil), got(2, wire.Body, "Accepted"),
		got(1, wire.Event, `{"jsonrpc":"2.0","id":1,"result":{}}`)))
	if len(entries) != 2 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	e := entries[1]
	if e.Request.Method != "POST" || e.Request.URL != "http://h/mcp" || e.Response.Status != 202 || e.Response.Content.Text != "Accepted" || e.Comment != "" {
		t.Errorf("%+v", e)
	}
}

// A message within an exchange is in the entry of the exchange, unless it is exported alone.
func TestHAROfARequestOfTheServer(t *testing.T) {
	c := captureOf(t,
		requestHead(1, "http://h/mcp"), sentBody(1, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`),
		responseHead(1, 200, nil), got(1, wire.Event, `{"jsonrpc":"2.0","id":"s","method":"elicitation/create"}`),
		requestHead(2, "http://h/mcp"), sentBody(2, `{"jsonrpc":"2.0","id":"s","result":{}}`), responseHead(2, 202, nil),
		got(1, wire.Event, `{"jsonrpc":"2.0","id":1,"result":{}}`))
	inner := 0
	for _, row := range c.Rows() {
		if row.Within == nil {
			continue
		}
		inner++
		var out bytes.Buffer
		if err := Write(&out, "1", []*rows.Row{row}); err != nil || !strings.Contains(out.String(), "elicitation/create") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
	if inner != 1 {
		t.Errorf("%d requests of the server", inner)
	}
}
