package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// A decider decides about each held message by its text: the first ruling whose key is in the text
// counts.
type decider map[string]Ruling

func deskOf(t *testing.T, filter string, decide decider) *Desk {
	t.Helper()
	d := &Desk{Now: time.Now, Encode: func(text string) string { return text }}
	if err := d.Intercept("view", filter); err != nil {
		t.Fatal(err)
	}
	changed, end := d.Changes()
	t.Cleanup(end)
	go func() {
		for {
			held, _ := d.List()
			for _, h := range held {
				v := Ruling{How: Released}
				for text, verdict := range decide {
					if strings.Contains(h.Dir+" "+string(h.Message), text) {
						v = verdict
					}
				}
				_ = d.Decide(h.N, v)
			}
			select {
			case <-changed:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return d
}

func heldIn(frames []wire.Frame) (held []string) {
	for _, f := range frames {
		if f.Kind == wire.Held {
			held = append(held, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s %s", f.Dir, f.Held.How, f.Held.Kind, f.Held.Method, f.Held.Name, f.Raw)))
		}
	}
	return held
}

const question = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"who?"}}`

func TestHeldOnPipes(t *testing.T) {
	edited, result := Ruling{How: Edited, Raw: []byte("{\n \"edited\": true }")}, Ruling{How: Answered, Raw: []byte(`{"by":"hand"}`)}
	for name, c := range map[string]struct {
		filter                             string
		decide                             decider
		sent, received, toServer, toClient string
		held                               []string
	}{
		"released": {"", nil, call1 + note + "noise\n[]\n", result1 + progress, call1 + note + "noise\n[]\n", result1 + progress, []string{
			"sent waiting request tools/call x", "sent released request tools/call x",
			"sent waiting notification notifications/x", "sent released notification notifications/x",
			"received waiting response tools/call x", "received released response tools/call x",
			"received waiting notification notifications/message", "received released notification notifications/message",
		}},
		"not wanted": {"name:y", nil, call1, result1, call1, result1, nil},
		"edited request": {
			"method:tools/call dir:sent",
			decider{"sent": edited},
			strings.Replace(call1, "\n", "\r\n", 1), result1, "{\"edited\":true}\r\n", result1,
			[]string{"sent waiting request tools/call x", "sent edited request tools/call x {\n \"edited\": true }"},
		},
		"edited response": {
			"method:tools/call dir:received",
			decider{"received": edited},
			call1, result1 + progress, call1, "{\"edited\":true}\n" + progress,
			[]string{"received waiting response tools/call x", "received edited response tools/call x " + strings.TrimSpace(result1)},
		},
		"dropped": {"", decider{"tools/call": {How: Dropped}, "result": {How: Dropped}}, call1, result1, "", "", []string{
			"sent waiting request tools/call x", "sent dropped request tools/call x",
			"received waiting response tools/call x", "received dropped response tools/call x " + strings.TrimSpace(result1),
		}},
		"answered for the server": {
			"name:x",
			decider{"sent": result},
			call1, "", "", `{"jsonrpc":"2.0","id":1,"result":{"by":"hand"}}` + "\n",
			[]string{"sent waiting request tools/call x", "sent answered request tools/call x"},
		},
		"answered for the client": {
			"method:elicitation/create",
			decider{"received": result},
			"", question + "\n" + progress, `{"jsonrpc":"2.0","id":7,"result":{"by":"hand"}}` + "\n", progress,
			[]string{"received waiting request elicitation/create", "received answered request elicitation/create"},
		},
	} {
		var frames []wire.Frame
		w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(f wire.Frame) { frames = append(frames, f) }})
		var server, client bytes.Buffer
		seen, gone := w.MessageWriter(wire.Sent), w.MessageWriter(wire.Received)
		p := &Pipe{Desk: deskOf(t, c.filter, c.decide), Watcher: w, Context: t.Context(), Target: "demo", ToServer: &server, ToClient: io.MultiWriter(gone, &client)}
		if err := p.ForwardSent(io.TeeReader(strings.NewReader(c.sent), seen)); err != nil {
			t.Fatal(err)
		}
		if err := p.ForwardReceived(strings.NewReader(c.received)); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if server.String() != c.toServer || client.String() != c.toClient {
			t.Errorf("%s: the server got %q, the client %q, want %q and %q", name, server.String(), client.String(), c.toServer, c.toClient)
		}
		if held := heldIn(frames); !slices.Equal(held, c.held) {
			t.Errorf("%s: the frames have\n%s\nwant\n%s", name, strings.Join(held, "\n"), strings.Join(c.held, "\n"))
		}
	}
}

// TestHoldingStartsAtLineBoundary turns holding on and off while bytes pass in pieces of any size.
func TestHoldingStartsAtLineBoundary(t *testing.T) {
	all := strings.Repeat(call1+note+"noise\n", 40)
	for size := 1; size < 200; size += 7 {
		w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
		d := deskOf(t, "", nil)
		var client bytes.Buffer
		p := &Pipe{Desk: d, Watcher: w, Context: t.Context(), ToServer: io.Discard, ToClient: &client}
		to := p.ServerWriter()
		for n, piece := range slices.Collect(slices.Chunk([]byte(all), size)) {
			if n%3 == 0 {
				d.StopIntercept("view", "")
			} else if err := d.Intercept("view", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := to.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := to.Close(); err != nil || client.String() != all {
			t.Errorf("pieces of %d bytes: %v, %d bytes came of %d", size, err, client.Len(), len(all))
		}
		w.Close()
	}
}

// TestInjectedResponseWaitsForLineEnd answers a request while a line of the server is on its way.
func TestInjectedResponseWaitsForLineEnd(t *testing.T) {
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
	defer w.Close()
	d := deskOf(t, "", decider{"sent": {How: Answered, Raw: []byte(`{}`)}})
	d.StopIntercept("view", "")
	var client bytes.Buffer
	p := &Pipe{Desk: d, Watcher: w, Context: t.Context(), ToServer: io.Discard, ToClient: &client}
	to := p.ServerWriter()
	_, _ = io.WriteString(to, result1[:9])
	if err := d.Intercept("view", "dir:sent"); err != nil {
		t.Fatal(err)
	}
	if err := p.ForwardSent(strings.NewReader(call1)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(to, result1[9:]+progress)
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if want := result1 + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + progress; client.String() != want {
		t.Errorf("got %q, want %q", client.String(), want)
	}
}

// TestPipeDirectionsAreIndependent begins to pass on what the server writes while it reads nothing.
func TestPipeDirectionsAreIndependent(t *testing.T) {
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
	defer w.Close()
	reads, server := io.Pipe()
	p := &Pipe{Desk: &Desk{}, Watcher: w, Context: t.Context(), ToServer: server, ToClient: io.Discard}
	var sent sync.WaitGroup
	sent.Go(func() { _ = p.ForwardSent(strings.NewReader(call1)) })
	if _, err := reads.Read(make([]byte, 1)); err != nil { // the rest is not read
		t.Fatal(err)
	}
	if err := p.ForwardReceived(strings.NewReader(result1)); err != nil {
		t.Fatal(err)
	}
	reads.Close()
	sent.Wait()
}

func TestRandomFaultsOnPipe(t *testing.T) {
	w := NewWatcher(WatcherOptions{Now: time.Now, Tap: func(wire.Frame) {}})
	defer w.Close()
	var server, client bytes.Buffer
	p := &Pipe{Desk: deskOf(t, "", nil), Watcher: w, Context: t.Context(), ToServer: &server, ToClient: &client}
	sent, received := strings.Repeat(call1, 200), strings.Repeat(result1+progress, 100)
	var sides sync.WaitGroup
	sides.Go(func() { _ = p.ForwardSent(strings.NewReader(sent)) })
	sides.Go(func() { _ = p.ForwardReceived(strings.NewReader(received)) })
	sides.Wait()
	if server.String() != sent || client.String() != received {
		t.Error("lines were lost or changed")
	}
}

// asking is a server that answers with a stream that begins with a question, and continues when the
// answer has arrived.
func asking(answers chan string, bodies chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(body)
		bodies <- r.Header.Get("Mcp-Method") + r.Header.Get("Mcp-Name") + string(body)
		switch {
		case m.Method == "":
			answers <- string(body)
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call" && m.Kind == wire.Request && strings.Contains(string(body), "asks"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 1\ndata: %s\n\n", question)
			_ = http.NewResponseController(w).Flush()
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"got\":%s}}\n\n", m.ID, <-answers)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, m.ID)
		}
	}
}

func TestHeldOverHTTP(t *testing.T) {
	other := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"y"}}`
	plain := `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`
	asks := strings.Replace(toolCall, `"x"`, `"asks"`, 1)
	byHand := `{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}`
	for name, c := range map[string]struct {
		filter     string
		decide     decider
		body, want string
		bodies     []string
		held       []string
	}{
		"released": {"", nil, toolCall, plain, []string{"tools/callx" + toolCall}, []string{
			"sent waiting request tools/call x", "sent released request tools/call x", "received waiting response tools/call x", "received released response tools/call x",
		}},
		"edited request": {"dir:sent", decider{"sent": {How: Edited, Raw: []byte(other)}}, toolCall, plain, []string{"tools/cally" + other}, []string{
			"sent waiting request tools/call x", "sent edited request tools/call x " + other,
		}},
		"invalid request": {"dir:sent", decider{"sent": {How: Edited, Raw: []byte("{")}}, toolCall, "", []string{"tools/callx{"}, []string{
			"sent waiting request tools/call x", "sent edited request tools/call x {",
		}},
		"edited response": {"dir:received name:x", decider{"received": {How: Edited, Raw: []byte("[1]")}}, toolCall, "[1]", []string{"tools/callx" + toolCall}, []string{
			"received waiting response tools/call x", "received edited response tools/call x " + plain,
		}},
		"answered for the server": {"name:x", decider{"sent": {How: Answered, Raw: []byte(`{"by":"hand"}`)}}, toolCall, `{"jsonrpc":"2.0","id":1,"result":{"by":"hand"}}`, nil, []string{
			"sent waiting request tools/call x", "sent answered request tools/call x",
		}},
		"dropped notification": {"", decider{"sent": {How: Dropped}}, strings.TrimSpace(note), "", nil, []string{
			"sent waiting notification notifications/x", "sent dropped notification notifications/x",
		}},
		"answered for the client": {
			"method:elicitation/create",
			decider{"received": {How: Answered, Raw: []byte(`{"action":"accept"}`)}},
			asks,
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"got\":" + byHand + "}}\n\n",
			[]string{"tools/callasks" + asks, byHand},
			[]string{
				"received waiting request elicitation/create", "received answered request elicitation/create",
			},
		},
	} {
		bodies := make(chan string, 9)
		server := httptest.NewServer(asking(make(chan string, 1), bodies))
		b := proxied(t, WatcherOptions{}, server.URL)
		b.proxy.Desk = deskOf(t, c.filter, c.decide)
		req, err := http.NewRequest("POST", b.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if m := wire.ParseMessage([]byte(c.body)); m.Kind == wire.Request {
			req.Header["Mcp-Method"], req.Header["Mcp-Name"] = []string{m.Method}, []string{map[bool]string{true: "asks", false: "x"}[c.body == asks]}
		}
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, c.want)
		}
		server.Close()
		close(bodies)
		if came := slices.Collect(func(yield func(string) bool) {
			for body := range bodies {
				yield(body)
			}
		}); !slices.Equal(came, c.bodies) {
			t.Errorf("%s: the server got %q, want %q", name, came, c.bodies)
		}
		if held := heldIn(b.seen()); !slices.Equal(held, c.held) {
			t.Errorf("%s: the frames have\n%s\nwant\n%s", name, strings.Join(held, "\n"), strings.Join(c.held, "\n"))
		}
	}
}

