package wire

import (
	"slices"
	"strings"
)

// A Hint suggests the next step, in clauses that are separated by "; ". Run and RunOnServer mark the
// commands of mcpc in its text, and Verbose marks a clause. The code that shows the hint adds the
// flags that a command needs. A constant text is a Hint without marks.
type Hint string

// The marks before and after the words of a command or a clause. verboseMark is repeated: once for
// each level.
const (
	runMark     = "\x01"
	serverMark  = "\x02"
	endMark     = "\x03"
	verboseMark = "\x04"
)

const clauseSeparator = "; "

// Run returns a Hint that is a command of mcpc; words are the words after "mcpc".
func Run(words string) Hint { return Hint(runMark + words + endMark) }

// RunOnServer returns a Hint like Run does, for a command that needs the server of the present
// command line.
func RunOnServer(words string) Hint { return Hint(serverMark + words + endMark) }

// Verbose returns the clause "-vv shows the request" for the level 2 and "the request".
// WithoutVerbose removes it if it is a whole clause of a hint.
func Verbose(level int, what string) Hint {
	flag := "-" + strings.Repeat("v", level)
	return Hint(strings.Repeat(verboseMark, level) + flag + " shows " + what + endMark)
}

// WithoutVerbose returns the hint without the clauses of Verbose up to a level, whose flags are set
// already: -vv includes -v.
func (h Hint) WithoutVerbose(level int) Hint {
	clauses := slices.DeleteFunc(strings.Split(string(h), clauseSeparator), func(clause string) bool {
		marks := len(clause) - len(strings.TrimLeft(clause, verboseMark))
		return marks > 0 && marks <= level
	})
	return Hint(strings.Join(clauses, clauseSeparator))
}

// A HintPart is text, or the words of a command without "mcpc". NeedsServer is set for a command of
// RunOnServer.
type HintPart struct {
	Text                   string
	IsCommand, NeedsServer bool
}

// Parts returns the texts and the commands of the hint, in order.
func (h Hint) Parts() []HintPart {
	var parts []HintPart
	for piece := range strings.SplitAfterSeq(string(h), endMark) {
		text, marked := strings.CutSuffix(piece, endMark)
		at := strings.IndexAny(text, runMark+serverMark+verboseMark)
		if !marked || at < 0 { // no marks: all of the piece is text
			text = piece
			at = len(piece)
		}
		if at > 0 {
			parts = append(parts, HintPart{Text: text[:at]})
		}
		if clause, isVerbose := strings.CutPrefix(text[at:], verboseMark); isVerbose {
			parts = append(parts, HintPart{Text: strings.TrimLeft(clause, verboseMark)})
		} else if at < len(text) {
			parts = append(parts, HintPart{Text: text[at+1:], IsCommand: true, NeedsServer: text[at:at+1] == serverMark})
		}
	}
	return parts
}

// String returns the hint as text, with its commands without flags.
func (h Hint) String() string {
	var b strings.Builder
	for _, part := range h.Parts() {
		if part.IsCommand {
			b.WriteString("mcpc ")
		}
		b.WriteString(part.Text)
	}
	return b.String()
}
