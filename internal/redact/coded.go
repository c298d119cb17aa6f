package redact

import "unicode/utf8"

// A text may stand within another in base64 or in hexadecimal digits, and have escapes
// of its own there: what is known is then not to be found by its patterns.

// shortestRun is how long such a text is at least, and beginsWithin how many of its
// bytes tell that it is one: of what is no text none passes.
const (
	shortestRun  = 16
	beginsWithin = 12
	longestBlob  = 4 * shortestRun
)

// eachCoded calls found for the texts within a text, with where their bytes come from.
func eachCoded(raw []byte, found func(text []byte, origin func(from, to int) (int, int))) {
	done := 0
	for i := shortestRun - 1; i < len(raw); {
		if base64Values[raw[i]] == 255 {
			i += shortestRun
			continue
		}
		from := i
		for from > done && from > i-shortestRun && base64Values[raw[from-1]] < 64 {
			from--
		}
		if i-from == shortestRun {
			i += shortestRun // it goes on in what was no text
			continue
		}
		to := i
		for to < len(raw) && to < from+shortestRun && base64Values[raw[to]] < 64 {
			to++
		}
		if to < from+shortestRun {
			i = to + shortestRun
			continue
		}
		for to < len(raw) && to < from+longestBlob && base64Values[raw[to]] < 64 {
			to++
		}
		skip, width := textIn(raw[from:to])
		if width == 0 {
			done = blobEnd(raw, i)
			i = max(i, done-1) + shortestRun
			continue
		}
		for from += skip; to < len(raw) && base64Values[raw[to]] < 64; {
			to++
		}
		begin := from
		end := to
		found(uncoded(nil, raw[from:to], width), func(from, to int) (int, int) {
			return begin + from*8/width, min(begin+(to*8+width-1)/width, end)
		})
		done = to
		i = to + shortestRun
	}
}

// blobEnd is where what is no text ends at the latest that begins before a place.
func blobEnd(raw []byte, at int) int {
	if at+longestBlob >= len(raw) || base64Values[raw[at+longestBlob]] == 255 {
		return at
	}
	for at < len(raw) && base64Values[raw[at]] != 255 {
		at++
	}
	return at
}

// textIn is where in a run a text begins that is told by the beginning of the run, and how
// many bits a character of it has; 0 where there is none. What stands before may be a path,
// bytes that are no text, or a part of a text that was cut.
func textIn(run []byte) (at, width int) {
	for ; at+shortestRun <= len(run); at++ {
		if isTextAt(run[at:], 4) {
			for at > 1 && hexValues[run[at-1]] < 16 && hexValues[run[at-2]] < 16 {
				at -= 2
			}
			return at, 4
		}
		if isTextAt(run[at:], 6) {
			return at % 4, 6
		}
	}
	return 0, 0
}

func isTextAt(run []byte, width int) bool {
	var room [shortestRun]byte
	for _, n := range []int{4, shortestRun} { // most are none by their first bytes
		text := uncoded(room[:0], run[:n], width)
		if len(text) < n*width/8 || !isText(text[:min(len(text), beginsWithin)]) {
			return false
		}
	}
	return true
}

func isText(text []byte) bool {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && (size == 1 && utf8.FullRune(text)) || r < ' ' && classes[byte(r)]&space == 0 || r == 0x7F {
			return false
		}
		text = text[size:]
	}
	return true
}

// uncoded appends what the characters of a run stand for, as far as they stand for
// anything.
func uncoded(text, run []byte, width int) []byte {
	values := &base64Values
	if width == 4 {
		values = &hexValues
	}
	var bits, n uint
	for _, c := range run {
		v := values[c]
		if v == 255 {
			break
		}
		bits = bits<<width | uint(v)
		n += uint(width)
		if n >= 8 {
			n -= 8
			text = append(text, byte(bits>>n))
			bits &= 1<<n - 1
		}
	}
	return text
}
