package jsonraw

import (
	"bytes"
	"testing"
)

func FuzzUnescaped(f *testing.F) {
	for _, quoted := range []string{`""`, `"a"`, `"a\nb\\\"\/\b\f\r\t"`, `"\u00e9é\uD83D\uDE00😀"`, `"\ud800"`, `"\ud800\ud800\udc00x"`, `"\udc00\\u0041\u0000"`} {
		f.Add([]byte(quoted))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		want, ok := Text(quoted)
		if !ok || Valid(quoted) != nil || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			return
		}
		for size := 1; size <= len(quoted)+1; size++ {
			var got bytes.Buffer
			for piece := range unescaped(quoted, size) {
				if len(piece) > size+3 {
					t.Fatalf("%q: a piece of %d bytes in pieces of %d", quoted, len(piece), size)
				}
				got.Write(piece)
			}
			if got.String() != want {
				t.Fatalf("%q in pieces of %d reads %q, want %q", quoted, size, got.String(), want)
			}
		}
	})
}
