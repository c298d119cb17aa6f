package wire

import (
	"strings"
)

// A Hint says what to do next. It is text in which Run and There mark the command lines
// of mcpc, so that they can be written with the flags that they need, wherever the hint
// is shown. A constant text is a Hint without a command.
type Hint string

// The marks before the words of a command, and behind them.
const (
	runMark    = "\x01"
	serverMark = "\x02"
	endMark    = "\x03"
)

// Run is a command line of mcpc in a Hint; words are what follows "mcpc".
func Run(words string) Hint { return Hint(runMark + words + endMark) }

// RunOnServer is Run for a command that goes to the server of the present command line.
func RunOnServer(words string) Hint { return Hint(serverMark + words + endMark) }

// A HintPart is text, or the words of a command, There for one that goes there.
type HintPart struct {
	Text           string
	Command, There bool
}

// Parts are the texts and the commands of the hint, in their order.
func (h Hint) Parts() (parts []HintPart) {
	for piece := range strings.SplitAfterSeq(string(h), endMark) {
		text, marked := strings.CutSuffix(piece, endMark)
		at := strings.IndexAny(text, runMark+serverMark)
		if !marked || at < 0 {
			text = piece
			at = len(piece)
		}
		if at > 0 {
			parts = append(parts, HintPart{Text: text[:at]})
		}
		if at < len(text) {
			parts = append(parts, HintPart{Text: text[at+1:], Command: true, There: text[at:at+1] == serverMark})
		}
	}
	return parts
}

// String is the hint as text, its commands without any flags.
func (h Hint) String() string {
	var b strings.Builder
	for _, part := range h.Parts() {
		if part.Command {
			b.WriteString("mcpc ")
		}
		b.WriteString(part.Text)
	}
	return b.String()
}
