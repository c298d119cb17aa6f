package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// recordedRows are the rows of what was seen, as a person would read them.
func (b *behind) recordedRows() (all []string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "capture")
	recorder := capture.NewRecorder(capture.Recording{Open: capture.File(path), Head: capture.Head{By: capture.ByProxy}})
	for _, f := range b.seen() {
		recorder.Tap(f)
	}
	if err := recorder.Close(); err != nil {
		b.t.Fatal(err)
	}
	capture, err := rows.Open(path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer capture.Close()
	for _, row := range capture.Rows() {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", row.Method, row.Name, row.Channel, row.Notes)))
	}
	return all
}

// A caller is one client among several; each numbers its requests from 1.
type caller struct {
	t      *testing.T
	url    string
	fields []string
}

// begin posts a message and gives its response when the head has come.
func (c *caller) begin(method, body string, fields ...string) *http.Response {
	c.t.Helper()
	req := must(http.NewRequest(method, c.url, strings.NewReader(body)))
	for i, f := range append(fields, c.fields...) {
		if i%2 == 1 {
			req.Header.Set(append(fields, c.fields...)[i-1], f)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

func (c *caller) ask(method, body string, fields ...string) string {
	c.t.Helper()
	resp := c.begin(method, body, fields...)
	defer resp.Body.Close()
	return string(must(io.ReadAll(resp.Body)))
}

func event(id, data string) string { return "id: " + id + "\ndata: " + data + "\n\n" }

// Two clients with the same ids and the same words at the same time, without
// sessions: each answer, notification and round goes to its own request.
func TestProxyTellsStatelessClientsApart(t *testing.T) {
	both := make(chan chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := string(must(io.ReadAll(r.Body)))
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case strings.Contains(body, "requestState"):
			fmt.Fprint(w, event("", `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`))
			return
		case strings.Contains(body, `"slow"`):
			on := make(chan bool)
			both <- on
			<-on
			fmt.Fprint(w, event("", `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`+r.Header.Get("Who")+`"}}`))
			fmt.Fprint(w, event("", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`))
			return
		}
		fmt.Fprint(w, event("", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"same","inputRequests":{}}}`))
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	go func() {
		first, second := <-both, <-both
		close(first)
		close(second)
	}()
	done := make(chan bool)
	for _, who := range []string{"a", "b"} {
		go func() {
			c := &caller{t, b.url + "/mcp", []string{"Who", who}}
			c.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)
			c.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
			c.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","requestState":"same","inputResponses":{}}}`)
			done <- true
		}()
	}
	<-done
	<-done
	rows := strings.Join(b.recordedRows(), "\n")
	slow, ask := "tools/call slow ok 1 notification", "tools/call ask ok 1 further round"
	if strings.Count(rows, slow) != 2 || strings.Count(rows, ask) != 2 || strings.Count(rows, "\n") != 3 {
		t.Error(rows)
	}
}

// A server returns the same state for all its tools, and a client gives up a call: no round of
// another call, or of another client, is taken for a round of this call.
func TestProxyTellsRoundsApart(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := string(must(io.ReadAll(r.Body)))
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(body, "requestState") {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
			return
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"same","inputRequests":{}}}`)
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	var clients []*http.Client
	for range 2 { // each with a separate connection
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		clients = append(clients, &http.Client{Transport: transport})
	}
	post := func(client int, body string) {
		resp := must(clients[client].Post(b.url+"/mcp", "application/json", strings.NewReader(body)))
		defer resp.Body.Close()
		_ = must(io.ReadAll(resp.Body))
	}
	ask := func(client int, params string) {
		post(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`)
	}
	retry := func(client int, params string) {
		post(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+params+`,"requestState":"same","inputResponses":{}}}`)
	}
	ask(0, `"name":"given-up"`)
	ask(1, `"name":"other"`)
	retry(1, `"name":"other"`)
	ask(1, `"name":"given-up","arguments":{"again":1}`)
	retry(1, `"name":"given-up","arguments":{"again":1}`)
	ask(0, `"name":"both"`)
	ask(1, `"name":"both"`)
	ask(1, `"name":"both"`)
	retry(0, `"name":"both"`)
	retry(1, `"name":"both"`)
	want := []string{
		"tools/call given-up input_required", "tools/call other ok 1 further round", "tools/call given-up ok 1 further round",
		"tools/call both ok 1 further round", "tools/call both input_required", "tools/call both ok 1 further round",
	}
	if diff := cmp.Diff(want, b.recordedRows()); diff != "" {
		t.Error(diff)
	}
}

