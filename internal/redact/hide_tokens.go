package redact

import (
	"bytes"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// A class is a set of roles that a byte can have: a part of a word, an end of one, the beginning of
// an escape.
type class uint16

const (
	nameByte class = 1 << iota
	tokenByte
	space
	quote
	wordEnd
	urlEnd
	stringEscape
	percentEscape
	entityEscape
	brokenLine
	assigns
	zero
)

// escape is every class whose bytes begin an escape.
const escape = stringEscape | percentEscape | entityEscape | brokenLine

// classes has the classes of each byte. It is a table because every recorded byte is looked up.
var classes = func() (table [256]class) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	for members, c := range map[string]class{
		letters: nameByte, letters + "+=~": tokenByte, jsonraw.WhiteSpace: space,
		"\"'\\":                quote,
		" \t\r\n\"'\\,;&}])<>": wordEnd, " \t\r\n\"'\\<>`": urlEnd, "\\": stringEscape,
		"%": percentEscape, "&": entityEscape, "\r\n": brokenLine, ":=": assigns, "\x00": zero,
	} {
		for _, b := range []byte(members) {
			table[b] |= c
		}
	}
	return table
}()

// isNameByte reports whether c can be a part of a name.
func isNameByte(c byte) bool { return classes[c]&nameByte != 0 }

// minToken is how many characters follow the beginning of a token, unless its form says more.
const minToken = 16

// hideTokens hides the tokens of well-known services.
func hideTokens(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	eachToken(raw, func(from, to int) bool {
		e.replace(from, to, Redacted(string(raw[from:to])))
		e.secrets = append(e.secrets, string(raw[from:to]))
		return true
	})
	return e
}

// hasToken reports whether hideTokens hides anything in raw.
func hasToken(raw []byte) bool {
	found := false
	eachToken(raw, func(int, int) bool {
		found = true
		return false
	})
	return found
}

// eachToken calls found for the tokens in a text, in order, until found returns false. A token is a
// run of token bytes or the rest of one, so checking every 16th byte is enough to find the runs.
func eachToken(raw []byte, found func(from, to int) bool) {
	released := 0
	for from := 0; from+minToken <= len(raw); {
		released = spool.ReleasePassed(raw, released, from)
		last := from + minToken
		for last > from && isTokenByte(raw[last-1]) {
			last--
		}
		if last > from {
			from = last // after bytes that belong to no run, or to a run that is too short
			continue
		}
		to := tokenEnd(raw, from+minToken)
		tokenFrom := tokenStart(raw, from, to)
		if tokenFrom < to && !found(tokenFrom, to) {
			return
		}
		from = to
	}
}

// tokenStart returns the place in the run raw[from:to] where a token begins that ends with the run, or
// to if there is no such token.
func tokenStart(raw []byte, from, to int) int {
	// After Bearer any run with a digit is a token, whatever its form.
	isBearer := bytes.HasSuffix(raw[:from], []byte("Bearer ")) || bytes.HasSuffix(raw[:from], []byte("bearer "))
	if isBearer && bytes.ContainsAny(raw[from:to], "0123456789") {
		return from
	}
	last := to - minToken
	ends := runEnds{run: raw[from:to]}
	for offset := from; offset <= last; offset++ {
		if offset > from+maxBeforeGlued { // after that only an assignment separates a token from a longer name
			equals := spool.Index(raw[:to], "=", offset-1)
			offset = equals + 1
			if offset > last {
				break
			}
		}
		for _, f := range formsByFirstByte()[raw[offset]] {
			body := offset + len(f.prefix)
			if body >= to || string(raw[offset:body]) != f.prefix || !f.matches(raw[body:to], &ends) {
				continue
			}
			if beginsWord(raw, offset) || f.mayBeGlued(raw, offset, raw[body:to]) {
				if f.keepsPrefix {
					return body
				}
				return offset
			}
		}
	}
	return to
}

// tokenEnd returns the end of the token bytes that begin at a place.
func tokenEnd(raw []byte, offset int) int {
	for released := offset; offset < len(raw) && isTokenByte(raw[offset]); offset++ {
		released = spool.ReleasePassed(raw, released, offset)
	}
	return offset
}

// isTokenByte reports whether c can be a part of a token.
func isTokenByte(c byte) bool { return classes[c]&tokenByte != 0 }
