package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// faultSet are rules for a transport.
func faultSet(t *testing.T, link Link, text string) *Desk {
	t.Helper()
	s := &Desk{Seed: 1, Link: link, Now: time.Now, Encode: func(text string) string { return text }}
	rules, err := ParseRules("test", text, time.Now())
	if err == nil {
		err = s.Add(rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// streaming answers a request with two notifications and the response, a GET with three
// notifications.
func streaming(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m := wire.ParseMessage(body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 1; i <= 2; i++ {
		fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":%d}}\n\n", i, i)
	}
	if m.Kind == wire.Request {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":true}}\n\n", m.ID)
	} else {
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":3}}\n\n")
	}
}

const (
	first  = "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":1}}\n\n"
	second = "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":2}}\n\n"
	third  = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":3}}\n\n"
	answer = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true}}\n\n"
)

func TestFaultsOnEventStreams(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(streaming))
	defer server.Close()
	for _, c := range []struct {
		method, rules, want string
		cut                 bool
	}{
		{"POST", "when dir:received \"\\\"n\\\":1\" do drop notification", second + answer, false},
		{"POST", "when method:notifications/* #1 do duplicate", first + first + second + answer, false},
		{"POST", "when method:notifications/* #1 do reorder 1", second + first + answer, false},
		{"POST", "when method:notifications/* #1 do reorder 9", second + answer + first, false},
		{"POST", "when method:notifications/* #2 do replace .params.n 7", first + "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":7}}\n\n" + answer, false},
		{"POST", "when method:notifications/* #1 do truncate 5", "id: 1\ndata: {\"jso\n\n" + second + answer, false},
		{"POST", "when method:notifications/* #1 do delay 20ms", first + second + answer, false},
		{"POST", "when method:tools/call do cut after event 1", first, true},
		{"POST", "when method:tools/call do cut after event 2 rst", "", true},
		{"POST", "when method:tools/call do cut after event 0", "", true},
		{"POST", "when method:tools/call do cut after 10 bytes", first[:10], true},
		{"POST", "when method:tools/call do cut after 9999 bytes", first + second + answer, false},
		{"POST", "when method:tools/call do duplicate", first + second + answer + answer, false},
		{"POST", "when method:tools/call do reorder 2", second + answer + first, false},
		{"POST", "when method:tools/call do replace .result {\"a\":\n1}", first + second + "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n", false},
		{"POST", "when method:tools/call do list-changed", first + second + "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n" + answer, false},
		{"POST", "when method:tools/call do header X-Own: yes", first + second + answer, false},
		{"GET", "when method:GET do list-changed prompts", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}\n\n" + first + second + third, false},
		{"GET", "when method:GET do cut after event 2", first + second, true},
		{"GET", "when method:GET do slow-loris 1us", first + second + third, false},
	} {
		rules := strings.ReplaceAll(c.rules, "\n", "")
		b := proxied(t, WatcherOptions{}, server.URL)
		b.proxy.Desk = faultSet(t, LinkHTTP, rules)
		var body io.Reader
		if c.method == "POST" {
			body = strings.NewReader(toolCall)
		}
		req, err := http.NewRequest(c.method, b.url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Mcp-Session-Id", "s")
		resp, err := http.DefaultClient.Do(req)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if (err != nil) != c.cut || string(got) != c.want && !strings.Contains(rules, "rst") {
			t.Errorf("%s: got %q and %v, want %q", rules, got, err, c.want)
		}
		var faults []string
		for _, f := range b.seen() {
			if f.Kind == wire.Fault {
				faults = append(faults, f.Fault.Rule+f.Fault.Text)
			}
		}
		want := []string{rules}
		if strings.Contains(rules, "9999") {
			want[0] += "the response ended before"
		}
		if !slices.Equal(faults, want) {
			t.Errorf("%s: the frames have %q", rules, faults)
		}
	}
}

