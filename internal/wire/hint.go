package wire

import (
	"strings"
)

// A Hint suggests the next step. Run and RunOnServer mark the commands of mcpc in its text. The
// code that shows the hint adds the flags that a command needs. A constant text is a Hint without a
// command.
type Hint string

// The marks before and after the words of a command.
const (
	runMark    = "\x01"
	serverMark = "\x02"
	endMark    = "\x03"
)

// Run returns a Hint that is a command of mcpc; words are the words after "mcpc".
func Run(words string) Hint { return Hint(runMark + words + endMark) }

// RunOnServer returns a Hint like Run does, for a command that needs the server of the present
// command line.
func RunOnServer(words string) Hint { return Hint(serverMark + words + endMark) }

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
		at := strings.IndexAny(text, runMark+serverMark)
		if !marked || at < 0 { // no command: all of the piece is text
			text = piece
			at = len(piece)
		}
		if at > 0 {
			parts = append(parts, HintPart{Text: text[:at]})
		}
		if at < len(text) {
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
