package mock

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// manyCalls is a recording of n calls of one tool, each with other arguments.
func manyCalls(n int) Recording {
	var b strings.Builder
	b.WriteString(opening)
	for i := range n {
		fmt.Fprintf(&b, "\n> {\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"tool-%d\",\"arguments\":{\"query\":\"number %d of them\",\"limit\":%d,\"tags\":[\"a\",\"b\"]}}}", i+2, i%50, i, i%7)
		fmt.Fprintf(&b, "\n< {\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%d\"}]}}", i+2, i)
	}
	return recordingOf(talk(b.String()))
}

func liveCall(i int) *wire.Message {
	return wire.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"arguments":{"limit":%d,"tags":["a","b"],"query":"number %d of them"},"name":"tool-%d","_meta":{"progressToken":%d}}}`, i, i%7, i, i%50, i))
}

// BenchmarkFind finds the exchange of a live request among 10,000 recorded ones, and reports the 99th percentile.
func BenchmarkFind(b *testing.B) {
	const n = 10_000
	p, _ := player(b, manyCalls(n), nil)
	for name, beyond := range map[string]int{"hit": 0, "miss": n} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				m := liveCall(i%n + beyond)
				begun := time.Now()
				found, _ := p.library.find("2025-11-25", m)
				took = append(took, time.Since(begun))
				if (found >= 0) != (beyond == 0) {
					b.Fatalf("found %d", found)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
