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

// httpSSE is the transport of revision 2024-11-05. The server sends all messages on one stream of
// events. The client posts all messages to a second URL, which the first event names (2024-11-05
// basic/transports, "HTTP with SSE").
type httpSSE struct {
	*router
	// http posts to the URL of the endpoint event.
	http *HTTP
	// streamCtx is the context of the stream; cancel ends it.
	streamCtx context.Context
	cancel    context.CancelFunc
	stream    *roundTrip
	events    *sse.Reader
	// posts counts the POSTs under way. No POST begins after closing is set, which mu guards.
	posts   sync.WaitGroup
	closing bool
}

// OpenHTTPSSE opens the stream at t's URL and waits for the endpoint event. After that t posts to
// the URL of the event. The stream outlives ctx; Close ends it.
func OpenHTTPSSE(ctx context.Context, t *HTTP) (Transport, *Fault) {
	// Until the endpoint event, ctx ends the stream; unhook releases it from ctx.
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s := &httpSSE{router: newRouter(t.inbox), http: t, streamCtx: streamCtx, cancel: func() { cancel(nil) }}
	s.hasWholeMessages = true
	var f *Fault
	s.stream, f = t.roundTrip(streamCtx, http.MethodGet, &Outgoing{})
	if f == nil {
		f = s.readEndpoint()
	}
	if !unhook() { // ctx has ended the stream
		if f == nil {
			f = &Fault{Phase: "connect"}
		}
		f.EndBy(context.Cause(ctx))
	}
	if f != nil {
		s.cancel()
		if s.stream != nil && s.stream.resp != nil {
			s.stream.resp.Body.Close()
		}
		return nil, f
	}
	return s, nil
}

// Listen starts delivering received messages.
func (t *httpSSE) Listen() { go t.readAll() }

// readEndpoint reads events up to the endpoint event, which must be the first message, and makes its
// URL the URL for POSTs.
func (t *httpSSE) readEndpoint() *Fault {
	resp := t.stream.resp
	if resp.StatusCode/100 != 2 {
		return t.stream.refusal(nil)
	}
	if kind := mediaType(resp); kind != "text/event-stream" {
		return badResponseFault("expected text/event-stream, got "+describeType(resp, kind), nil)
	}
	src, f := decodedBody(resp)
	if f != nil {
		return f
	}
	t.events = sse.NewReader(src, int64(t.http.maxSize))
	t.events.Spool = t.http.Spool
	for {
		ev, err := t.events.Next()
		if err != nil {
			t.stream.record(wire.Noise, ev.Dropped)
			return t.stream.streamEnd(t.streamCtx, err)
		}
		t.stream.recordEvent(ev)
		if ev.Event == "endpoint" {
			var to string
			to, f = resolveEndpoint(t.http.url, string(ev.Data))
			if f == nil {
				t.http.url = to
				t.http.redactedURL = redact.RedactURL(to)
			}
			return f
		}
		m := wire.ParseMessage(ev.Data)
		if !ev.HasData { // a comment or an id
			continue
		}
		if !ev.MayCarryMessage() {
			reportEventType(t.inbox, ev)
			continue
		}
		if m.Kind != wire.Invalid || isJSON(ev.Data) {
			return badResponseFault("the stream does not begin with an endpoint event", ev.Data)
		}
		t.noteNoise(ev.Data)
		reportNonJSONEvent(t.inbox, m)
	}
}

// resolveEndpoint returns the absolute URL of an endpoint event, relative to the URL of its stream. It
// refuses another origin than the stream's: messages and header fields with secrets would go to
// another server.
func resolveEndpoint(stream, endpoint string) (string, *Fault) {
	base, err := url.Parse(stream)
	if err != nil {
		return "", &Fault{
			Kind:  wire.Usage,
			Phase: "connect",
			Text:  "not a URL: " + redact.RedactURL(stream),
			Err:   withoutURL(err),
		}
	}
	ref, err := base.Parse(endpoint)
	if err != nil || endpoint == "" {
		return "", &Fault{
			Kind: wire.BadResponse, Phase: "connect", Reached: wire.Answered,
			Text: "the endpoint event has no URL", raw: []byte(endpoint), Err: err,
		}
	}
	if origin(ref) != origin(base) {
		other := url.URL{Scheme: ref.Scheme, Host: ref.Host, Path: base.Path}
		quoted := shellwords.Quote(redact.RedactURL(other.String()))
		return "", &Fault{
			Kind: wire.Refused, Phase: "connect",
			Hint: "if the server is there and you trust it, use this URL: -s " + wire.Hint(quoted),
			Text: "the endpoint event names another origin, " + ref.Scheme + "://" + ref.Host + "; nothing is sent there",
		}
	}
	return ref.String(), nil
}

// origin returns the origin of u (RFC 6454, section 4): scheme, host and port.
func origin(u *url.URL) string {
	return u.Scheme + "://" + network.HostPort(u)
}

// Name returns HTTPSSE.
func (t *httpSSE) Name() Name { return HTTPSSE }

