// Package proxy has the commands proxy and tap, and the command fault, which changes the rules of a
// running one.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/liveview"
	"mcpc/internal/cli/meant"
	"mcpc/internal/loopback"
	"mcpc/internal/proxy"
	"mcpc/internal/redact"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// proxyOptions are the arguments of `mcpc proxy`.
type proxyOptions struct {
	to     []string
	listen string
	fault  faulty.Options
	trace  cmdutil.TraceOptions
	// web and tui show the traffic while the proxy runs.
	web, tui bool
	ask      liveview.AskServer
}

// NewProxy returns the command proxy. ask asks a server of the Home view.
func NewProxy(f *cmdutil.Factory, ask liveview.AskServer) *cobra.Command {
	o := proxyOptions{ask: ask}
	cmd := &cobra.Command{
		Use:   "proxy --to URL",
		Short: "record the HTTP traffic of other clients",
		Long: `Forward the requests of other clients to a server, and record the traffic:
Streamable HTTP and HTTP+SSE, in every revision. Clients use the proxy's URL
instead of the server's. With --to /path=URL one proxy serves several servers,
each under its own path.

Bodies are forwarded unchanged, as they arrive. Header fields keep their values,
including Authorization and cookies, which are meant for that server; redirects
are passed on and not followed. The only change: if an HTTP+SSE server names its
endpoint by its own URL, the URL is replaced by the proxy's. The proxy serves
only clients on this machine, and rejects requests from web pages of another
origin.

mcpc log lists an exchange up to 0.3 s after its response. --fault makes
messages fail: see mcpc help faults.`,
		Example: `  mcpc proxy --to http://localhost:3001/mcp --listen 127.0.0.1:3002
  mcpc proxy --to http://localhost:3001/mcp --listen 127.0.0.1:3002 -v
  mcpc proxy --to /a=http://localhost:3001/mcp --to /b=http://localhost:3003/mcp
  mcpc proxy --to http://localhost:3001/mcp --fault preset:flaky`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meant.NoArguments(f, cmd, args); err != nil {
				return err
			}
			routes, err := routesOf(o.to)
			if err != nil {
				return err
			}
			if o.web && o.tui {
				return usage.New("--web and --tui cannot be combined", "use only one of them")
			}
			if f.Network.Socket != "" && len(routes) > 1 {
				return usage.New("--unix-socket needs one server, not several", "run one proxy per server")
			}
			return runProxy(cmd.Context(), f, o, routes)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.to, "to", nil, "`URL` of the server; /path=URL for one of several")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:3002", "listen `addr`ess, loopback only; port 0 selects a free port")
	flags.BoolVar(&o.web, "web", false, "show the traffic in a browser, like mcpc inspect --web")
	flags.BoolVar(&o.tui, "tui", false, "show the traffic like mcpc inspect if this is a terminal, otherwise print lines")
	o.fault.AddFlags(flags)
	o.trace.AddFlags(flags)
	return cmd
}

// routesOf parses the values of --to. Each route needs a different path.
func routesOf(words []string) ([]proxy.Route, error) {
	var routes []proxy.Route
	isTaken := map[string]bool{} // by path
	for _, word := range words {
		r, err := parseRoute(word)
		if err != nil {
			return nil, err
		}
		if isTaken[r.Path] {
			return nil, usage.New(fmt.Sprintf("two servers for the path %q", cmp.Or(r.Path, "/")), "--to /one=URL --to /two=URL")
		}
		isTaken[r.Path] = true
		routes = append(routes, r)
	}
	if len(routes) == 0 {
		return nil, usage.New("proxy needs a server", "--to http://localhost:3001/mcp")
	}
	return routes, nil
}

