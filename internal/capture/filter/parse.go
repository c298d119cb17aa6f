package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxNesting bounds the depth of parentheses and negations.
const maxNesting = 100

// A parser parses the text of a filter. Each of its parse methods advances at beyond what it parsed
// and the following blanks.
type parser struct {
	text   string
	offset int
	depth  int
	now    time.Time
	judge  Judge
	// onlyLive is set if only the liveFields are known.
	onlyLive bool
}

// filter parses the whole text.
func (p *parser) filter() (Filter, error) {
	p.skipBlanks()
	if p.offset == len(p.text) {
		return Filter{}, nil
	}
	root, err := p.parseAlternatives()
	if err == nil && p.offset < len(p.text) {
		err = p.errorAt(p.offset, "unmatched parenthesis")
	}
	if err != nil {
		return Filter{}, err
	}
	return Filter{root}, nil
}

// errorAt returns an *Error at an offset.
func (p *parser) errorAt(at int, format string, args ...any) error {
	return &Error{Filter: p.text, Offset: at, Text: fmt.Sprintf(format, args...)}
}

// parseAlternatives parses alternatives, a or b: at least one term has to match.
func (p *parser) parseAlternatives() (node, error) {
	var terms []node
	for {
		n, err := p.parseConjunction()
		if err != nil {
			return nil, err
		}
		terms = append(terms, n)
		if !p.skipKeyword("or") {
			return newGroup(anyTerm, terms), nil
		}
	}
}

// parseConjunction parses terms that all have to match: a b, a and b.
func (p *parser) parseConjunction() (node, error) {
	var terms []node
	for {
		n, err := p.parseOne()
		if err != nil {
			return nil, err
		}
		terms = append(terms, n)
		// After "and" a term has to follow; without it one may.
		if !p.skipKeyword("and") && (p.offset == len(p.text) || p.text[p.offset] == ')' || p.isAtKeyword("or")) {
			return newGroup(allTerms, terms), nil
		}
	}
}

// parseOne parses one term, negated term or parenthesis. It returns an error if the term is
// missing, or if something follows it without a blank.
func (p *parser) parseOne() (node, error) {
	p.depth++
	if p.depth > maxNesting {
		return nil, p.errorAt(p.offset, "more than %d nested parentheses and negations", maxNesting)
	}
	defer func() { p.depth-- }()
	start := p.offset
	if p.offset == len(p.text) {
		return nil, p.errorAt(start, "a search term is missing here")
	}
	if p.text[p.offset] == ')' {
		return nil, p.errorAt(start, "a search term is missing before this parenthesis")
	}
	if p.text[p.offset] == '(' {
		return p.parseParenthesis()
	}
	if p.isAtMinus() || p.isAtKeyword("not") {
		return p.parseNegation()
	}
	if p.isAtKeyword("and") || p.isAtKeyword("or") {
		return nil, p.errorAt(start, "a search term is missing before this word; quote it to search for it")
	}
	n, err := p.parseTerm()
	if err != nil {
		return nil, err
	}
	if p.offset < len(p.text) && p.text[p.offset] != ')' && !beginsWithBlank(p.text[p.offset:]) {
		return nil, p.errorAt(p.offset, "a space is missing here, or quotes around the whole text")
	}
	p.skipBlanks()
	return n, nil
}

// isAtMinus reports whether the next character is a minus that negates the term after it.
func (p *parser) isAtMinus() bool {
	return p.text[p.offset] == '-' && p.offset+1 < len(p.text) && !beginsWithBlank(p.text[p.offset+1:])
}

// parseParenthesis parses a filter in parentheses.
func (p *parser) parseParenthesis() (node, error) {
	open := p.offset
	p.offset++
	p.skipBlanks()
	n, err := p.parseAlternatives()
	if err != nil {
		return nil, err
	}
	if p.offset == len(p.text) {
		return nil, p.errorAt(open, "unclosed parenthesis")
	}
	p.offset++ // parseAlternatives ends at a closing parenthesis or at the end of the text
	p.skipBlanks()
	return n, nil
}

// parseNegation parses a term after "-" or "not".
func (p *parser) parseNegation() (node, error) {
	if !p.skipKeyword("not") {
		p.offset++ // the minus
	}
	n, err := p.parseOne()
	if err != nil {
		return nil, err
	}
	return negate(n), nil
}

// parseTerm parses a text or a field.
func (p *parser) parseTerm() (node, error) {
	start := p.offset
	if p.text[p.offset] == '"' {
		text, err := p.parseQuoted()
		if err != nil {
			return nil, err
		}
		return fullText{newNeedle(text)}, nil
	}
	if name := leadingLetters(p.text[p.offset:]); name != "" {
		rest := p.text[p.offset+len(name):]
		if strings.HasPrefix(rest, ":") {
			return p.parseFieldTerm(name)
		}
		if strings.HasPrefix(rest, "~/") {
			return p.parsePattern(name)
		}
		// dur>500ms instead of dur:>500ms
		if rest != "" && strings.ContainsRune("<>=!", rune(rest[0])) && isField(strings.ToLower(name)) {
			return nil, p.missingColon(start, name)
		}
	}
	if strings.ContainsRune("{[", rune(p.text[p.offset])) {
		return fullText{newNeedle(p.parseJSON())}, nil
	}
	word := p.parseWord("")
	if word == "" {
		return nil, p.errorAt(start, "a search term is missing here")
	}
	return fullText{newNeedle(word)}, nil
}

