package filter

import (
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"mcpc/internal/capture/rows"
)

// A Filter says which rows are wanted. The zero Filter wants every row.
//
// The language, of which `mcpc help filters` shows examples:
//
//	filter  = every { "or" every }
//	every   = one { ["and"] one }
//	one     = ( "-" | "not" ) one | "(" filter ")" | text | field
//	text    = word | quoted
//	field   = name ":" value { "," value } | name "~/" RE2 "/"
//	value   = [ ">" | ">=" | "<" | "<=" | "=" | "!=" ] atom | [atom] ".." [atom]
//	atom    = word | quoted
//
// In a quoted text \" and \\ stand for the character behind the backslash. Case
// makes no difference but in a regular expression.
type Filter struct{ root node }

// An Error says where a filter stops making sense.
type Error struct {
	// Filter is the whole text, and Offset the byte in it.
	Filter string
	Offset int
	// Text says what is wrong, in lower case and without a full stop.
	Text string
	// Word is what stands where only one of Known can; both are empty where
	// something else is wrong.
	Word  string
	Known []string
	// Meant is the term that says it where only another field has such a value, as in
	// "channel:tool_error"; "" elsewhere.
	Meant string
}

func (e *Error) Error() string { return e.Text }

// Column counts the characters up to the error, from 1.
func (e *Error) Column() int { return utf8.RuneCountInString(e.Filter[:e.Offset]) + 1 }

// A Judge says of rows which rules they broke. Words are all that there can be, Of those of
// a row.
type Judge interface {
	Words() []string
	Of(r *rows.Row) ([]string, error)
}

// Parse reads a filter; its errors are *Error. Times that say how
// long ago ("since:10m") count from now, and days and hours are those of now's
// location. A blank text is the zero Filter. The judge is asked where a filter asks for
// findings; without one a row has those of its listing only.
func Parse(text string, now time.Time, j Judge) (Filter, error) {
	p := &parser{text: text, now: now, judge: j}
	return p.filter()
}

// Match reports whether r is wanted. It reads the traffic, and has it judged, only if nothing else
// decides, and its error is that of reading.
func (f Filter) Match(r *rows.Row) (bool, error) {
	c := &candidate{row: r, findIn: func(s search) (bool, error) {
		if s.mayBeIn == nil {
			return r.AnyLine(s.in)
		}
		return r.AnyText(s.mayBeIn, s.in)
	}}
	return f.match(c), c.err
}

// May reports whether a row of a page may be wanted.
func (f Filter) May(p rows.Page) bool {
	samples := p.Samples()
	var least, most rows.Row
	if samples != nil {
		least, most = p.Bounds()
	}
	return f.root == nil || samples == nil || slices.ContainsFunc(samples, func(r rows.Row) bool {
		return f.match(
			&candidate{row: &r, sample: true, least: &least, most: &most, findIn: func(search) (bool, error) { return true, nil }},
		)
	})
}

// Deep reports whether Match may read the traffic.
func (f Filter) Deep() bool { return f.root != nil && f.root.deep() }

func (f Filter) match(c *candidate) bool { return f.root == nil || f.root.match(c) }

// A candidate is a row, and a way to look into the traffic for it.
type candidate struct {
	row    *rows.Row
	findIn func(search) (bool, error)
	err    error
	// sample is set where the row stands for others: what they do not have alike, and what look
	// tells, may be there. What measured fields ask is between least and most then.
	sample      bool
	least, most *rows.Row
}

// broke reports whether one of the words for the findings about the row passes a test.
func (c *candidate) hasFinding(j Judge, test func(word string) bool) bool {
	if c.err != nil || j == nil {
		return false
	}
	if c.sample {
		return true
	}
	words, err := j.Of(c.row)
	c.err = err
	return slices.ContainsFunc(words, test)
}

// A search is one question about bytes.
type search struct {
	// in is asked of the bytes of each frame, or of each line where mayStandIn is nil.
	in func([]byte) bool
	// mayStandIn is asked of a line of the capture: whether it is worth decoding.
	mayBeIn func(line []byte) bool
}

func (c *candidate) search(s search) bool {
	if c.err != nil {
		return false
	}
	found, err := c.findIn(s)
	c.err = err
	return found
}

// A node is a part of a filter.
type node interface {
	match(c *candidate) bool
	// deep reports whether match may ask for the traffic.
	deep() bool
}

// A group wants all of its terms, or with or set at least one.
type group struct {
	or    bool
	terms []node
	// order are the terms with those in front that need the row alone.
	order []node
}

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
	for _, deep := range []bool{false, true} {
		for _, t := range g.terms {
			if t.deep() == deep {
				g.order = append(g.order, t)
			}
		}
	}
	return g
}

func (g *group) match(c *candidate) bool {
	for _, t := range g.order {
		if t.match(c) == g.or {
			return g.or
		}
	}
	return !g.or
}

func (g *group) deep() bool { return g.order[len(g.order)-1].deep() }

// A negation wants what its term does not.
type negation struct{ node }

func negate(n node) node {
	if twice, ok := n.(negation); ok {
		return twice.node
	}
	return negation{n}
}

func (n negation) match(c *candidate) bool {
	return c.sample && (n.deep() || usesField(n.node, unsampledFields)) || !n.node.match(c)
}

// A fullText is found in what a table shows of the row, and in the traffic.
type fullText struct{ needle }

func (t fullText) match(c *candidate) bool {
	shown := []string{c.row.Method, c.row.Name, c.row.Target, c.row.Text}
	return slices.ContainsFunc(shown, func(text string) bool { return t.in([]byte(text)) }) || c.search(t.search())
}

func (t fullText) deep() bool { return true }

// A fieldTerm wants one of several values in a field.
type fieldTerm struct {
	field  *field
	values []value
	// judged is set where a value asks for findings.
	judged bool
}

// A value is one of those that a field may have.
type value func(c *candidate) bool

func (t *fieldTerm) match(c *candidate) bool {
	return c.sample && !t.field.measured && slices.Contains(unsampledFields, t.field.name) ||
		slices.ContainsFunc(t.values, func(v value) bool { return v(c) })
}

func (t *fieldTerm) deep() bool { return t.field.deep || t.judged }

// A pattern is a regular expression over a field. Its text keeps the backslash
// before a slash, which RE2 understands.
type pattern struct {
	field *field
	re    *regexp.Regexp
	needs required
}

func (t *pattern) match(c *candidate) bool {
	if t.field.deep {
		return c.search(search{in: t.re.Match, mayBeIn: t.needs.mayBeIn})
	}
	return c.sample && slices.Contains(unsampledFields, t.field.name) || t.re.MatchString(t.field.text(c.row))
}

func (t *pattern) deep() bool { return t.field.deep }
