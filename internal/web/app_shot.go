package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcpc/internal/live/view"
)

// ShotOptions configures a Shot.
type ShotOptions struct {
	// Listener is for the page, Sandbox for the frames of the app. Both must be bound to loopback addresses.
	Listener, Sandbox net.Listener
	App               view.App
	// Input are the arguments of the call, Result is its result.
	Input, Result json.RawMessage
	Theme         string // "light" or "dark"
	Width         int    // in pixels
	// Limit is how long the page waits for the app, and Quiet how long a quiet app sends nothing.
	Limit, Quiet time.Duration
	// Secret returns random text.
	Secret func() string
	Now    func() time.Time
	// Request carries out a request of the app.
	Request func(ctx context.Context, method string, params json.RawMessage) view.AppResponse
}

// A ShotMessage is a message between an app and its host.
type ShotMessage struct {
	Dir    string `json:"dir"`
	Method string `json:"method"`
	Bytes  int    `json:"bytes"`
}

// A ShotReport says what became of an app.
type ShotReport struct {
	// State is "loading" until the app has sent ui/initialize, and "ready" after it is initialized.
	State string `json:"state"`
	// Quiet is false if the app was still sending messages at the end.
	Quiet bool `json:"quiet"`
	// Height is the height of the frame in pixels.
	Height   int           `json:"height"`
	Dropped  int           `json:"dropped"`
	Messages []ShotMessage `json:"messages"`
}

// A Shot serves a page that shows one app to a browser without a user. The page finishes loading when the
// app is quiet, so that a browser that takes a picture of a loaded page takes it then.
type Shot struct {
	ShotOptions
	sandbox *appSandbox
	origin  string

	mu sync.Mutex
	// entry is the secret of the page's address, which works once, and key the one of its requests.
	entry, key string
	// report is what the page said at the end. done is closed after it is set.
	report ShotReport
	done   chan struct{}
}

// NewShot returns a Shot. The caller runs Serve.
func NewShot(o ShotOptions) *Shot {
	script, _ := assets().Open("frame.js")
	frame, _ := io.ReadAll(script)
	s := &Shot{
		ShotOptions: o,
		sandbox:     newAppSandbox(o.Sandbox, o.Secret, o.Now, frame),
		origin:      "http://" + o.Listener.Addr().String(),
		entry:       o.Secret(),
		key:         o.Secret(),
		done:        make(chan struct{}),
	}
	return s
}

// URL returns the URL of the page. It works once.
func (s *Shot) URL() string { return s.origin + "/" + s.entry }

// Report returns what the page said at the end, and reports false if it has said nothing.
func (s *Shot) Report() (ShotReport, bool) {
	select {
	case <-s.done:
		return s.report, true
	default:
		return ShotReport{}, false
	}
}

// Serve handles requests until ctx ends, and then closes the listeners.
func (s *Shot) Serve(ctx context.Context) {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	var frames sync.WaitGroup
	frames.Go(func() { s.sandbox.serve(ctx) })
	_ = server.Serve(s.Listener)
	frames.Wait()
}

// enter reports whether a path is the address of the page, which then works no more.
func (s *Shot) enter(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entry == "" || path != "/"+s.entry {
		return false
	}
	s.entry = ""
	return true
}

// ServeHTTP serves the page, its scripts and its requests.
func (s *Shot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", contentSecurityPolicy+"; frame-src "+s.sandbox.origins())
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-store")
	if "http://"+r.Host != s.origin {
		http.Error(w, "the Host field has another host", http.StatusForbidden)
		return
	}
	if name := strings.TrimPrefix(r.URL.Path, "/"); name == "host.js" || name == "shot.js" {
		head.Set("Content-Type", mediaTypes[".js"])
		http.ServeFileFS(w, r, assets(), name)
		return
	}
	if r.Method == http.MethodGet && s.enter(r.URL.Path) {
		head.Set("Content-Type", mediaTypes[".html"])
		fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>App</title>`+
			`<body data-key="%s"><img src="/%s/wait" alt=""><script type="module" src="/shot.js"></script>`, s.key, s.key)
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/"+s.key+"/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	head.Set("Content-Type", "application/json")
	switch r.Method + " " + name {
	case "GET wait":
		select {
		case <-s.done:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	case "GET config":
		s.writeConfig(w)
	case "POST request":
		var request view.AppRequest
		if s.read(w, r, &request) {
			_ = json.NewEncoder(w).Encode(s.Request(r.Context(), request.Method, request.Params))
		}
	case "POST done":
		var report ShotReport
		if s.read(w, r, &report) {
			s.finish(report)
			_, _ = io.WriteString(w, "{}")
		}
	default:
		http.NotFound(w, r)
	}
}

// read decodes the JSON of a request. It reports false after it has refused the request.
func (s *Shot) read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPosted)).Decode(into)
	if err != nil {
		http.Error(w, "unexpected JSON: "+err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// finish stores the page's report, once.
func (s *Shot) finish(report ShotReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
	default:
		s.report = report
		close(s.done)
	}
}

// writeConfig writes what the page needs to show the app.
func (s *Shot) writeConfig(w http.ResponseWriter) {
	app := s.App
	app.Allow = allowedFeatures(app.Declared.Page.Permissions)
	app.Frame = s.sandbox.add(app, s.origin)
	_ = json.NewEncoder(w).Encode(struct {
		App    view.App        `json:"app"`
		Input  json.RawMessage `json:"input,omitempty"`
		Result json.RawMessage `json:"result,omitempty"`
		Theme  string          `json:"theme"`
		Width  int             `json:"width"`
		// Limit and Quiet are in milliseconds.
		Limit int64 `json:"limit"`
		Quiet int64 `json:"quiet"`
	}{app, s.Input, s.Result, s.Theme, s.Width, s.Limit.Milliseconds(), s.Quiet.Milliseconds()})
}
