package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/pin"
	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/live/control"
	"mcpc/internal/live/view"
	"mcpc/internal/reload"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ActorOptions configures an Actor.
type ActorOptions struct {
	Factory *cmdutil.Factory
	// Reader is the source of the views.
	Reader view.Reader
	// Open opens the current capture of a key. The Actor closes it.
	Open func(key live.Key) (*rows.Capture, error)
	// Marks stores marks; *live.Store implements it.
	Marks interface {
		Mark(key live.Key, set bool, note string) error
	}
	// Powers are the actions that the command line allows. The user can allow more at the terminal.
	Powers view.Powers
	// Exec allows the Actor to start the commands of configured or remembered servers.
	Exec bool
	// RecordsElsewhere is true if the views do not show the recordings of sent requests.
	RecordsElsewhere bool
	// AskServer asks a server of the Home view. If it is nil, there are none.
	AskServer AskServer
	// Changed is called after changes that the recordings do not show.
	Changed func()
}

// An Actor is a view.Actor. It sends requests, answers questions, holds messages of taps and
// proxies, and exports recorded exchanges. Several goroutines may use it.
type Actor struct {
	ActorOptions
	ctx  context.Context
	stop context.CancelFunc
	// ownServer is the connection to the server that the view started, or nil. Start sets it when the
	// server has answered.
	ownServer atomic.Pointer[connect.Conn]
	// following runs followStarted.
	following sync.WaitGroup
	user      *user
	// reading is locked while the recording of the view's own server is read.
	reading sync.Mutex
	home    home
	// subscribing is locked while subscriptions are started or ended.
	subscribing sync.Mutex

	// mu guards the fields below.
	mu sync.Mutex
	// questions wait for the user's answer.
	questions []*pendingQuestion
	// questionCount counts the questions so far.
	questionCount int
	// armed are the faults of the view that no request has got yet.
	armed []armedFault
	// followsFaults is true while followFaults runs.
	followsFaults bool
	// granted are the powers that the user gave at the terminal.
	granted view.Powers
	// peers are the running taps and proxies; nil before the first Intercept or fault.
	peers *control.Group
	// tried has the servers of the Try view in the form of -s, and serverAt the same by their recorded target.
	tried    map[string]*triedServer
	serverAt map[string]string
	// listChanges counts the notifications that a list of a server changed.
	listChanges int
	// notice is what the tap of the view's own server said last, and noticeCount counts what it said.
	notice      string
	noticeCount int
	// trouble says why the view's own server does not run or does not list its tools, or is "". warningCount
	// counts the warnings of its tap.
	trouble      string
	warningCount int
	// output has the last bytes of standard error of the view's own server, without secrets.
	output  lastBytes
	running []*running
	// subscriptions has the functions that end the subscriptions.
	subscriptions map[subscribed]context.CancelFunc
	// login is the newest login, or nil.
	login *login
	// toConfirm has the consents requested last, and consented the consents given, by server or request.
	toConfirm, consented map[string]consents
}

