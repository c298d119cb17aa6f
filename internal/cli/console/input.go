package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/render/term"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
)

// Input returns the text that an argument denotes: @FILE, - or @- for standard input, or the argument
// itself. from names the source, arguments.FromArgv for the argument itself. Errors are usage errors.
// It removes a byte order mark from text that is read.
func (c *Console) Input(arg string) (raw []byte, from string, err error) {
	raw, from, err = c.InputBytes(arg)
	if from != arguments.FromArgv {
		raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	}
	return raw, from, err
}

// InputBytes returns the bytes that an argument denotes: @FILE, - or @- for standard input, or the
// argument itself. It keeps a byte order mark. Results and errors are the same as for Input.
func (c *Console) InputBytes(arg string) (raw []byte, from string, err error) {
	switch {
	case arg == "-" || arg == "@-":
		from = "standard input"
		read := func() ([]byte, error) { return host.ReadUpTo(c.In, c.env.InputLimit()) }
		if c.IsTyped() { // no time limit for a user who types
			c.Note("reading from stdin, Ctrl-D ends it")
			raw, err = read()
		} else {
			raw, err = c.env.InTime(read)
		}
	case strings.HasPrefix(arg, "@"):
		raw, err = c.env.ReadFile(arg[1:], c.env.InputLimit())
		from = arg[1:]
	default:
		return []byte(arg), arguments.FromArgv, nil
	}
	if limit, isTooLong := errors.AsType[host.TooMuch](err); isTooLong {
		return nil, from, usage.New(
			fmt.Sprintf("%s has more than %d bytes", from, limit),
			"--max-message-size SIZE raises the limit, 0 removes it",
		)
	}
	if err != nil {
		return nil, from, usage.NotRead("reading "+from, err, "")
	}
	return raw, from, nil
}

// IsTyped reports whether standard input is a terminal.
func (c *Console) IsTyped() bool { return term.StyleFor(c.In, "never", c.env.Getenv).Terminal }

// Interactive reports whether the user can be asked.
func (c *Console) Interactive() bool {
	return !c.env.NoInput && c.ErrStyle.Terminal && c.IsTyped()
}

// Ask asks a yes-or-no question, and reports whether the answer is yes.
func (c *Console) Ask(ctx context.Context, question string) bool {
	return c.AskAlways(ctx, question, "") == "yes"
}

// CanAsk reports whether the user may be asked in the middle of a command.
func (c *Console) CanAsk() bool { return c.Interactive() && c.env.Getenv("CI") == "" }

// AskAlways asks a question and returns "yes", "no" or "always". always is the text of the prompt for
// that choice, or "" if the choice is not offered. Anything else, a failure to read and the end of ctx
// mean "no".
func (c *Console) AskAlways(ctx context.Context, question, always string) string {
	fmt.Fprintf(c.Stderr(), "%s ", c.ErrStyle.WrapLine(question+" [y/N"+always+"]"))
	line, err := c.Typist.Line(ctx)
	if ctx.Err() != nil || err != nil {
		fmt.Fprintln(c.Stderr())
		return "no"
	}
	c.Progress.Newline()
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return "yes"
	case "a", "always":
		if always != "" {
			return "always"
		}
	}
	return "no"
}

// TypedLine asks the user for a line. A secret line is not echoed; it fails if the echo cannot be
// turned off. Other errors are from reading.
func (c *Console) TypedLine(ctx context.Context, prompt string, secret bool) (string, error) {
	if secret {
		c.IsEchoOff.Store(true)
		defer c.IsEchoOff.Store(false)
		show, err := tty.Hide(tty.File(c.In))
		if err != nil {
			return "", err
		}
		defer show()
	}
	fmt.Fprintf(c.Stderr(), "%s: ", c.ErrStyle.Line(prompt))
	line, err := c.Typist.Line(ctx)
	if secret {
		fmt.Fprintln(c.Stderr()) // the typed line end was not echoed
	}
	c.Progress.Newline()
	return line, err
}
