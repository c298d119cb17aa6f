package liveview

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/wire"
)

// A triedServer is a server of the Try view. Its connection stays open until the view is closed, because
// subscriptions, tasks and the state of a stdio server live in it.
type triedServer struct {
	// dialing is held while the server is dialed. It guards the fields below.
	dialing sync.Mutex
	factory *cmdutil.Factory // of the connection
	conn    *connect.Conn    // nil until the server has answered
	stop    context.CancelFunc
}

// A running request is one that the view sent and that has no response yet.
type running struct {
	server string // in the form of -s
	cancel context.CancelFunc
}

// connection returns the connection to a server in the form of -s, "" is the view's own server. It dials
// the server at the first call, and again after a failure.
func (a *Actor) connection(ctx context.Context, server string) (*cmdutil.Factory, *connect.Conn, wire.Outcome) {
	if server == "" {
		return a.Factory, a.ownServer.Load(), wire.Outcome{}
	}
	t := a.triedAt(server)
	if t == nil {
		return a.Factory, nil, wire.Outcome{Kind: wire.Signal, Text: "the view has ended"}
	}
	t.dialing.Lock()
	defer t.dialing.Unlock()
	if t.conn != nil {
		return t.factory, t.conn, wire.Outcome{}
	}
	g := a.separateInvocation()
	g.Server = server
	g.ServerGiven = true
	g.Record.Many = true // the view may send many requests
	dialContext, stop := context.WithCancel(a.ctx)
	keepDialing := context.AfterFunc(ctx, stop) // the connection outlives ctx, its start does not
	c, out := connect.Dial(dialContext, &g.Env, connect.Options{
		RequireServerInfo: true, MultiCall: true, LogLevel: allLogs, OnNotification: a.noteListChange,
	})
	isAbandoned := !keepDialing()
	if out.OK() && isAbandoned {
		out = wire.Outcome{Kind: wire.Signal, Text: "cancelled"}
	}
	out = connect.Explain(&g.Env, out)
	if !out.OK() {
		c.Close(ctx)
		stop()
		g.Env.EndRecording(out, out.ExitCode())
		return g, nil, out
	}
	t.factory = g
	t.conn = c
	t.stop = stop
	a.mu.Lock()
	a.serverAt[c.Where] = server
	a.mu.Unlock()
	const isWatched = false
	go a.listenTo(c, isWatched)
	return g, c, out
}

// triedAt returns the entry of a server in the form of -s, or nil if the view has ended.
func (a *Actor) triedAt(server string) *triedServer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return nil
	}
	t := a.tried[server]
	if t == nil {
		t = &triedServer{}
		a.tried[server] = t
	}
	return t
}

// listenTo asks a server to report changes of its lists, if it can, and waits until the view is closed or the
// server ends the subscription. A watched server may have other lists after a restart, which mcpc tap reports.
func (a *Actor) listenTo(c *connect.Conn, isWatched bool) {
	reportsChanges := func(capability string) bool {
		settings := jsonraw.First(c.Info().Capabilities, capability)
		return isWatched || string(jsonraw.First(settings, "listChanged")) == "true"
	}
	wanted := client.SubscriptionFilter{
		Tools: reportsChanges("tools"), Prompts: reportsChanges("prompts"), Resources: reportsChanges("resources"),
	}
	if wanted.Tools || wanted.Prompts || wanted.Resources {
		c.Listen(a.ctx, client.ListenRequest{SubscriptionFilter: wanted})
	}
}

// noteListChange counts a notification that a list changed, so that views get the catalog again.
func (a *Actor) noteListChange(m *wire.Message) {
	if !strings.HasSuffix(m.Method, "/list_changed") {
		return
	}
	a.countListChange()
}

// countListChange makes views get the catalog again.
func (a *Actor) countListChange() {
	a.mu.Lock()
	a.listChanges++
	a.mu.Unlock()
	a.Changed()
}

