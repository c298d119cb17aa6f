package redact

import (
	"bytes"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// hideInUnicode implements Bytes for text that is not plain. It hides a UTF-16 text with a secret as a
// whole.
func (s *Secrets) hideInUnicode(raw []byte) ([]byte, int) {
	for _, text := range Wide(raw) {
		if _, n := s.hideInBytes(text); n > 0 {
			return []byte(Redacted(string(raw))), n
		}
	}
	return s.hideInBytes(raw)
}

// hideInBytes returns raw without its secrets and the number of replacements. It does not decode UTF-16.
func (s *Secrets) hideInBytes(raw []byte) (safe []byte, n int) {
	safe = raw
	// apply makes the result of an edit the text for the next step, and returns its replacements.
	apply := func(text []byte, count int) int {
		if n > 0 && count > 0 {
			spool.Free(safe) // the result of an earlier step, never raw itself
		}
		safe = text
		n += count
		return count
	}
	// Known values are replaced first, as a whole, because a search for names may end within a
	// value. Private keys come before them: they have their own ends, and may contain known lines.
	// Tokens are learned first, because a known value may be the beginning of one.
	keys := hideKeys(raw, false)
	s.learnEdit(keys)
	countHidden(s, FoundKey, apply(keys.result()))
	if s != nil && !s.values.isEmpty() {
		eachToken(safe, func(from, to int) bool { // returns true: all tokens are wanted
			s.Learn(string(bytes.TrimRight(safe[from:to], "."))) // a dot may end a sentence
			return true
		})
	}
	const learnNamed = true
	apply(s.hideKnown(safe, learnNamed))
	before := valueCount(s)
	for _, rule := range byForm {
		e := rule.hide(safe, s != nil && s.Variables)
		s.learnEdit(e)
		countHidden(s, rule.kind, apply(e.result()))
	}
	if valueCount(s) > before { // values learned above may occur elsewhere, too
		apply(s.hideKnown(safe, !learnNamed))
	}
	return safe, n
}

// A sighting is the place of a secret in a text, and the secret's value.
type sighting struct {
	begin, end int
	secret     string
	kind       FoundKind
}

// countHidden calls s.Tally n times, if it is set.
func countHidden(s *Secrets, kind FoundKind, n int) {
	for ; s != nil && s.Tally != nil && n > 0; n-- {
		s.Tally(kind)
	}
}

// hideKnown replaces the known values in raw, and returns the number of replacements. If learn is
// set, it first learns the values of secret names in decoded text. It withholds raw as a whole if a
// part of it takes too much work.
func (s *Secrets) hideKnown(raw []byte, learn bool) ([]byte, int) {
	if s == nil {
		return raw, 0
	}
	all, beyond := s.findSightings(raw, learn)
	if beyond {
		return withholdText(raw), 1
	}
	e := edit{raw: raw}
	for _, p := range all {
		from, to, quote := numberAround(raw, p.begin, p.end) // a JSON number becomes a string as a whole
		from = max(e.done, escapeBefore(raw, e.done, from))
		if from >= to {
			continue // within the previous number
		}
		shown := quote + Redacted(p.secret) + quote
		if isInURL(raw[:from]) {
			shown = placeholderInURL(shown)
		}
		e.replace(from, to, shown)
		countHidden(s, p.kind, 1)
	}
	return e.result()
}

// findSightings returns the places of known values in raw, sorted and without overlap. If learn is
// set, it first learns the values of secret names in decoded text. beyond is set if a window took
// too much work: the whole window is then one sighting.
func (s *Secrets) findSightings(raw []byte, learn bool) (all []sighting, beyond bool) {
	for from := 0; from < len(raw); {
		to, end, _ := s.windowAt(raw, from)
		l := searcher{secrets: s, learn: learn, budget: maxWork * (end - from + minWork)}
		for _, p := range l.search(raw[from:end], maxLevels) {
			p.begin += from
			if p.begin < to { // else the next window finds it
				p.end += from
				all = append(all, p)
			}
		}
		if l.budget < 0 {
			all = append(all, sighting{from, to, string(raw[from:to]), FoundKnown})
			beyond = true
		}
		spool.Release(raw[from:to]) // raw may be a file that is mapped into memory
		from = to
	}
	return mergeSightings(all), beyond
}

// window is how many bytes of a text are searched at once, so that the decoded views of a large
// text need little memory. Tests make it smaller.
var window = 1 << 20

const (
	// maxWork is how often the bytes of a window are searched, in total over all levels. A hostile
	// text may nest coded texts at every level; it is then withheld. Short texts always get the
	// work of minWork bytes.
	maxWork = 32
	minWork = 4 << 10
)

// windowAt returns the end of the window that begins at from, and the end of the text that is
// searched with it. Only secrets that begin in the window count. isSeparated reports whether the
// window ends at a separator, so that no word, name or run continues after it.
func (s *Secrets) windowAt(raw []byte, from int) (to, end int, isSeparated bool) {
	if len(raw)-from <= 2*window {
		return len(raw), len(raw), true
	}
	to = from + window
	end = from + window + window/16 // without known values: room for a token or a name at the end
	if s != nil {
		end = min(len(raw), to+s.values.overlap())
	}
	const searchedBack = 1024 // bytes before to, for a separator
	for offset := to; offset > max(from, to-searchedBack); offset-- {
		switch raw[offset] {
		case ' ':
			isSeparated = isNameByte(raw[offset+1]) // else it may stand between a name and its colon
		case ',', '{', '}', '[', ']':
			isSeparated = true
		}
		if isSeparated {
			return offset, end, true
		}
	}
	return to, end, false
}

// A searcher searches a text and its decoded forms for known values.
type searcher struct {
	secrets *Secrets
	// learn is set if the values of secret names are learned first.
	learn bool
	// budget is how many bytes may still be searched. It is negative once the limit was reached.
	budget int
}

// search returns the sightings in raw and in the texts that are decoded from it, up to levels deep.
// Their places are in raw.
func (l *searcher) search(raw []byte, levels int) []sighting {
	l.budget -= len(raw)
	var all []sighting
	searchDecoded := func(text []byte, origin func(from, to int) (int, int)) {
		if l.budget < len(text) {
			l.budget = -1 // findSightings then hides the whole window
			return
		}
		for _, p := range l.search(text, levels-1) {
			p.begin, p.end = origin(p.begin, p.end)
			all = append(all, p)
		}
	}
	if levels > 0 {
		eachCoded(raw, func(text []byte, origin func(from, to int) (int, int)) {
			if l.learn {
				l.secrets.learnFrom(text)
			}
			searchDecoded(text, origin)
		})
		// hasEscapes ignores escapes that no known value has, but a guess may have them.
		if l.secrets.Guess > GuessNone || l.secrets.values.hasEscapes(raw) {
			if v, ok := decode(raw, escape); ok {
				l.learnUnescaped(raw)
				searchDecoded(v.text, v.origin)
			}
		}
	}
	return appendGuesses(l.secrets.values.appendSightings(all, raw), raw, l.secrets.Guess)
}

// learnUnescaped learns from a text with escapes. It decodes each kind of escape separately, because
// names and values have their ends in a text of one kind.
func (l *searcher) learnUnescaped(raw []byte) {
	for _, kind := range []class{stringEscape, percentEscape, entityEscape} {
		if !l.learn || l.budget < 0 {
			return
		}
		if v, ok := decode(raw, kind); ok {
			l.budget -= len(raw)
			l.secrets.learnFrom(v.text)
		}
	}
}

// learnFrom learns the values that Bytes would hide in a text by their names or forms.
func (s *Secrets) learnFrom(text []byte) {
	for _, rule := range byForm {
		s.learnEdit(rule.hide(text, s.Variables))
	}
}

// learnEdit learns the values that an edit replaced.
func (s *Secrets) learnEdit(e edit) {
	s.Learn(e.secrets...)
	s.learnNamed(e.namedValues...)
	s.learnURLValues(e.urlValues)
}

// mergeSightings sorts sightings by place and joins overlapping ones. A joined sighting has the
// secret and the kind of the longest.
func mergeSightings(each []sighting) []sighting {
	slices.SortStableFunc(each, func(a, b sighting) int {
		if a.begin != b.begin {
			return a.begin - b.begin
		}
		return b.end - a.end // the longer one first
	})
	length := 0 // of the longest sighting joined into the last one
	var all []sighting
	for _, p := range each {
		last := len(all) - 1
		if last < 0 || p.begin >= all[last].end {
			all = append(all, p)
			length = p.end - p.begin
			continue
		}
		if p.end-p.begin > length {
			all[last].secret = p.secret
			all[last].kind = p.kind
			length = p.end - p.begin
		}
		all[last].end = max(all[last].end, p.end)
	}
	return all
}

// escapeBefore returns the beginning of the JSON string escape that a cut at offset would split, or
// offset if the cut splits no escape. It does not go back beyond done.
func escapeBefore(raw []byte, done, offset int) int {
	const longest = len(`\u00e9`)
	for from := offset - 1; from >= max(done, offset-longest+1); from-- {
		if raw[from] != '\\' {
			continue
		}
		first := from // the first of several backslashes: each second one is escaped by the one before
		for first > done && raw[first-1] == '\\' {
			first--
		}
		if (from-first)%2 == 0 && (from == offset-1 || raw[from+1] == 'u') {
			return from
		}
		break
	}
	return offset
}

// numberAround returns the JSON number around a place, and the quotes that its replacement needs. It
// returns the place itself if it is not in a number.
func numberAround(raw []byte, from, to int) (int, int, string) {
	isNumberByte := func(c byte) bool { return isDigit(c) || bytes.IndexByte([]byte("+-.eE"), c) >= 0 }
	// Both searches also cross the place itself, so that all its bytes are checked.
	begin := to
	end := from
	for begin > 0 && isNumberByte(raw[begin-1]) {
		begin--
	}
	for end < len(raw) && isNumberByte(raw[end]) {
		end++
	}
	if begin > from || end < to {
		return from, to, ""
	}
	before := bytes.TrimRight(raw[:begin], jsonraw.WhiteSpace)
	after := bytes.TrimLeft(raw[end:], jsonraw.WhiteSpace)
	if len(before) == 0 || len(after) == 0 {
		return from, to, ""
	}
	isValue := bytes.Contains([]byte(":[,"), before[len(before)-1:]) && bytes.Contains([]byte(",]}"), after[:1])
	if !isValue || jsonraw.Valid(raw[begin:end]) != nil {
		return from, to, ""
	}
	quote := bytes.LastIndexByte(before, '"')
	if quote < 0 {
		return begin, end, `"`
	}
	return begin, end, string(before[len(bytes.TrimRight(before[:quote], `\`)) : quote+1])
}

// maxURLBefore is how far back the beginning of a URL is searched for, in bytes.
const maxURLBefore = 8 << 10

// isInURL reports whether a text ends within a URL. It checks the last maxURLBefore bytes.
func isInURL(before []byte) bool {
	before = before[max(0, len(before)-maxURLBefore):]
	from := len(before)
	for from > 0 && classes[before[from-1]]&urlEnd == 0 {
		from--
	}
	return bytes.Contains(before[from:], []byte("://"))
}
