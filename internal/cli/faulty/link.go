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

// serveProxy serves a proxy in the background; end stops it.
func (s *Faults) serveProxy(ctx context.Context, p *proxy.Proxy, listener net.Listener) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve(ctx, listener, ConnectTime(s.factory)) })
	return func() {
		stop()
		serving.Wait()
		p.Watcher.Close()
	}
}

// ServeHTTP serves handler on a listener until ctx ends, through the faults. name names the server
// in recordings.
func (s *Faults) ServeHTTP(ctx context.Context, name string, listener net.Listener, handler http.Handler) error {
	return s.ServeBehind(ctx, name, listener, func(l net.Listener) error { return cmdutil.ServeHTTP(ctx, l, handler) })
}

// ServeBehind serves a server of mcpc on a listener, through the faults. Without faults, serve gets
// the listener itself. name names the server in recordings.
func (s *Faults) ServeBehind(
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
	end := s.serveProxy(ctx, &proxy.Proxy{
		Routes:  []proxy.Route{{To: &url.URL{Scheme: "http", Host: inner.Addr().String()}}},
		Address: listener.Addr().String(), Watcher: NewWatcher(s.factory, name, capture.ByProxy, s),
		Desk: s.Desk, KeepHost: true, // the server checks the Host that the client sent
	}, listener)
	err = serve(inner)
	end()
	if failed := s.End(); failed != nil {
		return failed
	}
	return err
}

// StartProxy starts a proxy with the faults on loopback, in front of a server. It returns the URL
// to which one of mcpc's own clients then sends its requests, and a function that stops the proxy.
// For a stdio server, mcpc tap with Options.Words is used instead.
func (s *Faults) StartProxy(
	ctx context.Context, serverURL *url.URL,
) (proxyURL *url.URL, end func() error, out wire.Outcome) {
	network, err := s.factory.Env.NetworkFor(serverURL.String(), nil)
	if err != nil {
		return nil, nil, usage.Outcome(err)
	}
	listener, out := cmdutil.ListenLoopback("--listen", "127.0.0.1:0")
	if !out.OK() {
		return nil, nil, out
	}
	watcher := proxy.NewWatcher(proxy.WatcherOptions{Now: s.factory.Now, Tap: s.observe})
	p := &proxy.Proxy{
		Routes: []proxy.Route{{To: serverURL}}, Address: listener.Addr().String(), Watcher: watcher, Desk: s.Desk,
		Dial: network.Dialer(ConnectTime(s.factory)), UpstreamProxy: network.ProxyFunc, TLS: network.TLS,
	}
	stop := s.serveProxy(ctx, p, listener)
	proxyURL = &url.URL{
		Scheme:   "http",
		Host:     p.Address,
		Path:     serverURL.Path,
		RawPath:  serverURL.RawPath,
		RawQuery: serverURL.RawQuery,
	}
	end = func() error {
		stop()
		return s.End()
	}
	return proxyURL, end, wire.Outcome{}
}

// Stdio returns the standard streams for a server of mcpc, through the faults. end closes them
// after the server. Without faults, they are the streams themselves.
func (s *Faults) Stdio(f *cmdutil.Factory, where string) (in io.Reader, out io.Writer, end func() error) {
	if s == nil {
		return f.In, f.Out, func() error { return nil }
	}
	watcher := NewWatcher(f, where, capture.ByTap, s)
	in, out, endPipe := s.Pipe(watcher, where, f.In, f.Out)
	return in, out, func() error {
		endPipe()
		return s.End()
	}
}

// Pipe returns the input and output for a server of mcpc whose client writes to in and reads out,
// through the faults. end closes them after the server, and the watcher.
func (s *Faults) Pipe(
	watcher *proxy.Watcher, where string, in io.Reader, out io.Writer,
) (toServer io.Reader, fromServer io.Writer, end func()) {
	sent := watcher.MessageWriter(wire.Sent)
	received := watcher.MessageWriter(wire.Received)
	inputReader, inputWriter := io.Pipe()
	outputReader, outputWriter := io.Pipe()
	pipe := &proxy.Pipe{
		Desk:      s.Desk,
		Watcher:   watcher,
		Target:    where,
		ToServer:  inputWriter,
		ToClient:  io.MultiWriter(received, out),
		EndServer: func() { inputWriter.Close() }, // it ends when its input ends
		Context:   context.Background(),
	}
	go func() {
		_ = pipe.ForwardSent(io.TeeReader(in, sent))
		sent.Close()
		inputWriter.Close()
	}()
	var forwarding sync.WaitGroup
	forwarding.Go(func() { outputReader.CloseWithError(pipe.ForwardReceived(outputReader)) })
	return inputReader, outputWriter, func() {
		outputWriter.Close()
		forwarding.Wait()
		received.Close()
		const noText = ""
		watcher.ReportClosed(wire.Sent, "end", noText)
		watcher.Close()
	}
}