// Two sessions at once, with a request of the server's, a cut stream, and a stream that continues
// after its last event.
func TestProxyTellsSessionsApart(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := string(must(io.ReadAll(r.Body)))
		switch {
		case strings.Contains(body, `"initialize"`):
			w.Header().Set("Mcp-Session-Id", "session-of-"+r.Header.Get("Who"))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
		case strings.Contains(body, `"tools/call"`):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, event("e1", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case r.Method == "GET":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, event("e2", `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	clients := []*caller{{t, b.url + "/mcp", []string{"Who", "a"}}, {t, b.url + "/mcp", []string{"Who", "b"}}}
	each := func(do func(c *caller)) {
		for _, c := range clients {
			do(c)
		}
	}
	each(func(c *caller) { c.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`) })
	each(func(c *caller) { c.fields = append(c.fields, "Mcp-Session-Id", "session-of-"+c.fields[1]) })
	each(func(c *caller) {
		resp := c.begin("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`)
		_, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
	})
	each(func(c *caller) { c.ask("POST", `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`) })
	each(func(c *caller) { c.ask("GET", "", "Last-Event-ID", "e1") })
	one := "tools/call x ok 1 server request, 1 connection error, 1 resume attempt"
	if diff := cmp.Diff([]string{"initialize  ok", "initialize  ok", one, "roots/list  ok", one, "roots/list  ok"}, b.recordedRows()); diff != "" {
		t.Error(diff)
	}
}

// The old transport responds on a separate stream. Its endpoint is named by a path, by a URL, below
// the proxy's path or beside it.
func TestProxyCarriesTheOldTransport(t *testing.T) {
	for name, endpoint := range map[string]string{
		"a path": "/messages?sessionId=%s", "a relative one": "messages?sessionId=%s",
		"a URL": "http://$HOST/messages?sessionId=%s#x", "no scheme": "//$HOST/messages?sessionId=%s",
	} {
		t.Run(name, func(t *testing.T) {
			streams := map[string]chan string{"a": make(chan string), "b": make(chan string)}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "POST" {
					body := string(must(io.ReadAll(r.Body)))
					w.WriteHeader(http.StatusAccepted)
					streams[r.URL.Query().Get("sessionId")] <- body
					return
				}
				who := r.Header.Get("Who")
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "event: endpoint\r\ndata: %s\r\n\r\n", strings.ReplaceAll(fmt.Sprintf(endpoint, who), "$HOST", r.Host))
				w.(http.Flusher).Flush()
				<-streams[who]
				fmt.Fprint(w, event("", `{"jsonrpc":"2.0","id":1,"result":{"who":"`+who+`"}}`))
			}))
			defer server.Close()
			b := proxied(t, WatcherOptions{}, "/old="+server.URL+"/sse", "/other=http://127.0.0.1:1/")
			var open []*bufio.Reader
			var posts []string
			for _, who := range []string{"a", "b"} {
				resp := (&caller{t, b.url + "/old", []string{"Who", who}}).begin("GET", "")
				defer resp.Body.Close()
				events := bufio.NewReader(resp.Body)
				_ = must(events.ReadString('\n'))
				line := must(events.ReadString('\n'))
				u := must(resp.Request.URL.Parse(strings.TrimSpace(strings.TrimPrefix(line, "data: "))))
				if u.Host != strings.TrimPrefix(b.url, "http://") {
					t.Fatalf("the client would go to %s", u)
				}
				open, posts = append(open, events), append(posts, u.String())
			}
			for i, to := range posts {
				(&caller{t, to, nil}).ask("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
				rest := string(must(io.ReadAll(open[i])))
				if !strings.Contains(rest, `"who":"`+string(rune('a'+i))+`"`) {
					t.Errorf("got %q", rest)
				}
			}
			if diff := cmp.Diff([]string{"ping  ok", "ping  ok"}, b.recordedRows()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request that returns a state is parsed, however its names are escaped.
func TestRequestStateIsFoundInAnySpelling(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":"s"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"request\u0053tate":"s"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"\u0069nputResponses":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","\u0070arams":{"requestState":"s"}}`,
	} {
		if traits := wire.ParseMessage([]byte(text)).Traits(); traits.RequestState == "" && !traits.HasInputResponses || !mayHaveState([]byte(text)) {
			t.Errorf("%s: %+v, may give back: %v", text, traits, mayHaveState([]byte(text)))
		}
	}
}