// A message that is sent after an event does not change the events that were read with it.
func TestReorderedEventsOfOneRead(t *testing.T) {
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
	defer w.Close()
	p := &Proxy{Watcher: w, servers: []string{""}, Desk: faultSet(t, LinkHTTP, "when method:notifications/* #1 do reorder 1")}
	f := &faultedRequest{p: p, x: p.newExchange(0, httptest.NewRequest("GET", "/", nil)), subject: subject{Row: p.Desk.Live.Row("", "", 0, nil, nil)}}
	e := &eventRewriter{request: f, source: strings.NewReader(first + second + third + third + third)}
	var got string
	for {
		b, err := e.next()
		got += string(b)
		if err != nil {
			break
		}
	}
	if want := second + first + third + third + third; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExpiredSessions(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++ }))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	b.proxy.Desk = faultSet(t, LinkHTTP, "when #2 do expire-session")
	var got []int
	for _, session := range []string{"", "a", "a", "a", "b", "a", ""} {
		req, _ := http.NewRequest("POST", b.url, strings.NewReader(toolCall))
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		got = append(got, resp.StatusCode)
	}
	if want := []int{200, 200, 404, 404, 200, 404, 200}; !slices.Equal(got, want) || asked != 4 {
		t.Errorf("got %v and %d requests, want %v and 4", got, asked, want)
	}
}

// A rule that lets nothing through waits for the client, and for no longer.
func TestHangingFaultEndsWithClient(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		mu.Unlock()
		streaming(w, r)
	}))
	defer server.Close()
	for action, want := range map[string]int{"drop request": 0, "drop response": 1, "hang": 1, "delay 1h": 1, "stall 1h": 1} {
		asked = 0
		b := proxied(t, WatcherOptions{}, server.URL)
		b.proxy.Desk = faultSet(t, LinkHTTP, "when do "+action)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		req, _ := http.NewRequestWithContext(ctx, "POST", b.url, strings.NewReader(toolCall))
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", action, err)
		}
		frames := b.seen()
		last := frames[len(frames)-1]
		if asked != want || last.Kind != wire.Closed || last.Close.By != wire.Sent {
			t.Errorf("%s: the server was asked %d times, want %d; the last frame is %v", action, asked, want, last)
		}
	}
}

// piped passes both directions through a Pipe and returns the outputs, and the frames.
func piped(t *testing.T, rules, sent, received string) (toServer, toClient string, frames []wire.Frame) {
	t.Helper()
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(f wire.Frame) { frames = append(frames, f) }})
	var server, client bytes.Buffer
	p := &Pipe{
		Desk: faultSet(t, LinkStdio|LinkChild, rules), Watcher: w, Context: t.Context(), Target: "demo", ToServer: &server, ToClient: &client,
		EndServer: func() { server.WriteString("killed") },
	}
	if err := errors.Join(p.ForwardSent(strings.NewReader(sent)), p.ForwardReceived(strings.NewReader(received))); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return server.String(), client.String(), frames
}