// postGrace is how long a POST may continue after its response arrived on the stream.
const postGrace = 10 * time.Second

// Call posts a request and waits for its response on the stream. Some servers answer the POST only
// after they sent the response on the stream, so Call does not wait for the POST. It does not cancel
// the POST at once either: net/http would close a connection that the next request may already use.
func (t *httpSSE) Call(ctx context.Context, out *Outgoing) Reply {
	w := t.register(out)
	defer t.unregister(w)
	postCtx, cancelPost := context.WithCancelCause(t.streamCtx)
	unhook := context.AfterFunc(ctx, func() { cancelPost(context.Cause(ctx)) })
	posted := make(chan Reply, 1)
	post := func() {
		posted <- t.Send(postCtx, out)
		cancelPost(nil)
	}
	if !t.startPost(post) {
		cancelPost(nil)
		<-t.done // endedReply needs the reason
		return t.endedReply(wire.Unsent)
	}
	select {
	case r := <-posted:
		if r.Fault != nil || r.Message != nil { // refused: no response will come on the stream
			return r
		}
		// Some servers send the response on the stream as well, so a response in the body does not end the call.
		if r.HTTP != nil && wire.ParseMessage(r.HTTP.Body).IsResponseTo(out.ID) {
			t.inbox.Diagnose(Diagnostic{
				"the response came in the body of the POST and not on the event stream",
				"an HTTP+SSE server must respond on the stream, and to the POST with 202; " +
					"the error is in the server, -vv shows both",
			})
		}
	case r := <-w.answer:
		unhook() // the end of ctx must not cancel the POST
		time.AfterFunc(postGrace, func() { cancelPost(nil) })
		return r
	case <-t.done:
	}
	return t.wait(ctx, w)
}

// startPost runs post in a goroutine. It reports false if the transport is closing.
func (t *httpSSE) startPost(post func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.posts.Go(post)
	}
	return !t.closing
}

// Send posts a message. It ignores the body of a 2xx response; a refusal may be a JSON-RPC error.
func (t *httpSSE) Send(ctx context.Context, out *Outgoing) Reply {
	if pause.IsOver(t.done) {
		return t.endedReply(wire.Unsent)
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

// nameEndpoint adds to the fault of a refused POST the URL of the endpoint event, which is not the
// URL that the user gave.
func (t *httpSSE) nameEndpoint(f *Fault) {
	if f.Status == 0 {
		return
	}
	f.Phase = "send" // the URL that the user gave was reachable
	switch f.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.Text = fmt.Sprintf("the server returned HTTP %d %s to a POST to the URL that its endpoint event names, %s",
			f.Status, http.StatusText(f.Status), t.http.redactedURL)
		f.Hint = "check the URL in the endpoint event, and a proxy in front of the server; " + wire.Verbose(3, "both")
		if prefix := lostPrefix(t.stream.redactedURL, t.http.redactedURL); prefix != "" {
			f.Hint = "if a proxy strips " + wire.Hint(prefix) + ", the server must add it to the path in its endpoint event"
		}
	default:
		f.Text += " (POST " + t.http.redactedURL + ")"
	}
}

// lostPrefix returns the directory of the stream's path, which a proxy may have stripped, if the
// endpoint's path is outside of it. It returns "" otherwise, or if a URL is not valid.
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

// Close cancels all requests under way and waits for them. Nothing is recorded after it returns.
func (t *httpSSE) Close() {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.cancel()
	t.stream.resp.Body.Close()
	<-t.done
	t.posts.Wait()
}

// readAll delivers the stream's messages until the stream ends. The session ends with it: this
// transport cannot resume a stream.
func (t *httpSSE) readAll() {
	defer t.stream.resp.Body.Close()
	for {
		ev, err := t.events.Next()
		if err != nil {
			t.stream.record(wire.Noise, ev.Dropped)
			f := t.stream.streamEnd(t.streamCtx, err)
			if errors.Is(err, io.EOF) && t.streamCtx.Err() == nil {
				f.Text = "the server closed the event stream, which ends the session"
			}
			t.end(f)
			return
		}
		t.stream.recordEvent(ev)
		if ev.IsMessage() {
			t.handleEvent(wire.ParseMessage(ev.Data))
		} else {
			reportEventType(t.inbox, ev)
		}
	}
}

// handleEvent delivers a message event, or reports it if it is not a message.
func (t *httpSSE) handleEvent(m *wire.Message) {
	isAnswer := func(out *Outgoing) bool {
		return isBrokenResponse(m, out.ID, true) || out.AcceptsAny && isJSON(m.Raw)
	}
	if m.Kind != wire.Invalid || t.hasWaiter(isAnswer) {
		if HasByteOrderMark(m.Raw) {
			t.noteNoise(m.Raw)
		}
		t.deliver(m)
		return
	}
	if string(m.Raw) != "{}" {
		t.noteNoise(m.Raw)
	}
	if isJSON(m.Raw) {
		t.inbox.Receive(m)
	} else {
		reportNonJSONEvent(t.inbox, m)
	}
}
