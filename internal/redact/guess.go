package redact

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Text that leaves the machine is checked more strictly than text that is recorded: random-looking
// text is hidden as well, although it may not be a secret. Identifiers must survive, so that
// requests and responses can be matched.

// A Guess says how much text is hidden that only looks like a secret.
type Guess int

const (
	// GuessNone hides what Secrets always hides.
	GuessNone Guess = iota
	// GuessLikely also hides random-looking text.
	GuessLikely
	// GuessStrict also hides text that identifies a person or a machine: e-mail addresses, the names
	// of home directories and IPv4 addresses, except loopback, unspecified and broadcast addresses.
	GuessStrict
)

// The kinds of guessed secrets: FoundRandom is random-looking text, FoundMail an e-mail address,
// FoundHome a home directory, and FoundIP an IPv4 address.
const (
	FoundRandom FoundKind = "random"
	FoundMail   FoundKind = "email"
	FoundHome   FoundKind = "home"
	FoundIP     FoundKind = "address"
)

// guessPatterns match what GuessStrict hides.
var guessPatterns = sync.OnceValue(func() []guessPattern {
	return []guessPattern{
		{FoundMail, GuessStrict, "@", regexp.MustCompile(`[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`)},
		{FoundHome, GuessStrict, "", regexp.MustCompile(`(?:/home/|/Users/|\\Users\\)[^/\\\s"':,;]+`)},
		{
			FoundIP,
			GuessStrict,
			".",
			regexp.MustCompile(`\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b`),
		},
	}
})

// A guessPattern recognizes one kind of text from a level of guessing on.
type guessPattern struct {
	kind FoundKind
	// minLevel is the lowest level at which the pattern is used.
	minLevel Guess
	// mark is a part of each match. A text without it is not searched.
	mark    string
	pattern *regexp.Regexp
}

// appendGuesses appends the places in raw that look like secrets at a level of guessing.
func appendGuesses(all []sighting, raw []byte, level Guess) []sighting {
	if level == GuessNone {
		return all
	}
	for _, p := range guessPatterns() {
		if level < p.minLevel || !bytes.Contains(raw, []byte(p.mark)) {
			continue
		}
		for _, match := range p.pattern.FindAllIndex(raw, -1) {
			text := string(raw[match[0]:match[1]])
			// These addresses are the same on every machine.
			isUniversal := strings.HasPrefix(text, "127.") || strings.HasPrefix(text, "0.") || text == "255.255.255.255"
			// A longer row of numbers is a version or an object identifier.
			isPartOfLonger := match[0] > 0 && raw[match[0]-1] == '.' || match[1] < len(raw) && raw[match[1]] == '.'
			if p.kind == FoundIP && (isUniversal || isPartOfLonger) {
				continue
			}
			all = append(all, sighting{match[0], match[0] + len(text), text, p.kind})
		}
	}
	eachRun(raw, func(from, to int) {
		if looksSecret(raw, from, to) {
			all = append(all, sighting{from, to, string(raw[from:to]), FoundRandom})
		}
	})
	return all
}

const (
	// minRandom is the minimum length of a random secret without a suspicious name, minNamed the
	// minimum length with such a name. A run longer than maxRandom is data.
	minRandom = 32
	minNamed  = 12
	maxRandom = 512
)

// eachRun calls found for the runs of base64 characters, in either alphabet, with the length of a
// secret. If a part of a path has at least minRandom bytes, eachRun calls found for such parts
// instead of the whole path.
func eachRun(raw []byte, found func(from, to int)) {
	// Every run of minNamed bytes has one of these places.
	for i := minNamed - 1; i < len(raw); i += minNamed {
		if !isRunByte(raw[i]) {
			continue
		}
		from := i
		to := i + 1
		for from > 0 && i-from < maxRandom && isRunByte(raw[from-1]) {
			from--
		}
		for to < len(raw) && isRunByte(raw[to]) {
			to++
		}
		i = to - 1
		if to-from < minNamed || to-from > maxRandom || isEscapeBefore(raw, from) {
			continue
		}
		isOpenBegin := func(begin string) bool { return bytes.HasPrefix(raw[from:to], []byte(begin)) }
		if slices.ContainsFunc(openRuns, isOpenBegin) {
			continue
		}
		hasLongPart := false
		for start := from; start < to; {
			end := start
			for end < to && raw[end] != '/' {
				end++
			}
			if end-start >= minRandom {
				hasLongPart = true
				found(start, end)
			}
			start = end + 1
		}
		if !hasLongPart {
			found(from, to)
		}
	}
}

