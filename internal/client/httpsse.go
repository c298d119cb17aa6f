package client

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync/atomic"

	"mcpc/internal/wire"
)

// httpSSE is the transport of 2024-11-05: one stream of events on which all
// messages come, and a second URL, named by the first event, to which all
// messages are posted (2024-11-05 basic/transports, "HTTP with SSE").
type httpSSE struct {
	*router
	http   *httpTransport // posts to the second URL
	cancel context.CancelFunc
	ended  atomic.Bool
}

// openHTTPSSE opens the stream and waits for its endpoint event.
func openHTTPSSE(ctx context.Context, sse string, extra []wire.Field, limits Limits, rec *recorder, to inbox) (*httpSSE, *fault) {
	stream := newHTTPTransport(sse, extra, limits, rec, to)
	// The stream outlives the request that opens it: only close ends it.
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tr, f := stream.roundTrip(lasting, http.MethodGet, &outgoing{})
	if f != nil {
		cancel()
		return nil, f
	}
	t := &httpSSE{router: newRouter(to), cancel: cancel}
	events := newEventReader(tr.resp.Body, limits.Message)
	endpoint, f := firstEndpoint(stream, tr, events, sse)
	if !stop() && f == nil {
		f = cutFault(ctx, 0, ctx.Err())
	}
	if f != nil {
		cancel()
		tr.resp.Body.Close()
		return nil, f
	}
	t.http = newHTTPTransport(endpoint, extra, limits, rec, to)
	t.http.client, t.http.stream = stream.client, atomic.Int64{}
	t.http.stream.Store(stream.stream.Load())
	go t.readAll(lasting, stream, tr, events)
	return t, nil
}

// firstEndpoint reads the event that must come first and resolves its URL. Only
// the stream's own origin may be named: elsewhere the session's messages, and
// the header fields that go with them, would be sent to a stranger.
func firstEndpoint(t *httpTransport, tr *trip, events *eventReader, sse string) (string, *fault) {
	mediaType, _, _ := mime.ParseMediaType(tr.resp.Header.Get("Content-Type"))
	if tr.resp.StatusCode/100 != 2 {
		return "", statusFault(tr.resp, nil)
	}
	if mediaType != "text/event-stream" {
		return "", badContent(tr, "expected text/event-stream, got "+mediaType, nil)
	}
	for {
		ev, err := events.next()
		if err != nil {
			return "", t.streamEnd(tr.req.Context(), tr, err)
		}
		t.recordEvent(tr, ev)
		if ev.name == "endpoint" {
			return resolveEndpoint(sse, string(ev.data))
		}
		if ev.hasData {
			return "", badContent(tr, "the stream does not begin with an endpoint event", ev.data)
		}
	}
}

func resolveEndpoint(sse, endpoint string) (string, *fault) {
	base, err := url.Parse(sse)
	if err != nil {
		return "", &fault{kind: wire.Usage, text: "not a URL: " + sse, err: err}
	}
	ref, err := base.Parse(endpoint)
	if err != nil {
		return "", &fault{kind: wire.BadResponse, phase: "connect", reached: wire.Answered,
			text: "the endpoint event names no URL", raw: []byte(endpoint), err: err}
	}
	if ref.Scheme != base.Scheme || ref.Host != base.Host {
		return "", &fault{kind: wire.Refused, phase: "connect",
			text: "the endpoint event names another origin, " + ref.Scheme + "://" + ref.Host + ", to which nothing is sent"}
	}
	return ref.String(), nil
}

func (t *httpSSE) name() TransportName { return HTTPSSE }

func (t *httpSSE) call(ctx context.Context, out *outgoing) reply {
	w := t.expect(out)
	defer t.forget(w)
	if r := t.send(ctx, out); r.fault != nil {
		return r
	}
	return t.wait(ctx, w)
}

// send posts a message. The body of the answer means nothing, the status does.
// Some servers hold the answer to the POST back until they have replied on the
// stream, so a reply on the stream does not wait for it.
func (t *httpSSE) send(ctx context.Context, out *outgoing) reply {
	posted := make(chan reply, 1)
	go func() { posted <- t.http.send(ctx, out) }()
	w := t.waiterOf(out)
	if w == nil {
		return <-posted
	}
	select {
	case r := <-posted:
		return r
	case m := <-w.answer:
		w.answer <- m
		return reply{}
	}
}

func (t *httpSSE) waiterOf(out *outgoing) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[string(out.id)]
}

func (t *httpSSE) end(context.Context, *outgoing) {}

func (t *httpSSE) close() {
	t.ended.Store(true)
	t.cancel()
	t.http.close()
}

// readAll delivers the stream's messages until it ends, and with it the session:
// this transport has no resumption.
func (t *httpSSE) readAll(ctx context.Context, stream *httpTransport, tr *trip, events *eventReader) {
	defer tr.resp.Body.Close()
	for {
		ev, err := events.next()
		if err != nil {
			f := stream.streamEnd(ctx, tr, err)
			if errors.Is(err, io.EOF) {
				f.text = "the server ended the event stream, and with it the session"
			}
			t.router.end(f)
			return
		}
		stream.recordEvent(tr, ev)
		if ev.isMessage() {
			t.deliver(wire.ParseMessage(ev.data))
		}
	}
}
