package wire

import (
	"slices"
	"strings"
)

// A Hint suggests the next step, in clauses that are separated by "; ". Run and RunOnServer mark the
// commands of mcpc in its text, Verbose marks a clause, and ServerFlag is a marked flag. The code that
// shows the hint adds the flags that a command needs. A constant text is a Hint without marks.
type Hint string

// The marks before and after the words of a command, a clause or a flag. verboseMark is repeated: once for
// each level.
const (
	runMark     = "\x01"
	serverMark  = "\x02"
	endMark     = "\x03"
	verboseMark = "\x04"
	flagMark    = "\x05"
)

// ServerFlag is the flag -s in a hint that suggests another server. A command with a different flag
// for its server replaces it with WithServerFlag.
const ServerFlag Hint = flagMark + "-s" + endMark

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

// WithServerFlag returns the hint with flag in place of ServerFlag.
func (h Hint) WithServerFlag(flag string) Hint {
	return Hint(strings.ReplaceAll(string(h), string(ServerFlag), flag))
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
		at := strings.IndexAny(text, runMark+serverMark+verboseMark+flagMark)
		if !marked || at < 0 { // no marks: all of the piece is text
			text = piece
			at = len(piece)
		}
		if at > 0 {
			parts = append(parts, HintPart{Text: text[:at]})
		}
		if at == len(text) {
			continue
		}
		switch mark, words := text[at:at+1], text[at+1:]; mark {
		case runMark, serverMark:
			parts = append(parts, HintPart{Text: words, IsCommand: true, NeedsServer: mark == serverMark})
		default:
			parts = append(parts, HintPart{Text: strings.TrimLeft(words, verboseMark)})
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
