package validate

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

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
	owner  *patterns
}

func (p *pattern) String() string { return p.source }

// MatchString pays for the match and does it. Everything that cannot be checked passes.
func (p *pattern) MatchString(s string) bool {
	if p.re == nil {
		return true
	}
	if p.owner.spend != nil {
		p.owner.spend(1, 4+(p.size+4)*(len(s)+1)/12) // at every character there may be every instruction
	}
	return p.re.MatchString(s)
}

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

// compile makes a pattern of a regular expression in a schema. It fails if the schema's patterns cost too much; one
// that Go cannot express is not a failure.
func (ps *patterns) compile(source string) (*pattern, error) {
	if p, ok := ps.known[source]; ok {
		return p, nil
	}
	ps.parse += len(source) + 200*strings.Count(strings.ToLower(source), `\p`)
	if foldingFlag().MatchString(source) {
		ps.parse += 20_000 * len(wideClass().FindAllString(source, -1))
	}
	if ps.parse > maxPatternParse {
		return nil, errors.New("its patterns are too long")
	}
	translated, why := fromECMA(source)
	p := &pattern{source: source, why: why, owner: ps}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err == nil && why == "" {
		p.size = programSize(tree)
		ps.size += p.size
		if ps.size > maxPatternSize {
			return nil, fmt.Errorf("its patterns expand to more than %d instructions", maxPatternSize)
		}
		p.re, err = regexp.Compile(translated)
	}
	if err != nil {
		p.setUnsupported(err)
	}
	ps.known[source] = p
	return p, nil
}

// foldingFlag finds a group such as (?i) or (?i:…), and wideClass what may be a class of characters beyond ASCII.
// Folding one means to look at every letter of Unicode.
var (
	foldingFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(\?[-msU]*i`) })
	wideClass   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[WDSPpux]|[^\x00-\x7f]`) })
)

// engine is what the library compiles patterns with. It never fails: a pattern that cannot be checked must not take
// the rest of the schema with it.
func (ps *patterns) engine(source string) (jsonschema.Regexp, error) {
	p, err := ps.compile(source)
	if err != nil {
		return &pattern{source: source, why: err.Error(), owner: ps}, nil
	}
	return p, nil
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
func (p *pattern) setUnsupported(err error) {
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
	if p.why == "" {
		p.why = why
	}
}
