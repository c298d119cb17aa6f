package liveview

import (
	"context"
	"slices"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// An AskServer asks a known server for its tools, as mcpc servers --check does.
type AskServer func(ctx context.Context, f *cmdutil.Factory, s *cmdutil.KnownServer) view.Health

// A home has the servers of the Home view. Its mutex guards the fields.
type home struct {
	mu sync.Mutex
	// servers is nil before the first use. A running check writes to the entry that it points to.
	servers []*view.Server
	// added are the URLs that the user tried, in order. They get cards for as long as the view lives.
	added []string
	// asking counts the servers that have not responded yet.
	asking int
	checks sync.WaitGroup
}

// Servers returns the servers of the Home view, with the results of the last check; none if the view
// has no Home.
func (a *Actor) Servers() []view.Server {
	if a.AskServer == nil {
		return nil
	}
	a.home.mu.Lock()
	defer a.home.mu.Unlock()
	if a.home.servers == nil {
		a.home.servers, _ = listServers(a.separateInvocation(), a.home.added)
	}
	var servers []view.Server
	for _, s := range a.home.servers {
		servers = append(servers, *s)
	}
	return servers
}

// CheckServers asks all servers that can be asked without a question, in the background. It calls
// Changed after each result. It starts no second check while one is running.
func (a *Actor) CheckServers() error {
	if !a.allowed().Call {
		return view.NotAllowed{Power: "call"}
	}
	a.home.mu.Lock()
	defer a.home.mu.Unlock()
	if a.AskServer == nil || a.home.asking > 0 || a.ctx.Err() != nil {
		return nil
	}
	g := a.separateInvocation()
	g.NoRecord = true // the checks would be most of what the view shows
	servers, known := listServers(g, a.home.added)
	a.home.servers = servers
	a.home.asking = len(known)
	for i, s := range known {
		a.ask(g, servers[i], s)
	}
	return nil
}

// ask asks the known server s in the background, and writes the result to its entry of Home. The caller
// holds home.mu and has counted the server in home.asking.
func (a *Actor) ask(g *cmdutil.Factory, entry *view.Server, s *cmdutil.KnownServer) {
	entry.Asking = true
	a.home.checks.Go(func() {
		health := a.AskServer(a.ctx, g, s)
		a.home.mu.Lock()
		entry.Health = safeHealth(health)
		a.home.asking--
		a.home.mu.Unlock()
		a.Changed()
	})
}

// recheckServer asks one server of Home again in the background. It does nothing for a server without a
// card.
func (a *Actor) recheckServer(name string) {
	a.home.mu.Lock()
	defer a.home.mu.Unlock()
	if a.AskServer == nil || a.ctx.Err() != nil {
		return
	}
	g := a.separateInvocation()
	g.NoRecord = true
	_, known := listServers(g, a.home.added)
	i := slices.IndexFunc(known, func(s *cmdutil.KnownServer) bool { return s.ID == name })
	entry := slices.IndexFunc(a.home.servers, func(s *view.Server) bool { return s.Name == name })
	if i < 0 || entry < 0 {
		return
	}
	a.home.asking++
	a.ask(g, a.home.servers[entry], known[i])
}

// awaitChecks waits for the end of the checks. The context of the Actor must have ended.
func (a *Actor) awaitChecks() {
	a.home.mu.Lock()
	checks := &a.home.checks // a check that was about to start has started
	a.home.mu.Unlock()
	checks.Wait()
}

// addCard adds a card to Home for a server that the user named by its URL, and reports whether it did. It
// does nothing if Home has one.
func (a *Actor) addCard(server string) bool {
	a.home.mu.Lock()
	defer a.home.mu.Unlock()
	hasCard := func(s *view.Server) bool { return s.Name == server }
	isKnown := slices.Contains(a.home.added, server) || slices.ContainsFunc(a.home.servers, hasCard)
	if !recorded.IsAddress(server) || isKnown {
		return false
	}
	a.home.added = append(a.home.added, server)
	if a.home.servers != nil {
		a.home.servers = append(a.home.servers, addedServer(a.separateInvocation(), server))
	}
	return true
}

// addedServer returns the card of a server that the user named by its URL.
func addedServer(g *cmdutil.Factory, server string) *view.Server {
	return &view.Server{Name: server, From: "added in this view", Commands: commandsFor(g, server)}
}

// listServers returns the servers of the Home view: first the servers of known, which can be asked,
// in the same order, then the skipped ones. added are the servers that the user named by their URLs.
func listServers(g *cmdutil.Factory, added []string) (servers []*view.Server, known []*cmdutil.KnownServer) {
	known, skipped := g.KnownServers()
	known = append(known, &cmdutil.KnownServer{ID: connect.DemoEndpoint, Title: "part of mcpc"})
	for _, s := range known {
		servers = append(servers, &view.Server{Name: s.ID, From: term.Line(s.Title), Commands: commandsFor(g, s.ID)})
	}
	for _, server := range added {
		known = append(known, &cmdutil.KnownServer{ID: server})
		servers = append(servers, addedServer(g, server))
	}
	for _, s := range skipped {
		health := safeHealth(view.Health{State: s.Why, Text: s.Why, Help: s.Help(), Failed: s.Why != cmdutil.Disabled})
		servers = append(servers, &view.Server{
			Name: s.ID, From: term.Line(s.Title), Health: health, Commands: commandsFor(g, s.ID),
		})
	}
	return servers, known
}

// safeHealth returns a Health whose texts are safe to show and to copy.
func safeHealth(h view.Health) view.Health {
	h.Text = term.Line(h.Text)
	h.Revision = term.Line(h.Revision)
	h.Help = term.Line(h.Help)
	return h
}

// commandsFor returns the command lines to copy for a server.
func commandsFor(g *cmdutil.Factory, name string) []view.ServerCommand {
	var commands []view.ServerCommand
	add := func(key, title, line string) {
		commands = append(commands, view.ServerCommand{Key: key, Name: title, Line: term.Line(wire.Run(line).String())})
	}
	add("c", "Copy", "list -s "+shellwords.Quote(name))
	if name == connect.DemoEndpoint {
		return commands
	}
	if slices.Contains(g.SessionNames(""), name) {
		if _, st, err := g.Env.LoadState(); err == nil {
			if saved, _ := st.Session(name); recorded.IsAddress(saved.Endpoint) {
				add("l", "Log in", "login -s "+shellwords.Quote(name))
			}
		}
		return commands
	}
	s, out := g.Env.ServerNamed(name)
	if out.OK() && s.Kind == target.Stdio {
		add("p", "Tap", "tap install "+s.Client.Name+" "+shellwords.Quote(s.Name))
	} else if out.OK() || recorded.IsAddress(name) {
		add("l", "Log in", "login -s "+shellwords.Quote(name))
	}
	return commands
}

// agreeToServer notes that the user agreed to send requests to a server.
func (a *Actor) agreeToServer(server string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.consented[server] |= toServer
}

// isAgreed reports whether the user agreed to send requests to a server.
func (a *Actor) isAgreed(server string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.consented[server]&toServer != 0
}
