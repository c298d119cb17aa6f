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

// Secrets hides the secrets in frames and texts before they are recorded or shown: the values of
// members, assignments and header fields with secret names, text that looks like a well-known
// token, and every occurrence of the values that it learned. The zero value and nil have no learned
// values. Several goroutines may call its methods, as long as its fields do not change.
//
// A secret without a secret name that does not look like one cannot be recognized.
type Secrets struct {
	// Full is called once, when a value cannot be learned because there are too many. Later text is
	// withheld. It may be nil.
	Full func()
	// Variables is set if a reference to an environment variable is not a secret: in a file that is
	// checked, not in recorded text.
	Variables bool
	// Guess says how much text is hidden that only looks like a secret.
	Guess Guess
	// Tally is called for each place that Bytes and Frame hide. It may be nil.
	Tally func(FoundKind)

	values knownValues
	// full is set once a value could not be learned.
	full atomic.Bool
}

// Learn learns values that are secret everywhere, and the long lines of values with several lines.
// It ignores placeholders and values shorter than minKnown. A nil s learns nothing.
func (s *Secrets) Learn(values ...string) {
	if s == nil {
		return
	}
	for _, value := range values {
		if len(value) < minKnown || isHidden(value) {
			continue
		}
		s.learn(value)
		if !strings.Contains(value, "\n") {
			continue
		}
		for line := range strings.Lines(value) { // such as the lines of a key, which are separate frames on stderr
			line = strings.TrimSpace(line)
			if len(line) >= minLine && !strings.ContainsAny(line, jsonraw.WhiteSpace) {
				s.learn(line)
			}
		}
	}
}

// minLine is the minimum length of a line that is learned separately.
const minLine = 16

// learn adds a value. It sets full and calls Full if there are too many.
func (s *Secrets) learn(value string) {
	if !s.values.add(value) && !s.full.Swap(true) && s.Full != nil {
		s.Full()
	}
}

// Knows reports whether value is a learned value. s must not be nil.
func (s *Secrets) Knows(value string) bool { return s.values.has(value) }

// Holds reports whether a text contains a known value, a private key or a token. It also reports
// true if there are too many secrets to check.
func (s *Secrets) Holds(raw []byte) bool {
	if s.Withholds() || containsToken(raw) {
		return true
	}
	if s == nil {
		return false
	}
	searchesNothing := s.Guess == GuessNone && s.values.isEmpty()
	if searchesNothing {
		return false
	}
	const learn = false
	found, _ := s.findSightings(raw, learn)
	return len(found) > 0
}

// containsToken reports whether a text, or a text encoded in it, contains a private key or a token.
func containsToken(raw []byte) bool {
	has := func(text []byte) bool { return hasToken(text) || len(hideKeys(text, false).replaced) > 0 }
	found := has(raw)
	if !found && hasLongRun(raw) {
		eachCoded(raw, func(text []byte, _ func(from, to int) (int, int)) { found = found || has(text) })
	}
	return found
}

// valueCount returns the number of known values, 0 if s is nil.
func valueCount(s *Secrets) int {
	if s == nil {
		return 0
	}
	return s.values.count()
}

// Hide adds a pattern of the user. Every match is a secret.
func (s *Secrets) Hide(pattern *regexp.Regexp) { s.values.addPattern(pattern) }

// Command returns the words of a command without their secrets.
func (s *Secrets) Command(argv []string) []string {
	words := RedactCommand(argv)
	for i, word := range words {
		words[i] = s.Text(word)
	}
	return words
}

// Text returns a text without its secrets. It hides the whole text if there are too many secrets to
// track.
func (s *Secrets) Text(text string) string {
	if s.Withholds() {
		return hide(text)
	}
	return s.hideInText(text)
}

// hideInText implements Text for Secrets that can track all values.
func (s *Secrets) hideInText(text string) string {
	safe, n := s.Bytes([]byte(text))
	if n > 0 {
		text = string(safe)
	}
	return s.hideCut(text)
}

