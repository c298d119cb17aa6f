package transport

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/wire"
)

// A gate adds a field to each request, and sends a refused request again.
type gate struct {
	base http.RoundTripper
	// before runs before the second attempt.
	before func(*http.Request)
}

func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	resp.Body.Close()
	g.before(req)
	again := req.Clone(req.Context())
	again.Body, _ = req.GetBody()
	again.Header.Set("X-Key", "the key")
	return g.base.RoundTrip(again)
}

// clock counts how often it is held.
type clock struct{ held int }

func (c *clock) Hold() { c.held++ }

func (c *clock) Release() { c.held-- }

// ConnectorOptions.Through may send a request again. Both attempts are recorded as they were sent,
// each on a separate stream, and the clock stops until release is called.
func TestThroughRecordsBothAttempts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if req.Header.Get("X-Key") == "" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		m := wire.ParseMessage(body)
		_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)
	}))
	defer server.Close()
	var frames []wire.Frame
	var held []int
	c := &clock{}
	g := &gate{before: func(req *http.Request) {
		release := Pause(req.Context())
		held = append(held, c.held)
		release()
		held = append(held, c.held)
	}}
	noProxy, err := network.ProxyFor(network.NoProxy, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := &Recorder{Now: time.Now, Tap: func(f wire.Frame) { frames = append(frames, f) }}
	via := NewConnector(ConnectorOptions{
		Clock: c, Proxy: noProxy,
		Through: func(base http.RoundTripper) http.RoundTripper { g.base = base; return g },
	}, rec)
	id := json.RawMessage("1")
	out := &Outgoing{ID: id, Method: "ping", Raw: wire.ComposeRequest(id, "ping", nil)}
	if r := NewHTTP(server.URL, via, 0, nil, nil).Call(t.Context(), out); r.Fault != nil || r.Message == nil {
		t.Fatal(r.Fault)
	}
	via.CloseIdle()
	if !slices.Equal(held, []int{1, 0}) {
		t.Errorf("the clocks were held %v times", held)
	}
	var crossed []string
	streams := map[int]bool{}
	for _, f := range frames {
		streams[f.Stream] = true
		switch {
		case f.Kind == wire.Head && f.Dir == wire.Sent:
			keyed := slices.ContainsFunc(f.HTTP.Fields, func(field wire.Field) bool { return field.Name == "X-Key" })
			crossed = append(crossed, map[bool]string{true: "request with the key", false: "request"}[keyed])
		case f.Kind == wire.Head:
			crossed = append(crossed, http.StatusText(f.HTTP.Status))
		}
	}
	want := []string{"request", "Unauthorized", "request with the key", "OK"}
	if !slices.Equal(crossed, want) || len(streams) != 2 {
		t.Errorf("crossed %s on %d streams, want %s on two", strings.Join(crossed, ", "), len(streams), strings.Join(want, ", "))
	}
	if folded := wire.GroupFrames(frames); len(folded) != 1 {
		t.Errorf("%d exchanges, want one that was sent twice", len(folded))
	}
}
