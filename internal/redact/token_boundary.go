package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A token may be glued to the text before it: to the n of a line end that is escaped in JSON, to a
// name and its "=", to a word without a separator. Ordinary words contain the beginnings of tokens
// too: a task-1234, a pnpm_config.

// mostGlued is the maximum number of bytes before a token in its run. longestGlued and longestJWT
// are the maximum lengths of a glued token: a longer one is data, in which any beginning occurs by
// chance.
const (
	mostGlued    = 40
	longestGlued = 512
	longestJWT   = 16 << 10
)

// isApart reports whether a word begins at a place: after a byte that is not part of a token, after
// "=", or after an escape of JSON or of a URL.
func isApart(raw []byte, at int) bool {
	if at == 0 || !isTokenByte(raw[at-1]) || raw[at-1] == '=' {
		return true
	}
	if at > 1 && raw[at-2] == '\\' && strings.IndexByte("nrtbf", raw[at-1]) >= 0 {
		return true
	}
	if at > 5 && raw[at-6] == '\\' && raw[at-5] == 'u' {
		return areHex(raw[at-4 : at])
	}
	return at > 2 && raw[at-3] == '%' && areHex(raw[at-2:at])
}

// areHex reports whether all digits are hexadecimal.
func areHex(digits []byte) bool {
	return !slices.ContainsFunc(digits, func(c byte) bool { return hexValues[c] == 255 })
}

// mayBeGlued reports whether body is a token although it follows a word without a separator: at
// most mostGlued bytes precede it, and it looks like a token of its service.
func (f tokenForm) mayBeGlued(raw []byte, at int, body []byte) bool {
	before := 0
	for at-before > 0 && isTokenByte(raw[at-before-1]) {
		before++
		if before > mostGlued {
			return false
		}
	}
	if f.begin == "eyJ" {
		return len(body) <= longestJWT
	}
	if f.apart || len(body) > longestGlued {
		return false
	}
	if f.of != nil {
		return true // fits has checked its characters
	}
	k := makeupOf(body)
	switch f.begin {
	case "sk-":
		return isPlainKey(raw[at-1], body, k)
	case "hf_", "npm_": // letters and digits, at least 30 of them
		return len(body) >= 30 && k.mixed() && makeupOf(body[:30]).other == 0
	case "pypi-":
		return bytes.HasPrefix(body, []byte("AgE"))
	}
	return k.mixed()
}

// isPlainKey reports whether the body of an "sk-" token is a key after the byte before. Many words
// end in a vowel and "sk", so after a vowel the rules are stricter.
func isPlainKey(before byte, body []byte, k makeup) bool {
	if strings.IndexByte("aeiouAEIOU", before) >= 0 {
		named := bytes.HasPrefix(body, []byte("proj-")) || bytes.HasPrefix(body, []byte("ant-")) ||
			bytes.HasPrefix(body, []byte("svcacct-"))
		return k.mixed() && (named || bytes.Contains(body, []byte("T3BlbkFJ")))
	}
	return k.mixed() || makeupOf(body[:shortestToken]).other == 0 && !areHex(body)
}

// A makeup counts the characters of a text by kind.
type makeup struct{ upper, lower, digit, other int }

// mixed reports whether the text has capitals, small letters and digits.
func (k makeup) mixed() bool { return k.upper > 0 && k.lower > 0 && k.digit > 0 }

// makeupOf returns the makeup of a text.
func makeupOf(text []byte) (k makeup) {
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
