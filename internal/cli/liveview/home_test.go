package liveview

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
	"mcpc/internal/live/view"
	"mcpc/internal/target"
)

// homeActor returns an Actor with a configured URL, an untrusted command, and the demo server. It
// asks servers with ask.
func homeActor(t *testing.T, powers view.Powers, ask AskServer) *Actor {
	t.Helper()
	f := cmdutil.New(nil, nil, nil)
	f.Now, f.State, f.Getenv = time.Now, t.TempDir(), func(string) string { return "" }
	client, _ := target.ClientNamed("cursor")
	f.Known = &[]host.ConfigFile{{Client: client, Servers: []target.Server{
		{Client: client, Name: "url", Kind: target.HTTP, URL: "http://127.0.0.1:1/mcp"},
		{Client: client, Name: "ev\x1b[31mil", Kind: target.Stdio, Command: []string{"x"}},
	}}}
	a := NewActor(ActorOptions{Factory: f, Powers: powers, AskServer: ask, Changed: func() {}})
	t.Cleanup(func() { a.Close(context.Background()) })
	return a
}

// stateOf returns the server of Home with a name.
func stateOf(t *testing.T, a *Actor, name string) view.Server {
	t.Helper()
	all := a.Servers()
	i := slices.IndexFunc(all, func(s view.Server) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no server %q in %+v", name, all)
	}
	return all[i]
}

func TestCheckServersUpdatesEachServerAsItResponds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	goOn := make(chan struct{})
	a := homeActor(t, view.Powers{Call: true}, func(ctx context.Context, _ *cmdutil.Factory, s *cmdutil.KnownServer) view.Health {
		mu.Lock()
		asked = append(asked, s.ID)
		mu.Unlock()
		if s.ID == "cursor:url" {
			<-ctx.Done() // a server that does not respond until the view is closed
		}
		<-goOn
		return view.Health{State: "ok", Text: "ok\x1b]0;x\x07\nsecond", Revision: "\u202e1", Help: "\x1b[31m"}
	})
	if got := stateOf(t, a, "demo"); got.State != "" || got.Asking {
		t.Errorf("before the check: %+v", got)
	}
	changed := make(chan struct{}, 9)
	a.ActorOptions.Changed = func() { changed <- struct{}{} }
	for range 2 { // the second check does nothing while the first one runs
		if err := a.CheckServers(); err != nil {
			t.Fatal(err)
		}
	}
	if got := stateOf(t, a, "demo"); !got.Asking {
		t.Errorf("while the server is asked: %+v", got)
	}
	close(goOn)
	<-changed
	demo := stateOf(t, a, "demo")
	if demo.State != "ok" || strings.ContainsAny(demo.Text+demo.Revision+demo.Help, "\x1b\x07\n\u202e") {
		t.Errorf("after the check: %+v", demo)
	}
	if got := stateOf(t, a, "cursor:url"); !got.Asking {
		t.Errorf("the server that does not respond: %+v", got)
	}
	untrusted := stateOf(t, a, "cursor:ev\x1b[31mil")
	if untrusted.State != cmdutil.NotTrusted || !untrusted.Failed || !strings.HasPrefix(untrusted.Help, "mcpc servers trust ") {
		t.Errorf("untrusted: %+v", untrusted)
	}
	for _, line := range append([]view.ServerCommand{{Line: untrusted.Help}}, untrusted.Commands...) {
		if strings.Contains(line.Line, "\x1b") {
			t.Errorf("a command has a control character: %q", line.Line)
		}
	}
	a.Close(t.Context()) // waits for the server that does not respond
	if got := stateOf(t, a, "cursor:url"); got.Asking {
		t.Errorf("after the end: %+v", got)
	}
	slices.Sort(asked)
	if want := []string{"cursor:url", "demo"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestHomeActsOnlyWithPower(t *testing.T) {
	t.Parallel()
	a := homeActor(t, view.Powers{}, func(context.Context, *cmdutil.Factory, *cmdutil.KnownServer) view.Health {
		t.Error("a server is asked")
		return view.Health{}
	})
	if err := a.CheckServers(); err == nil || !strings.Contains(err.Error(), "--allow=call") {
		t.Errorf("check: %v", err)
	}
	if _, err := a.Catalog(t.Context(), "demo"); err == nil || !strings.Contains(err.Error(), "--allow=call") {
		t.Errorf("try: %v", err)
	}
	if len(a.Servers()) != 3 {
		t.Errorf("servers: %+v", a.Servers())
	}
}

func TestCatalogRefusesCommandsAndUntrustedServers(t *testing.T) {
	t.Parallel()
	a := homeActor(t, view.Powers{Call: true}, nil)
	a.Factory.NoRecord = true
	for server, want := range map[string]string{
		"ls -l":                  "mcpc inspect -- COMMAND",
		"":                       "choose a server",
		"cursor:ev\x1b[31mil":    "is not trusted yet",
		"http://127.0.0.1:1/mcp": "connection refused",
	} {
		catalog, err := a.Catalog(t.Context(), server)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") || catalog.Target != "" {
			t.Errorf("%q: %+v, %v", server, catalog, err)
		}
	}
	if a.isReachable(a.Factory, "cursor:other") || a.isReachable(a.Factory, "ls -l") {
		t.Error("a server that was not tried is reachable")
	}
}

// TestCatalogAddsCard holds: a URL that was tried has one card, which the next check asks.
func TestCatalogAddsCard(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 9)
	a := homeActor(t, view.Powers{Call: true}, func(_ context.Context, _ *cmdutil.Factory, s *cmdutil.KnownServer) view.Health {
		asked <- s.ID
		return view.Health{State: "ok"}
	})
	const address = "http://127.0.0.1:9/mcp"
	a.addCard(address) // before Home is shown
	before := len(a.Servers())
	for _, server := range []string{address, "http://127.0.0.1:8/mcp", "demo", ""} {
		a.addCard(server)
	}
	if got := stateOf(t, a, address); got.From != "added in this view" || len(got.Commands) != 2 {
		t.Errorf("the card is %+v", got)
	}
	if got := len(a.Servers()); got != before+1 {
		t.Errorf("%d servers, want %d", got, before+1)
	}
	if err := a.CheckServers(); err != nil {
		t.Fatal(err)
	}
	var all []string
	for range 4 {
		all = append(all, <-asked)
	}
	if !slices.Contains(all, address) || !slices.Contains(all, "http://127.0.0.1:8/mcp") {
		t.Errorf("asked %q", all)
	}
}

// TestTriedServerIsAskedAtOnce holds: the card of a URL that was tried shows its state without a check.
func TestTriedServerIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	a := homeActor(t, view.Powers{Call: true}, func(context.Context, *cmdutil.Factory, *cmdutil.KnownServer) view.Health {
		return view.Health{State: "needs login", Help: "log in", Failed: true}
	})
	changed := make(chan struct{}, 9)
	a.ActorOptions.Changed = func() { changed <- struct{}{} }
	a.Servers()
	const address = "http://127.0.0.1:1/other"
	if _, err := a.Catalog(t.Context(), address); err == nil {
		t.Fatal("a server that does not exist has a catalog")
	}
	for stateOf(t, a, address).Asking {
		<-changed
	}
	if got := stateOf(t, a, address); got.State != "needs login" || got.Help != "log in" {
		t.Errorf("the card is %+v", got)
	}
	if got := stateOf(t, a, "demo"); got.State != "" {
		t.Errorf("another server was asked: %+v", got)
	}
}