// maxCut is how many bytes before the cut of an excerpt are checked for the beginning of a
// value. A beginning is hidden if it has at least minCut bytes.
const (
	maxCut = 512
	minCut = 4
)

// hideCut hides the beginning of a known value if an excerpt ends within the value.
func (s *Secrets) hideCut(text string) string {
	if s == nil {
		return text
	}
	for offset := 0; ; {
		cut := strings.Index(text[offset:], jsonraw.CutMark)
		if cut < 0 {
			return text
		}
		offset += cut
		if value, n := s.values.cutValue(text[max(0, offset-maxCut):offset]); n > 0 {
			safe := text[:offset-n] + Redacted(value)
			text = safe + text[offset:]
			offset = len(safe)
		}
		offset += len(jsonraw.CutMark)
	}
}

// Frame returns f without its secrets, or without its text if there are too many secrets to track.
// It never modifies the bytes of f.
func (s *Secrets) Frame(f wire.Frame) wire.Frame {
	f = s.hideInFrame(f)
	if s.Withholds() {
		return withholdFrame(f)
	}
	return f
}

// hideInFrame implements Frame for Secrets that can track all values.
func (s *Secrets) hideInFrame(f wire.Frame) wire.Frame {
	if len(f.Raw) > 0 {
		safe, n := s.Bytes(f.Raw)
		if n > 0 {
			f.Size = f.Bytes() // the size of the original, which is computed from Raw
			f.Raw = safe
			f.Hidden += n
		}
	}
	if f.HTTP != nil {
		f.HTTP = s.hideInHead(f.HTTP)
	}
	if f.Close != nil && f.Close.Text != "" {
		end := *f.Close
		end.Text = s.hideInText(end.Text)
		f.Close = &end
	}
	if f.Fault != nil {
		facts := *f.Fault
		for _, text := range []*string{&facts.Rule, &facts.Source, &facts.ID, &facts.Method, &facts.Name, &facts.Text} {
			*text = s.hideInText(*text)
		}
		f.Fault = &facts
	}
	if f.Held != nil {
		facts := *f.Held
		for _, text := range []*string{&facts.ID, &facts.Method, &facts.Name} {
			*text = s.hideInText(*text)
		}
		f.Held = &facts
	}
	if f.SSE != nil && (f.SSE.Event != "" || f.SSE.ID != nil) {
		facts := *f.SSE
		facts.Event = s.hideInText(facts.Event)
		if facts.ID != nil {
			id := s.hideInText(*facts.ID)
			facts.ID = &id
		}
		f.SSE = &facts
	}
	return f
}

// Bytes returns raw without its secrets, and the number of replacements. It returns raw itself if
// it has no secrets, and never modifies it. A UTF-16 text with a secret is hidden as a whole.
func (s *Secrets) Bytes(raw []byte) ([]byte, int) {
	if s.isPlain(raw) {
		return raw, 0
	}
	return s.hideInUnicode(raw)
}

// hideInHead returns a head without its secrets.
func (s *Secrets) hideInHead(h *wire.HTTPHead) *wire.HTTPHead {
	safe := *h
	safe.URL = RedactURL(s.hideInText(h.URL))
	if strings.Contains(safe.URL, marks[0]) {
		safe.URL = hiddenIn().ReplaceAllStringFunc(safe.URL, placeholderInURL)
	}
	safe.Fields = slices.Clone(h.Fields)
	for i, field := range h.Fields {
		safe.Fields[i] = s.hideInField(field)
	}
	safe.Method = s.hideInText(h.Method)
	return &safe
}

// hideInField returns a header field without its secrets, and learns them.
func (s *Secrets) hideInField(f wire.Field) wire.Field {
	withoutKnown := f
	if isURLField(f.Name) { // a URL may end in the middle of a known value
		withoutKnown.Value = s.hideInText(f.Value)
	}
	safe := RedactField(withoutKnown)
	if safe != withoutKnown {
		s.LearnField(f)
		countHidden(s, FoundName, 1)
	}
	return wire.Field{Name: placeholderInURL(s.hideInText(f.Name)), Value: s.hideInText(safe.Value)}
}
