package wire

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
	"github.com/go-json-experiment/json/jsontext"
)

func shapes(n int) map[string][]byte {
	wrap := func(s string) []byte { return []byte(`{"jsonrpc":"2.0","result":{"content":[` + s + `]},"id":7}`) }
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return map[string][]byte{
		"A": wrap(`"` + rep(`Lorem \"ipsum\" {dolor} sit amet,\n consectetur `) + `"`),
		"B": wrap(`"` + rep(`iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ`) + `"`),
		"C": wrap(rep(`{"id":12345,"name":"abc","ok":true,"tags":["x","y"],"v":1.25},`) + `1`),
		"D": wrap(`"` + rep(`Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich, 中文字符也在。`) + `"`),
	}
}

func BenchmarkShapes(b *testing.B) {
	for name, raw := range shapes(100 << 20) {
		b.Run(name+"/Parse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ParseMessage(raw)
			}
		})
		b.Run(name+"/deep", func(b *testing.B) {
			for b.Loop() {
				tooDeep(raw)
			}
		})
		b.Run(name+"/utf8", func(b *testing.B) {
			for b.Loop() {
				utf8.Valid(raw)
			}
		})
		b.Run(name+"/ReadValue", func(b *testing.B) {
			for b.Loop() {
				d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
				if _, err := d.ReadValue(); err != nil { b.Fatal(err) }
			}
		})
		b.Run(name+"/ReadValueStrict", func(b *testing.B) {
			for b.Loop() {
				d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
				if _, err := d.ReadValue(); err != nil { b.Fatal(err) }
			}
		})
		b.Run(name+"/SkipValue", func(b *testing.B) {
			for b.Loop() {
				d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
				d.SkipValue()
			}
		})
	}
}
