package liveview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/live"
	"mcpc/internal/live/control"
	"mcpc/internal/live/view"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ActorOptions say what an Actor works with.
type ActorOptions struct {
	Factory *cmdutil.Factory
	// Reader is what the views read.
	Reader view.Reader
	// Open opens the capture of a key anew. The Actor closes it.
	Open func(key live.Key) (*rows.Capture, error)
	// Marks keeps marks; a *live.Store does.
	Marks interface {
		Mark(key live.Key, set bool, note string) error
	}
	// Powers are what the user allowed.
	Powers view.Powers
	// Exec allows starting the commands of servers that are configured or remembered.
	Exec bool
	// Elsewhere is set where what is sent is recorded, but not shown by the views.
	Elsewhere bool
	// Changed is called when something has changed that the recordings do not show.
	Changed func()
}

// An Actor is a view.Actor: it sends requests, answers questions, holds messages of others, and exports recorded
// exchanges. Several goroutines may use it.
type Actor struct {
	ActorOptions
	ctx  context.Context
	stop context.CancelFunc
	// own is the connection to the server that the view has started; nil if there is none, or it has not answered yet.
	own  atomic.Pointer[connect.Conn]
	user *user
	// reading guards the recording of the server that the view has started.
	reading sync.Mutex

	// mu guards the fields below.
	mu sync.Mutex
	// questions wait for the user's answer; asked counts all that were asked.
	questions []*asking
	asked     int
	// peers are all taps and proxies that run; nil before messages are held.
	peers *control.Group
	// toConfirm are the consents that were asked for last, given those that the user gave, each for a server or a request.
	toConfirm, given map[string]consent
}

// NewActor makes an Actor. A caller closes it.
func NewActor(o ActorOptions) *Actor {
	a := &Actor{ActorOptions: o, toConfirm: map[string]consent{}, given: map[string]consent{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.user = &user{a: a}
	return a
}

// Start starts the server of a command, whose tools can be tried from then on; the views may run meanwhile.
// What it is asked is recorded as what the command of f asks.
func (a *Actor) Start(ctx context.Context, argv []string) wire.Outcome {
	f := a.Factory.Invocation()
	f.Record.Many = true
	a.settle(f)
	c, out := connect.Dial(ctx, &f.Env, connect.Options{Argv: argv, RequireServerInfo: true, MultiCall: true})
	if !out.Good() {
		c.Close(ctx)
		return out
	}
	a.own.Store(c)
	_, out = c.Listed(ctx, connect.ToolKind, nil)
	if out.Kind == wire.Signal {
		return out
	}
	return wire.Outcome{} // a server without tools can be looked at
}

// Close cancels what is asked and under way, releases what is held, and ends the server that was
// started.
func (a *Actor) Close(ctx context.Context) wire.Outcome {
	a.stop()
	if g := a.group(); g != nil {
		g.Close()
	}
	if own := a.own.Load(); own != nil {
		return own.Close(ctx)
	}
	return wire.Outcome{}
}

// Powers are what the user allowed.
func (a *Actor) Powers() view.Powers {
	p := a.ActorOptions.Powers
	p.Call = p.Call || a.own.Load() != nil
	return p
}

// Mark marks a row for an export, with a note.
func (a *Actor) Mark(key string, mark bool, note string) error {
	k, ok := live.ParseKey(key)
	if !ok {
		return view.ErrGone
	}
	return a.Marks.Mark(k, mark, note)
}

// apart is an invocation of its own, with its own recording. What the user gave for one server is
// not for others.
func (a *Actor) apart() *cmdutil.Factory {
	g := a.Factory.Separate()
	g.Known = a.Factory.Known
	g.Getenv = func(name string) string {
		if name == "MCPC_TOKEN" || name == host.EnvName("server") {
			return ""
		}
		return a.Factory.Getenv(name)
	}
	g.Headers = nil
	g.HeaderFiles = nil
	g.Auth.TokenFile = ""
	g.Auth.Account = ""
	g.Record.Quiet.Store(true)
	a.settle(g)
	return g
}

// settle keeps an invocation from the terminal, which is the view's, and has the view ask.
func (a *Actor) settle(g *cmdutil.Factory) {
	g.JSON = false
	g.Wire = false
	g.Jq = ""
	g.Output = ""
	g.Explain = false
	g.Verbose = 0
	g.OutStyle = term.Style{Width: 80}
	g.ErrStyle = term.Style{Width: 80}
	g.Typist = &console.Typist{In: strings.NewReader("")}
	g.Progress = term.NewProgress(io.Discard, g.ErrStyle, g.Now)
	g.UI = a.user
	if g.Answers.Sampling == "" && g.Answers.OnSampling == "" {
		g.Answers.Sampling = "-"
	}
}

// row opens the capture of a row anew, as it is now. A caller closes it.
func (a *Actor) row(g *cmdutil.Factory, text string) (*rows.Capture, *rows.Row, error) {
	key, ok := live.ParseKey(text)
	if !ok {
		return nil, nil, view.ErrGone
	}
	c, err := a.Open(key)
	if err != nil {
		return nil, nil, err
	}
	g.HideIn(c)
	all := c.Rows()
	i := slices.IndexFunc(all, func(r *rows.Row) bool { return live.KeyOf(r) == key })
	if i < 0 {
		c.Close()
		return nil, nil, view.ErrGone
	}
	return c, all[i], nil
}

// within is a context that also ends with the view.
func (a *Actor) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(a.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// failed is an outcome as an error for the user.
func failed(g *cmdutil.Factory, out wire.Outcome) error {
	out = g.WithoutSecrets(out)
	text := failure.Headline(out)
	if hint := g.UI.HintText(out.Hint); hint != "" {
		text += " (" + hint + ")"
	}
	return errors.New(term.Line(text))
}

// notAllowed is the error for what the user has not allowed.
func notAllowed(power string) error {
	return fmt.Errorf("not allowed: start mcpc inspect with --allow=%s", power)
}

// asError is an error of a command as one for the user.
func asError(g *cmdutil.Factory, err error) error {
	if ended, ok := errors.AsType[*cmdutil.ExitError](err); ok {
		return failed(g, ended.Outcome)
	} else if wrong, ok := errors.AsType[usage.Error](err); ok {
		return failed(g, usage.Outcome(wrong))
	}
	return errors.New(term.Line(g.Secrets.Text(err.Error())))
}
