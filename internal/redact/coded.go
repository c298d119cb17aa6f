package redact

import "unicode/utf8"

// A text may be written within another text in base64 or in hexadecimal digits, and may have
// escapes of its own there. The patterns of known values cannot find a secret in it, so it is
// decoded.

// shortestRun is the minimum length of a run of base64 or hexadecimal digits that is decoded. The
// first beginsWithin bytes of the decoded run decide whether it is text. longestBlob is how many
// bytes of a run are searched for the beginning of a text.
const (
	shortestRun  = 16
	beginsWithin = 12
	longestBlob  = 4 * shortestRun
)

// eachCoded decodes each run of base64 or hexadecimal digits in raw that contains text. It calls
// found with the decoded text, and with origin, which maps a range of the text to a range of raw.
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
			i += shortestRun // the run continues binary data before it
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

// blobEnd returns the end of the base64 run around at if the run is binary data longer than
// longestBlob bytes, else at.
func blobEnd(raw []byte, at int) int {
	if at+longestBlob >= len(raw) || base64Values[raw[at+longestBlob]] == 255 {
		return at
	}
	for at < len(raw) && base64Values[raw[at]] != 255 {
		at++
	}
	return at
}

// textIn returns the place in a run where coded text begins, and the number of bits per character:
// 4 for hexadecimal digits, 6 for base64. The width is 0 if the run has no text. The bytes before
// the place may be a path, binary data, or the cut end of a text.
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

// isTextAt reports whether the first shortestRun characters of run decode to text at a width of 4
// or 6 bits.
func isTextAt(run []byte, width int) bool {
	var room [shortestRun]byte
	for _, n := range []int{4, shortestRun} { // the first bytes rule out most runs
		text := uncoded(room[:0], run[:n], width)
		if len(text) < n*width/8 || !isText(text[:min(len(text), beginsWithin)]) {
			return false
		}
	}
	return true
}

// isText reports whether text is valid UTF-8 without control characters other than white space. A
// character cut at the end is allowed.
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

// uncoded appends the decoded bytes of a run to text. It stops at the first character that is not
// of the alphabet for width, which is 4 for hexadecimal digits and 6 for base64.
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
