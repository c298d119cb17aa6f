package shell

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/peterh/liner"
)

// errInterrupted is the error of a line that Ctrl-C gave up.
var errInterrupted = errors.New("the line was cancelled")

// An editor reads lines from the terminal of the process. It is the one user of peterh/liner. Between two lines the
// terminal is as it was before.
type editor struct {
	state *liner.State
	// plain is the terminal between two lines, raw while one is edited.
	plain, raw liner.ModeApplier
}

// A completer returns what may stand for the word that ends at the end of head: the part
// of head before that word, and the words. One that does not begin with what is typed
// is not offered: liner would put what all of them have in common in its place.
type completer func(head string) (before string, words []string)

// openEditor takes the terminal; a caller must Close it. The history is older lines, the
// oldest first.
func openEditor(history []string, complete completer) (*editor, error) {
	plain, err := liner.TerminalMode()
	if err != nil {
		return nil, err
	}
	e := &editor{state: liner.NewLiner(), plain: plain}
	e.raw, err = liner.TerminalMode()
	if err != nil {
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

// canEdit reports whether the terminal is one on which a line can be edited; standard input and output
// are known to be one.
func canEdit() bool { return liner.TerminalSupported() }

// Line reads one line, without its end. The error is errInterrupted for Ctrl-C, and
// io.EOF for Ctrl-D on an empty line and for a terminal that is gone.
func (e *editor) Line(prompt string) (string, error) {
	_ = e.raw.ApplyMode()
	defer e.rest()
	line, err := e.state.Prompt(prompt)
	if err == nil {
		return line, nil
	}
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", errInterrupted
	}
	if errors.Is(err, liner.ErrInvalidPrompt) {
		return "", err
	}
	return "", io.EOF
}

// Remember adds a line to what the arrow keys and Ctrl-R find.
func (e *editor) Remember(line string) { e.state.AppendHistory(line) }

// rest restores the mode that the terminal had before openEditor, for the time between two lines.
func (e *editor) rest() { _ = e.plain.ApplyMode() }

// Close gives the terminal back for good. It may be called while Line waits.
func (e *editor) Close() {
	_ = e.state.Close()
	e.rest()
}
