package filter

import (
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// A Filter selects rows. The zero Filter selects every row.
//
// The grammar (`mcpc help filters` shows examples):
//
//	filter  = every { "or" every }
//	every   = one { ["and"] one }
//	one     = ( "-" | "not" ) one | "(" filter ")" | text | field
//	text    = word | quoted
//	field   = name ":" value { "," value } | name "~/" RE2 "/"
//	value   = [ ">" | ">=" | "<" | "<=" | "=" | "!=" ] atom | [atom] ".." [atom]
//	atom    = word | quoted
//
// In a quoted text \" and \\ are a quote and a backslash. A word that begins with { or [ contains its quotes and the
// text between them, so that JSON can be pasted. Upper and lower case are the same, except
// in a regular expression.
type Filter struct{ root node }

// An Error is a syntax error in a filter.
type Error struct {
	// Filter is the whole text.
	Filter string
	// Offset is the byte in Filter at which the error is.
	Offset int
	// Text describes the fault, in lower case and without a full stop.
	Text string
	// Word is an unknown word, and Known are the words that are allowed in its place. Both are empty for
	// any other error.
	Word  string
	Known []string
	// Suggestion is a term that was probably meant, as in "channel:tool_error" for "is:tool_error";
	// "" if no such term is known.
	Suggestion string
}

func (e *Error) Error() string { return e.Text }

// Column returns the number of the character at which the error is, from 1.
func (e *Error) Column() int { return utf8.RuneCountInString(e.Filter[:e.Offset]) + 1 }

// A Judge finds the rules that rows break. Words returns all words for findings, Of those for the
// findings about a row.
type Judge interface {
	Words() []string
	WordsFor(r *rows.Row) ([]string, error)
}

// Parse parses a filter. Its errors are *Error. A blank text is the zero Filter. Relative times
// ("since:10m") count from now, and days and hours are in now's location. j judges rows if the
// filter asks for findings; if it is nil, a row only has the findings of its listing.
func Parse(text string, now time.Time, j Judge) (Filter, error) {
	p := &parser{text: text, now: now, judge: j}
	return p.filter()
}

// Match reports whether the filter selects r. It reads the traffic, or asks the Judge, only if the
// row alone does not decide. The error is from reading.
func (f Filter) Match(r *rows.Row) (bool, error) {
	c := &candidate{row: r, findInTraffic: func(s search) (bool, error) {
		if s.mayMatchLine == nil {
			return r.AnyLine(s.matches)
		}
		return r.AnyText(s.mayMatchLine, s.matches)
	}}
	return f.match(c), c.err
}

// MayMatch reports whether the filter may select a row of a page. It does not unpack the page, so
// it may be true for a page without a match. It is true for a page that is not packed.
func (f Filter) MayMatch(p rows.Page) bool {
	samples := p.Samples()
	var least, most rows.Row
	if samples != nil {
		least, most = p.Bounds()
	}
	return f.root == nil || samples == nil || slices.ContainsFunc(samples, func(r rows.Row) bool {
		// The sample has no traffic: any text may be in a row's traffic.
		found := func(search) (bool, error) { return true, nil }
		return f.match(&candidate{row: &r, isSample: true, least: &least, most: &most, findInTraffic: found})
	})
}

// ReadsTraffic reports whether Match may read the traffic.
func (f Filter) ReadsTraffic() bool { return f.root != nil && f.root.readsTraffic() }

// Texts returns the texts that the filter searches for in messages, except texts that it excludes.
func (f Filter) Texts() []string { return appendTexts(nil, f.root) }

// appendTexts appends the texts that a node searches for. n may be nil.
func appendTexts(texts []string, n node) []string {
	switch n := n.(type) {
	case *group:
		for _, term := range n.terms {
			texts = appendTexts(texts, term)
		}
	case *fieldTerm:
		texts = append(texts, n.texts...)
	case fullText:
		texts = append(texts, n.text)
	}
	return texts
}

// match reports whether the filter selects the candidate.
func (f Filter) match(c *candidate) bool { return f.root == nil || f.root.match(c) }

// A candidate is a row to be matched, with access to its traffic.
type candidate struct {
	row           *rows.Row
	findInTraffic func(search) (bool, error)
	err           error
	kind          wire.MessageKind // of a message that is not forwarded yet
	// isSample is set if the row is a sample of a page. Then a match means that a row of the page
	// may match: every value of unsampledFields and every text may be there, and the values of
	// measured fields are between the values of least and most.
	isSample    bool
	least, most *rows.Row
}

// hasFinding reports whether test accepts a word for a finding about the row.
func (c *candidate) hasFinding(j Judge, test func(word string) bool) bool {
	if c.err != nil || j == nil {
		return false
	}
	if c.isSample {
		return true
	}
	words, err := j.WordsFor(c.row)
	c.err = err
	return slices.ContainsFunc(words, test)
}

// A search looks for a text in the traffic of a row.
type search struct {
	// matches reports whether the bytes of a frame have the text. If mayMatchLine is nil, it gets the lines of the
	// capture instead.
	matches func([]byte) bool
	// mayMatchLine reports whether a line of the capture has to be decoded to search its frame.
	mayMatchLine func(line []byte) bool
}

// search reports whether the traffic has the text of s. After an error it returns false.
func (c *candidate) search(s search) bool {
	if c.err != nil {
		return false
	}
	found, err := c.findInTraffic(s)
	c.err = err
	return found
}

// A node is a part of a filter.
type node interface {
	match(c *candidate) bool
	// readsTraffic reports whether match may read the traffic.
	readsTraffic() bool
}

// A group matches if all of its terms match, or with or set if at least one does.
type group struct {
	or    bool
	terms []node
	// order are the terms, with those first that need no traffic.
	order []node
}

// The two kinds of groups.
const (
	anyTerm  = true
	allTerms = false
)

// newGroup returns a group of terms. It merges groups of the same kind. A single term is returned
// as it is. There is at least one term.
func newGroup(or bool, terms []node) node {
	if len(terms) == 1 {
		return terms[0]
	}
	g := &group{or: or}
	for _, t := range terms {
		if inner, ok := t.(*group); ok && inner.or == or {
			g.terms = append(g.terms, inner.terms...)
		} else {
			g.terms = append(g.terms, t)
		}
	}
	// The terms that need no traffic come first, as they may decide.
	for _, needsTraffic := range []bool{false, true} {
		for _, t := range g.terms {
			if t.readsTraffic() == needsTraffic {
				g.order = append(g.order, t)
			}
		}
	}
	return g
}

// match stops at the first term that decides: a match in an "or", a mismatch in an "and".
func (g *group) match(c *candidate) bool {
	for _, t := range g.order {
		if t.match(c) == g.or {
			return g.or
		}
	}
	return !g.or
}

func (g *group) readsTraffic() bool { return g.order[len(g.order)-1].readsTraffic() }

// A negation matches if its term does not.
type negation struct{ node }

// negate returns the negation of a node.
func negate(n node) node {
	if twice, ok := n.(negation); ok {
		return twice.node
	}
	return negation{n}
}

// match reports whether the term does not match. It returns true for a sample that cannot tell: a row of
// its page may lack what the sample has.
func (n negation) match(c *candidate) bool {
	return c.isSample && (n.readsTraffic() || usesField(n.node, unsampledFields)) || !n.node.match(c)
}

// A fullText matches a text in the columns of a table or in the traffic.
type fullText struct{ needle }

func (t fullText) match(c *candidate) bool {
	shown := []string{c.row.Method, c.row.Name, c.row.Target, c.row.Text}
	return slices.ContainsFunc(shown, func(text string) bool { return t.isIn([]byte(text)) }) || c.search(t.search())
}

func (t fullText) readsTraffic() bool { return true }

// A fieldTerm matches if a field has any of several values.
type fieldTerm struct {
	field  *field
	values []value
	// texts are the values of the field body.
	texts []string
	// asksJudge is set if a value asks for findings.
	asksJudge bool
}

// A value reports whether the candidate's field has any of the values that a filter names.
type value func(c *candidate) bool

// match reports whether the field has any of the values. It returns true for a sample that does not
// have the field.
func (t *fieldTerm) match(c *candidate) bool {
	return c.isSample && !t.field.hasBounds && slices.Contains(unsampledFields, t.field.name) ||
		slices.ContainsFunc(t.values, func(v value) bool { return v(c) })
}

func (t *fieldTerm) readsTraffic() bool { return t.field.inTraffic || t.asksJudge }

// A pattern matches a field against a regular expression.
type pattern struct {
	field *field
	re    *regexp.Regexp
	needs required
}

func (t *pattern) match(c *candidate) bool {
	if t.field.inTraffic {
		return c.search(search{matches: t.re.Match, mayMatchLine: t.needs.mayBeInLine})
	}
	return c.isSample && slices.Contains(unsampledFields, t.field.name) || t.re.MatchString(t.field.text(c.row))
}

func (t *pattern) readsTraffic() bool { return t.field.inTraffic }