// TestHoldingStartsInsideStream turns holding on while a stream is open.
func TestHoldingStartsInsideStream(t *testing.T) {
	pieces := make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for piece := range pieces {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	d := deskOf(t, "", decider{`"n":1`: {How: Dropped}, `"n":2`: {How: Dropped}, `"n":3`: {How: Edited, Raw: []byte("{}")}})
	d.StopIntercept("view", "")
	b.proxy.Desk = d
	pieces <- first + second[:20]
	resp, err := http.Get(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q and %v, want %q", got, err, want)
		}
	}
	read(first + second[:20])
	if err := d.Intercept("view", ""); err != nil {
		t.Fatal(err)
	}
	pieces <- second[20:] + third
	read(second[20:] + "data: {}\n\n")
	pieces <- first + third
	read("data: {}\n\n")
	d.StopIntercept("view", "")
	pieces <- first[:10]
	pieces <- first[10:] + second[:5]
	close(pieces)
	read(first + second[:5])
}

func TestHeldMessageIsDroppedIfClientLeaves(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	d := &Desk{Now: time.Now}
	if err := d.Intercept("view", ""); err != nil {
		t.Fatal(err)
	}
	b.proxy.Desk = d
	changed, end := d.Changes()
	defer end()
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-changed
		leave()
	}()
	req, _ := http.NewRequestWithContext(ctx, "POST", b.url, strings.NewReader(toolCall))
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Fatal("there is a response")
	}
	for {
		if held, _ := d.List(); len(held) == 0 {
			return
		}
		<-changed
	}
}