// parseJSON parses a word in which quotes and what is between them are part of the text, as in {"a":"x y"}.
func (p *parser) parseJSON() string {
	start := p.offset
	isQuoted := false
	for ; p.offset < len(p.text); p.offset++ {
		rest := p.text[p.offset:]
		if rest[0] == '"' {
			isQuoted = !isQuoted
		} else if isQuoted && rest[0] == '\\' && len(rest) > 1 {
			p.offset++
		} else if !isQuoted && endsWord(rest) {
			break
		}
	}
	return p.text[start:p.offset]
}

// missingColon returns the error for a term such as dur>500ms, which lacks a colon after the field. It
// suggests the term with the colon or, if the field cannot have the value, the term that can.
func (p *parser) missingColon(start int, field string) error {
	rest := p.parseWord("")[len(field):]
	// = and == are left out after the colon.
	value := strings.TrimPrefix(strings.TrimPrefix(rest, "="), "=")
	suggestion := suggestTerm(strings.ToLower(field), value)
	f, _ := p.findField(field)
	if f != nil && f.knownValues() != nil && !slices.Contains(f.knownValues(), strings.ToLower(value)) {
		if term := termWithValue(value); term != "" {
			suggestion = term
		}
	}
	return &Error{
		Filter:     p.text,
		Offset:     start,
		Text:       fmt.Sprintf("a colon is missing after the field %s; quote it to search for the text", field),
		Suggestion: suggestion,
	}
}

// findField returns the field with a name, in any case, which begins at p.offset. It returns an
// *Error for an unknown field, and for a field that a live message does not have.
func (p *parser) findField(name string) (*field, error) {
	canonical := strings.ToLower(name)
	if name := otherNames[canonical]; name != "" {
		canonical = name
	}
	if p.onlyLive && canonical == liveIs.name {
		return &liveIs, nil
	}
	for i := range fields {
		if fields[i].name == canonical && p.onlyLive && !slices.Contains(liveFields, canonical) {
			return nil, p.errorAt(p.offset, "%s is not known while a message is on its way: use %s", canonical,
				strings.Join(liveFields, ", "))
		}
		if fields[i].name == canonical {
			return &fields[i], nil
		}
	}
	known := Fields()
	if p.onlyLive {
		known = liveFields
	}
	return nil, &Error{
		Filter: p.text, Offset: p.offset, Word: canonical, Known: known,
		Text: fmt.Sprintf("unknown field %q; quote it to search for the text", name),
	}
}

// parseFieldTerm parses a field with the values after its colon. The field has this name. The error
// for an unknown field suggests a term with the value.
func (p *parser) parseFieldTerm(name string) (node, error) {
	f, err := p.findField(name)
	p.offset += len(name) + 1
	if err != nil {
		wrong := err.(*Error)
		value := p.parseWord(",")
		if lower := strings.ToLower(name); foreignNames[lower] != "" {
			wrong.Word = ""
			wrong.Suggestion = suggestTerm(lower, value)
		}
		if term := termWithValue(value); term != "" {
			wrong.Suggestion = term
		}
		return nil, err
	}
	t := &fieldTerm{field: f, asksJudge: f.byJudge}
	for {
		start := p.offset
		v, err := p.parseValue(f)
		if err != nil {
			return nil, err
		}
		// has:finding asks the Judge too.
		isHasFinding := f.traits != nil && strings.EqualFold(strings.Trim(p.text[start:p.offset], `"`), hasFinding)
		t.asksJudge = t.asksJudge || isHasFinding
		t.values = append(t.values, v)
		if f.name == "body" {
			t.texts = append(t.texts, strings.Trim(p.text[start:p.offset], `"`))
		}
		if !strings.HasPrefix(p.text[p.offset:], ",") {
			return t, nil
		}
		p.offset++
	}
}

// operators are the comparisons. An operator comes before its prefixes.
var operators = []string{">=", "<=", "!=", ">", "<", "="}

// parseValue parses one value of a field, with its comparison.
func (p *parser) parseValue(f *field) (value, error) {
	start := p.offset
	op := ""
	for _, o := range operators {
		if strings.HasPrefix(p.text[p.offset:], o) {
			op = o
			p.offset += len(o)
			break
		}
	}
	// Only numbers and times have bounds.
	if op != "" && f.bounds == nil {
		return nil, p.errorAt(start, "%s cannot be compared; -%s:… negates, and quotes make this text", f.name, f.name)
	}
	a, err := p.parseAtom(f)
	if err != nil {
		return nil, err
	}
	v, err := f.newValue(op, a, p.now, p.judge)
	if err != nil {
		wrong := err.(*Error)
		wrong.Filter = p.text
		wrong.Offset = start
		if wrong.Suggestion == "" {
			wrong.Suggestion = p.findingTerm(a.text)
		}
		return nil, wrong
	}
	return v, nil
}

