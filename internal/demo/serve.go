package demo

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve speaks MCP over a byte stream with stdio framing, one JSON message per
// line, in every revision the client may choose, until in ends or ctx is done.
//
// When in ends, calls that are still waiting are told to give up, every call
// read so far is answered, and Serve returns nil. When ctx is done it does the
// same and returns the cause. A line that is not a message is answered with an error.
//
// Of opts, what is about HTTP does not matter.
//
// Serve closes in if it can be closed, so that nothing is left reading from
// it. It never closes out. A write that blocks blocks Serve: a peer that stops
// reading has to close its end.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts Options) error {
	return serveOver(ctx, in, out, func(end context.Context) *mcp.Server { return newServer(end, opts) })
}

// serveOver serves a server; end is done when its calls have to give up.
func serveOver(ctx context.Context, in io.Reader, out io.Writer, server func(end context.Context) *mcp.Server) error {
	ending, unwind := context.WithCancel(context.WithoutCancel(ctx))
	defer unwind()
	s := server(ending)
	s.AddReceivingMiddleware(endWith(ending))
	// Run sees no cancellation: it would wait for running tools before it
	// stops reading. The connection stops reading, and unwinds them first.
	out = &whole{out: out}
	closed, ok := in.(io.ReadCloser)
	if !ok {
		closed = io.NopCloser(in)
	}
	messages := &readable{lines: bufio.NewReader(in), in: closed, out: out}
	err := s.Run(context.WithoutCancel(ctx), &stream{
		IOTransport: mcp.IOTransport{Reader: messages, Writer: nopWriteCloser{out}},
		stop:        ctx,
		unwind:      unwind,
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// endWith cancels the context of each request when ending is done.
func endWith(ending context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(ending, cancel)()
			return next(ctx, method, req)
		}
	}
}

// stream is the SDK's transport with an orderly end, see [conn].
type stream struct {
	mcp.IOTransport
	stop   context.Context
	unwind context.CancelFunc
}

func (t *stream) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Connection: inner, stop: t.stop, unwind: t.unwind}
	c.changed.L = &c.mu
	return c, nil
}

// A conn holds the end of the input back until every call is answered.
//
// The SDK takes the end of its input for a peer that is gone: it cancels what
// runs and drops what is not written yet, so that
//
//	mcpc demo --stdio < requests.jsonl
//
// would lose its last answers, or not, from one run to the next.
//
// Wrapping costs one thing. The SDK tells its own connections which revision
// was negotiated and cannot tell this one, so that a JSON-RPC batch, gone
// since 2025-06-18, is accepted here in every revision.
type conn struct {
	mcp.Connection
	stop   context.Context    // done: read no more
	unwind context.CancelFunc // tells handlers that wait to give up

	mu      sync.Mutex
	changed sync.Cond
	open    int  // calls that were read and are not answered
	broken  bool // a write failed: the rest will never be answered
}

func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(c.stop)
	for refused := outdated(msg); err == nil && refused != nil; refused = outdated(msg) {
		err = c.Connection.Write(c.stop, refused)
		if err == nil {
			msg, err = c.Connection.Read(c.stop)
		}
	}
	if err != nil {
		c.unwind()
		c.mu.Lock()
		for c.open > 0 && !c.broken {
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
		c.open++
		c.mu.Unlock()
	}
	return msg, nil
}

func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.open--
	}
	// The SDK writes nothing more after a failure that no cancellation
	// explains.
	c.broken = c.broken || err != nil && ctx.Err() == nil
	c.changed.Broadcast()
	return err
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
