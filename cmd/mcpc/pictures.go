package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"mcpc/internal/render"
	"mcpc/internal/tty"
	"mcpc/internal/wire"
)

// seeing are the flags about what a person sees, and no pipe.
type seeing struct {
	images                     string
	noImages, rawText, noPager bool
}

func (s *seeing) flags(f *pflag.FlagSet) {
	f.StringVar(&s.images, "images", "auto", "`how` a terminal shows images: "+strings.Join(drawings, ", "))
	f.BoolVar(&s.noImages, "no-images", false, "show an image's type and size only")
	f.BoolVar(&s.rawText, "raw-text", false, "print Markdown without formatting")
	f.BoolVar(&s.noPager, "no-pager", false, "do not use a pager (MCPC_PAGER, PAGER or less)")
}

// drawings are the values of --images, in the order of render's constants behind the
// first.
var drawings = []string{"auto", "none", "blocks", "kitty", "iterm2", "sixel"}

func (s *seeing) check() error {
	if !slices.Contains(drawings, s.images) {
		return hinted(fmt.Sprintf("unknown value %q for --images", s.images), wire.Hint("it is one of "+strings.Join(drawings, ", ")))
	}
	return nil
}

// canvas says how the pictures of an answer are drawn. The terminal is asked, and only
// here: an answer without pictures costs no question.
func (a *app) canvas(ctx context.Context) render.Canvas {
	c := render.Canvas{Rows: a.outStyle.Height, TrueColor: a.trueColor()}
	switch {
	case a.noImages || a.images == "none":
		return render.Canvas{}
	case a.images == "blocks":
		c.By = render.HalfBlocks
		return c
	}
	facts := a.facts(ctx)
	c.CellWidth, c.CellHeight = facts.CellWidth, facts.CellHeight
	switch remote := a.remote(); {
	case a.images != "auto":
		c.By = slices.Index(drawings, a.images) - 1
	case facts.Kitty:
		c.By = render.Kitty
	case inlineImages(facts.Name):
		c.By = render.ITerm
	case facts.Sixel:
		c.By = render.Sixel
	// At the other end of a slow line a picture out of characters is not worth its
	// bytes, and nobody knows which characters are there.
	case remote || a.outStyle.ASCII:
	// Who knows the newer question for the name knows 256 colours, whatever TERM says.
	case c.TrueColor || strings.Contains(a.getenv("TERM"), "256") || facts.Name != "":
		c.By = render.HalfBlocks
	}
	return c
}

// inlineImages says whether a terminal of that name draws images by the protocol of
// iTerm2, which has no question of its own.
func inlineImages(name string) bool {
	return slices.ContainsFunc([]string{"iTerm2 ", "WezTerm ", "mintty "}, func(known string) bool { return strings.HasPrefix(name, known) })
}

func (a *app) remote() bool { return a.getenv("SSH_CONNECTION") != "" || a.getenv("SSH_TTY") != "" }

func (a *app) trueColor() bool {
	kind := a.getenv("COLORTERM")
	return kind == "truecolor" || kind == "24bit" || strings.Contains(a.getenv("TERM"), "direct")
}

// facts asks the terminal what it is. Two are not asked, because they print a question
// that they do not know: Apple's and the console of Linux.
func (a *app) facts(ctx context.Context) tty.Facts {
	if a.getenv("TERM_PROGRAM") == "Apple_Terminal" || a.getenv("TERM") == "linux" || a.typist.busy() {
		return tty.Facts{}
	}
	t, err := tty.Open()
	if err != nil {
		return tty.Facts{}
	}
	a.terminal.Store(t)
	patience := 1
	if a.remote() {
		patience = 2
	}
	facts := t.Ask(patience)
	a.terminal.Store(nil)
	t.Close()
	if facts.Interrupted {
		// The key came as a letter: it ends the command as if it had not.
		go raise(syscall.SIGINT)
		<-ctx.Done()
	}
	return facts
}

// leaveTerminal gives the terminal back before a signal ends the process.
func (a *app) leaveTerminal() {
	if t := a.terminal.Load(); t != nil {
		t.Restore()
	}
}
