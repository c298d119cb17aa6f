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

// Options configures a view.
type Options struct {
	Reader view.Reader
	// Actor carries out actions. If it is nil, the view only reads.
	Actor view.Actor
	// In and Out are the terminal.
	In  io.Reader
	Out *os.File
	// Env is the environment in the form of os.Environ.
	Env     []string
	NoColor bool
	Now     func() time.Time
	// MaxHold is how long a tap or a proxy holds a message, at most.
	MaxHold time.Duration
	// Filter is the initial text of the filter line.
	Filter string
	// Try begins with the Try view, as soon as the view has started its own server.
	Try bool
	// Edit edits a text in the user's editor, which takes over the terminal. If it is nil, the view
	// has its own editor.
	Edit func(text string) (string, error)
}

// ErrNoTerminal is returned by Run if input or output is not a terminal that can be drawn on.
var ErrNoTerminal = errors.New("a terminal view needs a terminal that can move its cursor")

// framesPerSecond limits how often the screen is drawn.
const framesPerSecond = 30

// Run shows the view until the user quits, ctx ends or the process receives a signal to end. It
// always restores the terminal.
func Run(ctx context.Context, o Options) error {
	if !canDraw(o) {
		return ErrNoTerminal
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	readContext, endReads := context.WithCancel(ctx)
	defer endReads()
	m := newModel(readContext, o)
	program := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Env),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	// tea.WithContext would close the terminal while a goroutine reads from it.
	stopQuitting := context.AfterFunc(ctx, program.Quit)
	defer stopQuitting()
	_, err := program.Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return context.Canceled // the user pressed Ctrl-C
	}
	if ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic) {
		return context.Cause(ctx)
	}
	return err
}

// canDraw reports whether input and output are a terminal that can be drawn on.
func canDraw(o Options) bool {
	in, ok := o.In.(*os.File)
	if !ok || o.Out == nil || !isTerminal(in) || !isTerminal(o.Out) {
		return false
	}
	return !slices.Contains(o.Env, "TERM=dumb") && !slices.Contains(o.Env, "TERM=")
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// newModel returns the model of a view that has read nothing yet.
func newModel(ctx context.Context, o Options) *model {
	m := &model{opt: o, view: viewTalk, focus: paneMain}
	m.loader.ctx = ctx
	m.palette = cells.Palette{Color: !o.NoColor}
	m.conversations.known = map[string]bool{}
	m.try.forms = map[string]*form{}
	m.try.subscribed = map[string]bool{}
	m.query.filter = o.Filter
	m.query.line = newInput(o.Filter)
	if o.Actor != nil {
		m.act.powers = o.Actor.Powers()
		m.start = start{mayShowHome: o.Filter == "", mayShowTry: o.Try}
	}
	for i := range m.lists {
		m.lists[i].follow = i <= viewTime // the lists of exchanges, whose newest is last
	}
	return m
}
