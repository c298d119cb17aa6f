package http1

import (
	"context"
	"net/http"
	"net/http/httptrace"
)

// An Observer is told how far a request got, as the hooks of an httptrace.ClientTrace with the
// same names are. A context has one under ObserverKey: unlike a ClientTrace it needs no memory
// for each request.
type Observer interface {
	GetConn()
	GotConn(reused bool)
	WroteHeaders()
	GotFirstResponseByte()
	// Trace is the Observer for net/http, with hooks for what happens when a connection is
	// opened.
	Trace() *httptrace.ClientTrace
}

// ObserverKey is the key of an Observer in a context.
type ObserverKey struct{}

func observerOf(ctx context.Context) Observer {
	if o, ok := ctx.Value(ObserverKey{}).(Observer); ok {
		return o
	}
	return unobserved{}
}

type unobserved struct{}

func (unobserved) GetConn()                      {}
func (unobserved) GotConn(bool)                  {}
func (unobserved) WroteHeaders()                 {}
func (unobserved) GotFirstResponseByte()         {}
func (unobserved) Trace() *httptrace.ClientTrace { return nil }

// withTrace is ctx with the trace of its Observer.
func withTrace(ctx context.Context) context.Context {
	if trace := observerOf(ctx).Trace(); trace != nil {
		return httptrace.WithClientTrace(ctx, trace)
	}
	return ctx
}

// observed is a request whose Observer is told by net/http.
func observed(req *http.Request) *http.Request { return req.WithContext(withTrace(req.Context())) }

// writtenBy returns a request whose Write calls the hooks of a trace, which may be nil, and of an
// Observer, but not WroteRequest: what Write has written may still be in a buffer.
func writtenBy(req *http.Request, trace *httptrace.ClientTrace, o Observer) *http.Request {
	hooks := httptrace.ClientTrace{}
	if trace != nil {
		hooks = *trace
	}
	wroteHeaders := hooks.WroteHeaders
	hooks.WroteHeaders = func() {
		o.WroteHeaders()
		if wroteHeaders != nil {
			wroteHeaders()
		}
	}
	hooks.WroteRequest = nil
	ctx := httptrace.WithClientTrace(context.Background(), &hooks) // Write uses nothing else of a context
	return forStd(req).WithContext(ctx)
}
