package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpc/internal/demo"
)

// wrongs are what goes wrong behind a login: a path, and what is answered there in
// place of the demo.
var wrongs = map[string]struct {
	path   string
	answer http.HandlerFunc
}{
	"silent": {"/token", neverAnswers},
	"page":   {"/token", webPage(http.StatusOK)},
	"broken": {"/token", webPage(http.StatusInternalServerError)},
	"away": {"/token", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}},
	"hostile":   {"/token", hostileRefusal},
	"no-place":  {"/.well-known/oauth-protected-resource/mcp", nobodyThere},
	"mute":      {"/.well-known/oauth-authorization-server", neverAnswers},
	"portal":    {"/.well-known/oauth-authorization-server", webPage(http.StatusOK)},
	"refused":   {"/mcp", wantsAnother},
	"stubborn":  {"/revoke", webPage(http.StatusServiceUnavailable)},
	"shell":     {"/.well-known/oauth-authorization-server", endpointIs("https://as.example/a?x=$(touch${IFS}pwned)&y=`touch pwned`")},
	"script":    {"/.well-known/oauth-authorization-server", endpointIs("javascript:alert(1)")},
	"lookalike": {"/.well-known/oauth-authorization-server", endpointIs("https://xn--80ak6aa92e.example/a")},
	"file":      {"/.well-known/oauth-authorization-server", endpointIs("file:///etc/passwd")},
	"several":   {"/.well-known/oauth-protected-resource/mcp", twoServers},
}

// neverAnswers waits until the client is gone, which is seen when the body is read.
func neverAnswers(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func webPage(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>words of a page</html>")
	}
}

func hostileRefusal(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"error":"invalid_request","error_description":"no\u001b[2J\u202eevil"}`)
}

// wantsAnother takes no token.
func wantsAnother(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	w.WriteHeader(http.StatusUnauthorized)
}

// endpointIs is metadata with something else to open in the browser.
func endpointIs(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": "http://" + r.Host, "authorization_endpoint": address,
			"token_endpoint": "http://" + r.Host + "/token", "code_challenge_methods_supported": []string{"S256"}})
	}
}

func nobodyThere(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":["http://127.0.0.1:1"]}`, r.Host)
}

// twoServers names one that is not there, and then the demo.
func twoServers(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":["http://127.0.0.1:1","http://%s"],"scopes_supported":["mcp:read"]}`, r.Host, r.Host)
}

// A protected is mcpc demo --auth with what goes wrong at the moment. Its tokens stay
// what they are.
type protected struct {
	*httptest.Server
	how atomic.Pointer[[]string]
	// instead are answers of a case, by path.
	instead map[string]string
	asked   sync.Map
	n       atomic.Int64
}

func newProtected(log *logFile, instead map[string]string) *protected {
	p, good := &protected{instead: instead}, demo.Protect(demo.Handler(demo.Options{}), time.Now)
	p.how.Store(&[]string{})
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.line("%s %s", r.Method, r.URL.Path)
		p.n.Add(1)
		p.asked.Store(r.URL.Path, true)
		key := r.URL.Path
		if r.Header.Get("Authorization") != "" {
			key += "+token"
		}
		if answer, ok := p.instead[key]; ok {
			answerLine(w, r, answer)
			return
		}
		for _, how := range *p.how.Load() {
			if wrong := wrongs[how]; wrong.path == r.URL.Path {
				wrong.answer(w, r)
				return
			}
		}
		good.ServeHTTP(w, r)
	}))
	return p
}

// answerLine answers "STATUS Name: value" or "STATUS {...}". BASE, HERE, REDIRECT and
// STATE in it are the server's origin, the same escaped, and what the request says.
func answerLine(w http.ResponseWriter, r *http.Request, line string) {
	base := "http://" + r.Host
	line = strings.NewReplacer("BASE", base, "HERE", url.QueryEscape(base), "REDIRECT", r.FormValue("redirect_uri"), "STATE", r.FormValue("state")).Replace(line)
	status, rest, _ := strings.Cut(line, " ")
	code, _ := strconv.Atoi(status)
	if name, value, ok := strings.Cut(rest, ": "); ok && !strings.HasPrefix(rest, "{") {
		w.Header().Set(name, value)
		rest = ""
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, rest)
}

// protectedCase is the server of a case with a file "protected", each line of which is
// a path and what is answered there in place of the demo: to a request without a token,
// and as PATH+token to one with it.
func protectedCase(t *testing.T, lines string) *protected {
	t.Helper()
	instead := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		path, answer, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("%q is no path with an answer", line)
		}
		instead[path] = answer
	}
	return newProtected(&logFile{name: filepath.Join(t.TempDir(), "log")}, instead)
}

// Close does not wait for handlers that never answer.
func (p *protected) Close() error {
	p.CloseClientConnections()
	p.Server.Close()
	return nil
}

// startProtected: protected NAME [HOW...].
func startProtected(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: protected NAME [HOW...]")
	}
	how := args[1:]
	for _, word := range how {
		if _, ok := wrongs[word]; !ok {
			ts.Fatalf("nothing goes wrong like %q", word)
		}
	}
	w := worldOf(ts)
	p := w.protected[args[0]]
	if p == nil {
		p = newProtected(&logFile{name: ts.MkAbs(args[0] + ".log")}, nil)
		w.protected[args[0]] = p
		w.fronts = append(w.fronts, p)
		ts.Setenv(args[0], p.URL+"/mcp")
	}
	p.how.Store(&how)
}
