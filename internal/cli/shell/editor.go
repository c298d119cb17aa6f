package shell

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/peterh/liner"
)

// errInterrupted is the error of a line that the user cancelled with Ctrl-C.
var errInterrupted = errors.New("the line was cancelled")

// An editor reads lines from the terminal of the process. No other code uses peterh/liner. Between
// two lines the terminal has the mode from before openEditor.
type editor struct {
	state *liner.State
	// plain is the terminal's mode between two lines, raw its mode while the user edits a line.
	plain, raw liner.ModeApplier
}

// A completer completes the word that ends at the end of head. It returns the part of head before
// the word, and the candidates. The editor drops candidates that do not begin with the typed word:
// liner would replace the word with the common prefix of all candidates.
type completer func(head string) (before string, words []string)

// openEditor returns an editor for the terminal. The caller must close it. history has the earlier
// lines, the oldest first.
func openEditor(history []string, complete completer) (*editor, error) {
	plain, err := liner.TerminalMode()
	if err != nil {
		return nil, err
	}
	e := &editor{state: liner.NewLiner(), plain: plain} // NewLiner puts the terminal into raw mode
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
		head := string(runes[:pos])
		before, words := complete(head)
		typed := head[len(before):]
		return before, goingOn(words, typed), string(runes[pos:])
	})
	for _, line := range history {
		e.Remember(line)
	}
	e.rest() // Line sets the raw mode while it reads
	return e, nil
}

// goingOn returns the words that begin with the typed text. It changes words.
func goingOn(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// canEdit reports whether lines can be edited on the terminal. Standard input and output must be a
// terminal.
func canEdit() bool { return liner.TerminalSupported() }

// Line reads one line, without the newline. The error is errInterrupted for Ctrl-C, and io.EOF for
// Ctrl-D on an empty line and for a closed terminal.
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
	if errors.Is(err, liner.ErrInvalidPrompt) { // the prompt has a control character
		return "", err
	}
	return "", io.EOF // liner has several errors for the end of the input
}

// Remember adds a line to the history that the arrow keys and Ctrl-R search.
func (e *editor) Remember(line string) { e.state.AppendHistory(line) }

// rest restores the mode that the terminal had before openEditor.
func (e *editor) rest() { _ = e.plain.ApplyMode() }

// Close restores the terminal and releases it. It may be called while Line waits.
func (e *editor) Close() {
	_ = e.state.Close()
	e.rest()
}
