package faulty

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/proxy"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// pass serves a proxy in the background; end stops it.
func (s *Faults) pass(ctx context.Context, p *proxy.Proxy, listener net.Listener) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var passing sync.WaitGroup
	passing.Go(func() { _ = p.Serve(ctx, listener, ConnectTime(s.f)) })
	return func() {
		stop()
		passing.Wait()
		p.Watcher.Close()
	}
}

// ServeHTTP serves handler on a listener until ctx ends, through the faults. name names the server in recordings.
func (s *Faults) ServeHTTP(ctx context.Context, name string, listener net.Listener, handler http.Handler) error {
	return s.Before(ctx, name, listener, func(l net.Listener) error { return cmdutil.ServeHTTP(ctx, l, handler) })
}

// Before serves one of mcpc's own servers on a listener, through the faults. Without faults, serve
// gets the listener itself. name names the server in recordings.
func (s *Faults) Before(
	ctx context.Context,
	name string,
	listener net.Listener,
	serve func(net.Listener) error,
) error {
	if s == nil {
		return serve(listener)
	}
	defer listener.Close()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("serving", err))
	}
	end := s.pass(ctx, &proxy.Proxy{
		Routes:  []proxy.Route{{To: &url.URL{Scheme: "http", Host: inner.Addr().String()}}},
		Address: listener.Addr().String(), Watcher: Overhear(s.f, name, capture.ByProxy, s), Desk: s.Desk, KeepHost: true,
	}, listener)
	err = serve(inner)
	end()
	if failed := s.End(); failed != nil {
		return failed
	}
	return err
}

// Between starts a proxy with the faults on loopback. One of mcpc's own clients sends its requests
// to the URL at instead of to. end stops the proxy. For a stdio server, mcpc tap with Options.Words
// is used instead.
func (s *Faults) Between(ctx context.Context, to *url.URL) (at *url.URL, end func() error, out wire.Outcome) {
	network, err := s.f.Env.NetworkFor(to.String(), nil)
	if err != nil {
		return nil, nil, usage.Outcome(err)
	}
	listener, out := cmdutil.ListenLoopback("--listen", "127.0.0.1:0")
	if !out.OK() {
		return nil, nil, out
	}
	watcher := proxy.NewWatcher(proxy.WatcherOptions{Now: s.f.Now, Tap: s.see})
	p := &proxy.Proxy{
		Routes: []proxy.Route{{To: to}}, Address: listener.Addr().String(), Watcher: watcher, Desk: s.Desk,
		Dial: network.Dialer(ConnectTime(s.f)), UpstreamProxy: network.ProxyFunc, TLS: network.TLS,
	}
	stop := s.pass(ctx, p, listener)
	at = &url.URL{
		Scheme:   "http",
		Host:     p.Address,
		Path:     to.Path,
		RawPath:  to.RawPath,
		RawQuery: to.RawQuery,
	}
	end = func() error {
		stop()
		return s.End()
	}
	return at, end, wire.Outcome{}
}

// Stdio returns the standard streams for one of mcpc's own servers, through the faults. end closes
// them after the server. Without faults, they are the streams themselves.
func (s *Faults) Stdio(f *cmdutil.Factory, where string) (in io.Reader, out io.Writer, end func() error) {
	if s == nil {
		return f.In, f.Out, func() error { return nil }
	}
	watcher := Overhear(f, where, capture.ByTap, s)
	sent := watcher.MessageWriter(wire.Sent)
	received := watcher.MessageWriter(wire.Received)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	pipe := &proxy.Pipe{
		Desk:      s.Desk,
		Watcher:   watcher,
		Target:    where,
		ToServer:  toServer,
		ToClient:  io.MultiWriter(received, f.Out),
		EndServer: func() { toServer.Close() },
		Context:   context.Background(),
	}
	go func() {
		_ = pipe.ForwardSent(io.TeeReader(f.In, sent))
		sent.Close()
		toServer.Close()
	}()
	var passing sync.WaitGroup
	passing.Go(func() { fromServer.CloseWithError(pipe.ForwardReceived(fromServer)) })
	return fromClient, toClient, func() error {
		toClient.Close()
		passing.Wait()
		received.Close()
		watcher.ReportClosed(wire.Sent, "end", "")
		watcher.Close()
		return s.End()
	}
}
