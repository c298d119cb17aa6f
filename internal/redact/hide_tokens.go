package redact

import (
	"bytes"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// A class is what a byte may be a part of, or the end of.
type class uint16

const (
	nameByte class = 1 << iota
	tokenByte
	space
	quote
	wordEnd
	linkEnd
	stringEscape
	percentEscape
	entityEscape
	brokenLine
	assigns
	zero
)

// escape is all that begins an escape.
const escape = stringEscape | percentEscape | entityEscape | brokenLine

// classes are those of each byte: a table, because it is asked for every byte that
// is recorded.
var classes = func() (of [256]class) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	for members, c := range map[string]class{letters: nameByte, letters + "+=~": tokenByte, jsonraw.WhiteSpace: space, "\"'\\": quote,
		" \t\r\n\"'\\,;&}])<>": wordEnd, " \t\r\n\"'\\<>`": linkEnd, "\\": stringEscape,
		"%": percentEscape, "&": entityEscape, "\r\n": brokenLine, ":=": assigns, "\x00": zero} {
		for _, b := range []byte(members) {
			of[b] |= c
		}
	}
	return of
}()

func isNameByte(c byte) bool { return classes[c]&nameByte != 0 }

// tokenBegins are how tokens of well-known services begin, and the word before a
// credential in prose.
var tokenBegins = []string{"Bearer ", "bearer ", "sk-", "sk_live_", "sk_test_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-",
	"xoxb-", "xoxp-", "AKIA", "AIza", "eyJ", "hf_", "npm_", "pypi-"}

// shortestToken is how many characters must follow.
const shortestToken = 16

func hideTokens(raw []byte) (safe []byte, n int) {
	there := beginsIn(raw)
	for i, begin := range tokenBegins {
		if there&(1<<i) == 0 {
			continue
		}
		e := edit{raw: raw}
		eachToken(raw, begin, func(from, to int) { e.put(from, to, Redacted(string(raw[from:to]))) })
		safe, found := e.result()
		if n > 0 && found > 0 {
			spool.Free(raw)
		}
		raw, n = safe, n+found
	}
	return raw, n
}

// beginsIn tells with which of tokenBegins a token in raw begins, as bits. A token
// is a whole run of its bytes, so that every 16th byte shows whether one can be
// there.
func beginsIn(raw []byte) (there uint32) {
	kept := 0
	for from := 0; from+shortestToken <= len(raw); {
		kept = spool.Passed(raw, kept, from)
		last := from + shortestToken
		for last > from && isTokenByte(raw[last-1]) {
			last--
		}
		if last > from {
			from = last // behind what is in no run, or in one that is too short
			continue
		}
		to := tokenEnd(raw, from+shortestToken)
		for i, begin := range tokenBegins {
			if strings.HasSuffix(begin, " ") {
				if bytes.HasSuffix(raw[:from], []byte(begin)) {
					there |= 1 << i
				}
			} else if bytes.HasPrefix(raw[from:to], []byte(begin)) && isToken(begin, raw[from+len(begin):to]) {
				there |= 1 << i
			}
		}
		there |= gluedIn(raw, from, to)
		from = to
	}
	return there
}

func eachToken(raw []byte, begin string, found func(from, to int)) {
	for at := 0; ; {
		from := spool.Index(raw, begin, at)
		if from == len(raw) {
			return
		}
		body := from + len(begin)
		at = tokenEnd(raw, body)
		if !isToken(begin, raw[body:at]) || !isApart(raw, from) && !isPlain(raw, from, begin, raw[body:at]) {
			continue
		}
		if strings.HasSuffix(begin, " ") {
			from = body
		}
		found(from, at)
	}
}

// isToken: a JSON Web Token has three parts; without them it is JSON in base64, as
// cursors are.
func isToken(begin string, body []byte) bool {
	if begin == "eyJ" && spool.Index(body, ".", spool.Index(body, ".", 0)+1) >= len(body) {
		return false
	}
	return len(body) >= shortestToken && bytes.ContainsAny(body, "0123456789")
}

// tokenEnd is where the token bytes end that go on at a place.
func tokenEnd(raw []byte, at int) int {
	for kept := at; at < len(raw) && isTokenByte(raw[at]); at++ {
		kept = spool.Passed(raw, kept, at)
	}
	return at
}

func isTokenByte(c byte) bool { return classes[c]&tokenByte != 0 }
