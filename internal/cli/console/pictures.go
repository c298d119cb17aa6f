package console

import (
	"context"
	"slices"
	"strings"
	"syscall"

	"mcpc/internal/render/term"
	"mcpc/internal/tty"
)

// Drawings are the values of --images. After the first, they are in the order of the constants of
// package term.
var Drawings = []string{"auto", "none", "blocks", "kitty", "iterm2", "sixel"}

// Canvas returns how the pictures of an answer are drawn; without a Method they are not drawn. It
// sends queries to the terminal, so it is called only for an answer with pictures.
func (c *Console) Canvas(ctx context.Context) term.Canvas {
	declared := c.env.Getenv("COLORTERM")
	hasDirectColor := strings.Contains(c.env.Getenv("TERM"), "direct")
	trueColor := declared == "truecolor" || declared == "24bit" || hasDirectColor
	canvas := term.Canvas{Rows: c.OutStyle.Height, TrueColor: trueColor}
	if c.noImages || c.images == "none" {
		return term.Canvas{}
	}
	if c.images == "blocks" {
		canvas.Method = term.HalfBlocks
		return canvas
	}
	facts := c.terminalFacts(ctx)
	canvas.CellWidth = facts.CellWidth
	canvas.CellHeight = facts.CellHeight
	// Characters as pixels are too many bytes for a slow remote line, and the characters that the
	// terminal has are unknown. A terminal that answers the newer query for its name has 256 colours,
	// whatever TERM says.
	canDrawBlocks := !c.isRemote() && !c.OutStyle.ASCII
	hasColors := canvas.TrueColor || strings.Contains(c.env.Getenv("TERM"), "256") || facts.Name != ""
	switch {
	case c.images != "auto":
		canvas.Method = slices.Index(Drawings, c.images) - 1 // the constants have no value for "auto"
	case facts.Kitty:
		canvas.Method = term.Kitty
	case hasInlineImages(facts.Name):
		canvas.Method = term.ITerm
	case facts.Sixel:
		canvas.Method = term.Sixel
	case canDrawBlocks && hasColors:
		canvas.Method = term.HalfBlocks
	}
	return canvas
}

// hasInlineImages reports whether a terminal of this name draws images with the protocol of iTerm2,
// which cannot be queried.
func hasInlineImages(name string) bool {
	return slices.ContainsFunc([]string{"iTerm2 ", "WezTerm ", "mintty "}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// isRemote reports whether the terminal is used over SSH.
func (c *Console) isRemote() bool {
	return c.env.Getenv("SSH_CONNECTION") != "" || c.env.Getenv("SSH_TTY") != ""
}

// terminalFacts asks the terminal what it can show. It returns no facts if the terminal does not
// respond, or must not be asked: Apple's terminal and the console of Linux print queries that they do
// not know, and while the user types, the response would be read as typed text.
func (c *Console) terminalFacts(ctx context.Context) tty.Facts {
	if c.env.Getenv("TERM_PROGRAM") == "Apple_Terminal" || c.env.Getenv("TERM") == "linux" || c.Typist.Busy() {
		return tty.Facts{}
	}
	t, err := tty.Open()
	if err != nil {
		return tty.Facts{}
	}
	c.terminal.Store(t)
	patience := 1 // a factor of the time that the terminal may take
	if c.isRemote() {
		patience = 2
	}
	facts := t.Ask(patience)
	c.terminal.Store(nil)
	t.Close()
	if facts.Interrupted {
		// The terminal was in raw mode, so Ctrl-C was read as a byte: raise the signal.
		go Raise(syscall.SIGINT)
		<-ctx.Done() // the signal ends ctx
	}
	return facts
}

// LeaveTerminal restores the terminal before a signal ends the process.
func (c *Console) LeaveTerminal() {
	if t := c.terminal.Load(); t != nil {
		t.Restore()
	}
}
