package cmdutil

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
func (a *Factory) Input(arg string) (raw []byte, from string, err error) {
	raw, from, err = InputBytes(a, arg)
	if from != arguments.FromArgv {
		raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	}
	return raw, from, err
}

// InputBytes gives them as they are, not without a byte order mark.
func InputBytes(a *Factory, arg string) (raw []byte, from string, err error) {
	switch {
	case arg == "-" || arg == "@-":
		raw, err = readInput(a)
		from = "standard input"
	case strings.HasPrefix(arg, "@"):
		raw, err = a.Env.ReadFile(arg[1:], a.Env.InputLimit())
		from = arg[1:]
	default:
		return []byte(arg), arguments.FromArgv, nil
	}
	if most, long := errors.AsType[host.TooMuch](err); long {
		return nil, from, usage.New(fmt.Sprintf("%s has more than %d bytes", from, most), "--max-message-size SIZE raises the limit, 0 removes it")
	}
	if err != nil {
		return nil, from, usage.NotRead("reading "+from, err, "")
	}
	return raw, from, nil
}

// IsTyped reports whether a person types what stands on standard input.
func IsTyped(a *Factory) bool { return term.StyleFor(a.In, "never", a.Getenv).Terminal }

// Interactive reports whether a person can be asked.
func (a *Factory) Interactive() bool {
	return !a.NoInput && a.ErrStyle.Terminal && IsTyped(a)
}

// Ask puts a question to which the answer is no unless it is yes.
func (a *Factory) Ask(ctx context.Context, question string) bool {
	return a.AskAlways(ctx, question, "") == "yes"
}

// CanAsk reports whether a person may be asked in the middle of a command.
func (a *Factory) CanAsk() bool { return a.Interactive() && a.Getenv("CI") == "" }

// AskAlways puts a question to which the answer is no unless it is yes or, where that is
// offered, always.
func (a *Factory) AskAlways(ctx context.Context, question, always string) string {
	fmt.Fprintf(a.Stderr(), "%s ", a.ErrStyle.Asked(question+" [y/N"+always+"]"))
	line, err := a.Typist.Line(ctx)
	if ctx.Err() != nil || err != nil {
		fmt.Fprintln(a.Stderr())
		return "no"
	}
	a.Progress.Newline()
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return "yes"
	case "a", "always":
		return "always"
	}
	return "no"
}

// readInput reads standard input. A person at a terminal has the time that it takes.
func readInput(a *Factory) ([]byte, error) {
	if IsTyped(a) {
		a.Note("reading from stdin, Ctrl-D ends it")
		return host.ReadUpTo(a.In, a.Env.InputLimit())
	}
	return a.Env.InTime(func() ([]byte, error) { return host.ReadUpTo(a.In, a.Env.InputLimit()) })
}

// TypedLine asks the person for a line, which is not seen where it is secret.
func (a *Factory) TypedLine(ctx context.Context, prompt string, secret bool) (string, error) {
	if secret {
		a.Hidden.Store(true)
		defer a.Hidden.Store(false)
		show, err := tty.Hide(a.In)
		if err != nil {
			return "", err
		}
		defer show()
	}
	fmt.Fprintf(a.Stderr(), "%s: ", a.ErrStyle.Line(prompt))
	line, err := a.Typist.Line(ctx)
	if secret {
		fmt.Fprintln(a.Stderr()) // the terminal's own was hidden, too
	}
	a.Progress.Newline()
	return line, err
}
