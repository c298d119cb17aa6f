package proxy

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/compress"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A destination is where a request is forwarded to.
type destination struct {
	target    int
	serverURL *url.URL
	// clientURL is the URL of the client's request, on the Proxy.
	clientURL *url.URL
}

// route returns the destination of a request, or nil if no route matches or its path is ambiguous.
// An endpoint that a server named goes first: it may lie outside the routes. Of several routes the
// one with the longest path wins.
func (p *Proxy) route(r *http.Request) *destination {
	client := *r.URL
	client.Scheme = "http"
	client.Host = r.Host
	p.mu.Lock()
	to := p.endpoints.Get(r.URL.RequestURI())
	p.mu.Unlock()
	if to != nil {
		return &destination{to.target, to.serverURL, &client}
	}
	best := -1
	for i, route := range p.Routes {
		if route.matches(r.URL.Path) && (best < 0 || len(route.Path) > len(p.Routes[best].Path)) {
			best = i
		}
	}
	if best < 0 || p.Routes[best].isAmbiguous(r.URL.EscapedPath()) {
		return nil
	}
	return &destination{best, p.Routes[best].serverURL(r.URL), &client}
}

// matches reports whether the route serves a path.
func (r Route) matches(path string) bool {
	return r.Path == "" || path == r.Path || strings.HasPrefix(path, r.Path+"/")
}

// isAmbiguous reports whether a server may read the path differently and leave the route's own
// path. A route without a path serves all paths; only dots matter there.
func (r Route) isAmbiguous(path string) bool {
	below := strings.ToLower(strings.TrimPrefix(path, r.Path)) // the digits of %2E may be of either case
	if strings.Contains(below, "%2e") {                        // an encoded dot
		return true
	}
	hasSlash := strings.Contains(below, "%2f") || strings.Contains(below, `\`) || strings.Contains(below, "%5c")
	if r.Path != "" && hasSlash {
		return true
	}
	segments := strings.Split(below, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

// serverURL returns the server's URL for a URL that the client requested. It adds the query
// parameters of the route.
func (r Route) serverURL(clientURL *url.URL) *url.URL {
	to := *clientURL
	to.Scheme = r.To.Scheme
	to.Host = r.To.Host
	to.User = nil
	if r.Path != "" {
		base := strings.TrimSuffix(r.To.EscapedPath(), "/")
		raw := base + strings.TrimPrefix(clientURL.EscapedPath(), r.Path)
		// Both fields keep the client's percent-encoding; it is valid, as net/http parsed it.
		if path, err := url.PathUnescape(raw); err == nil {
			to.Path = path
			to.RawPath = raw
		}
	}
	// The parameters belong to the route's own URL, not to paths below it, and a client may send
	// them itself.
	if to.EscapedPath() == r.To.EscapedPath() && r.To.RawQuery != "" && !strings.Contains(to.RawQuery, r.To.RawQuery) {
		to.RawQuery = strings.TrimSuffix(r.To.RawQuery+"&"+to.RawQuery, "&")
	}
	return &to
}

// mayNameEndpoint reports whether the response may be a stream that begins with an endpoint event
// (2024-11-05 basic/transports, "HTTP with SSE").
func mayNameEndpoint(req *http.Request, resp *http.Response) bool {
	if req.Method != http.MethodGet || req.Header.Get("Mcp-Session-Id") != "" {
		return false
	}
	kind := wire.MediaType(resp.Header.Get("Content-Type"))
	isStream := kind == "text/event-stream" && resp.StatusCode == http.StatusOK && resp.ContentLength < 0
	return isStream && len(compress.Codings(resp.Header)) == 0
}

// An endpointBody is a stream whose first event may name an endpoint. A client would send its
// messages to an absolute URL directly, past the Proxy, so the Proxy's origin replaces the
// server's. No other change is made to a body. A path stays unchanged; it is remembered, because it
// may lie outside the route.
type endpointBody struct {
	io.ReadCloser
	proxy       *Proxy
	destination *destination
	// begin is the beginning of the stream, until the first event is complete; unread is the part of it
	// that was not returned yet.
	begin, unread []byte
	isEventDone   bool
	err           error
}

// maxEndpointEvent is how many bytes are held back while the first event is incomplete.
const maxEndpointEvent = 8 << 10

// Read returns nothing until the first event is complete, too long, or cut off by an error.
func (b *endpointBody) Read(to []byte) (int, error) {
	for !b.isEventDone {
		n, err := b.ReadCloser.Read(to)
		b.begin = append(b.begin, to[:n]...)
		b.err = err
		end := eventEnd(b.begin)
		if end < 0 && err == nil && len(b.begin) < maxEndpointEvent {
			continue
		}
		b.isEventDone = true
		b.unread = b.begin
		if end > 0 { // otherwise the event passes as it is
			b.unread = append(b.rewriteEvent(b.begin[:end]), b.begin[end:]...)
		}
	}
	if len(b.unread) > 0 {
		n := copy(to, b.unread)
		b.unread = b.unread[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(to)
}

// eventEnd returns the end of the first event, after its blank line, or -1.
func eventEnd(stream []byte) int {
	first := -1
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if start := bytes.Index(stream, []byte(blank)); start >= 0 && (first < 0 || start+len(blank) < first) {
			first = start + len(blank)
		}
	}
	return first
}

// rewriteEvent returns the first event with the Proxy's origin in place of the server's, and
// remembers the endpoint that it names. It returns a copy of the event if that is no endpoint event
// or contains no origin.
func (b *endpointBody) rewriteEvent(event []byte) []byte {
	ev, err := sse.NewReader(bytes.NewReader(event), maxEndpointEvent).Next()
	if err != nil || ev.Event != "endpoint" {
		return bytes.Clone(event)
	}
	address := string(ev.Data)
	ref, err := url.Parse(address)
	if err != nil {
		return bytes.Clone(event)
	}
	server := b.destination.serverURL.ResolveReference(ref)
	client := b.destination.clientURL.ResolveReference(ref)
	if server.Scheme != b.destination.serverURL.Scheme || !strings.EqualFold(server.Host, b.destination.serverURL.Host) {
		return bytes.Clone(event) // the client has to reject it
	}
	b.proxy.mu.Lock()
	b.proxy.endpoints.Put(client.RequestURI(), &destination{target: b.destination.target, serverURL: server})
	b.proxy.mu.Unlock()
	if ref.Host == "" { // a path, which the client resolves against the Proxy's origin
		return bytes.Clone(event)
	}
	// Replace the text of the scheme and the host only; the rest keeps the server's spelling.
	scheme, hostAndPath, _ := strings.Cut(address, "//")
	if scheme != "" {
		scheme = b.destination.clientURL.Scheme + ":"
	}
	pathStart := strings.IndexAny(hostAndPath+"/", "/?#")
	changed := scheme + "//" + b.destination.clientURL.Host + hostAndPath[pathStart:]
	return bytes.Replace(event, []byte(address), []byte(changed), 1)
}
