package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A token may be glued to the text before it: to the n of a line end that is escaped in JSON, to a
// name and its "=", to a word without a separator. Ordinary words contain the beginnings of tokens
// too: a task-1234, a pnpm_config.

// maxBeforeGlued is the maximum number of bytes before a token in its run. maxGlued and maxGluedJWT
// are the maximum lengths of a glued token: a longer run is data, where any beginning occurs by
// chance.
const (
	maxBeforeGlued = 40
	maxGlued       = 512
	maxGluedJWT    = 16 << 10
)

// beginsWord reports whether a word begins at a place: after a byte that is not part of a token, after
// "=", or after an escape of JSON or of a URL.
func beginsWord(raw []byte, offset int) bool {
	if offset == 0 || !isTokenByte(raw[offset-1]) || raw[offset-1] == '=' {
		return true
	}
	if offset > 1 && raw[offset-2] == '\\' && strings.IndexByte("nrtbf", raw[offset-1]) >= 0 {
		return true
	}
	if offset > 5 && raw[offset-6] == '\\' && raw[offset-5] == 'u' {
		return areHex(raw[offset-4 : offset])
	}
	return offset > 2 && raw[offset-3] == '%' && areHex(raw[offset-2:offset])
}

// areHex reports whether all digits are hexadecimal.
func areHex(digits []byte) bool {
	return !slices.ContainsFunc(digits, func(c byte) bool { return hexValues[c] == noDigit })
}

// mayBeGlued reports whether body is a token although it follows a word without a separator: at
// most maxBeforeGlued bytes precede it, and it looks like a token of its service.
func (f tokenForm) mayBeGlued(raw []byte, offset int, body []byte) bool {
	before := 0
	for offset-before > 0 && isTokenByte(raw[offset-before-1]) {
		before++
		if before > maxBeforeGlued {
			return false
		}
	}
	if f.prefix == "eyJ" {
		return len(body) <= maxGluedJWT
	}
	if f.standsAlone || len(body) > maxGlued {
		return false
	}
	if f.alphabet != nil {
		return true // matches has checked its characters
	}
	k := countCharacters(body)
	switch f.prefix {
	case "sk-":
		return isPlainKey(raw[offset-1], body, k)
	case "hf_", "npm_": // letters and digits, at least 30 of them
		return len(body) >= 30 && k.isMixed() && countCharacters(body[:30]).other == 0
	case "pypi-":
		return bytes.HasPrefix(body, []byte("AgE"))
	}
	return k.isMixed()
}

// isPlainKey reports whether the body of an "sk-" token is a key after the byte before. Many words
// end in a vowel and "sk", so after a vowel the rules are stricter.
func isPlainKey(before byte, body []byte, k characterCounts) bool {
	if strings.IndexByte("aeiouAEIOU", before) >= 0 {
		const mark = "T3BlbkFJ" // "OpenAI" in base64, in each key of this service
		hasServicePrefix := bytes.HasPrefix(body, []byte("proj-")) || bytes.HasPrefix(body, []byte("ant-")) ||
			bytes.HasPrefix(body, []byte("svcacct-"))
		return k.isMixed() && (hasServicePrefix || bytes.Contains(body, []byte(mark)))
	}
	return k.isMixed() || countCharacters(body[:minToken]).other == 0 && !areHex(body)
}

// A characterCounts counts the characters of a text by kind.
type characterCounts struct{ upper, lower, digit, other int }

// isMixed reports whether the text has capitals, small letters and digits.
func (k characterCounts) isMixed() bool { return k.upper > 0 && k.lower > 0 && k.digit > 0 }

// countCharacters counts the characters of a text by kind.
func countCharacters(text []byte) characterCounts {
	var k characterCounts
	for _, c := range text {
		switch {
		case 'A' <= c && c <= 'Z':
			k.upper++
		case 'a' <= c && c <= 'z':
			k.lower++
		case '0' <= c && c <= '9':
			k.digit++
		default:
			k.other++
		}
	}
	return k
}
