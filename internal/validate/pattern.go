package validate

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A pattern is a regular expression of a schema. Go's regular expressions take
// linear time, but the factor is the size of the program: (x{0,1000})y takes a
// second for 100 kB of input. So the program's size is known before it is built,
// and times the input's length it is a part of the bound on a check.
type pattern struct {
	source string
	re     *regexp.Regexp // nil: not checked
	why    string         // why not
	broken bool           // it is no pattern of ECMA-262 either
	size   int            // instructions of the program, at most
	among  *patterns
}

func (p *pattern) String() string { return p.source }

// MatchString pays for the match and does it.
func (p *pattern) MatchString(s string) bool {
	if spend := p.among.spend; spend != nil && p.re != nil {
		spend(1, 4+(p.size+4)*(len(s)+1)/12) // at every character there may be every instruction
	}
	return p.matches(s)
}

// patternMatches reports whether a text matches a pattern of a schema, and pays nothing.
func patternMatches(re jsonschema.Regexp, text string) bool {
	p, ok := re.(*pattern)
	return ok && p.matches(text)
}

// matches lets everything pass that cannot be checked.
func (p *pattern) matches(s string) bool { return p.re == nil || p.re.MatchString(s) }

// Parsing and compiling take time, too: by the byte, by the instruction, and
// most of all for classes of Unicode and for (?i), which folds every class.
const (
	maxPatternParse = 200_000 // bytes of patterns in a schema, or as much
	maxPatternSize  = 60_000  // instructions, all patterns of a schema together
)

// patterns holds the regular expressions of one schema. The library asks for
// every one of them twice.
type patterns struct {
	known map[string]*pattern
	parse int
	size  int
	// spend pays for matches, once there is a budget.
	spend func(times, each int)
}

func newPatterns() *patterns { return &patterns{known: map[string]*pattern{}} }

// compile makes a pattern of what a schema says. It fails if the schema's
// patterns cost too much; one that Go cannot express is not a failure.
func (ps *patterns) compile(source string) (*pattern, error) {
	if p, ok := ps.known[source]; ok {
		return p, nil
	}
	translated, why := fromECMA(source)
	ps.parse += parseWork(translated)
	if ps.parse > maxPatternParse {
		return nil, errors.New("its patterns are too long")
	}
	p := &pattern{source: source, why: why, among: ps}
	if err := ps.build(p, translated); err != nil {
		return nil, err
	}
	ps.known[source] = p
	return p, nil
}

func (ps *patterns) build(p *pattern, translated string) error {
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		p.refuse(err)
		return nil
	}
	if p.why != "" {
		return nil
	}
	p.size = programSize(tree)
	if ps.size += p.size; ps.size > maxPatternSize {
		return fmt.Errorf("its patterns expand to more than %d instructions", maxPatternSize)
	}
	if p.re, err = regexp.Compile(translated); err != nil {
		p.refuse(err)
	}
	return nil
}

// Engine is what the library compiles the patterns of the schema with.
func (sv *survey) Engine(source string) (jsonschema.Regexp, error) { return sv.patterns.engine(source) }

// engine is what the library compiles patterns with. It never fails: a pattern
// that cannot be checked must not take the rest of the schema with it.
func (ps *patterns) engine(source string) (jsonschema.Regexp, error) {
	p, err := ps.compile(source)
	if err != nil {
		return &pattern{source: source, why: err.Error(), among: ps}, nil
	}
	return p, nil
}

func parseWork(source string) int {
	work := len(source) + 200*strings.Count(strings.ToLower(source), `\p`)
	if foldsCase(source) {
		work += 20_000 * wideClasses(source)
	}
	return work
}

// wideClasses counts what may be a class that goes beyond ASCII. Folding one
// means to look at every letter of Unicode.
func wideClasses(source string) int {
	n := 0
	for i := range len(source) {
		if source[i] >= utf8.RuneSelf {
			n++
		}
	}
	for _, escape := range []string{`\W`, `\D`, `\S`, `\P`, `\p`, `\x{`} {
		n += strings.Count(source, escape)
	}
	return n
}

// foldsCase says whether a flag group such as (?i) or (?i:…) stands somewhere.
func foldsCase(source string) bool {
	for _, group := range strings.Split(source, "(?")[1:] {
		flags := group[:len(group)-len(strings.TrimLeft(group, "-imsU"))]
		if strings.Contains(flags, "i") {
			return true
		}
	}
	return false
}

// programSize is at least the number of instructions that a pattern takes.
func programSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return size
	case syntax.OpAlternate:
		return size + len(re.Sub)
	case syntax.OpRepeat:
		times := max(re.Max, re.Min+1)
		return (size + 1) * times
	}
	return size + 2
}

// refuse notes why Go's regular expressions cannot express a pattern, and whether it is a pattern at all.
func (p *pattern) refuse(err error) {
	bad, _ := errors.AsType[*syntax.Error](err)
	why := "not a regular expression that mcpc can read"
	p.broken = true
	switch {
	case bad == nil:
	case bad.Code == syntax.ErrInvalidRepeatSize:
		why = "a repeat count over 1000 is not supported"
		p.broken = false
	case bad.Code == syntax.ErrInvalidEscape:
		why = brief(bad.Expr) + " is not supported"
	case strings.HasPrefix(strings.ToLower(bad.Expr), `\p`): // a property that ECMA-262 may have
		why = brief(bad.Expr) + " is not supported"
		p.broken = false
	}
	p.why = cmp.Or(p.why, why)
}
