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

// A destination is where one request goes.
type destination struct {
	target int
	url    *url.URL
	// client is the URL by which the client asked, on the Proxy.
	client *url.URL
}

// route finds out where a request goes; nil where no server is meant, or where that is
// unclear.
func (p *Proxy) route(r *http.Request) *destination {
	client := *r.URL
	client.Scheme = "http"
	client.Host = r.Host
	p.mu.Lock()
	to := p.endpoints.Get(r.URL.RequestURI())
	p.mu.Unlock()
	if to != nil {
		return &destination{to.target, to.url, &client}
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

func (r Route) matches(path string) bool {
	return r.Path == "" || path == r.Path || strings.HasPrefix(path, r.Path+"/")
}

// unclear reports a path that servers may read as another than it is here, and so as one
// beside the Route. Without a Path a Route takes all paths, and a slash may be spelled by
// number.
func (r Route) isAmbiguous(path string) bool {
	rest := strings.ToLower(strings.TrimPrefix(path, r.Path))
	if strings.Contains(rest, "%2e") ||
		r.Path != "" && (strings.Contains(rest, "%2f") || strings.ContainsAny(rest, `\`) || strings.Contains(rest, "%5c")) {
		return true
	}
	segments := strings.Split(rest, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

// forward is asked as the server knows it. Its own parameters are sent too.
func (r Route) serverURL(clientURL *url.URL) *url.URL {
	to := *clientURL
	to.Scheme = r.To.Scheme
	to.Host = r.To.Host
	to.User = nil
	if r.Path != "" {
		base := strings.TrimSuffix(r.To.EscapedPath(), "/")
		raw := base + strings.TrimPrefix(clientURL.EscapedPath(), r.Path)
		if path, err := url.PathUnescape(raw); err == nil {
			to.Path = path
			to.RawPath = raw
		}
	}
	if to.EscapedPath() == r.To.EscapedPath() && r.To.RawQuery != "" && !strings.Contains(to.RawQuery, r.To.RawQuery) {
		to.RawQuery = strings.TrimSuffix(r.To.RawQuery+"&"+to.RawQuery, "&")
	}
	return &to
}

// mayNameEndpoint reports a stream that may begin with an endpoint event (2024-11-05
// basic/transports, "HTTP with SSE").
func mayNameEndpoint(req *http.Request, resp *http.Response) bool {
	if req.Method != http.MethodGet || req.Header.Get("Mcp-Session-Id") != "" {
		return false
	}
	kind := wire.MediaType(resp.Header.Get("Content-Type"))
	isStream := kind == "text/event-stream" && resp.StatusCode == http.StatusOK && resp.ContentLength < 0
	return isStream && len(compress.Codings(resp.Header)) == 0
}

// An endpointBody is a stream whose first event may name an endpoint. A client
// would post to an address on the server's own origin past the Proxy: its origin
// is replaced with the Proxy's. This is the one change that is made to a body. A
// path is left alone, and remembered where it is not under the Route's own.
type endpointBody struct {
	io.ReadCloser
	p  *Proxy
	to *destination
	// head is the first event, until it is whole; rest is what may be read of it.
	head, rest []byte
	passed     bool
	err        error
}

// longestEndpoint is how many bytes are held back until the first event is whole. No
// client can do anything with less than that.
const maxEndpointEvent = 8 << 10

func (b *endpointBody) Read(to []byte) (int, error) {
	for !b.passed {
		n, err := b.ReadCloser.Read(to)
		b.head = append(b.head, to[:n]...)
		b.err = err
		end := eventEnd(b.head)
		if end < 0 && err == nil && len(b.head) < maxEndpointEvent {
			continue
		}
		b.passed = true
		b.rest = b.head
		if end > 0 {
			b.rest = append(b.rewriteEvent(b.head[:end]), b.head[end:]...)
		}
	}
	if len(b.rest) > 0 {
		n := copy(to, b.rest)
		b.rest = b.rest[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(to)
}

// eventEnd is where the first event ends, behind its blank line, or -1.
func eventEnd(stream []byte) int {
	first := -1
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if at := bytes.Index(stream, []byte(blank)); at >= 0 && (first < 0 || at+len(blank) < first) {
			first = at + len(blank)
		}
	}
	return first
}

// seen is the first event as the client may have it.
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
	server := b.to.url.ResolveReference(ref)
	client := b.to.client.ResolveReference(ref)
	if server.Scheme != b.to.url.Scheme || !strings.EqualFold(server.Host, b.to.url.Host) {
		return bytes.Clone(event) // it is the client's to refuse
	}
	b.p.mu.Lock()
	b.p.endpoints.Put(client.RequestURI(), &destination{target: b.to.target, url: server})
	b.p.mu.Unlock()
	if ref.Host == "" {
		return bytes.Clone(event)
	}
	scheme, rest, _ := strings.Cut(address, "//")
	if scheme != "" {
		scheme = b.to.client.Scheme + ":"
	}
	at := strings.IndexAny(rest+"/", "/?#")
	return bytes.Replace(event, []byte(address), []byte(scheme+"//"+b.to.client.Host+rest[at:]), 1)
}