// findingTerm returns the term for a rule that was given to another field, as in "has:L106" or
// "has:finding=L106", or "" if the value is no rule.
func (p *parser) findingTerm(value string) string {
	value = value[strings.LastIndexByte(value, '=')+1:]
	if p.judge == nil ||
		!slices.ContainsFunc(p.judge.Words(), func(word string) bool { return strings.EqualFold(word, value) }) {
		return ""
	}
	return "finding:" + value
}

// An atom is one value as it is written in the filter.
type atom struct {
	text   string
	quoted bool
}

// parseAtom parses a word or a quoted text.
func (p *parser) parseAtom(f *field) (atom, error) {
	start := p.offset
	if strings.HasPrefix(p.text[p.offset:], `"`) {
		text, err := p.parseQuoted()
		return atom{text: text, quoted: true}, err
	}
	word := p.parseWord(",")
	if word == "" {
		return atom{}, p.errorAt(start, "%s takes %s", f.name, f.valueHint)
	}
	return atom{text: word}, nil
}

// parsePattern parses a field with a regular expression: name~/RE2/.
func (p *parser) parsePattern(name string) (node, error) {
	f, err := p.findField(name)
	if err != nil {
		return nil, err
	}
	// Numbers, traits and hashes of secrets are not matched with expressions.
	if f.text == nil && (!f.inTraffic || f.matchesLine != nil) {
		return nil, p.errorAt(p.offset, "%s takes %s, and no regular expression", f.name, f.valueHint)
	}
	start := p.offset + len(name) + 2 // after ~/
	end := start
	for end < len(p.text) && p.text[end] != '/' {
		if p.text[end] == '\\' { // an escaped slash does not end the expression
			end++
		}
		end++
	}
	if end >= len(p.text) {
		return nil, p.errorAt(start-1, "the regular expression has no slash at its end")
	}
	re, err := regexp.Compile(p.text[start:end])
	if err != nil {
		return nil, p.errorAt(start, "invalid RE2 regular expression: %s", regexpCause(err))
	}
	p.offset = end + 1
	return &pattern{field: f, re: re, needs: requiredTexts(re)}, nil
}

// regexpCause returns the text of an error of regexp without the words for programmers.
func regexpCause(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// Quote returns a value as it is written in a filter: in quotes if a character of it has a meaning
// there.
func Quote(value string) string {
	if value != "" && !strings.ContainsAny(value, " \t\n\"\\(),:*?[]~<>=!|") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(value) + `"`
}

// parseQuoted parses a text in quotes, and returns it without quotes and escapes. Empty quotes are
// an error.
func (p *parser) parseQuoted() (string, error) {
	start := p.offset
	var b strings.Builder
	for i := start + 1; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case c == '\\' && i+1 < len(p.text) && (p.text[i+1] == '"' || p.text[i+1] == '\\'):
			i++
			b.WriteByte(p.text[i])
		case c == '"' && b.Len() == 0:
			return "", p.errorAt(start, "empty quotes")
		case c == '"':
			p.offset = i + 1
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorAt(start, "unclosed quote")
}

// parseWord parses the rest of a word, up to a character in stop.
func (p *parser) parseWord(stop string) string {
	start := p.offset
	for p.offset < len(p.text) && !endsWord(p.text[p.offset:]) && !strings.ContainsRune(stop, rune(p.text[p.offset])) {
		_, n := utf8.DecodeRuneInString(p.text[p.offset:])
		p.offset += n
	}
	return p.text[start:p.offset]
}

// isAtKeyword reports whether the next word is the keyword k.
func (p *parser) isAtKeyword(k string) bool {
	rest := p.text[p.offset:]
	return len(rest) >= len(k) && strings.EqualFold(rest[:len(k)], k) && (len(rest) == len(k) || endsWord(rest[len(k):]))
}

// skipKeyword skips the keyword k, and reports whether it was the next word.
func (p *parser) skipKeyword(k string) bool {
	if !p.isAtKeyword(k) {
		return false
	}
	p.offset += len(k)
	p.skipBlanks()
	return true
}

func (p *parser) skipBlanks() {
	p.offset = len(p.text) - len(strings.TrimLeftFunc(p.text[p.offset:], unicode.IsSpace))
}

func beginsWithBlank(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// endsWord reports whether a word ends before s.
func endsWord(s string) bool {
	return s == "" || strings.ContainsRune(`()"`, rune(s[0])) || beginsWithBlank(s)
}

// leadingLetters returns the ASCII letters at the beginning of s.
func leadingLetters(s string) string {
	return s[:len(s)-len(strings.TrimLeftFunc(s, func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) }))]
}
