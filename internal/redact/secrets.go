// Package redact learns secrets, and hides them wherever and however they are written.
package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Secrets hides what is secret in frames and texts before they are recorded or
// shown: the values of members, assignments and header fields that are named like
// secrets, what looks like a well-known token, and, wherever they stand, the
// values that it was told or came across. Its zero value and nil know no values.
//
// What is not named like a secret and looks like none cannot be told from any
// other text.
type Secrets struct {
	// Full is told once, when no more values can be known. What crosses from then on is
	// withheld. It may be nil.
	Full func()
	// Variables is set where a value that is only a variable of the environment is no
	// secret: in a file that is checked, and not in what is recorded.
	Variables bool
	// Guess is how much is hidden that only looks like a secret.
	Guess Guess
	// Tally is called for each place that Bytes and Frame hide. It may be nil.
	Tally func(FoundKind)

	values knownValues
	// full is set when a value could not be noted.
	full atomic.Bool
}

// Learn notes values that are secret wherever they stand.
func (s *Secrets) Learn(values ...string) {
	if s == nil {
		return
	}
	for _, value := range values {
		if len(value) < shortestKnown || isHidden(value) {
			continue
		}
		s.learn(value)
		if !strings.Contains(value, "\n") {
			continue
		}
		for line := range strings.Lines(value) { // as those of a key, which are frames of their own on stderr
			line = strings.TrimSpace(line)
			if len(line) >= shortestLine && !strings.ContainsAny(line, jsonraw.WhiteSpace) {
				s.learn(line)
			}
		}
	}
}

// shortestLine is how long a line of a value must be to be looked for alone.
const shortestLine = 16

func (s *Secrets) learn(value string) {
	if !s.values.add(value) && !s.full.Swap(true) && s.Full != nil {
		s.Full()
	}
}

// Knows reports whether a value is known as it is.
func (s *Secrets) Knows(value string) bool { return s.values.has(value) }

// Holds reports whether a text has a known value, a private key or a token in it.
func (s *Secrets) Holds(raw []byte) bool {
	if s.Withholds() || holdsForm(raw) {
		return true
	}
	if s == nil || s.Guess == GuessNone && s.values.areNone() {
		return false
	}
	found, _ := s.sightings(raw, false)
	return len(found) > 0
}

// holdsForm reports whether a text, or a text encoded in it, contains a private key or a token.
func holdsForm(raw []byte) bool {
	has := func(text []byte) bool { return hasToken(text) || len(hideKeys(text, false).replaced) > 0 }
	found := has(raw)
	if !found && hasLongRun(raw) {
		eachCoded(raw, func(text []byte, _ func(from, to int) (int, int)) { found = found || has(text) })
	}
	return found
}

// valueCount returns how many values are known.
func valueCount(s *Secrets) int {
	if s == nil {
		return 0
	}
	return s.values.count()
}

// Hide adds a pattern of the user's own: what it matches is secret wherever it stands.
func (s *Secrets) Hide(pattern *regexp.Regexp) { s.values.addPattern(pattern) }

// Command returns the words of a command without their secrets.
func (s *Secrets) Command(argv []string) []string {
	words := RedactCommand(argv)
	for i, word := range words {
		words[i] = s.Text(word)
	}
	return words
}

// Text returns a text without its secrets.
func (s *Secrets) Text(text string) string {
	if s.Withholds() {
		return hide(text)
	}
	return s.text(text)
}

func (s *Secrets) text(text string) string {
	safe, n := s.Bytes([]byte(text))
	if n > 0 {
		text = string(safe)
	}
	return s.hideCut(text)
}

// Of the begin of a value that an excerpt cuts: how much of a text is looked at before the cut, and
// how long a begin is hidden.
const (
	longestCut  = 512
	shortestCut = 4
)

// hideCut hides the begin of a known value where an excerpt ends within the value.
func (s *Secrets) hideCut(text string) string {
	if s == nil {
		return text
	}
	for at := 0; ; {
		cut := strings.Index(text[at:], jsonraw.CutMark)
		if cut < 0 {
			return text
		}
		at += cut
		if value, n := s.values.begunIn(text[max(0, at-longestCut):at]); n > 0 {
			safe := text[:at-n] + Redacted(value)
			text = safe + text[at:]
			at = len(safe)
		}
		at += len(jsonraw.CutMark)
	}
}

// Frame returns f without its secrets. It never modifies the bytes of f.
func (s *Secrets) Frame(f wire.Frame) wire.Frame {
	f = s.frame(f)
	if s.Withholds() {
		return withheld(f)
	}
	return f
}

func (s *Secrets) frame(f wire.Frame) wire.Frame {
	if len(f.Raw) > 0 {
		safe, n := s.Bytes(f.Raw)
		if n > 0 {
			f.Size, f.Raw, f.Hidden = f.Bytes(), safe, f.Hidden+n
		}
	}
	if f.HTTP != nil {
		f.HTTP = s.head(f.HTTP)
	}
	if f.Close != nil && f.Close.Text != "" {
		end := *f.Close
		end.Text = s.text(end.Text)
		f.Close = &end
	}
	if f.Fault != nil {
		facts := *f.Fault
		for _, text := range []*string{&facts.Rule, &facts.Source, &facts.ID, &facts.Method, &facts.Name, &facts.Text} {
			*text = s.text(*text)
		}
		f.Fault = &facts
	}
	if f.Held != nil {
		facts := *f.Held
		for _, text := range []*string{&facts.ID, &facts.Method, &facts.Name} {
			*text = s.text(*text)
		}
		f.Held = &facts
	}
	if f.SSE != nil && (f.SSE.Event != "" || f.SSE.ID != nil) {
		facts := *f.SSE
		facts.Event = s.text(facts.Event)
		if facts.ID != nil {
			id := s.text(*facts.ID)
			facts.ID = &id
		}
		f.SSE = &facts
	}
	return f
}

// Bytes returns raw without its secrets, and their number. It returns raw itself if there are none,
// and never modifies it. A UTF-16 text with a secret is hidden as a whole.
func (s *Secrets) Bytes(raw []byte) (safe []byte, n int) {
	if s.isPlain(raw) {
		return raw, 0
	}
	return s.slowBytes(raw)
}

// head returns a head without its secrets.
func (s *Secrets) head(h *wire.HTTPHead) *wire.HTTPHead {
	safe := *h
	safe.URL = RedactURL(s.text(h.URL))
	if strings.Contains(safe.URL, marks[0]) {
		safe.URL = hiddenIn().ReplaceAllStringFunc(safe.URL, inURL)
	}
	safe.Fields = slices.Clone(h.Fields)
	for i, field := range h.Fields {
		safe.Fields[i] = s.field(field)
	}
	safe.Method = s.text(h.Method)
	return &safe
}

func (s *Secrets) field(f wire.Field) wire.Field {
	plain := f
	if isURLField(f.Name) { // which may end where a value does not
		plain.Value = s.text(f.Value)
	}
	safe := RedactField(plain)
	if safe != plain {
		s.LearnField(f)
		tally(s, FoundName, 1)
	}
	return wire.Field{Name: inURL(s.text(f.Name)), Value: s.text(safe.Value)}
}
