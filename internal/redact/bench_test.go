package redact

import (
	"strings"
	"testing"
)

// BenchmarkSecrets searches a text without secrets.
func BenchmarkSecrets(b *testing.B) {
	var s Secrets
	s.Learn("some-secret-value", "another-secret-value", "sk-and-a-third-one")
	all := payloads(1 << 20)
	all["colons"] = []byte(strings.Repeat("word: and more, ", 1<<16))
	for name, raw := range all {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, n := s.Bytes(raw); n > 0 {
					b.Fatal("secrets")
				}
			}
		})
	}
}
