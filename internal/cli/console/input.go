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

// Input returns the text that an argument denotes: that of @FILE, of standard input for -,
// or the argument itself.
func (c *Console) Input(arg string) (raw []byte, from string, err error) {
	raw, from, err = c.InputBytes(arg)
	if from != arguments.FromArgv {
		raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	}
	return raw, from, err
}

// InputBytes gives them as they are, not without a byte order mark.
func (c *Console) InputBytes(arg string) (raw []byte, from string, err error) {
	switch {
	case arg == "-" || arg == "@-":
		from = "standard input"
		read := func() ([]byte, error) { return host.ReadUpTo(c.In, c.env.InputLimit()) }
		if c.IsTyped() { // a person has the time that it takes
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
	if most, long := errors.AsType[host.TooMuch](err); long {
		return nil, from, usage.New(
			fmt.Sprintf("%s has more than %d bytes", from, most),
			"--max-message-size SIZE raises the limit, 0 removes it",
		)
	}
	if err != nil {
		return nil, from, usage.NotRead("reading "+from, err, "")
	}
	return raw, from, nil
}

// IsTyped reports whether a person types what stands on standard input.
func (c *Console) IsTyped() bool { return term.StyleFor(c.In, "never", c.env.Getenv).Terminal }

// Interactive reports whether a person can be asked.
func (c *Console) Interactive() bool {
	return !c.env.NoInput && c.ErrStyle.Terminal && c.IsTyped()
}

// Ask puts a question to which the answer is no unless it is yes.
func (c *Console) Ask(ctx context.Context, question string) bool {
	return c.AskAlways(ctx, question, "") == "yes"
}

// CanAsk reports whether a person may be asked in the middle of a command.
func (c *Console) CanAsk() bool { return c.Interactive() && c.env.Getenv("CI") == "" }

// AskAlways puts a question to which the answer is no unless it is yes or, where that is
// offered, always.
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
		return "always"
	}
	return "no"
}

// TypedLine asks the person for a line, which is not seen where it is secret.
func (c *Console) TypedLine(ctx context.Context, prompt string, secret bool) (string, error) {
	if secret {
		c.Hidden.Store(true)
		defer c.Hidden.Store(false)
		show, err := tty.Hide(tty.File(c.In))
		if err != nil {
			return "", err
		}
		defer show()
	}
	fmt.Fprintf(c.Stderr(), "%s: ", c.ErrStyle.Line(prompt))
	line, err := c.Typist.Line(ctx)
	if secret {
		fmt.Fprintln(c.Stderr()) // the terminal's own was hidden, too
	}
	c.Progress.Newline()
	return line, err
}
