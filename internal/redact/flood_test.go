package redact

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// floods are values by their number, which are alike except for a part.
var floods = map[string]func(i int) string{
	"JWT": func(i int) string {
		return "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + strings.Repeat("eyJzdWIiOiI", 20) + fmt.Sprintf("%08d.%d", i*7919, i)
	},
	"alike":         func(i int) string { return strings.Repeat("a", 20) + fmt.Sprintf("%05d", i) + strings.Repeat("a", 20) },
	"short":         func(i int) string { return fmt.Sprintf("%08d", i*7919) },
	"alike at ends": func(i int) string { return fmt.Sprintf("begin-of-all-%05d-end-of-all", i) },
}

// Values are known however many there are, and each costs little.
func TestManyValuesStayKnown(t *testing.T) {
	const many = 10_000
	for name, value := range floods {
		var s Secrets
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range many {
			s.Learn(value(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if each := int64(after.HeapAlloc-before.HeapAlloc) / many; each > 2000 {
			t.Errorf("%s: %d bytes for a value", name, each)
		}
		most := int32(0)
		for _, of := range s.values.index.marked {
			most = max(most, of.count)
		}
		if most > 3000 {
			t.Errorf("%s: %d patterns have one mark", name, most)
		}
		var text, want bytes.Buffer
		for i := range many {
			fmt.Fprintf(&text, `{"n":%d,"text":"it is %s."} `, i%10, value(i))
			fmt.Fprintf(&want, `{"n":%d,"text":"it is %s."} `, i%10, Redacted(value(i)))
		}
		if got, n := s.Bytes(text.Bytes()); n != many || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: %d hidden", name, n)
		}
	}
}

func BenchmarkLearn(b *testing.B) {
	for name, value := range floods {
		b.Run(name, func(b *testing.B) {
			var s Secrets
			for i := range b.N {
				s.Learn(value(i % 50000))
			}
		})
	}
}

// BenchmarkKnown searches for many values in a text without them.
func BenchmarkKnown(b *testing.B) {
	for _, many := range []int{10, 1000, 100_000} {
		var s Secrets
		for i := range many {
			s.Learn(floods["JWT"](i))
		}
		for name, raw := range payloads(1 << 20) {
			b.Run(fmt.Sprint(many, " ", name), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					s.hideKnown(raw, false)
				}
			})
		}
	}
}

// payloads are responses of about n bytes whose id follows the payload.
func payloads(n int) map[string][]byte {
	times := func(s string) string { return strings.Repeat(s, n/len(s)) }
	text := func(s string) string { return `"` + times(s) + `"` }
	all := map[string][]byte{}
	for name, payload := range map[string]string{
		"text":    text(`Lorem \"ipsum\" {dolor} sit amet,\n consectetur `),
		"base64":  text(`iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ`),
		"objects": times(`{"id":12345,"name":"abc","ok":true,"tags":["x","y"],"v":1.25},`) + `1`,
		"unicode": text(`Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich, 中文字符也在。`),
	} {
		all[name] = []byte(`{"jsonrpc":"2.0","result":{"content":[` + payload + `]},"id":7}`)
	}
	return all
}
