package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// BenchmarkFilter is what looking into messages costs beyond the listing.
func BenchmarkFilter(b *testing.B) {
	name := filepath.Join(b.TempDir(), "large.jsonl")
	lines := capture.AppendHead(nil, capture.Head{By: capture.ByCommand})
	text := strings.Repeat(`a \"quoted\" word and ünïcode, `, 250)
	for i := range 2000 {
		lines = capture.AppendFrame(lines, wire.Frame{Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, i)})
		lines = capture.AppendFrame(lines, wire.Frame{Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, i, text)})
	}
	if err := os.WriteFile(name, lines, 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for _, filter := range []string{`nothing`, `quoted`, `body~/nothing/`, `body~/quoted/`, `body~/(?i)nothing/`, `body~/word \d+/`, `body~/[0-9]{12}/`} {
		f, err := Parse(filter, filterNow, judge)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filter, func(b *testing.B) {
			b.SetBytes(int64(len(lines)))
			for b.Loop() {
				for _, row := range c.Rows() {
					if _, err := f.Match(row); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
