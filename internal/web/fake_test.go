package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

// fakeReader has the bodies it is given, and one row.
type fakeReader struct {
	mu     sync.Mutex
	seq    uint64
	more   chan struct{}
	asked  []view.Query
	bodies map[int][]byte
	slow   chan struct{} // rows wait for it
	during func()        // is called while an exchange is read, where it is not nil
}

func (f *fakeReader) Status() view.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return view.Status{Status: live.Status{Seq: f.seq, Rows: 1}, Title: "a <file>"}
}

func (f *fakeReader) change() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fakeReader) Wait(ctx context.Context, after uint64) uint64 {
	for {
		f.mu.Lock()
		seq, more := f.seq, f.more
		f.mu.Unlock()
		if seq > after {
			return seq
		}
		select {
		case <-more:
		case <-ctx.Done():
			return seq
		}
	}
}

func (f *fakeReader) Rows(ctx context.Context, q view.Query) (view.Page, error) {
	f.mu.Lock()
	f.asked = append(f.asked, q)
	f.mu.Unlock()
	if f.slow != nil {
		select {
		case <-f.slow:
		case <-ctx.Done():
			return view.Page{}, ctx.Err()
		}
	}
	if q.Sort == "xx" {
		return view.Page{}, fmt.Errorf("%w %q", view.ErrSort, q.Sort)
	}
	if _, err := filter.Parse(q.Filter, time.Unix(0, 0), nil); err != nil {
		return view.Page{}, err
	}
	return view.Page{Total: 1}, nil
}
func (f *fakeReader) Conversations() []view.Conversation { return nil }
func (f *fakeReader) Talk(context.Context, view.Query) ([]view.Block, view.Page, error) {
	return nil, view.Page{}, nil
}

func (f *fakeReader) Detail(_ context.Context, key string) (view.Detail, error) {
	if f.during != nil {
		f.during()
	}
	if key != "1.1" {
		return view.Detail{}, view.ErrGone
	}
	return view.Detail{Row: view.Row{Key: key}}, nil
}

func (f *fakeReader) Body(_ context.Context, _ string, frame int) ([]byte, error) {
	if body, ok := f.bodies[frame]; ok {
		return body, nil
	}
	return nil, view.ErrGone
}
func (f *fakeReader) Tools(context.Context, view.Query) ([]view.Tool, error)     { return nil, nil }
func (f *fakeReader) Streams(context.Context, view.Query) ([]view.Stream, error) { return nil, nil }
func (f *fakeReader) Secrets(context.Context, view.Query) ([]view.Secret, error) { return nil, nil }
func (f *fakeReader) Suggest(string) []view.Suggestion                           { return nil }
func (f *fakeReader) Diff(context.Context, string, string) (_, _ []view.Change, err error) {
	if f.during != nil {
		f.during()
	}
	return
}

func (f *fakeReader) Lanes(_ context.Context, _ view.Query, from, to time.Time) ([]view.Lane, error) {
	return []view.Lane{{Title: from.UTC().String() + to.UTC().String()}}, nil
}

func (f *fakeReader) Compare(_ context.Context, a, b string) (view.Comparison, error) {
	return view.Comparison{A: a, B: b}, nil
}

// fakeActor notes what it is asked to do.
type fakeActor struct {
	powers  view.Powers
	servers []view.Server
	faults  []view.ArmedFault
	// login is the newest login, and loginToStart the one that Login starts.
	login, loginToStart *view.Login
	loginQuestion       string // asked before a login
	app                 view.App
	mu                  sync.Mutex
	done                []string
}

func (f *fakeActor) note(what ...any) {
	raw, _ := json.Marshal(what)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, string(raw))
}
func (f *fakeActor) Powers() view.Powers        { return f.powers }
func (f *fakeActor) Questions() []view.Question { return nil }
func (f *fakeActor) Held() []view.Held          { return nil }
func (f *fakeActor) Answer(_ context.Context, id string, a view.Answer) error {
	f.note("answer", id, a)
	return nil
}

func (f *fakeActor) Intercept(_ context.Context, on bool, text string) error {
	f.note("intercept", on, text)
	_, err := filter.ParseLive(text, time.Unix(0, 0))
	return err
}

func (f *fakeActor) Release(_ context.Context, id, text string) error {
	f.note("release", id, text)
	return nil
}

func (f *fakeActor) Drop(_ context.Context, id string) error {
	f.note("drop", id)
	return errors.New("it went already")
}

func (f *fakeActor) Reveal(_ context.Context, id string) (string, error) {
	f.note("reveal", id)
	return "hunter2", nil
}

func (f *fakeActor) SetFault(_ context.Context, fault view.Fault) (string, error) {
	f.note("fault", fault)
	return "the next call fails", nil
}

func (f *fakeActor) Faults() []view.ArmedFault { return f.faults }

func (f *fakeActor) Resend(_ context.Context, key string, m json.RawMessage, confirmed bool) (view.Sent, error) {
	f.note("resend", key, m, confirmed)
	return view.Sent{Key: "1.2"}, nil
}

func (f *fakeActor) Request(_ context.Context, r view.Request) (view.Sent, error) {
	f.note("request", r)
	return view.Sent{Confirm: "sure?"}, nil
}

func (f *fakeActor) Servers() []view.Server { return f.servers }