// parseRoute parses URL or /path=URL. Without /path the path of the route is "".
func parseRoute(word string) (proxy.Route, error) {
	var r proxy.Route
	address := word
	if before, after, ok := strings.Cut(word, "="); ok && strings.HasPrefix(before, "/") {
		r.Path = strings.TrimRight(before, "/")
		address = after
	}
	to, err := url.Parse(address)
	isHTTP := err == nil && to.Host != "" && (to.Scheme == "http" || to.Scheme == "https")
	if !isHTTP {
		return r, usage.New(fmt.Sprintf("--to must be a URL, not %q", redact.RedactURL(address)),
			"--to http://localhost:3001/mcp, or --to /path=URL")
	}
	isPlainPath := path.Clean(r.Path) == r.Path && !strings.ContainsAny(r.Path, `%\?#`)
	if r.Path != "" && !isPlainPath {
		return r, usage.New(fmt.Sprintf("--to needs a plain path, not %q", r.Path), "--to /path=URL")
	}
	r.To = to
	return r, nil
}

// runProxy serves until the user interrupts it or leaves the view. Its error is then the outcome
// Signal.
func runProxy(ctx context.Context, f *cmdutil.Factory, o proxyOptions, routes []proxy.Route) error {
	network, err := f.Env.NetworkFor(routes[0].To.String(), nil) // one network for all routes
	if err != nil {
		return err
	}
	faults, err := o.fault.StartLive(f, proxy.LinkHTTP)
	if err != nil {
		return err
	}
	defer faults.Close()
	f.IsConnected.Store(true) // so that a signal waits for the end of the recording
	listener, out := cmdutil.ListenLoopback("--listen", o.listen)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer listener.Close()
	var targets []string
	for _, r := range routes {
		if leadsTo(r.To, listener.Addr().String()) {
			return cmdutil.Exit(wire.Outcome{
				Kind: wire.Refused,
				Text: "the proxy would forward to itself: " + redact.RedactURL(r.To.String()),
				Hint: "--listen 127.0.0.1:0 takes a free port",
			})
		}
		f.Secrets.LearnURL(r.To.String())
		targets = append(targets, redact.RedactURL(r.To.String()))
	}
	if o.tui && drawable(f) {
		restore := liveview.Quieten(f) // the view has the terminal
		defer restore()
	}
	endTrace, err := o.trace.StartRelay(f, targets[0])
	if err != nil {
		return err
	}
	watcher := faulty.NewWatcher(f, strings.Join(targets, " "), capture.ByProxy, faults)
	p := &proxy.Proxy{
		Routes: routes, Address: listener.Addr().String(), Watcher: watcher,
		Dial: network.Dialer(faulty.ConnectTime(f)), UpstreamProxy: network.ProxyFunc, TLS: network.TLS, Desk: faults.Desk,
	}
	clientURLs := introduceProxy(f, p, targets)
	serve := func(ctx context.Context) error { return p.Serve(ctx, listener, faulty.ConnectTime(f)) }
	if o.web || o.tui {
		err = o.serveWatched(ctx, f, p.Address, clientURLs, strings.Join(targets, " "), serve)
	} else {
		err = serve(ctx)
	}
	watcher.Close()
	endTrace()
	if failed := faults.End(); failed != nil {
		return failed
	}
	if err != nil {
		if _, ended := errors.AsType[*cmdutil.ExitError](err); ended {
			return err
		}
		return cmdutil.Exit(usage.LocalIO("serving", err))
	}
	return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
}

// leadsTo reports whether a URL leads to the port of an address on this machine.
func leadsTo(u *url.URL, address string) bool {
	_, port, err := net.SplitHostPort(address)
	urlPort := u.Port()
	if urlPort == "" {
		urlPort = "80"
	}
	return err == nil && urlPort == port && loopback.IsHere(u.Hostname())
}

// introduceProxy prints the URLs for clients and returns them.
func introduceProxy(f *cmdutil.Factory, p *proxy.Proxy, targets []string) string {
	var all []string
	for i, r := range p.Routes {
		all = append(all,
			fmt.Sprintf("http://%s%s for %s", p.Address, cmp.Or(r.Path, redact.RedactURL(r.To.RequestURI())), targets[i]))
		f.Note("listening on " + all[i])
	}
	f.Note("point clients at this URL; mcpc inspect or mcpc log --follow shows the traffic; Ctrl-C stops the proxy")
	return strings.Join(all, ", ")
}
