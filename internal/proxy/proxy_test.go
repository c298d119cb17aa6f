package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// toolCall is a request.
const toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`

// A behind is a proxy in front of servers, and the frames that it saw.
type behind struct {
	t       *testing.T
	url     string
	watcher *Watcher
	proxy   *Proxy
	server  *httptest.Server

	mu     sync.Mutex
	frames []wire.Frame
	lost   int
}

// proxied begins a proxy; routes are "URL" or "/path=URL".
func proxied(t *testing.T, o WatcherOptions, routes ...string) *behind {
	t.Helper()
	b := &behind{t: t}
	if o.Tap == nil {
		o.Tap = b.tap
	}
	o.Now, o.OnLost = time.Now, func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lost += n
	}
	b.watcher = NewWatcher(o)
	b.server = httptest.NewUnstartedServer(nil)
	b.proxy = &Proxy{Address: b.server.Listener.Addr().String(), Watcher: b.watcher, Desk: &Desk{Now: time.Now}}
	for _, route := range routes {
		path, to, ok := strings.Cut(route, "=")
		if !ok || !strings.HasPrefix(path, "/") {
			path, to = "", route
		}
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		b.proxy.Routes = append(b.proxy.Routes, Route{path, u})
	}
	b.server.Config.Handler, b.server.Config.ConnContext = b.proxy.Handler(patience), connContext
	b.server.Start()
	b.url = b.server.URL
	t.Cleanup(func() { b.seen() })
	return b
}

func (b *behind) tap(f wire.Frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = append(b.frames, f)
}

// seen ends the proxy and gives all that it saw.
func (b *behind) seen() []wire.Frame {
	if b.server != nil {
		b.server.CloseClientConnections()
		b.server.Close()
		b.proxy.active.Lock() // until no request is under way
		b.watcher.Close()
		b.server = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.frames
}

// An echo responds as the path requests, and notes its requests.
type echo struct {
	mu    sync.Mutex
	asked []string
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var fields []string
	for name, values := range r.Header {
		if name == "Connection" { // the field of one hop
			continue
		}
		fields = append(fields, fmt.Sprintf("%s=%q", name, values))
	}
	slices.Sort(fields)
	e.mu.Lock()
	e.asked = append(e.asked, fmt.Sprintf("%s %s %d %v %q", r.Method, r.RequestURI, r.ContentLength, fields, body))
	e.mu.Unlock()
	switch flusher := w.(http.Flusher); r.URL.Path {
	case "/moved":
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
	case "/gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		z.Close()
	case "/trailers":
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		flusher.Flush()
		w.Header().Set("X-Sum", "abc")
	case "/odd":
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.Header().Set("X-Odd", "\xff\xfe")
		w.WriteHeader(418)
		w.Write([]byte("\x00\xff\r\n\r\nno JSON {"))
	case "/events":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 20 {
			fmt.Fprintf(w, ": tick\r\nid: %d\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"n/%d\"}\n\n", i, i)
			flusher.Flush()
		}
		io.WriteString(w, "data: half")
	case "/empty":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}
}

// whole is a response as text, without the date.
func whole(t *testing.T, method, url, body string, fields ...string) string {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	client := http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	resp.Header.Del("Date")
	return fmt.Sprintf("%s %d %v %q %v %v", resp.Status, resp.ContentLength, resp.Header, raw, err, resp.Trailer)
}

// With the proxy and without it, both sides get the same; also with fault rules that never fire.
func TestProxyChangesNothing(t *testing.T) {
	t.Run("an empty set", func(t *testing.T) { changesNothing(t, faultSet(t, LinkHTTP, "")) })
	t.Run("rules that never fire", func(t *testing.T) {
		changesNothing(t, faultSet(t, LinkHTTP, "when name:absent do hang\nwhen dir:received name:absent do drop notification\nwhen method:GET #99 do hang\nwhen p=0 do 401"))
	})
}

func changesNothing(t *testing.T, faults *Desk) {
	upstream := &echo{}
	server := httptest.NewServer(upstream)
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL+"/mcp")
	b.proxy.Desk = faults
	large := `{"jsonrpc":"2.0","id":1,"method":"m","params":"` + strings.Repeat("x", 3<<20) + `"}`
	for _, c := range []struct {
		method, path, body string
		fields             []string
	}{
		{"POST", "/mcp", `{"id":1.50, "jsonrpc":"2.0", "a":1,"a":2}` + "\r\n", []string{"Authorization", "Bearer abc", "Mcp-Session-Id", "s"}},
		{"POST", "/mcp?a=%20b;c&d=%zz&&", "", []string{"X-Forwarded-For", "10.0.0.1", "Forwarded", "for=x", "Via", "1.1 other"}},
		{"POST", "/a%2Fb//c", "no JSON \xff\x00", []string{"Accept", "a", "Accept", "b", "Cookie", "c=d"}},
		{"POST", "/large", large, nil},
		{"GET", "/events", "", []string{"Last-Event-ID", "7", "Accept-Encoding", "br, gzip"}},
		{"GET", "/moved", "", nil},
		{"GET", "/gzip", "", []string{"Accept-Encoding", "gzip"}},
		{"GET", "/trailers", "", []string{"TE", "trailers"}},
		{"HEAD", "/large", "", nil},
		{"DELETE", "/empty", "", nil},
		{"OPTIONS", "/odd", "", []string{"Origin", "http://localhost:6274"}},
	} {
		direct := whole(t, c.method, server.URL+c.path, c.body, c.fields...)
		through := whole(t, c.method, b.url+c.path, c.body, c.fields...)
		if diff := cmp.Diff(direct, through); diff != "" {
			t.Errorf("%s %s: what came back (-direct +through):\n%s", c.method, c.path, diff)
		}
		n := len(upstream.asked)
		if diff := cmp.Diff(upstream.asked[n-2], upstream.asked[n-1]); diff != "" {
			t.Errorf("%s %s: what was asked (-direct +through):\n%.2000s", c.method, c.path, diff)
		}
	}
	bodies := 0
	for _, f := range b.seen() {
		if f.Kind == wire.Body && string(f.Raw) == large {
			bodies++
		}
	}
	if bodies != 2 {
		t.Errorf("the large body was seen %d times, want 2", bodies)
	}
}

// Bytes are forwarded when they arrive, piece by piece, in both directions.
func TestProxyForwardsEachPieceAtOnce(t *testing.T) {
	next := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 100)
		n, _ := r.Body.Read(buf)
		next <- string(buf[:n])
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for piece := range next {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	sending, send := io.Pipe()
	go func() {
		io.WriteString(send, "half of a req")
		if got := <-next; got != "half of a req" {
			t.Errorf("the server read %q", got)
		}
		send.Close()
	}()
	resp, err := http.Post(b.url+"/mcp", "application/json", sending)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, piece := range []string{"d", "ata: ", "{}\n", "\n"} {
		next <- piece
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != piece {
			t.Errorf("got %q and %v, want %q", got, err, piece)
		}
	}
	close(next)
}

// The part of a cut body that came is recorded, and is not a message.
func TestProxyRecordsCutBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "30")
		io.WriteString(w, `{"jsonrpc"`)
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	whole(t, "POST", b.url+"/mcp", toolCall)
	var got []string
	for _, f := range b.seen() {
		if f.Dir == wire.Received && f.Kind != wire.Head {
			got = append(got, f.Kind.String()+" "+string(f.Raw))
		}
	}
	if diff := cmp.Diff([]string{`noise {"jsonrpc"`, "closed "}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Lines of a stream that are no events are recorded, too.
func TestProxyRecordsLinesThatAreNoEvents(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "{\"a\": 1}\n\nfoo: bar\ndata: {}\n\nid: 1\ndata: ha")
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	whole(t, "POST", b.url+"/mcp", toolCall)
	var got []string
	for _, f := range b.seen() {
		if f.Dir == wire.Received && f.Raw != nil {
			got = append(got, f.Kind.String()+" "+string(f.Raw))
		}
	}
	want := []string{"noise {\"a\": 1}\n", "noise foo: bar\n", "event {}", "noise id: 1\ndata: ha"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProxyRefuses(t *testing.T) {
	upstream := &echo{}
	server := httptest.NewServer(upstream)
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	host := strings.TrimPrefix(b.url, "http://")
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"another host":                {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
		"another port":                {"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 403},
		"a page":                      {"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: https://evil.example\r\n\r\n", 403},
		"a page nowhere":              {"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: null\r\n\r\n", 403},
		"an image":                    {"GET /mcp HTTP/1.1\r\nHost: " + host + "\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403},
		"a whole URL":                 {"GET http://" + host + "/mcp HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 403},
		"a tunnel":                    {"CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 403},
		"a page behind another field": {"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://localhost:6274\r\nOrigin: https://evil.example\r\n\r\n", 403},
		"a page behind none":          {"GET /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin:\r\nOrigin: https://evil.example\r\n\r\n", 403},
		"a path with dots":            {"GET /mcp/../x HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 400},
		"a path with encoded dots":    {"GET /mcp/%2E%2e/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 400},
		"a page from here":            {"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://localhost:6274\r\n\r\n", 200},
		"by name":                     {"POST /mcp HTTP/1.1\r\nHost: localhost:" + strings.Split(host, ":")[1] + "\r\n\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := rawRequest(t, host, c.request)
			if status != c.status || status != 200 && !strings.HasPrefix(body, "mcpc proxy: ") {
				t.Errorf("got %d %q, want %d", status, body, c.status)
			}
		})
	}
	if len(upstream.asked) != 2 {
		t.Errorf("the server was asked %q", upstream.asked)
	}
}

func rawRequest(t *testing.T, host, request string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
	raw, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(raw), "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("%v: %q", err, raw)
	}
	_, body, _ = strings.Cut(string(raw), "\r\n\r\n")
	return status, body
}

// A request below a path of a route stays below the URL of the route.
func TestProxyStaysUnderItsRoutes(t *testing.T) {
	upstream := &echo{}
	server := httptest.NewServer(upstream)
	defer server.Close()
	b := proxied(t, WatcherOptions{}, "/a="+server.URL+"/own/mcp")
	host := strings.TrimPrefix(b.url, "http://")
	for path, status := range map[string]int{
		"/a": 200, "/a/b.c/..d": 200, "/a?x=../..%2f": 200,
		"/a/..": 400, "/a/../../admin": 400, "/a/./b": 400, "/a/%2e%2e/admin": 400, "/a/.%2E/admin": 400, "/a/..%2fadmin": 400,
		"/a%2f..%2fadmin": 400, "/a/..%5cadmin": 400, "/a/x%2F..": 400, "/../a": 404, "/%2e%2e/a": 404,
	} {
		if got, body := rawRequest(t, host, "POST "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); got != status {
			t.Errorf("%s: got %d %q, want %d", path, got, body, status)
		}
	}
	for _, asked := range upstream.asked {
		if !strings.Contains(asked, "/own/mcp") {
			t.Errorf("the server was asked %s", asked)
		}
	}
}

// A missing server, a server that dies on the way, and a server that is the proxy itself are
// distinguished from a server that responds.
func TestProxyDistinguishesDeadServers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 1\ndata:\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL, "/dead=http://127.0.0.1:1/mcp")
	b.proxy.Routes = append(b.proxy.Routes, Route{"/self", must(url.Parse(b.url + "/mcp"))})
	b.proxy.servers = append(b.proxy.servers, b.url+"/mcp")
	post := func(path string) (int, string, error) {
		resp, err := http.Post(b.url+path, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"m"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body), err
	}
	if status, body, err := post("/dead"); status != 502 || !strings.HasPrefix(body, "mcpc proxy: 127.0.0.1:1: ") || err != nil {
		t.Errorf("nobody there: %d %q %v", status, body, err)
	}
	if status, body, _ := post("/self"); status != 502 || !strings.Contains(body, errItself.Error()) {
		t.Errorf("itself: %d %q", status, body)
	}
	if status, body, err := post("/mcp"); status != 200 || body != "id: 1\ndata:\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %d %q %v", status, body, err)
	}
	var ends []string
	asked := map[string]int{}
	for _, f := range b.seen() {
		if f.Dir == wire.Sent && f.Kind == wire.Body {
			asked[string(f.Raw)]++
		}
		if f.Kind == wire.Closed {
			ends = append(ends, f.Close.By.String()+" "+f.Close.How)
		}
	}
	if diff := cmp.Diff([]string{"received cut", "received cut", "received cut"}, ends); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{`{"jsonrpc":"2.0","id":1,"method":"m"}`: 3}, asked); diff != "" {
		t.Errorf("what was asked: %s", diff)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A client that goes away ends the request to the server.
func TestProxyCancels(t *testing.T) {
	gone := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			gone <- nil
		case <-time.After(patience):
			gone <- errors.New("the server is still asked")
		}
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	req := must(http.NewRequestWithContext(ctx, "GET", b.url+"/mcp", nil))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	if err := <-gone; err != nil {
		t.Error(err)
	}
	frames := b.seen()
	if last := frames[len(frames)-1]; last.Close == nil || last.Close.By != wire.Sent || last.Close.How != "cancelled" {
		t.Errorf("the last frame is %+v", last)
	}
}

// unwritable is the response of a client whose connection takes nothing any more.
type unwritable struct{ *httptest.ResponseRecorder }

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// A response that cannot be written to the client is closed before its end. The request's
// context is not cancelled here, so that Close alone can record it.
func TestProxyRecordsAResponseClosedEarly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	req := httptest.NewRequest("GET", "/mcp", nil)
	req.Host = b.proxy.Address
	b.server.Config.Handler.ServeHTTP(unwritable{httptest.NewRecorder()}, req)
	var ends []wire.CloseFacts
	for _, f := range b.seen() {
		if f.Kind == wire.Closed {
			ends = append(ends, *f.Close)
		}
	}
	if diff := cmp.Diff([]wire.CloseFacts{{By: wire.Sent, How: "cancelled", Text: "the client disconnected"}}, ends); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A Tap may be as slow as it likes: it loses frames, and the client gets every byte.
func TestProxyDoesNotWaitForSlowTap(t *testing.T) {
	const pieces = 400
	piece := "data: " + strings.Repeat("y", 1000) + "\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range pieces {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	stuck := make(chan bool)
	var events int
	// Room for three of the largest pieces that are forwarded at a time (32 kB), and for
	// a quarter of all: however the stream is cut, some wait and some are lost.
	b := proxied(t, WatcherOptions{MaxQueued: 100_000, Tap: func(f wire.Frame) {
		<-stuck
		if f.Kind == wire.Event {
			events++
			if len(f.Raw) != 1000 {
				t.Errorf("a fragment was taken for an event: %d bytes", len(f.Raw))
			}
		}
	}}, server.URL)
	got := whole(t, "GET", b.url+"/mcp", "")
	if n := strings.Count(got, strings.Repeat("y", 1000)); n != pieces {
		t.Errorf("the client got %d pieces, want %d", n, pieces)
	}
	close(stuck)
	b.seen()
	if b.lost == 0 || events == 0 || events > pieces {
		t.Errorf("%d events were seen, %d pieces lost", events, b.lost)
	}
}

// Of what a client does not read, little waits in the proxy.
func TestProxyBuffersLittleForSlowClient(t *testing.T) {
	const most = 64 << 20
	wrote := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		total := 0
		stop := context.AfterFunc(r.Context(), func() { http.NewResponseController(w).SetWriteDeadline(time.Now()) })
		defer stop()
		for total < most {
			n, err := w.Write(make([]byte, 64<<10))
			if total += n; err != nil {
				break
			}
		}
		wrote <- total
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{MaxQueued: 1 << 20}, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := http.DefaultClient.Do(must(http.NewRequestWithContext(ctx, "GET", b.url+"/mcp", nil)))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-wrote:
		t.Error("the server could write all of it to a client that does not read")
	case <-time.After(300 * time.Millisecond): // long enough for a proxy that would take all of it
	}
	cancel()
	resp.Body.Close()
	if total := <-wrote; total >= most {
		t.Errorf("the server wrote %d bytes", total)
	}
}

// A recording that fails is reported once, and everything is forwarded.
func TestProxyOutlivesItsRecording(t *testing.T) {
	server := httptest.NewServer(&echo{})
	defer server.Close()
	told := 0
	recorder := capture.NewRecorder(capture.Recording{
		OnError: func(error) { told++ },
		Open:    func() (io.WriteCloser, int, error) { return nil, 0, errors.New("no space left on device") },
	})
	b := proxied(t, WatcherOptions{Tap: recorder.Tap}, server.URL)
	for range 5 {
		if got := whole(t, "POST", b.url+"/mcp", "{}"); !strings.HasPrefix(got, "200") {
			t.Error(got)
		}
	}
	b.seen()
	if err := recorder.Close(); err == nil || told != 1 {
		t.Errorf("told %d times, and %v", told, err)
	}
}

func TestProxyCarriesManyAtOnce(t *testing.T) {
	server := httptest.NewServer(&echo{})
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 5 {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"who":%d,"n":%d}}`, i, k)
				if got := whole(t, "POST", b.url+"/mcp", body); !strings.Contains(got, fmt.Sprintf("%q", body)) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	all.Wait()
	exchanges := slices.DeleteFunc(wire.GroupFrames(b.seen()), (*wire.Exchange).IsFromServer) // the reply is a request
	if len(exchanges) != 64*5 {
		t.Errorf("%d exchanges, want %d", len(exchanges), 64*5)
	}
	for _, e := range exchanges {
		if len(e.OtherMessages) != 1 || !bytes.Equal(e.Request.Raw, e.OtherMessages[0].Raw) {
			t.Fatalf("%s got %+v", e.Request.Raw, e.OtherMessages)
		}
	}
}

