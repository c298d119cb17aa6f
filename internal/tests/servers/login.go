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

// A failure is a wrong response at one path of a server that requires a login.
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
	"away":      {"/token", redirectElsewhere},
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

// neverAnswer waits until the client closes the connection. It reads the body first, because
// net/http detects a closed connection only after that.
func neverAnswer(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// webPage returns a handler that responds with HTML in place of JSON.
func webPage(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>words of a page</html>")
	}
}

func redirectElsewhere(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

// refuseWithControls responds with an error. Its description has a sequence that clears a terminal.
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

// authorizeAt returns a handler for metadata with the address as authorization endpoint.
func authorizeAt(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": "http://" + r.Host, "authorization_endpoint": address,
			"token_endpoint": "http://" + r.Host + "/token", "code_challenge_methods_supported": []string{"S256"},
		})
	}
}

func nameUnreachableIssuer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":["http://127.0.0.1:1"]}`, r.Host)
}

// nameTwoIssuers responds with an unreachable issuer before the demo's issuer.
func nameTwoIssuers(w http.ResponseWriter, r *http.Request) {
	const text = `{"resource":"http://%s/mcp","authorization_servers":["http://127.0.0.1:1","http://%s"],` +
		`"scopes_supported":["mcp:read"]}`
	fmt.Fprintf(w, text, r.Host, r.Host)
}

// A Login is the server of `mcpc demo --auth`: it requires a token and contains the authorization
// server. It can be made to fail. Its tokens stay valid during failures.
type Login struct {
	server *httptest.Server
	log    *Log
	// demo handles the requests without an entry in answers or failing.
	demo http.Handler
	// answers replace responses of the demo, by path. They never change.
	answers map[string]string

	// currentFailures are the current failures.
	currentFailures atomic.Pointer[[]failure]
	// paths are the requested paths.
	paths    sync.Map
	requests atomic.Int64
}

// NewLogin returns a server that writes the method and path of each request to the log. answers
// from ParseAnswers replace responses of the demo; it may be nil. The caller must Close the server.
func NewLogin(log *Log, answers map[string]string) *Login {
	good := demo.Protect(demo.Handler(demo.Options{}), time.Now)
	l := &Login{log: log, demo: good, answers: answers}
	l.currentFailures.Store(&[]failure{})
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
	for _, f := range *l.currentFailures.Load() {
		if f.path == r.URL.Path {
			f.answer(w, r)
			return
		}
	}
	l.demo.ServeHTTP(w, r)
}

// ParseAnswers parses lines of a path and a response that replaces the response of the demo: for
// PATH to a request without a token, and for PATH+token to a request with a token. A response is
// "STATUS Name: value" or "STATUS {...}". BASE, HERE, REDIRECT and STATE in it are replaced by the
// origin of the server, the escaped origin, and the redirect_uri and state of the request.
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

// writeAnswer writes a response from ParseAnswers.
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

// Fail sets the current failures by name. It removes all earlier failures.
func (l *Login) Fail(names ...string) error {
	failing := make([]failure, 0, len(names))
	for _, name := range names {
		f, ok := failures[name]
		if !ok {
			return fmt.Errorf("there is no failure %q", name)
		}
		failing = append(failing, f)
	}
	l.currentFailures.Store(&failing)
	return nil
}

// Origin returns the server's URL without a path. The MCP endpoint has the path /mcp.
func (l *Login) Origin() string { return l.server.URL }

// URL returns the URL of the MCP endpoint.
func (l *Login) URL() string { return l.server.URL + "/mcp" }

// Requests returns how many requests the server has received.
func (l *Login) Requests() int64 { return l.requests.Load() }

// Received reports whether the server has received a request for the path.
func (l *Login) Received(path string) bool {
	_, received := l.paths.Load(path)
	return received
}

// Close ends the server. It does not wait for requests without a response.
func (l *Login) Close() error {
	l.server.CloseClientConnections()
	l.server.Close()
	return nil
}
