package jsonraw

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"mcpc/internal/spool"
)

// Unescaped gives what the valid JSON string quoted says, in pieces that are valid until the
// next one. As in Text, an unpaired surrogate reads U+FFFD.
func Unescaped(quoted []byte) iter.Seq[[]byte] { return unescaped(quoted, spool.Piece) }

func unescaped(quoted []byte, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest := quoted[1 : len(quoted)-1]
		kept := rest // from where on it is in memory
		piece := make([]byte, 0, min(size, len(rest))+utf8.UTFMax)
		for len(rest) > 0 {
			near := rest[:min(len(rest), size-len(piece))]
			plain := bytes.IndexByte(near, '\\')
			if plain < 0 {
				plain = len(near)
			}
			piece, rest = append(piece, near[:plain]...), rest[plain:]
			if plain < len(near) {
				piece, rest = appendUnescaped(piece, rest)
			}
			if len(piece) < size && len(rest) > 0 {
				continue
			}
			if !yield(piece) {
				return
			}
			spool.Release(kept[:len(kept)-len(rest)])
			piece, kept = piece[:0], rest
		}
	}
}

// appendUnescaped appends what the escape says with which raw begins, and gives what follows it.
func appendUnescaped(dst, raw []byte) (text, rest []byte) {
	if raw[1] != 'u' {
		return append(dst, unescapes[raw[1]]), raw[2:]
	}
	r, size := EscapedCharacter(raw)
	if size == 0 {
		r, size = utf8.RuneError, 6
	}
	return utf8.AppendRune(dst, r), raw[size:]
}

// unescapes are what the characters say that may follow a backslash.
var unescapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
