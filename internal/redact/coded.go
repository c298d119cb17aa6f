package redact

import "unicode/utf8"

// A text may be written within another text in base64 or in hexadecimal digits, and may have other
// escapes there. The patterns of known values cannot find a secret in it, so it is decoded.

// minRun is the minimum length of a run of base64 or hexadecimal digits that is decoded. The
// first beginsWithin bytes of the decoded run decide whether it is text. maxBlob is how many
// bytes of a run are searched for the beginning of a text.
const (
	minRun       = 16
	beginsWithin = 12
	maxBlob      = 4 * minRun
)

// eachCoded decodes each run of base64 or hexadecimal digits in raw that contains text. It calls
// found with the decoded text, and with origin, which maps a range of the text to a range of raw.
func eachCoded(raw []byte, found func(text []byte, origin func(from, to int) (int, int))) {
	done := 0 // the end of the last run
	// A run has a byte at every minRun bytes, so only these are looked at until one is a digit.
	for i := minRun - 1; i < len(raw); {
		if base64Values[raw[i]] == noDigit {
			i += minRun
			continue
		}
		from := i // at most minRun bytes back, the run begins here
		for from > done && from > i-minRun && base64Values[raw[from-1]] < 64 {
			from--
		}
		if i-from == minRun {
			i += minRun // the run continues binary data before it
			continue
		}
		to := i // first only as far as is needed to see whether the run is long enough
		for to < len(raw) && to < from+minRun && base64Values[raw[to]] < 64 {
			to++
		}
		if to < from+minRun {
			i = to + minRun
			continue
		}
		for to < len(raw) && to < from+maxBlob && base64Values[raw[to]] < 64 {
			to++
		}
		skip, width := findText(raw[from:to])
		if width == 0 { // no text begins in the first maxBlob bytes
			done = blobEnd(raw, i)
			i = max(i, done-1) + minRun
			continue
		}
		from += skip
		for to < len(raw) && base64Values[raw[to]] < 64 {
			to++
		}
		begin := from // captured instead of from and to, so that only runs with text cost an allocation
		end := to
		found(appendDecoded(nil, raw[from:to], width), func(textFrom, textTo int) (int, int) {
			return begin + textFrom*8/width, min(begin+(textTo*8+width-1)/width, end)
		})
		done = to
		i = to + minRun
	}
}

// blobEnd returns the end of the base64 run around offset if the run is binary data longer than
// maxBlob bytes, else offset.
func blobEnd(raw []byte, offset int) int {
	if offset+maxBlob >= len(raw) || base64Values[raw[offset+maxBlob]] == noDigit {
		return offset
	}
	for offset < len(raw) && base64Values[raw[offset]] != noDigit {
		offset++
	}
	return offset
}

// findText returns the place in a run where coded text begins, and the number of bits per character:
// 4 for hexadecimal digits, 6 for base64. The width is 0 if the run has no text. The bytes before
// the place may be a path, binary data, or the cut end of a text.
func findText(run []byte) (offset, width int) {
	for ; offset+minRun <= len(run); offset++ {
		if isTextAt(run[offset:], 4) {
			// The digits before it may be bytes of the text that were not checked.
			for offset > 1 && hexValues[run[offset-1]] < 16 && hexValues[run[offset-2]] < 16 {
				offset -= 2
			}
			return offset, 4
		}
		if isTextAt(run[offset:], 6) {
			return offset % 4, 6 // the first group of four characters in step with the text
		}
	}
	return 0, 0
}

// isTextAt reports whether the first minRun characters of run decode to text at a width of 4
// or 6 bits.
func isTextAt(run []byte, width int) bool {
	var room [minRun]byte
	for _, n := range []int{4, minRun} { // the first bytes rule out most runs
		text := appendDecoded(room[:0], run[:n], width)
		hasOtherCharacters := len(text) < n*width/8
		if hasOtherCharacters || !isText(text[:min(len(text), beginsWithin)]) {
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
		isInvalid := r == utf8.RuneError && size == 1 && utf8.FullRune(text)
		isControl := r < ' ' && classes[byte(r)]&space == 0 || r == 0x7F
		if isInvalid || isControl {
			return false
		}
		text = text[size:]
	}
	return true
}

// appendDecoded appends the decoded bytes of a run to text. It stops at the first character that is
// not of the alphabet for width, which is 4 for hexadecimal digits and 6 for base64.
func appendDecoded(text, run []byte, width int) []byte {
	values := &base64Values
	if width == 4 {
		values = &hexValues
	}
	var bits, count uint // the bits that are no complete byte yet, and their number
	for _, c := range run {
		v := values[c]
		if v == noDigit {
			break
		}
		bits = bits<<width | uint(v)
		count += uint(width)
		if count >= 8 {
			count -= 8
			text = append(text, byte(bits>>count))
			bits &= 1<<count - 1
		}
	}
	return text
}
