package http1

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"
)

// An exchange is one request on a connection, and its response.
type exchange struct {
	c     *conn
	req   *http.Request
	trace *httptrace.ClientTrace
	// observer is that of the request's context.
	observer Observer
	// uncancel keeps the end of the request's context from closing the connection; it reports
	// whether it did that in time.
	uncancel func() bool
	// written receives the result of a write that goes on next to the response, nil otherwise.
	written chan error
	// keep is set where the connection may carry another exchange when this one has ended,
	// unwritten where the request failed and nothing of it was written.
	keep, unwritten bool
	// answered is set when the head of a response was read.
	answered atomic.Bool
}

const (
	// MostInline is how many bytes of a body in memory are written before the response is read: no
	// more than a socket takes whether its other side reads or not.
	MostInline = 16 << 10
	// writeGrace is how long a write that is not done when the response has ended may take,
	// before the connection is closed, and how long a response may take after a failed write.
	writeGrace = 50 * time.Millisecond
)

func (x *exchange) roundTrip(limit int64) (*http.Response, error) {
	x.c.begin(limit)
	x.uncancel = context.AfterFunc(x.req.Context(), x.c.close)
	failed := x.write()
	if failed != nil {
		x.closeUnanswered()
	}
	resp, err := x.readHead()
	if err == nil {
		x.answered.Store(true)
		return x.deliver(resp), nil
	}
	x.c.close()
	done := x.written == nil
	if !done {
		select {
		case failed = <-x.written:
			done = true
		default: // it ends by itself, now that the connection is closed
		}
	}
	x.unwritten = done && !x.c.wrote
	switch {
	case !x.uncancel():
		err = context.Cause(x.req.Context())
	case failed != nil:
		err = failed
	}
	return nil, err
}

// write writes the request; what is not certain to be written at once is written by a goroutine,
// because the server may answer before it reads it.
func (x *exchange) write() error {
	_, bytes := x.req.Body.(*Bytes)
	if !hasBody(x.req) || (bytes || x.req.GetBody != nil) && x.req.ContentLength > 0 && x.req.ContentLength <= MostInline {
		return x.writeAll()
	}
	x.written = make(chan error, 1)
	go func() {
		err := x.writeAll()
		failed := x.c.failed
		x.written <- err
		switch {
		case err != nil && failed:
			x.closeUnanswered()
		case err != nil:
			x.c.close() // the body could not be read: no response will come
		}
	}()
	return nil
}

// closeUnanswered closes the connection after a failed write, unless the server has answered by
// then what it read of the request.
func (x *exchange) closeUnanswered() {
	time.AfterFunc(writeGrace, func() {
		if !x.answered.Load() {
			x.c.close()
		}
	})
}

func (x *exchange) writeAll() error {
	if err, done := x.writeQuick(); done {
		return err
	}
	err := writtenBy(x.req, x.trace, x.observer).Write(x.c.out)
	if err == nil {
		err = x.c.out.Flush()
	}
	if x.trace != nil && x.trace.WroteRequest != nil {
		x.trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
	return err
}

// readHead reads responses up to the final one.
func (x *exchange) readHead() (*http.Response, error) {
	if _, err := x.c.in.Peek(1); err != nil {
		return nil, err
	}
	if x.trace != nil && x.trace.GotFirstResponseByte != nil {
		x.trace.GotFirstResponseByte()
	}
	x.observer.GotFirstResponseByte()
	for {
		resp, err := readQuick(x.c.in, x.req), error(nil)
		if resp == nil {
			resp, err = http.ReadResponse(x.c.in, x.req)
		}
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			x.c.unlimited()
			return resp, nil
		}
		if x.trace != nil && x.trace.Got1xxResponse != nil {
			if err := x.trace.Got1xxResponse(resp.StatusCode, textproto.MIMEHeader(resp.Header)); err != nil {
				return nil, err
			}
			x.c.limit = x.c.most // as net/http: the hook limits how many there are
		}
	}
}

// deliver returns the response to the caller, whose reading of the body ends the exchange.
func (x *exchange) deliver(resp *http.Response) *http.Response {
	resp.TLS = x.c.state
	x.keep = !resp.Close && !x.req.Close && resp.StatusCode > 199
	if x.req.Method == http.MethodHead || resp.ContentLength == 0 || resp.StatusCode/100 == 1 {
		x.end(x.keep)
		resp.Body = http.NoBody
		return resp
	}
	resp.Body = &body{src: resp.Body, x: x}
	return resp
}

// end ends the exchange, and keeps the connection or closes it.
func (x *exchange) end(keep bool) {
	if !x.uncancel() || !keep || x.c.in.Buffered() > 0 || !x.wrote() {
		x.c.close()
		return
	}
	x.c.pool.put(x.c)
}

// wrote reports that the whole request was written, which it waits for.
func (x *exchange) wrote() bool {
	if x.written == nil {
		return !x.c.failed
	}
	grace := time.NewTimer(writeGrace)
	defer grace.Stop()
	select {
	case err := <-x.written:
		return err == nil
	case <-grace.C:
		return false
	}
}

// repeatable reports that a request without a response may be sent on another connection.
func (x *exchange) repeatable() bool {
	if !x.c.reused || x.c.read || x.req.Context().Err() != nil {
		return false
	}
	switch x.req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return x.unwritten || !hasBody(x.req)
	}
	return x.unwritten
}

// A body is that of a response.
type body struct {
	src io.ReadCloser
	x   *exchange

	mu  sync.Mutex
	err error // of every Read from now on
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	err := b.err
	b.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := b.src.Read(p)
	if err != nil {
		err = b.end(err)
	}
	return n, err
}

// Close closes the connection where the body was not read to its end. It may be called while Read
// is.
func (b *body) Close() error {
	_ = b.end(http.ErrBodyReadAfterClose)
	return nil
}

// end ends the exchange, once, and returns the error of the first call, or the cause of the
// context that ended it.
func (b *body) end(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	ctx := b.x.req.Context()
	if b.err = err; err != io.EOF && err != http.ErrBodyReadAfterClose && ctx.Err() != nil {
		b.err = context.Cause(ctx)
	}
	b.x.end(b.x.keep && err == io.EOF)
	return b.err
}