const (
	call1    = toolCall + "\n"
	result1  = `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}` + "\n"
	progress = `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n"
	note     = `{"jsonrpc":"2.0","method":"notifications/x"}` + "\n"
)

func TestFaultsOnPipes(t *testing.T) {
	long := strings.Repeat("x", 200_000) + "\n"
	for _, c := range []struct{ rules, sent, received, toServer, toClient string }{
		{"when name:absent do hang", call1 + note + "noise\r\n" + long + "\n{}", result1 + long + "half", call1 + note + "noise\r\n" + long + "\n{}", result1 + long + "half"},
		{"when name:x do rpc 5 \"no\"", call1, "", "", `{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"no"}}` + "\n"},
		{"when name:x do drop request", call1 + note, "", note, ""},
		{"when do drop notification", call1 + note, "", call1, ""},
		{"when method:notifications/message do drop notification", call1, progress + result1, call1, result1},
		{"when name:x do drop response", call1, progress + result1, call1, progress},
		{"when name:x do duplicate", call1, result1, call1, result1 + result1},
		{"when name:x do reorder 1", call1, result1 + progress, call1, progress + result1},
		{"when name:x do reorder 5", call1, result1, call1, result1},
		{"when name:x do delay 20ms", call1, result1 + progress, call1, progress + result1},
		{"when name:x do throttle 1kb/s", call1, result1, call1, result1},
		{"when name:x do slow-loris 10us", call1, result1, call1, result1},
		{"when name:x do stall 10ms", call1, result1, call1, result1},
		{"when name:x do hang", call1, progress + result1 + progress, call1, ""},
		{"when name:x do cut after 7 bytes", call1, progress + result1 + progress, call1 + "killed", progress + result1[:7]},
		{"when name:x do kill child", call1, "", "killed", ""},
		{"when name:x do truncate 9", call1, strings.Replace(result1, "\n", "\r\n", 1), call1, result1[:9] + "\r\n"},
		{"when name:x do banner Loading ...", call1, result1, call1, "Loading ...\n" + result1},
		{"when name:x do list-changed", call1, result1, call1, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + result1},
		{"when name:x do replace .params.name \"y\"", call1, result1, strings.Replace(call1, `"x"`, `"y"`, 1), result1},
		{
			"when method:subscriptions/listen do list-changed", `{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{}}` + "\n",
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}` + "\n" + progress,
			`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{}}` + "\n",
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}` + "\n" +
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}` + "\n" + progress,
		},
	} {
		toServer, toClient, frames := piped(t, c.rules, c.sent, c.received)
		if toServer != c.toServer || toClient != c.toClient {
			t.Errorf("%s: the server got %.300q, the client %.300q, want %.300q and %.300q", c.rules, toServer, toClient, c.toServer, c.toClient)
		}
		faults := 0
		for _, f := range frames {
			if f.Kind == wire.Fault && f.Fault.Rule == c.rules && f.Fault.Text == "" {
				faults++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[strings.Contains(c.rules, "absent")]; faults != want {
			t.Errorf("%s: %d faults in the record, want %d", c.rules, faults, want)
		}
	}
}

// TestCutWhileTheClientWrites has both directions at work when the connection ends.
func TestCutWhileTheClientWrites(t *testing.T) {
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
	defer w.Close()
	p := &Pipe{Desk: faultSet(t, LinkStdio, "when id:1 do cut after 0 bytes"), Watcher: w, Context: t.Context(), ToServer: io.Discard, ToClient: io.Discard, EndServer: func() {}}
	if err := p.ForwardSent(strings.NewReader(call1)); err != nil {
		t.Fatal(err)
	}
	var sides sync.WaitGroup
	sides.Go(func() { _ = p.ForwardSent(strings.NewReader(strings.Repeat(note, 1000))) })
	sides.Go(func() { _ = p.ForwardReceived(strings.NewReader(strings.Repeat(progress, 100) + result1)) })
	sides.Wait()
}

// A delay ends if the client has disconnected.
func TestDelayEndsWithClient(t *testing.T) {
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
	defer w.Close()
	gone, client := io.Pipe()
	gone.Close()
	p := &Pipe{Desk: faultSet(t, LinkStdio, "when name:x do delay 1h"), Watcher: w, Context: t.Context(), ToServer: io.Discard, ToClient: client}
	if err := p.ForwardSent(strings.NewReader(call1)); err != nil {
		t.Fatal(err)
	}
	if err := p.ForwardReceived(strings.NewReader(result1 + progress)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// TestPipesRelayBytesUnchanged passes random lines.
func TestPipesRelayBytesUnchanged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all bytes.Buffer
	for range 2000 {
		switch random.IntN(4) {
		case 0:
			all.WriteString(call1)
		case 1:
			all.WriteString(result1)
		case 2:
			for range random.IntN(200) {
				all.WriteByte(byte(random.Uint32()))
			}
		case 3:
			all.WriteString("\r\n")
		}
	}
	toServer, toClient, _ := piped(t, "when name:absent do hang\nwhen p=0 do drop notification", all.String(), all.String())
	want := sha256.Sum256(all.Bytes())
	if sha256.Sum256([]byte(toServer)) != want || sha256.Sum256([]byte(toClient)) != want {
		t.Error("rules that never fire changed bytes")
	}
}
