package wire

import (
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// shapes are responses of about n bytes whose id follows the payload.
func shapes(n int) map[string][]byte {
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

func BenchmarkParseMessage(b *testing.B) {
	for name, raw := range shapes(100 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if ParseMessage(raw).Kind != Response {
					b.Fatal("no response")
				}
			}
		})
	}
	tool := `{"name":"get-sum","description":"Returns the sum of two numbers.\nOverflow is an error.","inputSchema":` +
		`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}}`
	for name, raw := range map[string]string{
		"call":     `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1,"b":2}}}`,
		"progress": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":5,"total":100000}}`,
		"page":     `{"jsonrpc":"2.0","id":7,"result":{"tools":[` + strings.Repeat(tool+",", 99) + tool + `],"nextCursor":"2"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(raw)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				ParseMessage(raw)
			}
		})
	}
}

// A large payload is parsed in place, without a copy.
func TestParsingCopiesNothing(t *testing.T) {
	for name, raw := range shapes(4 << 20) {
		m := ParseMessage(raw)
		if m.Kind != Response || !utf8.Valid(m.Result) {
			t.Fatalf("%s: %s", name, m.Problem())
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ParseMessage(raw)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%s: %d bytes for a message of %d", name, n, len(raw))
		}
	}
}

// The memory for a hostile message is at most a few times its length.
func TestHostileMessagesUseBoundedMemory(t *testing.T) {
	const size = 1 << 20
	for name, raw := range map[string]string{
		"brackets":        strings.Repeat("[", size),
		"objects":         strings.Repeat(`{"":`, size/4),
		"nested batches":  strings.Repeat("[", jsonraw.MaxDepth) + strings.Repeat("]", jsonraw.MaxDepth),
		"batch of ones":   "[1" + strings.Repeat(",1", size/2) + "]",
		"members":         `{"":1` + strings.Repeat(`,"":1`, size/5) + "}",
		"quotes":          strings.Repeat(`"`, size),
		"backslashes":     `["` + strings.Repeat(`\\`, size/2),
		"closing":         strings.Repeat("]", size),
		"surrogates":      `{"a":"` + strings.Repeat(`\ud800`, size/6) + `"}`,
		"digits":          `{"jsonrpc":"2.0","id":` + strings.Repeat("9", size) + `,"method":"a"}`,
		"a long exponent": `{"jsonrpc":"2.0","id":1e` + strings.Repeat("9", size) + `,"result":1}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m := ParseMessage([]byte(raw))
		m.IsResponseTo(m.ID)
		m.IsResponseTo([]byte("7"))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 16*size {
			t.Errorf("%s: %d bytes for a message of %d", name, n, len(raw))
		}
	}
}
