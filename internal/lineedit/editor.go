package lineedit

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/peterh/liner"
)

// ErrInterrupted is the error of a line that Ctrl-C gave up.
var ErrInterrupted = errors.New("the line was cancelled")

// An Editor reads lines from the terminal of the process. While none is read the
// terminal is as it was before.
type Editor struct {
	state *liner.State
	// plain is the terminal between two lines, raw while one is edited.
	plain, raw liner.ModeApplier
}

// Complete gives what may stand for the word that ends at the end of head: the part
// of head before that word, and the words. One that does not begin with what is typed
// is not offered: liner would put what all of them have in common in its place.
type Complete func(head string) (before string, words []string)

// Open takes the terminal; a caller must Close it. The history is older lines, the
// oldest first.
func Open(history []string, complete Complete) (*Editor, error) {
	plain, err := liner.TerminalMode()
	if err != nil {
		return nil, err
	}
	e := &Editor{state: liner.NewLiner(), plain: plain}
	if e.raw, err = liner.TerminalMode(); err != nil {
		e.Close()
		return nil, err
	}
	e.state.SetCtrlCAborts(true)
	e.state.SetTabCompletionStyle(liner.TabPrints)
	e.state.SetBeep(false)
	e.state.SetWordCompleter(func(line string, pos int) (string, []string, string) {
		runes := []rune(line)
		pos = min(pos, len(runes))
		before, words := complete(string(runes[:pos]))
		return before, goingOn(words, string(runes[:pos])[len(before):]), string(runes[pos:])
	})
	for _, line := range history {
		e.Remember(line)
	}
	e.rest()
	return e, nil
}

// goingOn are the words that begin with what is typed.
func goingOn(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// Usable reports a terminal on which a line can be edited; standard input and output
// are known to be one.
func Usable() bool { return liner.TerminalSupported() }

// Line reads one line, without its end. The error is ErrInterrupted for Ctrl-C, and
// io.EOF for Ctrl-D on an empty line and for a terminal that is gone.
func (e *Editor) Line(prompt string) (string, error) {
	_ = e.raw.ApplyMode()
	defer e.rest()
	line, err := e.state.Prompt(prompt)
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, liner.ErrPromptAborted):
		return "", ErrInterrupted
	case errors.Is(err, liner.ErrInvalidPrompt):
		return "", err
	}
	return "", io.EOF
}

// Remember adds a line to what the arrow keys and Ctrl-R find.
func (e *Editor) Remember(line string) { e.state.AppendHistory(line) }

// rest restores the mode that the terminal had before Open, for the time between two lines.
func (e *Editor) rest() { _ = e.plain.ApplyMode() }

// Close gives the terminal back for good. It may be called while Line waits.
func (e *Editor) Close() {
	_ = e.state.Close()
	e.rest()
}