// NewActor returns an Actor. The caller must close it.
func NewActor(o ActorOptions) *Actor {
	a := &Actor{
		ActorOptions:  o,
		tried:         map[string]*triedServer{},
		serverAt:      map[string]string{},
		subscriptions: map[subscribed]context.CancelFunc{},
		toConfirm:     map[string]consents{},
		consented:     map[string]consents{},
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.user = &user{a: a}
	return a
}

// A Command starts a stdio server. If the server's files are watched, Argv runs the command Watched in mcpc
// tap --watch, and Patterns select the files; else Watched is nil.
type Command struct {
	Argv, Watched, Patterns []string
	// BuildTime is how long the build of a watched server may take; 0 if it has none.
	BuildTime time.Duration
}

// Start starts the server of a command, so that views can call its tools. It may run while the
// views are shown. Requests to the server are recorded in the recording of the command itself. If
// the server cannot be started, the outcome says why. The tools are listed again whenever the server says
// that they have changed. If files are watched, Start waits until the server can be started, and the view
// connects again if a restarted server reports changes of a list that it did not declare before.
func (a *Actor) Start(ctx context.Context, command Command) wire.Outcome {
	s := &startedServer{
		Command: command, changed: make(chan struct{}, 1), renewed: make(chan struct{}, 1),
		restarted: make(chan struct{}, 1), relisten: make(chan struct{}, 1),
	}
	a.followStderr(s)
	c, out := a.dialUntilMended(ctx, s)
	if !out.OK() {
		return out
	}
	a.ownServer.Store(c)
	// The recorded tools/list makes the tools appear in the view.
	tools, out := listTools(ctx, c)
	if out.Kind == wire.Signal {
		return out
	}
	s.tools = tools
	a.noteListing(s, out, a.countWarnings())
	go a.listenStarted(s)
	a.following.Go(func() { a.followStarted(s) })
	return wire.Outcome{} // a server without tools can be inspected too
}

// A startedServer is the server that the view started. changed receives a value after a change of its tools,
// renewed if it reports changes of a list that it has not declared in its session. restarted and relisten
// receive a value after each restart, and restarted also after a change of a list if there is no session.
type startedServer struct {
	Command
	changed, renewed, restarted, relisten chan struct{}

	tools []json.RawMessage // as they were listed last
}

// notify sends a value to a channel of a startedServer, unless one waits there already.
func notify(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// dialUntilMended starts the server of the view and connects to it. If that fails and files are watched, it
// tries again after each change of a file, until ctx ends; the rows of the view show why it failed. The
// caller must close the connection if the outcome is OK.
func (a *Actor) dialUntilMended(ctx context.Context, s *startedServer) (*connect.Conn, wire.Outcome) {
	var changed <-chan struct{} // nil if no files can be watched
	if s.Watched != nil {
		dir, err := os.Getwd()
		if err != nil {
			return nil, usage.LocalIO("finding the working directory", err)
		}
		files, err := reload.WatchFiles(dir, s.Patterns, func(string) {})
		if err == nil { // else the tap reports the error
			defer files.Close()
			changed = files.Changed
		}
	}
	for {
		c, out := a.dialStarted(ctx, s)
		if out.OK() {
			return c, out
		}
		c.Close(ctx)
		if changed == nil || out.Kind == wire.Signal {
			return nil, withoutTap(out)
		}
		a.setTrouble(troubleOf(out))
		select {
		case <-ctx.Done():
			return nil, wire.Outcome{Kind: wire.Signal}
		case <-changed:
		}
	}
}

// allLogs is the log level that the requests of a view ask for, unless --log-level names another one.
const allLogs = "debug"

// dialStarted starts the server of the view and connects to it. The caller must close the connection.
func (a *Actor) dialStarted(ctx context.Context, s *startedServer) (*connect.Conn, wire.Outcome) {
	f := a.Factory.Invocation()
	f.Record.Many = true // the view may call many tools
	a.detachTerminal(f)
	f.Limits.Probe += s.BuildTime // the server gets the probe after its build
	return connect.Dial(ctx, &f.Env, connect.Options{
		Argv: s.Argv, Shown: s.Watched, RequireServerInfo: true, MultiCall: true, LogLevel: allLogs,
		OnNotification: func(m *wire.Message) {
			kind, isList := strings.CutSuffix(strings.TrimPrefix(m.Method, "notifications/"), "/list_changed")
			if !isList {
				return
			}
			own := a.ownServer.Load()
			if s.Watched != nil && own != nil && client.Stateless(own.Revision()) {
				notify(s.restarted) // the catalog is requested once the capabilities are known
				return
			}
			a.countListChange()
			if s.Watched != nil && own != nil && jsonraw.First(own.Info().Capabilities, kind) == nil {
				notify(s.renewed)
			} else if kind == "tools" {
				notify(s.changed)
			}
		},
	})
}

// followStarted lists the tools of the view's own server after each change, and connects again if the
// server was restarted with other lists, until the view is closed.
func (a *Actor) followStarted(s *startedServer) {
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-s.renewed:
			next, out := a.dialStarted(a.ctx, s)
			if !out.OK() { // its rows show the failure
				next.Close(a.ctx)
				continue
			}
			before := a.ownServer.Swap(next)
			notify(s.relisten)
			a.listStarted(s)
			a.countListChange()
			a.renewSubscriptions(next)
			before.Close(a.ctx)
		case <-s.restarted:
			own := a.ownServer.Load()
			own.Rediscover(a.ctx) // a failure is also that of the list
			own.ForgetLists()
			a.listStarted(s)
			a.countListChange()
		case <-s.changed:
			a.listStarted(s)
		}
	}
}

// listStarted lists the tools of the view's own server. If the server is watched, a notice says how they
// differ from the tools that were listed before, and a failure is the trouble of the server.
func (a *Actor) listStarted(s *startedServer) {
	warnings := a.countWarnings()
	tools, out := listTools(a.ctx, a.ownServer.Load())
	a.noteListing(s, out, warnings)
	if !out.OK() {
		return
	}
	changes := diff.Compare(diff.Snapshot{Tools: s.tools}, diff.Snapshot{Tools: tools}, pin.Options())
	s.tools = tools
	if s.Watched != nil && len(changes) > 0 {
		a.showNotice(a.Factory.Secrets.Text(describeChanges(changes)))
	}
}

// listTools lists the tools of a server. It sends nothing to a server that does not declare tools.
func listTools(ctx context.Context, c *connect.Conn) ([]json.RawMessage, wire.Outcome) {
	declared, known := c.Declares(connect.ToolKind.Capability)
	if known && !declared {
		return nil, wire.Outcome{}
	}
	list, out := c.Listed(ctx, connect.ToolKind, nil)
	return list.Items, out
}

