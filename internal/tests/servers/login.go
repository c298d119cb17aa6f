package servers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/demo"
)

// A failure is a wrong answer at one path of a server that requires a login.
type failure struct {
	path   string
	answer http.HandlerFunc
}

const (
	resourcePath = "/.well-known/oauth-protected-resource/mcp"
	issuerPath   = "/.well-known/oauth-authorization-server"
)

// failures are the failures of Login.Fail by name.
var failures = map[string]failure{
	"silent":    {"/token", neverAnswer},
	"page":      {"/token", webPage(http.StatusOK)},
	"broken":    {"/token", webPage(http.StatusInternalServerError)},
	"away":      {"/token", redirect},
	"hostile":   {"/token", refuseWithControls},
	"no-place":  {resourcePath, nameUnreachableIssuer},
	"mute":      {issuerPath, neverAnswer},
	"portal":    {issuerPath, webPage(http.StatusOK)},
	"refused":   {"/mcp", refuseToken},
	"forgotten": {"/token", forgetClient},
	"stubborn":  {"/revoke", webPage(http.StatusServiceUnavailable)},
	"shell":     {issuerPath, authorizeAt("https://as.example/a?x=$(touch${IFS}pwned)&y=`touch pwned`")},
	"script":    {issuerPath, authorizeAt("javascript:alert(1)")},
	"lookalike": {issuerPath, authorizeAt("https://xn--80ak6aa92e.example/a")},
	"file":      {issuerPath, authorizeAt("file:///etc/passwd")},
	"several":   {resourcePath, nameTwoIssuers},
}

// neverAnswer waits until the client has closed the connection, which net/http notices only after
// the body was read.
func neverAnswer(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// webPage answers with HTML where JSON is expected.
func webPage(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>words of a page</html>")
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

// refuseWithControls refuses with a description that would clear a terminal.
func refuseWithControls(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"error":"invalid_request","error_description":"no\u001b[2J\u202eevil"}`)
}

// forgetClient refuses each client.
func forgetClient(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"unknown client"}`)
}

// refuseToken accepts no token.
func refuseToken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	w.WriteHeader(http.StatusUnauthorized)
}

// authorizeAt returns metadata whose authorization endpoint is the address.
func authorizeAt(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": "http://" + r.Host, "authorization_endpoint": address,
			"token_endpoint": "http://" + r.Host + "/token", "code_challenge_methods_supported": []string{"S256"}})
	}
}

func nameUnreachableIssuer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":["http://127.0.0.1:1"]}`, r.Host)
}

// nameTwoIssuers names one that cannot be reached before the demo's own.
func nameTwoIssuers(w http.ResponseWriter, r *http.Request) {
	const text = `{"resource":"http://%s/mcp","authorization_servers":["http://127.0.0.1:1","http://%s"],` +
		`"scopes_supported":["mcp:read"]}`
	fmt.Fprintf(w, text, r.Host, r.Host)
}

// A Login is the server of `mcpc demo --auth`, which requires a token and is its own authorization
// server, and which can be made to fail. Its tokens stay valid whatever fails.
type Login struct {
	server *httptest.Server
	log    *Log
	// demo answers what neither answers nor failures do.
	demo http.Handler
	// answers replace answers of the demo, by path. They never change.
	answers map[string]string

	// failing are the failures at the moment.
	failing atomic.Pointer[[]failure]
	// paths are the paths that were requested.
	paths    sync.Map
	requests atomic.Int64
}

// NewLogin returns a server that writes the method and path of each request to the log. answers,
// which ParseAnswers reads, replace answers of the demo; nil replaces none. The caller must Close
// the server.
func NewLogin(log *Log, answers map[string]string) *Login {
	good := demo.Protect(demo.Handler(demo.Options{}), time.Now)
	l := &Login{log: log, demo: good, answers: answers}
	l.failing.Store(&[]failure{})
	l.server = httptest.NewServer(l)
	return l
}

// ServeHTTP answers a request.
func (l *Login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.log.Printf("%s %s", r.Method, r.URL.Path)
	l.requests.Add(1)
	l.paths.Store(r.URL.Path, true)
	key := r.URL.Path
	if r.Header.Get("Authorization") != "" {
		key += "+token"
	}
	if answer, ok := l.answers[key]; ok {
		writeAnswer(w, r, answer)
		return
	}
	for _, f := range *l.failing.Load() {
		if f.path == r.URL.Path {
			f.answer(w, r)
			return
		}
	}
	l.demo.ServeHTTP(w, r)
}

// ParseAnswers reads lines of a path and an answer, which replaces the demo's: to a request without
// a token, and for PATH+token to a request with one. An answer is "STATUS Name: value" or
// "STATUS {...}". BASE, HERE, REDIRECT and STATE in it stand for the server's origin, the same
// escaped, and the redirect_uri and state of the request.
func ParseAnswers(text string) (map[string]string, error) {
	answers := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		path, answer, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("%q is not a path and an answer", line)
		}
		answers[path] = answer
	}
	return answers, nil
}

// writeAnswer writes an answer of ParseAnswers.
func writeAnswer(w http.ResponseWriter, r *http.Request, answer string) {
	base := "http://" + r.Host
	answer = strings.NewReplacer("BASE", base, "HERE", url.QueryEscape(base),
		"REDIRECT", r.FormValue("redirect_uri"), "STATE", r.FormValue("state")).Replace(answer)
	status, rest, _ := strings.Cut(answer, " ")
	code, _ := strconv.Atoi(status)
	if name, value, ok := strings.Cut(rest, ": "); ok && !strings.HasPrefix(rest, "{") {
		w.Header().Set(name, value)
		rest = ""
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, rest)
}

// Fail makes the server fail in the named ways from now on, and in no other.
func (l *Login) Fail(names ...string) error {
	failing := make([]failure, 0, len(names))
	for _, name := range names {
		f, ok := failures[name]
		if !ok {
			return fmt.Errorf("there is no failure %q", name)
		}
		failing = append(failing, f)
	}
	l.failing.Store(&failing)
	return nil
}

// Origin returns the server's URL without a path. MCP is spoken at its path /mcp.
func (l *Login) Origin() string { return l.server.URL }

// URL returns the URL at which the server speaks MCP.
func (l *Login) URL() string { return l.server.URL + "/mcp" }

// Requests returns how many requests the server has received.
func (l *Login) Requests() int64 { return l.requests.Load() }

// Received reports whether the server has received a request for the path.
func (l *Login) Received(path string) bool {
	_, received := l.paths.Load(path)
	return received
}

// Close ends the server. It does not wait for requests that are never answered.
func (l *Login) Close() error {
	l.server.CloseClientConnections()
	l.server.Close()
	return nil
}
