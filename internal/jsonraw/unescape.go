package jsonraw

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"mcpc/internal/spool"
)

// Unescaped decodes the valid JSON string quoted in pieces. Another goroutine decodes the next piece
// at the same time. A piece is valid until the next one. An unpaired surrogate is decoded as U+FFFD.
func Unescaped(quoted []byte) iter.Seq[[]byte] { return unescaped(quoted, spool.Piece) }

// unescaped decodes the valid JSON string quoted in pieces of about size bytes; a piece may be longer by
// the rest of one character.
func unescaped(quoted []byte, size int) iter.Seq[[]byte] {
	rest := quoted[1 : len(quoted)-1]
	return prefetch(make([]byte, 2*(size+utf8.UTFMax)), func(piece []byte) []byte {
		before := rest
		for len(rest) > 0 && len(piece) < size {
			near := rest[:min(len(rest), size-len(piece))]
			plain := bytes.IndexByte(near, '\\')
			if plain < 0 {
				plain = len(near)
			}
			piece = append(piece, near[:plain]...)
			rest = rest[plain:]
			if plain < len(near) {
				piece, rest = appendUnescaped(piece, rest)
			}
		}
		spool.Release(before[:len(before)-len(rest)])
		return piece
	})
}

// prefetch returns an iterator over pieces that fill produces one ahead, in a separate goroutine. fill
// appends the next piece to the empty p, or nothing after the last piece. A piece is valid until the
// next one; each half of room is the memory of one piece. The goroutine ends before the loop does.
func prefetch(room []byte, fill func(p []byte) []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		free := make(chan []byte, 2)
		full := make(chan []byte, 2)
		half := len(room) / 2
		free <- room[:0:half]
		free <- room[half:half:len(room)]
		go func() {
			defer close(full)
			for p := range free {
				p = fill(p)
				if len(p) == 0 {
					return
				}
				full <- p
			}
		}()
		for p := range full {
			if !yield(p) {
				break
			}
			free <- p[:0]
		}
		// Empty both channels, so that the goroutine fills no more pieces; full is closed when it ends.
		close(free)
		for range free {
		}
		for range full {
		}
	}
}

// appendUnescaped decodes the escape at the beginning of raw, appends it to dst, and returns the rest
// of raw.
func appendUnescaped(dst, raw []byte) (text, rest []byte) {
	if raw[1] != 'u' {
		return append(dst, unescapes[raw[1]]), raw[2:]
	}
	r, size := EscapedCharacter(raw)
	if size == 0 {
		r = utf8.RuneError
		size = 6
	}
	return utf8.AppendRune(dst, r), raw[size:]
}

// unescapes maps the character after a backslash to its meaning.
var unescapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
