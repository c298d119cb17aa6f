package sanitize

import (
	"bytes"
	"testing"
)

// Each byte at each place of texts of each length, beside others.
func TestPlainBytes(t *testing.T) {
	for _, filler := range []byte{' ', 'a', '~', '\n'} {
		for length := 1; length <= 20; length++ {
			for at := range length {
				for c := range 0x100 {
					text := bytes.Repeat([]byte{filler}, length)
					text[at] = byte(c)
					if want := byte(c) == '\n' || ' ' <= c && c <= '~'; PlainBytes(text) != want {
						t.Fatalf("%q: %t", text, !want)
					}
				}
			}
		}
	}
}
