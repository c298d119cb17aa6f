package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/pause"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// httpSSE is the transport of 2024-11-05: one stream of events on which all
// messages come, and a second URL, named by the first event, to which all
// messages are posted (2024-11-05 basic/transports, "HTTP with SSE").
type httpSSE struct {
	*router
	http *HTTP // posts to the second URL
	// The stream: lasting ends with cancel, and with it events.
	lasting context.Context
	cancel  context.CancelFunc
	trip    *roundTrip
	events  *sse.Reader
	// posts are the messages on their way; none begins once closing is set, under mu.
	posts   sync.WaitGroup
	closing bool
}

// OpenHTTPSSE opens the stream of t's URL and waits for its endpoint event. From
// then on t posts to the URL that the event names.
func OpenHTTPSSE(ctx context.Context, t *HTTP) (Transport, *Fault) {
	// The stream outlives the request that opens it: only close ends it.
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s := &httpSSE{router: newRouter(t.inbox), http: t, lasting: lasting, cancel: func() { cancel(nil) }}
	s.whole = true
	var f *Fault
	s.trip, f = t.roundTrip(lasting, http.MethodGet, &Outgoing{})
	if f == nil {
		f = s.readEndpoint()
	}
	if !unhook() {
		if f == nil {
			f = &Fault{Phase: "connect"}
		}
		f.EndBy(context.Cause(ctx))
	}
	if f != nil {
		s.cancel()
		if s.trip != nil && s.trip.resp != nil {
			s.trip.resp.Body.Close()
		}
		return nil, f
	}
	return s, nil
}

// Listen begins to deliver what comes.
func (t *httpSSE) Listen() { go t.readAll() }

// readEndpoint reads the event that must come first and takes its URL.
func (t *httpSSE) readEndpoint() *Fault {
	resp := t.trip.resp
	if resp.StatusCode/100 != 2 {
		return t.trip.refusal(nil)
	}
	if kind := mediaType(resp); kind != "text/event-stream" {
		return badContent("expected text/event-stream, got "+typeOf(resp, kind), nil)
	}
	src, f := decoded(resp)
	if f != nil {
		return f
	}
	t.events = sse.NewReader(src, int64(t.http.maxSize))
	t.events.Spool = t.http.Spool
	for {
		ev, err := t.events.Next()
		if err != nil {
			t.trip.record(wire.Noise, ev.Dropped)
			return t.trip.streamEnd(t.lasting, err)
		}
		t.trip.recordEvent(ev)
		if ev.Event == "endpoint" {
			var to string
			to, f = resolveEndpoint(t.http.url, string(ev.Data))
			if f == nil {
				t.http.url = to
				t.http.shown = redact.RedactURL(to)
			}
			return f
		}
		m := wire.ParseMessage(ev.Data)
		switch {
		case !ev.HasData:
		case !ev.MayCarry():
			foreignEvent(t.inbox, ev)
		case m.Kind == wire.Invalid && !isJSON(ev.Data):
			t.ignore(ev.Data)
			ignoreEvent(t.inbox, m)
		default:
			return badContent("the stream does not begin with an endpoint event", ev.Data)
		}
	}
}

// resolveEndpoint: only the stream's own origin may be named. Elsewhere the
// session's messages, and the header fields that go with them, would be sent to
// a stranger.
func resolveEndpoint(sse, endpoint string) (string, *Fault) {
	base, err := url.Parse(sse)
	if err != nil {
		return "", &Fault{
			Kind:  wire.Usage,
			Phase: "connect",
			Text:  "not a URL: " + redact.RedactURL(sse),
			Err:   withoutURL(err),
		}
	}
	ref, err := base.Parse(endpoint)
	if err != nil || endpoint == "" {
		return "", &Fault{Kind: wire.BadResponse, Phase: "connect", Reached: wire.Answered,
			Text: "the endpoint event has no URL", raw: []byte(endpoint), Err: err}
	}
	if origin(ref) != origin(base) {
		there := url.URL{Scheme: ref.Scheme, Host: ref.Host, Path: base.Path}
		return "", &Fault{Kind: wire.Refused, Phase: "connect",
			Hint: "if the server is there and you trust it, name it so: -s " + shellwords.Quote(
				redact.RedactURL(there.String()),
			),
			Text: "the endpoint event names another origin, " + ref.Scheme + "://" + ref.Host + "; nothing is sent there"}
	}
	return ref.String(), nil
}

// origin is RFC 6454, section 4: scheme, host and port.
func origin(u *url.URL) string {
	return u.Scheme + "://" + network.HostPort(u)
}

func (t *httpSSE) Name() Name { return HTTPSSE }

// graceForPost is how long a POST whose answer came on the stream may go on.
const graceForPost = 10 * time.Second

