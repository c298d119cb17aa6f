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
func (f *Factory) Input(arg string) (raw []byte, from string, err error) {
	raw, from, err = InputBytes(f, arg)
	if from != arguments.FromArgv {
		raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	}
	return raw, from, err
}

// InputBytes gives them as they are, not without a byte order mark.
func InputBytes(f *Factory, arg string) (raw []byte, from string, err error) {
	switch {
	case arg == "-" || arg == "@-":
		raw, err = readInput(f)
		from = "standard input"
	case strings.HasPrefix(arg, "@"):
		raw, err = f.Env.ReadFile(arg[1:], f.Env.InputLimit())
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
func IsTyped(f *Factory) bool { return term.StyleFor(f.In, "never", f.Getenv).Terminal }

// Interactive reports whether a person can be asked.
func (f *Factory) Interactive() bool {
	return !f.NoInput && f.ErrStyle.Terminal && IsTyped(f)
}

// Ask puts a question to which the answer is no unless it is yes.
func (f *Factory) Ask(ctx context.Context, question string) bool {
	return f.AskAlways(ctx, question, "") == "yes"
}

// CanAsk reports whether a person may be asked in the middle of a command.
func (f *Factory) CanAsk() bool { return f.Interactive() && f.Getenv("CI") == "" }

// AskAlways puts a question to which the answer is no unless it is yes or, where that is
// offered, always.
func (f *Factory) AskAlways(ctx context.Context, question, always string) string {
	fmt.Fprintf(f.Stderr(), "%s ", f.ErrStyle.Asked(question+" [y/N"+always+"]"))
	line, err := f.Typist.Line(ctx)
	if ctx.Err() != nil || err != nil {
		fmt.Fprintln(f.Stderr())
		return "no"
	}
	f.Progress.Newline()
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return "yes"
	case "a", "always":
		return "always"
	}
	return "no"
}

// readInput reads standard input. A person at a terminal has the time that it takes.
func readInput(f *Factory) ([]byte, error) {
	if IsTyped(f) {
		f.Note("reading from stdin, Ctrl-D ends it")
		return host.ReadUpTo(f.In, f.Env.InputLimit())
	}
	return f.Env.InTime(func() ([]byte, error) { return host.ReadUpTo(f.In, f.Env.InputLimit()) })
}

// TypedLine asks the person for a line, which is not seen where it is secret.
func (f *Factory) TypedLine(ctx context.Context, prompt string, secret bool) (string, error) {
	if secret {
		f.Hidden.Store(true)
		defer f.Hidden.Store(false)
		show, err := tty.Hide(f.In)
		if err != nil {
			return "", err
		}
		defer show()
	}
	fmt.Fprintf(f.Stderr(), "%s: ", f.ErrStyle.Line(prompt))
	line, err := f.Typist.Line(ctx)
	if secret {
		fmt.Fprintln(f.Stderr()) // the terminal's own was hidden, too
	}
	f.Progress.Newline()
	return line, err
}
