package traffic

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/sse"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/wire"
)

const talkURL = "http://localhost:3001/mcp"

var talkBegan = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// talk builds the frames of a conversation, one every two milliseconds.
type talk []wire.Frame

func (k *talk) add(f wire.Frame) {
	f.Seq = uint64(len(*k) + 1)
	f.Time = talkBegan.Add(time.Duration(len(*k)) * 2 * time.Millisecond)
	*k = append(*k, f)
}

func (k *talk) post(stream int, body string, fields ...wire.Field) {
	k.add(wire.Frame{
		Kind: wire.Head, Stream: stream,
		HTTP: &wire.HTTPHead{Method: "POST", URL: talkURL, Proto: "HTTP/1.1", Fields: fields},
	})
	k.add(wire.Frame{Kind: wire.Body, Stream: stream, Raw: []byte(body)})
}

func (k *talk) answer(stream, status int, timing *wire.Timing, fields ...wire.Field) {
	k.add(wire.Frame{
		Kind: wire.Head, Dir: wire.Received, Stream: stream,
		HTTP: &wire.HTTPHead{Status: status, Proto: "HTTP/1.1", Fields: fields, Timing: timing},
	})
}

func (k *talk) event(stream int, id, data string) {
	facts := &sse.Facts{Event: "message"}
	if id != "" {
		facts.ID = &id
	}
	k.add(wire.Frame{Kind: wire.Event, Dir: wire.Received, Stream: stream, Raw: []byte(data), SSE: facts})
}

func (k *talk) received(stream int, body string) {
	k.add(wire.Frame{Kind: wire.Body, Dir: wire.Received, Stream: stream, Raw: []byte(body)})
}

var jsonFields = []wire.Field{
	{Name: "Accept", Value: "application/json, text/event-stream"},
	{Name: "Content-Type", Value: "application/json"},
	{Name: "Mcp-Protocol-Version", Value: "2025-11-25"},
	{Name: "Mcp-Session-Id", Value: "••••(len 36, sha256:1251)"},
	{Name: "User-Agent", Value: "mcpc"},
}

const (
	structuredCall = `{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"get-structured-content",` +
		`"arguments":{"location":"Chicago"},"_meta":{"progressToken":13}}}`
	structuredResult = `{"result":{"content":[{"type":"text","text":"{\"temperature\":36,\"conditions\":\"Light rain / drizzle\",\"humidity\":82}"}],` +
		`"structuredContent":{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}},"jsonrpc":"2.0","id":13}`
	progress13 = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":13,"progress":1,"total":2,"message":"asking the sky"}}`
)

// structured is a call over Streamable HTTP that is answered by a stream.
func structuredTalk() talk {
	var k talk
	k.post(1, structuredCall, jsonFields...)
	k.answer(1, 200, &wire.Timing{Connect: 400 * time.Microsecond, FirstByte: 10 * time.Millisecond},
		wire.Field{Name: "Content-Type", Value: "text/event-stream"}, wire.Field{Name: "Date", Value: "today"},
		wire.Field{Name: "Mcp-Session-Id", Value: "••••(len 36, sha256:1251)"})
	k.event(1, "7", "")
	k.event(1, "", progress13)
	k.event(1, "8", structuredResult)
	k.add(wire.Frame{Kind: wire.Closed, Dir: wire.Received, Stream: 1, Close: &wire.CloseFacts{By: wire.Received, How: "end"}})
	return k
}

// pipe is a stdio server that writes what it should not.
func noisyPipe() talk {
	var k talk
	k.add(wire.Frame{Kind: wire.Stderr, Dir: wire.Received, Raw: []byte("listening" + rendertest.HostileText)})
	k.add(wire.Frame{Kind: wire.Noise, Dir: wire.Received, Raw: []byte("Loading… " + rendertest.HostileText)})
	k.add(wire.Frame{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)})
	k.received(0, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	k.add(wire.Frame{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)})
	k.received(0, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`)
	k.received(0, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	k.received(0, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"`+"\u202e"+`"}}`)
	k.received(0, "{\x1b\xff")
	k.add(wire.Frame{Kind: wire.Closed, Dir: wire.Received, Close: &wire.CloseFacts{By: wire.Received, How: "exit", Text: "exit status 3"}})
	return k
}

