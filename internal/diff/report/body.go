package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
)

const (
	// maxInSentence is the maximum length of a value, in bytes, that the sentence of a change contains
	// as a whole.
	maxInSentence = 50
	// contextLines is how many equal lines are shown on each side of a difference.
	contextLines = 2
	// maxLines bounds the lines of one value that are shown. lastLines of them are the last lines.
	maxLines, lastLines = 60, 20
	// maxMarkedBytes bounds the size in bytes of two lines whose words are compared. maxMarkedPairs
	// bounds the number of such pairs.
	maxMarkedBytes, maxMarkedPairs = 16 << 10, 1000
)

// valueLines splits a value into lines. It unquotes a string and indents other JSON. It returns nil
// if raw is nil.
func valueLines(raw json.RawMessage) []string {
	if raw == nil {
		return nil
	}
	text, ok := jsonraw.Text(raw)
	if !ok {
		text = string(jsonraw.Indent(raw))
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// isInSentence reports whether the sentence of a change contains its values as a whole.
func isInSentence(c diff.Change) bool {
	rule, _ := diff.RuleOf(c.Rule)
	switch rule.ValueUse() {
	case diff.NoValues:
		return false
	case diff.LongValues:
		return true
	}
	if c.Was == nil || c.Is == nil { // a value that was added or removed as a whole
		return true
	}
	return isShort(c.Was) && isShort(c.Is)
}

// isShort reports whether a value is a short scalar.
func isShort(value json.RawMessage) bool {
	return len(value) <= maxInSentence && !bytes.ContainsAny(value, "{[")
}

// A Pair is a row of two columns. Either side may be empty. Same is set if both sides are equal.
type Pair struct {
	Left, Right Line
	Same        bool
}

// Sides returns the value of a change in two columns, before and after, with the differing words
// marked and a few equal lines around each difference. It returns nil if c.Text already has the value
// as a whole. The caller cuts and pads the columns.
func Sides(c diff.Change) []Pair {
	if isInSentence(c) {
		return nil
	}
	pairs := collapseEqual(alignLines(valueLines(c.Was), valueLines(c.Is)))
	if len(pairs) <= maxLines {
		return pairs
	}
	// The end is shown too, because the change may be there.
	begin := pairs[:maxLines-lastLines]
	end := pairs[len(pairs)-lastLines:]
	return slices.Concat(begin, []Pair{dimPair("… %d more lines", len(pairs)-maxLines)}, end)
}

// dimPair returns a pair with the same dim line on both sides.
func dimPair(format string, args ...any) Pair {
	line := formatLine(Dim, format, args...)
	return Pair{Left: line, Right: line, Same: true}
}

// alignLines pairs the lines of two texts. In each run of differing lines, it pairs the first
// removed line with the first added line, and so on.
func alignLines(a, b []string) []Pair {
	var pairs []Pair
	var removed, added []string // the current run of differing lines
	markedPairs := 0
	// flush pairs the lines of the run.
	flush := func() {
		for i := range max(len(removed), len(added)) {
			var p Pair
			if i < len(removed) {
				p.Left = Line{{Removed, displayText(removed[i])}}
			}
			if i < len(added) {
				p.Right = Line{{Added, displayText(added[i])}}
			}
			isReplaced := i < len(removed) && i < len(added)
			canMark := isReplaced && markedPairs < maxMarkedPairs && len(removed[i])+len(added[i]) <= maxMarkedBytes
			if canMark {
				markedPairs++
				p.Left, p.Right = markWords(removed[i], added[i])
			}
			pairs = append(pairs, p)
		}
		removed = nil
		added = nil
	}
	for _, p := range diff.Align(a, b) {
		switch {
		case p.InA && p.InB:
			flush()
			same := Line{{Plain, displayText(p.Text)}}
			pairs = append(pairs, Pair{Left: same, Right: same, Same: true})
		case p.InA:
			removed = append(removed, p.Text)
		default:
			added = append(added, p.Text)
		}
	}
	flush()
	return pairs
}

// markWords returns a removed line and the added line that replaces it, with the differing words marked.
func markWords(a, b string) (left, right Line) {
	for _, p := range diff.Align(diff.SplitWords(a), diff.SplitWords(b)) {
		text := displayText(p.Text)
		switch {
		case p.InA && p.InB:
			left = appendSpan(left, Span{Removed, text})
			right = appendSpan(right, Span{Added, text})
		case p.InA:
			left = appendSpan(left, Span{RemovedWord, text})
		default:
			right = appendSpan(right, Span{AddedWord, text})
		}
	}
	return left, right
}

// appendSpan appends a span to a line. It merges the span with a last span of the same role.
func appendSpan(l Line, s Span) Line {
	if n := len(l); n > 0 && l[n-1].Role == s.Role {
		l[n-1].Text += s.Text
		return l
	}
	return append(l, s)
}

// collapseEqual replaces equal lines that are far from a difference by a count.
func collapseEqual(pairs []Pair) []Pair {
	var shown []Pair
	for begin := 0; begin < len(pairs); {
		end := begin
		for end < len(pairs) && pairs[end].Same == pairs[begin].Same {
			end++
		}
		run := pairs[begin:end]
		if run[0].Same {
			isFirst := begin == 0
			isLast := end == len(pairs)
			run = collapseRun(run, isFirst, isLast)
		}
		shown = append(shown, run...)
		begin = end
	}
	return shown
}

// collapseRun replaces the middle of a run of equal lines by a count. It keeps contextLines lines
// next to each difference. The first run has no difference before it, the last run has no
// difference after it.
func collapseRun(equal []Pair, isFirst, isLast bool) []Pair {
	begin := contextLines
	end := len(equal) - contextLines
	if isFirst {
		begin = 0
	}
	if isLast {
		end = len(equal)
	}
	if end-begin <= 1 { // a count would take as much room
		return equal
	}
	return slices.Concat(equal[:begin], []Pair{dimPair("… %d lines", end-begin)}, equal[end:])
}

// Unified returns the value of a change as lines that begin with -, + or a space. It returns nil if
// the sentence that describes the change already quotes the value: Sides is empty then.
func Unified(c diff.Change) []Line {
	pairs := Sides(c)
	var lines []Line
	for i := 0; i < len(pairs); {
		if pairs[i].Same {
			lines = append(lines, append(Line{{Plain, "  "}}, pairs[i].Left...))
			i++
			continue
		}
		end := i
		for end < len(pairs) && !pairs[end].Same {
			end++
		}
		run := pairs[i:end]
		for _, p := range run { // the removed lines first
			if p.Left != nil {
				lines = append(lines, append(Line{{Removed, "- "}}, p.Left...))
			}
		}
		for _, p := range run {
			if p.Right != nil {
				lines = append(lines, append(Line{{Added, "+ "}}, p.Right...))
			}
		}
		i = end
	}
	return lines
}
