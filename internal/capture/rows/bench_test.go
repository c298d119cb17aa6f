package rows

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// large writes a capture of the given number of calls over HTTP, as a proxy records them, each with
// a result of about the given size.
func large(tb testing.TB, name string, calls, bytes int) int64 {
	tb.Helper()
	f, err := os.Create(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	text := strings.Repeat(`a \"quoted\" word and ünïcode, `, bytes/40)
	b := capture.AppendHead(nil, capture.Head{Started: noon, Target: "http://127.0.0.1:3001/mcp", By: capture.ByProxy})
	size := int64(0)
	for i := range calls {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		for n, frame := range []wire.Frame{
			{Kind: wire.Head, HTTP: &wire.HTTPHead{Method: "POST", URL: "http://127.0.0.1:3001/mcp", Proto: "HTTP/1.1", Fields: []wire.Field{
				{Name: "Accept", Value: "application/json, text/event-stream"}, {Name: "Mcp-Method", Value: "tools/call"}, {Name: "User-Agent", Value: "bench"},
			}}},
			{Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool-%d","arguments":{"n":%d}}}`, i, i%10, i)},
			{Dir: wire.Received, Kind: wire.Head, HTTP: &wire.HTTPHead{Status: 200, Proto: "HTTP/1.1", Fields: []wire.Field{
				{Name: "Content-Type", Value: "application/json"}, {Name: "Content-Length", Value: "10000"},
			}}},
			{Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}],"isError":%t}}`, i, text, i%50 == 0)},
		} {
			frame.Seq, frame.Stream, frame.Time = uint64(4*i+n+1), i+1, at.Add(time.Duration(n)*time.Microsecond)
			b = capture.AppendFrame(b, frame)
		}
		if len(b) > 1<<20 || i == calls-1 {
			n, err := f.Write(b)
			if err != nil {
				tb.Fatal(err)
			}
			size, b = size+int64(n), b[:0]
		}
	}
	return size
}

func BenchmarkOpen(b *testing.B) {
	name := filepath.Join(b.TempDir(), "large.jsonl")
	b.SetBytes(large(b, name, 5000, 10_000))
	b.ReportAllocs()
	for b.Loop() {
		c, err := Open(name)
		if err != nil || len(c.Rows()) != 5000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkFrame is what recording one frame costs, hiding its secrets included.
func BenchmarkFrame(b *testing.B) {
	var s redact.Secrets
	s.Learn("some-secret-value", "another-secret-value")
	f := wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("word: and more, ", 600) + `"}]}}`)}
	b.SetBytes(int64(len(f.Raw)))
	var buf []byte
	for b.Loop() {
		buf = capture.AppendFrame(buf[:0], s.Frame(f))
	}
}

// The rows of large results are as they should be.
func TestLargeCapture(t *testing.T) {
	c, err := Open(func() string {
		name := filepath.Join(t.TempDir(), "large.jsonl")
		large(t, name, 50, 10_000)
		return name
	}())
	if err != nil || len(c.Rows()) != 50 {
		t.Fatal(err)
	}
	for i, row := range c.Rows() {
		want := exchange.ChannelOK
		if i%50 == 0 {
			want = string(wire.ToolError)
		}
		if row.Channel != want || row.Status != 200 || row.Name != fmt.Sprintf("tool-%d", i%10) || row.Received < 8000 {
			t.Errorf("%+v", row)
		}
	}
}
