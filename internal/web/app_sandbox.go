package web

import (
	"context"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"mcpc/internal/live/view"
)

const (
	// maxAppDocuments bounds the documents that wait to be fetched, and appLifetime how long one waits.
	maxAppDocuments = 16
	appLifetime     = time.Minute
)

// An appSandbox serves documents of MCP Apps from an origin of its own. It has no cookies, and no data
// but these documents, each of which is served once.
type appSandbox struct {
	listener net.Listener
	port     int
	secret   func() string
	now      func() time.Time
	frame    []byte // the script of the outer frame

	mu        sync.Mutex
	documents map[string]*appDocument // by their tokens
}

// An appDocument is a page of an app that waits to be fetched.
type appDocument struct {
	view.App
	page    string // the origin of the page that shows the app
	expires time.Time
	framed  bool // the outer frame was fetched
}

// newAppSandbox returns a sandbox that serves at a loopback listener.
func newAppSandbox(l net.Listener, secret func() string, now func() time.Time, frame []byte) *appSandbox {
	port := l.Addr().(*net.TCPAddr).Port
	return &appSandbox{
		listener: l, port: port, secret: secret, now: now, frame: frame, documents: map[string]*appDocument{},
	}
}

// origins returns the origins that a page may use for frames.
func (b *appSandbox) origins() string {
	return fmt.Sprintf("http://localhost:%d http://127.0.0.1:%d", b.port, b.port)
}

// originFor returns the origin of the sandbox for a page. It has another host than the page, because
// browsers put pages of one host into one process and give them the same cookies, whatever their ports.
func (b *appSandbox) originFor(page string) string {
	host := "localhost"
	if strings.HasPrefix(page, "http://localhost:") {
		host = "127.0.0.1"
	}
	return fmt.Sprintf("http://%s:%d", host, b.port)
}

// add registers a document for a page, and returns the URL of the frame to show.
func (b *appSandbox) add(app view.App, page string) string {
	token := b.secret()
	b.mu.Lock()
	defer b.mu.Unlock()
	var oldest string
	for name, d := range b.documents {
		if b.now().After(d.expires) {
			delete(b.documents, name)
		} else if oldest == "" || d.expires.Before(b.documents[oldest].expires) {
			oldest = name
		}
	}
	if len(b.documents) >= maxAppDocuments {
		delete(b.documents, oldest)
	}
	b.documents[token] = &appDocument{App: app, page: page, expires: b.now().Add(appLifetime)}
	return b.originFor(page) + "/frame/" + token
}

// permissionFeatures maps the permissions of an app to the features of browsers.
var permissionFeatures = map[string]string{
	"camera": "camera", "microphone": "microphone", "geolocation": "geolocation", "clipboardWrite": "clipboard-write",
}

// allowedFeatures returns the value of the attribute allow of an app's frames: the declared permissions.
func allowedFeatures(permissions []string) string {
	var features []string
	for _, name := range permissions {
		if feature := permissionFeatures[name]; feature != "" {
			features = append(features, feature+" *")
		}
	}
	return strings.Join(features, "; ")
}

// take returns the document of a token for its outer frame, or for the inner frame, which removes it.
// It returns nil if there is none, or if the frames are fetched in another order.
func (b *appSandbox) take(token string, inner bool) *appDocument {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.documents[token]
	if d == nil || d.framed != inner || b.now().After(d.expires) {
		return nil
	}
	d.framed = true
	if inner {
		delete(b.documents, token)
	}
	return d
}

// serve handles requests until ctx ends.
func (b *appSandbox) serve(ctx context.Context) {
	server := &http.Server{
		Handler:           b,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	_ = server.Serve(netutil.LimitListener(b.listener, maxConnections))
}

// ServeHTTP serves an outer frame, its script, or the document of an app.
func (b *appSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	for name, value := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"X-DNS-Prefetch-Control":       "off",
		"Cache-Control":                "no-store",
		"Origin-Agent-Cluster":         "?1",
	} {
		head.Set(name, value)
	}
	own := b.originFor("")
	if r.Host != strings.TrimPrefix(own, "http://") {
		own = b.originFor("http://localhost:")
	}
	if r.Method != http.MethodGet || r.Host != strings.TrimPrefix(own, "http://") {
		http.Error(w, "only frames of mcpc are served here", http.StatusForbidden)
		return
	}
	kind, token, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if kind == "frame.js" {
		head.Set("Content-Type", mediaTypes[".js"])
		_, _ = w.Write(b.frame)
		return
	}
	var d *appDocument
	if kind == "frame" || kind == "app" {
		d = b.take(token, kind == "app")
	}
	if d == nil {
		http.Error(w, "this address was used, or is older than a minute", http.StatusNotFound)
		return
	}
	head.Set("Content-Type", mediaTypes[".html"])
	if kind == "app" {
		if allowed, ok := connectionAllowlist(d.Declared.Page.Origins); ok {
			head.Set("Connection-Allowlist", allowed)
		}
		head.Set("Content-Security-Policy", appPolicy(d, own))
		_, _ = io.WriteString(w, d.Declared.Page.HTML)
		return
	}
	// The frame's policy also holds the frame inside: it cannot be led to another address.
	head.Set("Content-Security-Policy", fmt.Sprintf(
		"default-src 'none'; script-src %s/frame.js; frame-src %s/app/; base-uri 'none'; form-action 'none'; "+
			"frame-ancestors %s",
		own, own, d.page,
	))
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Frame of an app</title>`+
		`<body data-page="%s" data-allow="%s" data-app="/app/%s"><script src="/frame.js"></script>`,
		html.EscapeString(d.page), d.Allow, token)
}

// appPolicy returns the Content-Security-Policy of an app's document: what the app declared, and what
// no app may do. A directive that the first part has is not changed by the second one.
func appPolicy(d *appDocument, own string) string {
	return d.Declared.Page.Policy +
		"; base-uri 'none'; form-action 'none'; object-src 'none'; sandbox " + appSandboxFlags +
		"; frame-ancestors " + own + " " + d.page
}

// connectionAllowlist returns the field Connection-Allowlist of an app's document, which also stops what
// the policy does not in browsers that know it: WebRTC, and connections that are opened in advance. It
// reports false if the app may reach more than a list of hosts.
func connectionAllowlist(origins []string) (string, bool) {
	list := "(response-origin"
	for _, origin := range origins {
		if !strings.Contains(origin, "://") || strings.Contains(origin, `\`) {
			return "", false
		}
		list += ` "` + origin + `"`
	}
	return list + ")", true
}

// appSandboxFlags are the flags of the inner frame. Without allow-same-origin an app has no storage, no
// cookies and no service worker. With allow-forms an app gets the event submit; form-action refuses to
// send the form.
const appSandboxFlags = "allow-scripts allow-forms"