// Catalogs returns how often the servers of the Try view have said that a list changed.
func (a *Actor) Catalogs() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listChanges
}

// closeTried closes the connections of the Try view. The context of the Actor must have ended.
func (a *Actor) closeTried(ctx context.Context) {
	a.mu.Lock()
	servers := a.tried // triedAt adds no more
	a.mu.Unlock()
	var closing sync.WaitGroup
	for _, t := range servers {
		closing.Go(func() {
			t.dialing.Lock()
			defer t.dialing.Unlock()
			if t.conn == nil {
				return
			}
			t.conn.Close(ctx)
			t.stop()
			t.factory.Env.EndRecording(wire.Outcome{}, 0)
		})
	}
	closing.Wait()
}

// namedServer returns the server that the user named, in the form of -s; "" is the view's own server. An
// untrusted server and a command are not started.
func (a *Actor) namedServer(target string) (string, error) {
	if own := a.ownServer.Load(); own != nil && (target == "" || target == own.Where) {
		return "", nil
	}
	if !a.allowed().Call {
		return "", view.NotAllowed{Power: "call"}
	}
	if tried := a.triedServerAt(target); tried != "" {
		return tried, nil
	}
	if target == "" {
		return "", errors.New("choose a server")
	}
	server := addressOf(target)
	if recorded.IsAddress(server) && !isWholeAddress(server) {
		return "", errHiddenAddress
	}
	if server != connect.DemoEndpoint && !recorded.IsAddress(server) && !isKnownName(a.separateInvocation(), server) {
		return "", errors.New("neither a URL nor demo nor a known server; a command is inspected with " +
			"mcpc inspect -- COMMAND")
	}
	a.agreeToServer(server)
	return server, nil
}

// triedServerAt returns the server of the Try view that has a recorded target, in the form of -s, or "".
func (a *Actor) triedServerAt(recordedTarget string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.serverAt[recordedTarget]
}

// agreedServer returns the server of a target, like callableServer, if the user agreed to send requests
// to it.
func (a *Actor) agreedServer(target string) (string, error) {
	server, err := a.callableServer(a.separateInvocation(), target)
	if err == nil && a.needsConsent(server) {
		return "", errors.New("get what " + server + " offers first")
	}
	return server, err
}

// needsConsent reports whether the user must agree to requests to a server. The user started the view's
// own server, and the demo server is part of mcpc.
func (a *Actor) needsConsent(server string) bool {
	return server != "" && server != connect.DemoEndpoint && !a.isAgreed(server)
}

// begin notes that a request to a server is running. The caller must call end when it has ended.
func (a *Actor) begin(ctx context.Context, server string) (requestContext context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{server: server, cancel: cancel}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = append(a.running, r)
	return ctx, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running = slices.DeleteFunc(a.running, func(other *running) bool { return other == r })
	}
}

// Cancel cancels running requests of the view, or a task.
func (a *Actor) Cancel(ctx context.Context, c view.Cancellation) error {
	if c.Kind == view.KindTask {
		return a.cancelTask(ctx, c.Target, c.Name)
	}
	server, err := a.callableServer(a.separateInvocation(), c.Target)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found := false
	for _, r := range a.running {
		if r.server == server {
			r.cancel()
			found = true
		}
	}
	if !found {
		return errors.New("this view has no running request there")
	}
	return nil
}

// cancelTask asks a server to cancel a task.
func (a *Actor) cancelTask(ctx context.Context, target, id string) error {
	server, err := a.agreedServer(target)
	if err != nil {
		return err
	}
	g, c, out := a.connection(ctx, server)
	if !out.OK() {
		return userError(g, out)
	}
	if offer := c.TaskOffer(""); !offer.CanCancel {
		return errors.New("the server cannot cancel tasks")
	}
	if out := c.CancelTask(ctx, id); !out.OK() {
		return userError(g, connect.Explain(&g.Env, out))
	}
	return nil
}
