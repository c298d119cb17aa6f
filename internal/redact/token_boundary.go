package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A token may be glued to what stands before it: to the n of a line end that is escaped
// in JSON, to a name and its "=", to a word that a program forgot to part from it. Words
// of every day hold the beginnings of tokens too: a task-1234, a pnpm_config.

// mostGlued is how many bytes may precede a token in its run, and longestGlued how many
// the token may have: more than that is data, in which any beginning occurs by chance.
const (
	mostGlued    = 40
	longestGlued = 512
	longestJWT   = 16 << 10
)

// isApart reports a place at which a word begins: behind what is a part of none, behind
// a "=", and behind what is escaped in JSON or in a URL.
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

func areHex(digits []byte) bool {
	return !slices.ContainsFunc(digits, func(c byte) bool { return hexValues[c] == 255 })
}

// mayBeGlued reports a token that is one although it is glued to a word: there is little before it, and it
// looks like those of its service.
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
		return true // its characters were looked at
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

// isPlainKey: many words end in a vowel and "sk".
func isPlainKey(before byte, body []byte, k makeup) bool {
	if strings.IndexByte("aeiouAEIOU", before) >= 0 {
		named := bytes.HasPrefix(body, []byte("proj-")) || bytes.HasPrefix(body, []byte("ant-")) ||
			bytes.HasPrefix(body, []byte("svcacct-"))
		return k.mixed() && (named || bytes.Contains(body, []byte("T3BlbkFJ")))
	}
	return k.mixed() || makeupOf(body[:shortestToken]).other == 0 && !areHex(body)
}

// makeup counts what bytes are made of.
type makeup struct{ upper, lower, digit, other int }

func (k makeup) mixed() bool { return k.upper > 0 && k.lower > 0 && k.digit > 0 }

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
