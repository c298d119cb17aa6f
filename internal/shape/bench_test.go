package shape

import (
	"testing"

	"mcpc/internal/wire"
)

func BenchmarkProgress(b *testing.B) {
	m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":5,"total":100000}}`))
	b.ReportAllocs()
	for b.Loop() {
		Check("2026-07-28", m.Method, m)
	}
}
