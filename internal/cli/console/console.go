// Package console is how a command reads and writes: standard streams, progress line, questions and
// forms at a terminal, editor and pager, pictures, and the signals that end a command or are
// relayed.
package console

import (
	"encoding/json"
	"io"
	"sync/atomic"

	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/tty"
	"mcpc/internal/wire"
)

// A Console has the standard streams of one invocation of a command and their styles. It implements
// most of host.UI. In tests the streams may be buffers.
type Console struct {
	In                 io.Reader
	Out, Err           io.Writer
	OutStyle, ErrStyle term.Style
	// Progress writes to standard error while a command runs.
	Progress *term.Progress
	// Typist reads what the user types.
	Typist *Typist
	// Repeats suppresses repeated warnings of a command of many calls.
	Repeats *RepeatedWarnings
	// IsEchoOff is set while typed text is not echoed. The echo must be restored before the command
	// ends.
	IsEchoOff *atomic.Bool
	// Paging is set while a pager uses the terminal. Ctrl-C is then for the pager.
	Paging *atomic.Bool
	// NoPager is set if no pager may be used.
	NoPager bool
	// color, images, noImages and rawText are the flags of these names.
	color, images     string
	noImages, rawText bool
	// terminal is the terminal that is being asked what it can show, or nil.
	terminal *atomic.Pointer[tty.Terminal]
	// forms counts the forms that were shown.
	forms *int
	env   *host.Env
}

// New returns a Console with the given streams, for a command with the settings and secrets of env.
func New(in io.Reader, out, err io.Writer, env *host.Env) Console {
	return Console{
		In: in, Out: out, Err: err, IsEchoOff: new(atomic.Bool), Paging: new(atomic.Bool),
		terminal: new(atomic.Pointer[tty.Terminal]), forms: new(int), env: env,
	}
}

// For returns a Console for another invocation at the same terminal.
func (c *Console) For(env *host.Env) Console {
	other := *c
	other.env = env
	return other
}

// SettleStyles sets the style of each stream. It runs again once the flags are known.
func (c *Console) SettleStyles() {
	color := c.color
	if color == "" {
		color = "auto"
	}
	c.OutStyle = term.StyleFor(c.Out, color, c.env.Getenv)
	c.ErrStyle = term.StyleFor(c.Err, color, c.env.Getenv)
	c.ErrStyle.Verbose = c.env.Verbose
	c.OutStyle.RawText = c.rawText
	c.Typist = &Typist{In: c.In}
	c.Progress = term.NewProgress(c.Err, c.ErrStyle, c.env.Now)
}

// Stderr returns the writer for everything but the answer. It removes the progress line before
// anything else appears.
func (c *Console) Stderr() io.Writer { return c.Progress }

func (c *Console) ShowsProgress() bool { return c.ErrStyle.Terminal }

func (c *Console) ShowProgress(params jsonraw.Members) { c.Progress.Update(params) }

func (c *Console) ShowLog(level, logger string, data json.RawMessage) {
	c.Progress.Log(level, logger, data)
}

func (c *Console) Waiting(text, ctrlC string) { c.Progress.Waiting(text, ctrlC) }

func (c *Console) HintText(hint wire.Hint) string {
	text, _ := c.ErrStyle.Hints.Text(hint)
	return text
}

func (c *Console) Note(text string) { failure.Note(c.Stderr(), c.ErrStyle, c.env.Secrets.Text(text)) }

func (c *Console) Warn(text string) {
	if !c.Repeats.Again(text) {
		failure.Warn(c.Stderr(), c.ErrStyle, c.env.Secrets.Text(text))
	}
}