func (f *fakeActor) ServerOutput() []string { return []string{"listening <b>", "ready"} }
func (f *fakeActor) CheckServers() error    { f.note("check"); return nil }
func (f *fakeActor) Catalog(_ context.Context, target string) (view.Catalog, error) {
	f.note("catalog", target)
	return view.Catalog{Target: target, Lists: []view.OfferList{}}, nil
}

func (f *fakeActor) Complete(_ context.Context, c view.Completion) (view.Completed, error) {
	f.note("complete", c)
	return view.Completed{Values: []string{"a"}}, nil
}

func (f *fakeActor) Subscribe(_ context.Context, target, uri string, on bool) error {
	f.note("subscribe", target, uri, on)
	return nil
}

func (f *fakeActor) Cancel(_ context.Context, c view.Cancellation) error {
	f.note("cancel", c)
	return nil
}

func (f *fakeActor) Step(_ context.Context, r view.Request, file string) (view.SavedStep, error) {
	f.note("step", r, file)
	return view.SavedStep{Text: "server: demo\nsteps:\n  - call: echo\n", Run: "mcpc run calls.mcpc.yaml"}, nil
}

func (f *fakeActor) Login(target string, confirmed bool) (view.Sent, error) {
	f.note("login", target, confirmed)
	if f.loginQuestion != "" && !confirmed {
		return view.Sent{Confirm: f.loginQuestion}, nil
	}
	f.setLogin(f.loginToStart)
	return view.Sent{}, nil
}

func (f *fakeActor) LoginState() *view.Login {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.login
}

// setLogin sets the state of the login.
func (f *fakeActor) setLogin(l *view.Login) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.login = l
}

func (f *fakeActor) CancelLogin(target string) error { f.note("login-cancel", target); return nil }

func (f *fakeActor) App(_ context.Context, o view.AppOpening) (view.App, error) {
	f.note("app", o)
	return f.app, nil
}

func (f *fakeActor) AppRequest(_ context.Context, r view.AppRequest) (view.AppResponse, error) {
	f.note("apprequest", r)
	return view.AppResponse{Result: json.RawMessage(`{"content":[]}`)}, nil
}

func (f *fakeActor) Mark(key string, mark bool, note string) error {
	f.note("mark", key, mark, note)
	return nil
}

func (f *fakeActor) Copy(_ context.Context, key, form string) (string, error) {
	f.note("copy", key, form)
	return "curl", nil
}

func (f *fakeActor) Preview(_ context.Context, e view.Export) (view.Exported, error) {
	f.note("preview", e)
	return view.Exported{Rows: 1, Hidden: 2}, nil
}

func (f *fakeActor) Export(_ context.Context, e view.Export) (view.Exported, error) {
	f.note("export", e)
	made := view.Exported{Rows: 1, File: "a\"\r\nb.har"}
	if e.Form == "har" {
		made.Data, made.Type = []byte("{}"), "application/octet-stream"
	}
	return made, nil
}

// site is a running Server, and a page that was let in.
type site struct {
	*Server
	t      *testing.T
	base   string
	reader *fakeReader
	cookie string
	key    string
	ended  chan error
	stop   context.CancelFunc
}

func start(t *testing.T, o Options) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reader := &fakeReader{more: make(chan struct{}), bodies: map[int][]byte{}}
	if o.Reader == nil {
		o.Reader = reader
	}
	o.Listener = l
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Assets == nil {
		o.Assets = fstest.MapFS{
			"index.html": {Data: []byte("<!DOCTYPE html>")}, "a.js": {Data: []byte("1")}, "b.css": {Data: []byte("p{}")}, "v/c.mjs": {Data: []byte("2")},
			"secret.key": {Data: []byte("3")},
		}
	}
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &site{Server: server, t: t, base: "http://" + l.Addr().String(), reader: reader, ended: make(chan error, 1), stop: stop}
	go func() { s.ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := s.end(); err != nil && !errors.Is(err, ErrIdle) {
			t.Error(err)
		}
	})
	return s
}

// end waits until the Server ended.
func (s *site) end() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(30 * time.Second):
		s.t.Fatal("the server goes on")
	}
	return nil
}

// enter lets a page in.
func (s *site) enter() *site {
	s.t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.ask("POST", "/enter", `{"token":"`+strings.TrimPrefix(u.Fragment, "t=")+`"}`, nil)
	var got struct{ Key string }
	if err := json.Unmarshal(a.body, &got); err != nil || a.status != 200 {
		s.t.Fatalf("%d %s", a.status, a.body)
	}
	s.key = got.Key
	s.cookie, _, _ = strings.Cut(a.head.Get("Set-Cookie"), ";")
	return s
}

type answer struct {
	status int
	head   http.Header
	body   []byte
}

// request makes a request as the page sends it. In change a field that is "-" is left out.
func (s *site) request(method, path, body string, change map[string]string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, s.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := map[string]string{"Cookie": s.cookie, "X-Mcpc": s.key, "Sec-Fetch-Site": "same-origin"}
	if method == "POST" {
		fields["Origin"], fields["Content-Type"] = s.base, "application/json"
	}
	for name, value := range change {
		fields[name] = value
	}
	for name, value := range fields {
		switch {
		case name == "Host":
			r.Host = value
		case value != "-" && value != "":
			r.Header.Set(name, value)
		}
	}
	return r
}

func (s *site) ask(method, path, body string, change map[string]string) answer {
	s.t.Helper()
	resp, err := http.DefaultClient.Do(s.request(method, path, body, change))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, raw}
}