// isEscapeBefore reports whether a run begins within an escape. Such a run is found in the decoded
// text instead.
func isEscapeBefore(raw []byte, from int) bool {
	if from == 0 {
		return false
	}
	_, size := appendUnescaped(nil, raw, from-1)
	return size > 1
}

// isRunByte reports whether c is a character of base64, in either alphabet.
func isRunByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '+' ||
		c == '/'
}

// openRuns are the beginnings of random text that is not secret: digests with their names, and
// files in base64 by their first bytes.
var openRuns = []string{
	"sha1-",
	"sha256-",
	"sha384-",
	"sha512-",
	"iVBORw0KGgo",
	"/9j/",
	"R0lGOD",
	"UklGR",
	"JVBERi0",
	"UEsDB",
	"H4sI",
	"AAAAIGZ0eX",
}

// openIDs are the names of members that identify things. suspicious are parts of the names of
// secrets.
var (
	openIDs = map[string]bool{
		"id":            true,
		"requestid":     true,
		"progresstoken": true,
		"taskid":        true,
		"cursor":        true,
		"nextcursor":    true,
		"digest":        true,
		"hash":          true,
		"sha":           true,
		"etag":          true,
		"checksum":      true,
		"integrity":     true,
		"commit":        true,
		"traceparent":   true,
		"tracestate":    true,
	}
	suspicious = []string{
		"secret",
		"token",
		"passw",
		"passphrase",
		"credential",
		"private",
		"bearer",
		"access",
		"webhook",
		"license",
		"seed",
		"salt",
		"signing",
		"pin",
		"otp",
	}
)

// looksSecret reports whether raw[from:to] looks random and is not the value of an identifier. A
// run shorter than minRandom must also have a suspicious name.
func looksSecret(raw []byte, from, to int) bool {
	run := raw[from:to]
	if !isRandom(run) {
		return false
	}
	name := strings.Map(lettersOnly, string(nameBefore(raw[max(0, from-80):from]))) // "" without a name
	if len(run) < minRandom {
		for _, part := range suspicious {
			if strings.Contains(name, part) && !openMembers[name] && !openNames[name] {
				return true
			}
		}
		return false
	}
	if openIDs[name] {
		return false
	}
	textStart, width := findText(run)
	return width == 0 || !isText(appendDecoded(nil, run[textStart:], width)) // coded text is checked after decoding
}

// nameBefore returns the name of the member or parameter whose value follows text, or nil if text
// does not end with a ":" or "=".
func nameBefore(text []byte) []byte {
	text = bytes.TrimRight(text, ` "'\`+"\t")
	if len(text) == 0 || text[len(text)-1] != ':' && text[len(text)-1] != '=' {
		return nil
	}
	return wordBefore(text[:len(text)-1])
}

// isRandom reports whether a run looks generated: letters of both cases with digits in between, or
// small letters and digits without a separator. Hexadecimal digests and UUIDs do not count.
func isRandom(run []byte) bool {
	k := countCharacters(run)
	borders := 0 // changes between a letter and a digit
	beyondHex := false
	for i, c := range run {
		beyondHex = beyondHex || 'g' <= c && c <= 'z'
		if i > 0 && isDigit(c) != isDigit(run[i-1]) && isLetter(c) != isLetter(run[i-1]) {
			borders++
		}
	}
	// A word with a number has one or two borders; identifiers of several words have "-" or "_".
	if len(run) < minRandom {
		return borders >= 2 && k.digit >= 2 && k.lower+k.upper >= 4
	}
	if k.upper == 0 {
		return k.other == 0 && beyondHex && borders >= 8 && entropy(run) >= 3.9
	}
	return k.upper >= 4 && k.lower >= 4 && k.digit >= 2 && borders >= 3 && entropy(run) >= 4
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { c |= 'a' - 'A'; return 'a' <= c && c <= 'z' }

// entropy returns the entropy of a text in bits per character.
func entropy(text []byte) float64 {
	var counts [256]int
	for _, c := range text {
		counts[c]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
