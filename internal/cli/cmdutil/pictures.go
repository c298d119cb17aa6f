package cmdutil

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/console"
	"mcpc/internal/render/term"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// displayFlags are the flags about what a person sees, and no pipe.
type displayFlags struct {
	images                     string
	noImages, rawText, NoPager bool
}

func (s *displayFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&s.images, "images", "auto", "`how` a terminal shows images: "+strings.Join(Drawings, ", "))
	f.BoolVar(&s.noImages, "no-images", false, "show an image's type and size only")
	f.BoolVar(&s.rawText, "raw-text", false, "print Markdown without formatting")
	f.BoolVar(&s.NoPager, "no-pager", false, "do not use a pager (MCPC_PAGER, PAGER or less)")
}

// Drawings are the values of --images, in the order of render's constants behind the
// first.
var Drawings = []string{"auto", "none", "blocks", "kitty", "iterm2", "sixel"}

func (s *displayFlags) check() error {
	if !slices.Contains(Drawings, s.images) {
		return usage.New(fmt.Sprintf("unknown value %q for --images", s.images), wire.Hint("it is one of "+strings.Join(Drawings, ", ")))
	}
	return nil
}

// canvas says how the pictures of an answer are drawn. The terminal is asked, and only
// here: an answer without pictures costs no question.
func canvas(ctx context.Context, f *Factory) term.Canvas {
	c := term.Canvas{Rows: f.OutStyle.Height, TrueColor: f.trueColor()}
	switch {
	case f.noImages || f.images == "none":
		return term.Canvas{}
	case f.images == "blocks":
		c.By = term.HalfBlocks
		return c
	}
	facts := facts(ctx, f)
	c.CellWidth, c.CellHeight = facts.CellWidth, facts.CellHeight
	switch remote := f.remote(); {
	case f.images != "auto":
		c.By = slices.Index(Drawings, f.images) - 1
	case facts.Kitty:
		c.By = term.Kitty
	case inlineImages(facts.Name):
		c.By = term.ITerm
	case facts.Sixel:
		c.By = term.Sixel
	// On a slow remote line a picture out of characters is not worth its bytes, and
	// which characters the terminal has is unknown.
	case remote || f.OutStyle.ASCII:
	// A terminal that answers the newer query for its name has 256 colours, whatever TERM says.
	case c.TrueColor || strings.Contains(f.Getenv("TERM"), "256") || facts.Name != "":
		c.By = term.HalfBlocks
	}
	return c
}

// inlineImages says whether a terminal of that name draws images by the protocol of
// iTerm2, which has no question of its own.
func inlineImages(name string) bool {
	return slices.ContainsFunc([]string{"iTerm2 ", "WezTerm ", "mintty "}, func(known string) bool { return strings.HasPrefix(name, known) })
}

func (f *Factory) remote() bool { return f.Getenv("SSH_CONNECTION") != "" || f.Getenv("SSH_TTY") != "" }

func (f *Factory) trueColor() bool {
	kind := f.Getenv("COLORTERM")
	return kind == "truecolor" || kind == "24bit" || strings.Contains(f.Getenv("TERM"), "direct")
}

// facts asks the terminal what it is. Two are not asked, because they print a question
// that they do not know: Apple's and the console of Linux.
func facts(ctx context.Context, f *Factory) tty.Facts {
	if f.Getenv("TERM_PROGRAM") == "Apple_Terminal" || f.Getenv("TERM") == "linux" || f.Typist.Busy() {
		return tty.Facts{}
	}
	t, err := tty.Open()
	if err != nil {
		return tty.Facts{}
	}
	f.terminal.Store(t)
	patience := 1
	if f.remote() {
		patience = 2
	}
	facts := t.Ask(patience)
	f.terminal.Store(nil)
	t.Close()
	if facts.Interrupted {
		// The key came as a letter: it ends the command as if it had not.
		go console.Raise(syscall.SIGINT)
		<-ctx.Done()
	}
	return facts
}

// LeaveTerminal gives the terminal back before a signal ends the process.
func (f *Factory) LeaveTerminal() {
	if t := f.terminal.Load(); t != nil {
		t.Restore()
	}
}
