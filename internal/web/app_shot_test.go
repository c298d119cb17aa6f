package web

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// newTestShot returns a Shot that runs until the test ends.
func newTestShot(t *testing.T, o ShotOptions) *Shot {
	t.Helper()
	var err error
	for _, l := range []*net.Listener{&o.Listener, &o.Sandbox} {
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	o.Secret = func() string { n++; return strings.Repeat("s", n) }
	o.Now = time.Now
	s := NewShot(o)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

// fetch requests an address of a Shot, and returns the status and the body.
func (s *Shot) fetch(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, s.origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func TestShotServesOnePage(t *testing.T) {
	asked := ""
	s := newTestShot(t, ShotOptions{
		App: appWith("<!doctype html>", "{}"), Input: json.RawMessage(`{"a":1}`), Theme: "dark", Width: 390, Limit: time.Minute,
		Request: func(_ context.Context, method string, params json.RawMessage) view.AppResponse {
			asked = method + string(params)
			return view.AppResponse{Result: json.RawMessage(`{"b":2}`)}
		},
	})
	entry := strings.TrimPrefix(s.URL(), s.origin)
	status, page := s.fetch(t, "GET", entry, "")
	if status != http.StatusOK || !strings.Contains(page, `data-key="`+s.key+`"`) {
		t.Fatalf("%d %s", status, page)
	}
	key := "/" + s.key
	for path, want := range map[string]int{entry: 404, "/": 404, key: 404, key + "/other": 404, "/x/config": 404, "/index.html": 404, "/shot.js": 200} {
		if status, body := s.fetch(t, "GET", path, ""); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	status, config := s.fetch(t, "GET", key+"/config", "")
	for _, part := range []string{`"input":{"a":1}`, `"theme":"dark"`, `"width":390`, `"limit":60000`, `"frame":"http://localhost:`} {
		if status != http.StatusOK || !strings.Contains(config, part) {
			t.Errorf("no %s in %s", part, config)
		}
	}
	_, body := s.fetch(t, "POST", key+"/request", `{"method":"tools/call","params":{"name":"x"}}`)
	if asked != `tools/call{"name":"x"}` || !strings.Contains(body, `"result":{"b":2}`) {
		t.Errorf("asked %s, got %s", asked, body)
	}
	if status, _ := s.fetch(t, "POST", key+"/done", `{`); status != http.StatusBadRequest {
		t.Errorf("no JSON: %d", status)
	}
	if _, ok := s.Report(); ok {
		t.Error("there is a report before the page is done")
	}
	for _, report := range []string{`{"state":"ready","quiet":true,"height":7}`, `{"state":"second"}`} {
		s.fetch(t, "POST", key+"/done", report)
	}
	if status, _ := s.fetch(t, "GET", key+"/wait", ""); status != http.StatusNoContent {
		t.Errorf("wait: %d", status)
	}
	if r, ok := s.Report(); !ok || r.State != "ready" || r.Height != 7 || !r.Quiet {
		t.Errorf("the report is %+v", r)
	}
}
