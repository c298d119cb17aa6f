package telemetry

import (
	"fmt"
	"testing"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// BenchmarkCall is what a proxied tool call costs: eight frames in, two spans out.
func BenchmarkCall(b *testing.B) {
	var secrets redact.Secrets
	secrets.LearnEnvironment([]string{"MY_API_KEY=0123456789abcdef"})
	for _, hidden := range []bool{false, true} {
		b.Run(fmt.Sprint("hidden ", hidden), func(b *testing.B) {
			o := Options{IsRelay: true, Seed: "x", Metrics: &Metrics{}, Emit: func(int64, otlp.Span) {}}
			if hidden {
				o.Hide = secrets.Frame
			}
			builder := New(o)
			at, seq := time.Unix(1_800_000_000, 0), uint64(0)
			add := func(f wire.Frame) {
				seq++
				at = at.Add(100 * time.Microsecond)
				f.Seq, f.Time = seq, at
				builder.Add(int64(seq), f)
			}
			fields := []wire.Field{
				{Name: "Accept", Value: "application/json, text/event-stream"},
				{Name: "Content-Type", Value: "application/json"},
				{Name: "Mcp-Method", Value: "tools/call"},
				{Name: "Mcp-Name", Value: "echo"},
				{Name: "Mcp-Protocol-Version", Value: "2026-07-28"},
				{Name: "User-Agent", Value: "mcpc/1"},
			}
			events := []wire.Field{{Name: "Content-Type", Value: "text/event-stream"}}
			b.ReportAllocs()
			for i := range b.N {
				stream := i + 1
				request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcpc","version":"0.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, stream)
				response := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1"}},"content":[{"type":"text","text":"Echo: hi"}],"resultType":"complete"}}`, stream)
				add(wire.Frame{Dir: wire.Sent, Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Method: "POST", URL: "http://127.0.0.1:3001/mcp", Fields: fields}})
				add(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Stream: stream, Raw: []byte(request)})
				add(wire.Frame{Dir: wire.Received, Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Status: 200, Fields: events}})
				add(wire.Frame{Dir: wire.Received, Kind: wire.Event, Stream: stream, Raw: []byte(response), SSE: &sse.Facts{}})
				add(wire.Frame{Dir: wire.Received, Kind: wire.Closed, Stream: stream, Close: &wire.CloseFacts{By: wire.Received, How: "end"}})
			}
		})
	}
}