// odd is what HTTP brings beside the usual.
func oddHTTP() talk {
	var k talk
	k.post(1, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.answer(1, 202, nil)
	k.add(wire.Frame{Kind: wire.Head, Stream: 2, HTTP: &wire.HTTPHead{Method: "GET", URL: talkURL}})
	k.answer(2, 405, nil, wire.Field{Name: "Content-Type", Value: "text/html" + rendertest.HostileText})
	retry := 3 * time.Second
	k.add(wire.Frame{Kind: wire.Event, Dir: wire.Received, Stream: 2, SSE: &sse.Facts{IsComment: true}})
	k.add(wire.Frame{Kind: wire.Event, Dir: wire.Received, Stream: 2, SSE: &sse.Facts{Event: "ping", Retry: &retry}, Raw: []byte("x")})
	// A request whose body was never sent: the client cancelled it before.
	k.add(wire.Frame{Kind: wire.Head, Stream: 3, HTTP: &wire.HTTPHead{Method: "POST", URL: talkURL}})
	k.add(wire.Frame{
		Kind: wire.Closed, Stream: 3, Dir: wire.Received,
		Close: &wire.CloseFacts{By: wire.Sent, How: "cancelled", Text: rendertest.HostileText},
	})
	k.received(4, `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`)
	k.add(wire.Frame{Kind: wire.Closed})
	k.add(wire.Frame{Kind: wire.Head, Dir: wire.Received})
	return k
}

func TestVerbose(t *testing.T) {
	for level := 0; level <= 3; level++ {
		for _, st := range []term.Style{{Width: 80}, {Width: 80, ASCII: true}} {
			var b bytes.Buffer
			for i, k := range []talk{structuredTalk(), noisyPipe(), oddHTTP()} {
				fmt.Fprintf(&b, "# %s\n", []string{"structured", "pipe", "odd"}[i])
				tap := Verbose(&b, st, level)
				for _, f := range k {
					tap(f)
				}
			}
			rendertest.AssertVisible(t, b.String())
			if st.ASCII {
				if strings.ContainsAny(b.String(), "→←·") {
					t.Errorf("level %d: ornaments beyond ASCII:\n%s", level, b.String())
				}
				continue
			}
			rendertest.Golden(t, fmt.Sprintf("verbose_%d.txt", level), b.Bytes())
		}
	}
}

func TestVerboseIsOneLineForEachFrame(t *testing.T) {
	var b bytes.Buffer
	tap := Verbose(&b, term.Style{}, 1)
	k := structuredTalk()
	for _, f := range k {
		tap(f)
	}
	// The head of the POST shares the line of its body.
	if got, want := strings.Count(b.String(), "\n"), len(k)-1; got != want {
		t.Errorf("%d lines for %d frames:\n%s", got, want, b.String())
	}
}

// The server asks under the id of the call, and answers what it is answered.
func TestVerboseTellsIDsOfBothSidesApart(t *testing.T) {
	var k talk
	k.post(1, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}`)
	k.event(1, "", `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	k.post(2, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	k.received(2, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	k.event(1, "", `{"jsonrpc":"2.0","id":4,"result":{}}`)
	var b bytes.Buffer
	tap := Verbose(&b, term.Style{}, 1)
	for _, f := range k {
		tap(f)
	}
	want := `→ POST http://localhost:3001/mcp  tools/call id 4  (68 bytes)
← event  ping id 4  (40 bytes)
→ POST http://localhost:3001/mcp  result id 4 of ping, 4 ms  (36 bytes)
← result id 4, matches no request  (36 bytes)
← event  result id 4 of tools/call, 10 ms  (36 bytes)
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestVerboseIsBounded(t *testing.T) {
	for name, body := range map[string]string{
		"json":     `{"jsonrpc":"2.0","id":1,"result":{"x":[` + strings.Repeat(`"abcdef",`, 20000) + `1]}}`,
		"one line": `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("é", 100000) + `"}`,
		"no json":  strings.Repeat("é", 100000),
		"deep":     strings.Repeat("[", 50000),
	} {
		var b bytes.Buffer
		Verbose(&b, term.Style{Width: 80}, 2)(wire.Frame{Kind: wire.Body, Raw: []byte(body)})
		if name == "no json" && !strings.Contains(b.String(), "195904 more bytes") {
			t.Errorf("%s: what is left out is miscounted: %s", name, b.String()[b.Len()-100:])
		}
		if b.Len() > 6<<10 {
			t.Errorf("%s: %d bytes at -vv", name, b.Len())
		}
		if text := b.String(); !strings.Contains(text, "more bytes") && !strings.Contains(text, " +") {
			t.Errorf("%s: nothing says that there is more: %s", name, text)
		}
	}
}

func TestVerboseShowsExactBytes(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":"b"}`:          "`{\"a\":\"b\"}`",
		"{\"a\":\"\u202e\"}": `"{\"a\":\"\u202e\"}"`,
		"tick ` \x9b\xff":    "\"tick ` \\x9b\\xff\"",
	} {
		var b bytes.Buffer
		Verbose(&b, term.Style{}, 3)(wire.Frame{Kind: wire.Body, Raw: []byte(body)})
		if !strings.Contains(b.String(), "\n    "+want+"\n") {
			t.Errorf("%q: %s is not in %s", body, want, b.String())
		}
	}
}

func TestVerboseFromManyGoroutines(t *testing.T) {
	var lines lineWriter
	tap := Verbose(&lines, term.Style{Width: 80}, 2)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for _, f := range structuredTalk() {
				f.Stream = n
				tap(f)
			}
		})
	}
	wg.Wait()
	if lines.torn > 0 {
		t.Errorf("%d writes were no whole lines", lines.torn)
	}
}

// lineWriter counts writes that are not whole lines. The race detector sees it if
// two of them happen at once.
type lineWriter struct{ torn int }

func (l *lineWriter) Write(p []byte) (int, error) {
	if !bytes.HasSuffix(p, []byte("\n")) {
		l.torn++
	}
	return len(p), nil
}

func BenchmarkVerbose(b *testing.B) {
	tap := Verbose(io.Discard, term.Style{Width: 80}, 1)
	k := structuredTalk()
	for b.Loop() {
		for _, f := range k {
			tap(f)
		}
	}
}
