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

// A pattern is a regular expression in a schema. Go matches in linear time, but with a factor of
// the program's size: (x{0,1000})y takes a second for 100 kB of input. The size is therefore
// computed before compilation and charged for each match.
type pattern struct {
	source    string
	re        *regexp.Regexp // nil if the pattern is not checked
	unchecked string         // why the pattern is not checked
	isInvalid bool           // the pattern is also invalid in ECMA-262
	size      int            // upper bound of the program's instructions
	owner     *patterns
}

func (p *pattern) String() string { return p.source }

// MatchString charges for the match and performs it. A pattern that is not checked matches
// everything.
func (p *pattern) MatchString(s string) bool {
	if p.re == nil {
		return true
	}
	if p.owner.spend != nil {
		p.owner.spend(1, 4+(p.size+4)*(len(s)+1)/12) // each character may run each instruction
	}
	return p.re.MatchString(s)
}

// Limits of parsing and compiling. Unicode classes and (?i), which folds every class, cost most.
const (
	maxPatternParse = 200_000 // bytes of patterns in a schema, or their equivalent
	maxPatternSize  = 60_000  // instructions of all patterns in a schema
)

// patterns caches the regular expressions of one schema. The library compiles each of them twice.
type patterns struct {
	cache     map[string]*pattern
	parseCost int
	totalSize int
	// spend charges for matches. It is nil until the budget exists.
	spend func(times, each int)
}

// compile compiles a regular expression of a schema. It returns an error if the schema's patterns
// are too expensive. A pattern that Go cannot express is no error.
func (ps *patterns) compile(source string) (*pattern, error) {
	if p, ok := ps.cache[source]; ok {
		return p, nil
	}
	ps.parseCost += len(source) + 200*strings.Count(strings.ToLower(source), `\p`)
	if foldingFlag().MatchString(source) {
		ps.parseCost += 20_000 * len(wideClass().FindAllString(source, -1))
	}
	if ps.parseCost > maxPatternParse {
		return nil, errors.New("its patterns are too long")
	}
	translated, why := fromECMA(source)
	p := &pattern{source: source, unchecked: why, owner: ps}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err == nil && why == "" {
		p.size = programSize(tree)
		ps.totalSize += p.size
		if ps.totalSize > maxPatternSize {
			return nil, fmt.Errorf("its patterns expand to more than %d instructions", maxPatternSize)
		}
		p.re, err = regexp.Compile(translated)
	}
	if err != nil {
		p.setUnsupported(err)
	}
	ps.cache[source] = p
	return p, nil
}

// foldingFlag matches a group such as (?i) or (?i:…), and wideClass a class that may contain
// characters beyond ASCII. Folding such a class visits every letter of Unicode.
var (
	foldingFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(\?[-msU]*i`) })
	wideClass   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[WDSPpux]|[^\x00-\x7f]`) })
)

// compileForLibrary compiles a pattern for the library. It never fails, so that an unsupported pattern does
// not invalidate the rest of the schema: such a pattern keeps the reason in why.
func (ps *patterns) compileForLibrary(source string) (jsonschema.Regexp, error) {
	p, err := ps.compile(source)
	if err != nil {
		return &pattern{source: source, unchecked: err.Error(), owner: ps}, nil
	}
	return p, nil
}

// programSize returns an upper bound of the instructions of a compiled pattern.
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

// setUnsupported records why Go cannot express a pattern, and whether the pattern is invalid.
func (p *pattern) setUnsupported(err error) {
	syntaxError, _ := errors.AsType[*syntax.Error](err)
	why := "not a regular expression that mcpc can read"
	p.isInvalid = true
	switch {
	case syntaxError == nil: // keep the general reason
	case syntaxError.Code == syntax.ErrInvalidRepeatSize:
		why = "a repeat count over 1000 is not supported"
		p.isInvalid = false
	case syntaxError.Code == syntax.ErrInvalidEscape:
		why = brief(syntaxError.Expr) + " is not supported"
	case strings.HasPrefix(strings.ToLower(syntaxError.Expr), `\p`): // ECMA-262 may have this property
		why = brief(syntaxError.Expr) + " is not supported"
		p.isInvalid = false
	}
	if p.unchecked == "" {
		p.unchecked = why
	}
}