// Close cancels questions and running requests, removes the view's faults, releases held messages, and
// ends the view's own server.
func (a *Actor) Close(ctx context.Context) wire.Outcome {
	a.stop()
	a.following.Wait()
	a.awaitLogin()
	a.awaitChecks()
	if g := a.group(); g != nil {
		a.removeFaults(ctx, g)
		g.Close()
	}
	a.closeTried(ctx)
	if own := a.ownServer.Load(); own != nil {
		return own.Close(ctx)
	}
	return wire.Outcome{}
}

// hasServer reports whether the view has started a server, and the server has answered.
func (a *Actor) hasServer() bool { return a.ownServer.Load() != nil }

// Powers returns the actions that the user allowed. The view's own server can be sent requests without
// --allow, because the user gave its command.
func (a *Actor) Powers() view.Powers {
	p := a.allowed()
	p.Call = p.Call || a.hasServer()
	p.Resend = p.Resend || a.hasServer()
	return p
}

// allowed returns the actions that the command line allows, and those that the user allowed at the
// terminal.
func (a *Actor) allowed() view.Powers {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.ActorOptions.Powers
	p.Call = p.Call || a.granted.Call
	p.Resend = p.Resend || a.granted.Resend
	p.Intercept = p.Intercept || a.granted.Intercept
	return p
}

// hasPower reports whether the view has a power.
func (a *Actor) hasPower(power string) bool {
	now := a.allowed()
	given := now
	consentPowers[power](&given)
	return given == now
}

// grant gives the view a power until it ends.
func (a *Actor) grant(power string) {
	a.mu.Lock()
	consentPowers[power](&a.granted)
	a.mu.Unlock()
	a.Changed()
}

// Mark sets or clears the mark and the note of a row.
func (a *Actor) Mark(key string, mark bool, note string) error {
	k, ok := live.ParseKey(key)
	if !ok {
		return view.ErrGone
	}
	return a.Marks.Mark(k, mark, note)
}

// separateInvocation returns an invocation with a separate recording. It has no credentials that
// the user gave for one server, because its requests may go to another server.
func (a *Actor) separateInvocation() *cmdutil.Factory {
	g := a.Factory.Separate()
	g.Known = a.Factory.Known // the configuration files are not read again
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
	g.Record.Quiet.Store(true) // no warning may appear over the view
	a.detachTerminal(g)
	return g
}

// detachTerminal makes an invocation print nothing, because the view uses the terminal, and ask its
// questions through the view.
func (a *Actor) detachTerminal(g *cmdutil.Factory) {
	g.JSON = false
	g.Wire = false
	g.Jq = ""
	g.Output = ""
	g.Explain = false
	g.Verbose = 0
	g.OutStyle = term.Style{Width: 80} // no terminal: no color, no control sequences
	g.ErrStyle = term.Style{Width: 80}
	g.Typist = &console.Typist{In: strings.NewReader("")}
	g.Progress = term.NewProgress(io.Discard, g.ErrStyle, g.Now)
	g.UI = a.user
	if g.Answers.Sampling == "" && g.Answers.OnSampling == "" {
		g.Answers.Sampling = "-" // the user answers in place of a model
	}
}

// openRow opens the current capture of a row, given by its key, and finds the row in it. The caller
// must close the capture. The error is view.ErrGone if there is no such row (any more).
func (a *Actor) openRow(g *cmdutil.Factory, rowKey string) (*rows.Capture, *rows.Row, error) {
	key, ok := live.ParseKey(rowKey)
	if !ok {
		return nil, nil, view.ErrGone
	}
	c, err := a.Open(key)
	if err != nil {
		return nil, nil, err
	}
	g.HideSecretsIn(c)
	all := c.Rows()
	i := slices.IndexFunc(all, func(r *rows.Row) bool { return live.KeyOf(r) == key })
	if i < 0 {
		c.Close()
		return nil, nil, view.ErrGone
	}
	return c, all[i], nil
}

// contextOfView returns a context that also ends with the view.
func (a *Actor) contextOfView(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(a.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// userError converts an outcome to an error for the user.
func userError(g *cmdutil.Factory, out wire.Outcome) error {
	out = g.WithoutSecrets(out)
	text := failure.Headline(out)
	if hint := g.UI.HintText(out.Hint); hint != "" {
		text += " (" + hint + ")"
	}
	return errors.New(term.Line(text))
}

// userErrorOf converts an error of a command to one for the user.
func userErrorOf(g *cmdutil.Factory, err error) error {
	if exit, ok := errors.AsType[*cmdutil.ExitError](err); ok {
		return userError(g, exit.Outcome)
	} else if usageError, ok := errors.AsType[usage.Error](err); ok {
		return userError(g, usage.Outcome(usageError))
	}
	return errors.New(term.Line(g.Secrets.Text(err.Error())))
}
