package judge

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/judge"
	"mcpc/internal/proxy"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A probeServer is a server with its handler, which has the sessions of its clients.
type probeServer struct {
	server  *judge.Server
	handler http.Handler
}

// A bench is the servers that probe clients, over HTTP and stdio, and their recording.
type bench struct {
	factory *cmdutil.Factory
	faults  *faulty.Faults
	options *options
	// address is the address of the servers over HTTP. The processes of {command} connect to joinAddress,
	// which token protects.
	address, joinAddress, token string
	watch                       proxy.WatcherOptions
	// ctx is the context of the servers. cancel ends them.
	ctx     context.Context
	cancel  context.CancelFunc
	serving sync.WaitGroup

	mu sync.Mutex
	// servers are the servers by revision.
	servers map[string]*probeServer
	// pipes counts the connections over stdio.
	pipes int
	// sequence is the number of the last recorded frame.
	sequence uint64
}

// patience is how long a tool waits for the client's response to a request.
const patience = 3 * time.Second

// openBench starts to listen and to record. The caller must call end.
func openBench(ctx context.Context, f *cmdutil.Factory, o *options) (_ *bench, err error) {
	link := proxy.LinkHTTP
	if strings.Contains(strings.Join(o.client, " "), commandWord) {
		link = proxy.LinkStdio
	}
	faults, err := o.fault.StartLive(f, link)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			faults.Close()
		}
	}()
	listener, out := cmdutil.ListenLoopback("--listen", o.listen)
	if !out.OK() {
		return nil, cmdutil.Exit(out)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("serving", err))
	}
	joined, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("serving", err))
	}
	b := &bench{
		factory: f, faults: faults, options: o, servers: map[string]*probeServer{}, token: rand.Text(),
		address: listener.Addr().String(), joinAddress: joined.Addr().String(),
		watch: faulty.WatcherOptions(f, "judge", capture.ByProxy, faults),
	}
	ctx, b.cancel = context.WithCancel(ctx)
	b.ctx = ctx
	p := &proxy.Proxy{
		Routes:  []proxy.Route{{To: &url.URL{Scheme: "http", Host: inner.Addr().String()}}},
		Address: b.address, Watcher: b.newWatcher(0), Desk: faults.Desk, KeepHost: true,
	}
	b.serving.Go(func() {
		_ = p.Serve(ctx, listener, faulty.ConnectTime(f))
		p.Watcher.Close()
	})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server := b.serverAt(strings.TrimPrefix(r.URL.Path, "/"))
		if server == nil {
			http.NotFound(w, r)
			return
		}
		server.handler.ServeHTTP(w, r)
	})
	b.serving.Go(func() { _ = cmdutil.ServeHTTP(ctx, inner, handler) })
	b.serving.Go(func() { b.acceptPipes(ctx, joined) })
	context.AfterFunc(ctx, func() { joined.Close() })
	return b, nil
}

// newWatcher returns a Watcher that adds to the recording. conn is the number of its only connection, or
// 0 if its frames have their numbers.
func (b *bench) newWatcher(conn int) *proxy.Watcher {
	options := b.watch
	options.Tap = func(f wire.Frame) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sequence++
		f.Seq = b.sequence
		if conn > 0 {
			f.Conn = conn
		}
		b.watch.Tap(f)
	}
	return proxy.NewWatcher(options)
}

// end stops to serve, and writes the report about faults.
func (b *bench) end() error {
	b.cancel()
	b.serving.Wait()
	return b.faults.End()
}

// open replaces the server of a revision with a new one. isBrief leaves out the probes.
func (b *bench) open(revision string, isBrief bool) *judge.Server {
	s := judge.New(judge.Options{
		Revision: revision, IsBrief: isBrief, Slow: b.options.slow, Patience: patience, SessionID: rand.Text,
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[revision] = &probeServer{s, s.Handler(b.ctx)}
	return s
}

// anyPath is the path of the server with all revisions. The others have the names of their revisions.
const anyPath = "mcp"

// serverAt returns the server at a path, or nil.
func (b *bench) serverAt(path string) *probeServer {
	if path == anyPath {
		path = judge.Any
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.servers[path]
}

// url returns the URL of a revision's server.
func (b *bench) url(revision string) string {
	if revision == judge.Any {
		revision = anyPath
	}
	return "http://" + b.address + "/" + revision
}

// command returns the command of a revision's server over stdio.
func (b *bench) command(revision string) ([]string, error) {
	self, err := b.factory.Env.Executable()
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("finding mcpc", err))
	}
	return []string{self, "judge", "--join", b.joinAddress + "/" + b.token + "/" + revision}, nil
}

// acceptPipes serves the connections of {command} until the listener is closed.
func (b *bench) acceptPipes(ctx context.Context, listener net.Listener) {
	var pipes sync.WaitGroup
	defer pipes.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		pipes.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			b.servePipe(ctx, conn)
		})
	}
}

// firstPipe is the number of the first connection over stdio in the recording, beyond those over HTTP.
const firstPipe = 1 << 20

// servePipe serves a connection, which begins with a line that names the token and the revision.
func (b *bench) servePipe(ctx context.Context, conn net.Conn) {
	in := bufio.NewReader(conn)
	line, err := in.ReadSlice('\n')
	token, revision, _ := strings.Cut(strings.TrimSpace(string(line)), "/")
	server := b.serverAt(revision)
	if err != nil || server == nil || subtle.ConstantTimeCompare([]byte(token), []byte(b.token)) == 0 {
		return
	}
	b.mu.Lock()
	b.pipes++
	number := firstPipe + b.pipes
	b.mu.Unlock()
	toServer, fromServer, end := b.faults.Pipe(b.newWatcher(number), "judge", in, conn)
	_ = server.server.Stdio(ctx, toServer, fromServer) // the recording has its error: the client has ended
	end()
}

// join passes standard input and output to the bench at HOST:PORT/TOKEN/REVISION.
func join(f *cmdutil.Factory, place string) error {
	address, words, isComplete := strings.Cut(place, "/")
	if !isComplete {
		return usage.New("--join is for the command that mcpc judge prints", "mcpc judge -- CLIENT... {command}")
	}
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_, err = fmt.Fprintln(conn, words)
	}
	if err != nil {
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.Transport, Phase: "connect", Err: err, Text: "mcpc judge does not run any more: " + err.Error(),
		})
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, f.In)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(f.Out, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		return cmdutil.Exit(usage.LocalIO("passing messages", err))
	}
	return nil
}