// Call posts a request and waits for its response on the stream. Some servers
// hold the answer to the POST back until they have replied there, so a reply does
// not wait for it. The POST is not cut off then either: net/http would close a
// connection that the next request may be using already.
func (t *httpSSE) Call(ctx context.Context, out *Outgoing) Reply {
	w := t.expect(out)
	defer t.forget(w)
	posting, letGo := context.WithCancelCause(t.lasting)
	unhook := context.AfterFunc(ctx, func() { letGo(context.Cause(ctx)) })
	posted := make(chan Reply, 1)
	if !t.posting(func() { posted <- t.Send(posting, out); letGo(nil) }) {
		letGo(nil)
		<-t.done
		return t.overFault(wire.Unsent)
	}
	select {
	case r := <-posted:
		if r.Fault != nil || r.Message != nil {
			return r
		}
		// There are servers that give the response on the stream as well, so that one in the body ends nothing.
		if r.HTTP != nil && wire.ParseMessage(r.HTTP.Body).Answers(out.ID) {
			t.inbox.Diagnose(Diagnostic{"the response came in the body of the POST and not on the event stream",
				"an HTTP+SSE server must respond on the stream, and to the POST with 202: an error of the server, -vv shows both"})
		}
	case r := <-w.answer:
		unhook()
		time.AfterFunc(graceForPost, func() { letGo(nil) })
		return r
	case <-t.done:
	}
	return t.wait(ctx, w)
}

// posting begins a post beside its caller, unless the transport is being closed.
func (t *httpSSE) posting(post func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.posts.Go(post)
	}
	return !t.closing
}

// Send posts a message. The body of a good answer means nothing; a refusal may
// be a JSON-RPC error.
func (t *httpSSE) Send(ctx context.Context, out *Outgoing) Reply {
	if pause.IsOver(t.done) {
		return t.overFault(wire.Unsent)
	}
	r := t.http.Send(ctx, out)
	if r.HTTP != nil && r.HTTP.Status/100 == 2 {
		r.Message = nil
	}
	if r.Fault != nil && r.Fault.Kind == wire.Transport {
		t.nameEndpoint(r.Fault)
	}
	return r
}

// nameEndpoint names the URL that refused a POST: it is that of the endpoint event, and not the one that the user gave.
func (t *httpSSE) nameEndpoint(f *Fault) {
	if f.Status == 0 {
		return
	}
	f.Phase = "send" // the URL that the user gave was reachable
	switch f.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.Text = fmt.Sprintf("the server answered HTTP %d %s to a POST to the URL that its endpoint event names, %s",
			f.Status, http.StatusText(f.Status), t.http.shown)
		f.Hint = "check the URL in the endpoint event, and a proxy in front of the server; -vvv shows both"
		if prefix := lostPrefix(t.trip.shown, t.http.shown); prefix != "" {
			f.Hint = "a proxy may strip " + prefix + ", which the server must put before the path in its endpoint event"
		}
	default:
		f.Text += " (POST " + t.http.shown + ")"
	}
}

// lostPrefix returns the directory of the stream's path if it is not that of the endpoint's path, and "" otherwise.
func lostPrefix(stream, endpoint string) string {
	from, err := url.Parse(stream)
	if err != nil {
		return ""
	}
	to, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	directory := strings.TrimSuffix(path.Dir(strings.TrimSuffix(from.Path, "/")), "/")
	if directory == "." || strings.HasPrefix(to.Path, directory+"/") {
		return ""
	}
	return directory
}

// Close cuts what is still on its way. Nothing is recorded afterwards.
func (t *httpSSE) Close() {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.cancel()
	t.trip.resp.Body.Close()
	<-t.done
	t.posts.Wait()
}

// readAll delivers the stream's messages until it ends, and with it the session:
// this transport has no resumption.
func (t *httpSSE) readAll() {
	defer t.trip.resp.Body.Close()
	for {
		ev, err := t.events.Next()
		if err != nil {
			t.trip.record(wire.Noise, ev.Dropped)
			f := t.trip.streamEnd(t.lasting, err)
			if errors.Is(err, io.EOF) && t.lasting.Err() == nil {
				f.Text = "the server closed the event stream, which ends the session"
			}
			t.over(f)
			return
		}
		t.trip.recordEvent(ev)
		if ev.IsMessage() {
			t.take(wire.ParseMessage(ev.Data))
		} else {
			foreignEvent(t.inbox, ev)
		}
	}
}

// take takes a message event.
func (t *httpSSE) take(m *wire.Message) {
	isAnswer := func(out *Outgoing) bool {
		return claims(m, out.ID, true) || out.AnyReply && isJSON(m.Raw)
	}
	if m.Kind != wire.Invalid || t.isWaiting(isAnswer) {
		if HasByteOrderMark(m.Raw) {
			t.ignore(m.Raw)
		}
		t.deliver(m)
		return
	}
	if string(m.Raw) != "{}" {
		t.ignore(m.Raw)
	}
	if isJSON(m.Raw) {
		t.inbox.Receive(m)
	} else {
		ignoreEvent(t.inbox, m)
	}
}
