package filter

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/capture"
)

// A required is what a regular expression cannot match without: one of these texts.
// None is nothing that is known. With it `[a-z0-9]+ zebra` is searched for in 300 MB in
// 1.2 s of CPU time, without it in 8.3 s.
type required struct {
	// exact stand there as they are, anyCase in any case.
	exact   [][]byte
	anyCase []form
}

// most and least bound what is looked for: more texts, or shorter ones, are slower than
// the expression itself.
const (
	maxRequired      = 8
	minRequiredBytes = 2
)

// requiredBy finds it out, as the texts stand in a line of a capture.
func requiredTexts(re *regexp.Regexp) (r required) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return required{}
	}
	for _, l := range literalsIn(tree) {
		line := jsonEscaped(l.text)
		switch {
		case len(l.text) < minRequiredBytes:
			return required{}
		case l.anyCase:
			r.anyCase = append(r.anyCase, newForm(line))
		default:
			r.exact = append(r.exact, []byte(line))
		}
	}
	return r
}

// mayStandIn reports whether the expression can match the bytes of the frame in a line.
func (r required) mayBeIn(line []byte) bool {
	if len(r.exact)+len(r.anyCase) == 0 {
		return true
	}
	return slices.ContainsFunc(r.exact, func(text []byte) bool { return bytes.Contains(line, text) }) ||
		slices.ContainsFunc(r.anyCase, func(text form) bool { return text.in(line) }) || capture.HasOtherEscapes(line)
}

// A literal is a text that an expression matches as it stands, or in any case.
type literal struct {
	text    string
	anyCase bool
}

// weightOf is how many bytes the shortest of some texts has: of which all others are not
// more often found.
func shortestLength(some []literal) int {
	if len(some) == 0 {
		return 0
	}
	least := len(some[0].text)
	for _, l := range some {
		least = min(least, len(l.text))
	}
	return least
}

// literalsIn gives texts of which each match of n contains one; nil where nothing is known.
func literalsIn(n *syntax.Regexp) (best []literal) {
	switch n.Op {
	case syntax.OpLiteral, syntax.OpConcat:
		return bestLiterals(n)
	case syntax.OpCapture, syntax.OpPlus:
		return literalsIn(n.Sub[0])
	case syntax.OpRepeat:
		if n.Min > 0 {
			return literalsIn(n.Sub[0])
		}
	case syntax.OpAlternate:
		for _, sub := range n.Sub {
			some := literalsIn(sub)
			best = append(best, some...)
			if len(some) == 0 || len(best) > maxRequired {
				return nil
			}
		}
	}
	return best
}

// bestOf gives the longest of all texts that a sequence contains.
func bestLiterals(n *syntax.Regexp) (best []literal) {
	consider := func(some []literal) {
		if w, b := shortestLength(some), shortestLength(best); w > b || w == b && len(some) < len(best) {
			best = some
		}
	}
	var run literal
	end := func() {
		consider([]literal{run})
		run = literal{}
	}
	for _, part := range flattenConcat(n) {
		switch part.Op {
		case syntax.OpEmptyMatch,
			syntax.OpBeginLine,
			syntax.OpEndLine,
			syntax.OpBeginText,
			syntax.OpEndText,
			syntax.OpWordBoundary,
			syntax.OpNoWordBoundary:
			continue // it matches no character
		case syntax.OpLiteral:
			anyCase := part.Flags&syntax.FoldCase != 0
			if run.anyCase != anyCase {
				end()
			}
			for _, r := range part.Rune {
				if !hasOneSpelling(r, anyCase) {
					end()
					continue
				}
				run.anyCase = anyCase
				run.text += string(r)
			}
		default:
			end()
			consider(literalsIn(part))
		}
	}
	end()
	return best
}

// partsOf gives the parts of a sequence, those of sequences in it as well.
func flattenConcat(n *syntax.Regexp) (parts []*syntax.Regexp) {
	switch n.Op {
	case syntax.OpConcat:
		for _, sub := range n.Sub {
			parts = append(parts, flattenConcat(sub)...)
		}
		return parts
	case syntax.OpCapture:
		return flattenConcat(n.Sub[0])
	}
	return []*syntax.Regexp{n}
}

// plainly reports that a character has one spelling in a line, or with anyCase two that are
// as long: not a slash, which may be escaped, nor \b and \f; nor U+FFFD, which also matches
// invalid bytes; nor with anyCase k and s, which have a third form.
func hasOneSpelling(r rune, anyCase bool) bool {
	if r == '/' || r == utf8.RuneError || r == '\b' || r == '\f' || !utf8.ValidRune(r) {
		return false
	}
	if !anyCase {
		return true
	}
	other := unicode.SimpleFold(r)
	small := unicode.ToLower(r)
	capital := unicode.ToUpper(r)
	return other == r && small == r && capital == r ||
		unicode.SimpleFold(other) == r && utf8.RuneLen(other) == utf8.RuneLen(r) && min(small, capital) == min(r, other) &&
			max(small, capital) == max(r, other)
}
