package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// Options say what a view shows and how.
type Options struct {
	Reader view.Reader
	// Actor acts; nil is a view that only reads.
	Actor view.Actor
	// In and Out are the terminal.
	In  io.Reader
	Out *os.File
	// Env is the environment, as os.Environ gives it.
	Env     []string
	NoColor bool
	Now     func() time.Time
	// Filter is the text in the filter line at the start.
	Filter string
	// Edit lets the user edit a text in an editor of their own, which has the terminal
	// meanwhile; nil is the editor of the view.
	Edit func(text string) (string, error)
}

// ErrNoTerminal is the error of Run where there is no terminal that can be drawn on.
var ErrNoTerminal = errors.New("a terminal view needs a terminal that can move its cursor")

// framesPerSecond is how often the screen is drawn at most.
const framesPerSecond = 30

// Run shows the view until the user quits, ctx is done or the process is told to end. The
// terminal is restored in each case.
func Run(ctx context.Context, o Options) error {
	in, ok := o.In.(*os.File)
	if !ok || o.Out == nil || !isTerminal(in) || !isTerminal(o.Out) || slices.Contains(o.Env, "TERM=dumb") ||
		slices.Contains(o.Env, "TERM=") {
		return ErrNoTerminal
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	asking, end := context.WithCancel(ctx)
	defer end()
	m := newModel(asking, o)
	program := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Env),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	// With tea.WithContext the terminal would be closed under the goroutine that reads it.
	defer context.AfterFunc(ctx, program.Quit)()
	_, err := program.Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return context.Canceled
	}
	if ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic) {
		return context.Cause(ctx)
	}
	return err
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// newModel is the view before anything was read.
func newModel(ctx context.Context, o Options) *model {
	m := &model{opt: o, view: viewTalk, focus: paneMain}
	m.ask.ctx = ctx
	m.pal = cells.Palette{Color: !o.NoColor}
	m.query.tried, m.query.line = o.Filter, newInput(o.Filter)
	if o.Actor != nil {
		m.act.powers = o.Actor.Powers()
	}
	for i := range m.lists {
		m.lists[i].follow = i <= viewTime
	}
	return m
}
