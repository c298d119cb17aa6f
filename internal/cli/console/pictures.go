package console

import (
	"context"
	"slices"
	"strings"
	"syscall"

	"mcpc/internal/render/term"
	"mcpc/internal/tty"
)

// Drawings are the values of --images, in the order of render's constants behind the
// first.
var Drawings = []string{"auto", "none", "blocks", "kitty", "iterm2", "sixel"}

// Canvas decides how the pictures of an answer are drawn. The terminal is asked, and only
// here: an answer without pictures costs no question.
func (c *Console) Canvas(ctx context.Context) term.Canvas {
	kind := c.env.Getenv("COLORTERM")
	trueColor := kind == "truecolor" || kind == "24bit" || strings.Contains(c.env.Getenv("TERM"), "direct")
	canvas := term.Canvas{Rows: c.OutStyle.Height, TrueColor: trueColor}
	if c.noImages || c.images == "none" {
		return term.Canvas{}
	}
	if c.images == "blocks" {
		canvas.By = term.HalfBlocks
		return canvas
	}
	facts := c.facts(ctx)
	canvas.CellWidth = facts.CellWidth
	canvas.CellHeight = facts.CellHeight
	switch remote := c.remote(); {
	case c.images != "auto":
		canvas.By = slices.Index(Drawings, c.images) - 1
	case facts.Kitty:
		canvas.By = term.Kitty
	case inlineImages(facts.Name):
		canvas.By = term.ITerm
	case facts.Sixel:
		canvas.By = term.Sixel
	// On a slow remote line a picture out of characters is not worth its bytes, and
	// which characters the terminal has is unknown.
	case remote || c.OutStyle.ASCII:
	// A terminal that answers the newer query for its name has 256 colours, whatever TERM says.
	case canvas.TrueColor || strings.Contains(c.env.Getenv("TERM"), "256") || facts.Name != "":
		canvas.By = term.HalfBlocks
	}
	return canvas
}

// inlineImages says whether a terminal of that name draws images by the protocol of
// iTerm2, which has no question of its own.
func inlineImages(name string) bool {
	return slices.ContainsFunc(
		[]string{"iTerm2 ", "WezTerm ", "mintty "},
		func(known string) bool { return strings.HasPrefix(name, known) },
	)
}

func (c *Console) remote() bool {
	return c.env.Getenv("SSH_CONNECTION") != "" || c.env.Getenv("SSH_TTY") != ""
}

// facts asks the terminal what it is. Two are not asked, because they print a question
// that they do not know: Apple's and the console of Linux.
func (c *Console) facts(ctx context.Context) tty.Facts {
	if c.env.Getenv("TERM_PROGRAM") == "Apple_Terminal" || c.env.Getenv("TERM") == "linux" || c.Typist.Busy() {
		return tty.Facts{}
	}
	t, err := tty.Open()
	if err != nil {
		return tty.Facts{}
	}
	c.terminal.Store(t)
	patience := 1
	if c.remote() {
		patience = 2
	}
	facts := t.Ask(patience)
	c.terminal.Store(nil)
	t.Close()
	if facts.Interrupted {
		// The key came as a letter: it ends the command as if it had not.
		go Raise(syscall.SIGINT)
		<-ctx.Done()
	}
	return facts
}

// LeaveTerminal gives the terminal back before a signal ends the process.
func (c *Console) LeaveTerminal() {
	if t := c.terminal.Load(); t != nil {
		t.Restore()
	}
}
