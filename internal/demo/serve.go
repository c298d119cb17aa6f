package demo

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves MCP over a byte stream with one JSON message per line (stdio), in every revision,
// until in ends or ctx is done.
//
// When in ends, Serve cancels the calls that still wait, responds to every call that was read, and
// returns nil. When ctx is done, it does the same and returns the cause. It responds to an invalid
// line with an error. It ignores the options for HTTP.
//
// Serve closes in if it has a Close method, so that no goroutine continues to read from it. It
// never closes out. A write that blocks also blocks Serve: a client that stops reading must close
// its end.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts Options) error {
	return serveOver(ctx, in, out, func(end context.Context) *mcp.Server { return newServer(end, opts) })
}

// serveOver runs a server over a byte stream. The context end is done when the calls must stop.
func serveOver(
	ctx context.Context,
	in io.Reader,
	out io.Writer,
	newServer func(end context.Context) *mcp.Server,
) error {
	ending, cancelHandlers := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelHandlers()
	s := newServer(ending)
	s.AddReceivingMiddleware(cancelWith(ending))
	// Run gets a context without cancellation: it would wait for running tools before it stops
	// reading. The connection stops reading and cancels the tools first.
	out = &lockedWriter{out: out}
	input, ok := in.(io.ReadCloser)
	if !ok {
		input = io.NopCloser(in)
	}
	messages := &lineReader{lines: bufio.NewReader(in), in: input, out: out}
	err := s.Run(context.WithoutCancel(ctx), &stream{
		IOTransport:    mcp.IOTransport{Reader: messages, Writer: nopWriteCloser{out}},
		stop:           ctx,
		cancelHandlers: cancelHandlers,
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// cancelWith returns a middleware that cancels the context of each request when ending is done.
func cancelWith(ending context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(ending, cancel)()
			return next(ctx, method, req)
		}
	}
}

// stream is the SDK's transport with an orderly end; see [conn].
type stream struct {
	mcp.IOTransport
	stop           context.Context
	cancelHandlers context.CancelFunc
}

func (t *stream) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Connection: inner, stop: t.stop, cancelHandlers: t.cancelHandlers}
	c.changed.L = &c.mu
	return c, nil
}

// A conn delays the end of its input until every call has a response.
//
// The SDK handles the end of its input as a lost client: it cancels running calls and drops
// unwritten messages. Without conn
//
//	mcpc demo --stdio < requests.jsonl
//
// would sometimes lose its last responses.
//
// The wrapper has one disadvantage. The SDK passes the negotiated revision to its own connections
// only, so a JSON-RPC batch, removed in 2025-06-18, is accepted in every revision.
type conn struct {
	mcp.Connection
	stop           context.Context    // done when reading must stop
	cancelHandlers context.CancelFunc // cancels the handlers that wait

	mu         sync.Mutex
	changed    sync.Cond
	unanswered int  // number of calls without a response
	hasFailed  bool // a write failed: the open calls get no response
}

// Read returns the next message. At the end of the input it waits until each call has a response.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(c.stop)
	for refused := rejectUnknownVersion(msg); err == nil && refused != nil; refused = rejectUnknownVersion(msg) {
		err = c.Connection.Write(c.stop, refused)
		if err == nil {
			msg, err = c.Connection.Read(c.stop)
		}
	}
	if err != nil {
		c.cancelHandlers()
		c.mu.Lock()
		for c.unanswered > 0 && !c.hasFailed {
			c.changed.Wait()
		}
		c.mu.Unlock()
		if c.stop.Err() != nil {
			err = io.EOF // an end, not a fault
		}
		return nil, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		c.unanswered++
		c.mu.Unlock()
	}
	return msg, nil
}

// Write writes a message and counts the calls without a response.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.unanswered--
	}
	// The SDK writes nothing after a failed write, unless the cause was a cancellation.
	c.hasFailed = c.hasFailed || err != nil && ctx.Err() == nil
	c.changed.Broadcast()
	return err
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
