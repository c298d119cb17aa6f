package render

import (
	"regexp/syntax"
	"strings"
)

// patternSample is a short text that matches pattern, as far as RE2 can read it:
// the first of each choice, the fewest of each repetition; the variant-th where
// texts are to differ. Where a text of at least length characters is wanted, open
// repetitions are used to fill it.
func patternSample(pattern string, length, variant int) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	p := patternWriter{fill: min(max(length, 1), 64), variant: variant}
	p.write(re, 0)
	return p.b.String()
}

type patternWriter struct {
	b    strings.Builder
	fill int
	// variant is used up at the first place that leaves a choice.
	variant int
}

func (p *patternWriter) write(re *syntax.Regexp, depth int) {
	if depth > 50 || p.b.Len() > maxMakeText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		p.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		p.b.WriteRune(p.fromClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		p.b.WriteByte('a')
	case syntax.OpPlus, syntax.OpStar, syntax.OpRepeat:
		p.repeat(re, depth)
	case syntax.OpAlternate:
		i := min(p.variant, len(re.Sub)-1)
		p.variant -= i
		p.write(re.Sub[i], depth+1)
	case syntax.OpCapture:
		p.write(re.Sub[0], depth+1)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			p.write(sub, depth+1)
		}
	}
}

func (p *patternWriter) repeat(re *syntax.Regexp, depth int) {
	least, most := re.Min, re.Max
	switch re.Op {
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpStar:
		least, most = 0, -1
	}
	for i := 0; i < least || (most < 0 || i < most) && least+most != 1 && p.b.Len() < p.fill && i < p.fill; i++ {
		p.write(re.Sub[0], depth+1)
	}
}

// fromClass goes on from what a person would type by as much of the variant as
// the class has room for.
func (p *patternWriter) fromClass(ranges []rune) rune {
	r := plainest(ranges)
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			step := min(p.variant, int(ranges[i+1]-r))
			p.variant -= step
			return r + rune(step)
		}
	}
	return r
}

// plainest prefers what a person would type to what comes first in Unicode.
func plainest(ranges []rune) rune {
	for _, want := range "a1A-_. " {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] > ' ' {
			return ranges[i]
		}
	}
	if len(ranges) > 0 {
		return ranges[len(ranges)-1]
	}
	return 'a'
}