// The transport reads beyond a body's end, and the client's body is closed as soon as the response
// is there: that must not break the connection that is read.
func TestProxyStopsReadingAtEndOfBody(t *testing.T) {
	w := NewWatcher(WatcherOptions{Tap: func(wire.Frame) {}, Now: time.Now})
	defer w.Close()
	calls := 0
	body := &requestBody{x: &exchange{request: halfStream{w: w}}, body: readerFunc(func(to []byte) (int, error) {
		if calls++; calls > 1 {
			return 0, http.ErrBodyReadAfterClose
		}
		return copy(to, "whole"), io.EOF
	})}
	to := make([]byte, 10)
	if n, err := body.Read(to); n != 5 || err != io.EOF {
		t.Fatal(n, err)
	}
	if n, err := body.Read(to); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
}

// A body must be decoded to look for secrets in it.
func TestBodiesInUnknownEncodingsAreWithheld(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Encoding", "lzma")
		_, _ = io.WriteString(w, "\x0b\x08\x80known-one\x03")
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL+"/mcp")
	whole(t, "POST", b.url+"/mcp", "\x0b\x08\x80known-two\x03", "Content-Encoding", "lzma")
	n := 0
	for _, f := range b.seen() {
		if strings.Contains(string(f.Raw), "known") {
			t.Errorf("%q is kept", f.Raw)
		}
		if f.Kind == wire.Noise && f.Hidden == 1 && f.Size == 13 && strings.HasPrefix(string(f.Raw), "••••(len 13") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d bodies were withheld", n)
	}
}
