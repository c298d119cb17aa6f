package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// callbackHost and callbackPath are the default redirect URI.
const (
	callbackHost = "127.0.0.1"
	callbackPath = "/callback"
)

// CheckRedirect returns an error for a redirect URI that does not lead to this machine.
func CheckRedirect(uri string) error {
	const text = "it must begin with http://127.0.0.1 or http://localhost"
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" {
		return errors.New(text)
	}
	if u.Hostname() != callbackHost && u.Hostname() != "localhost" {
		return errors.New(text)
	}
	if u.User != nil || strings.ContainsAny(uri, "?#") {
		return errors.New("it must have no user, query or fragment")
	}
	return nil
}

// pageDone and pageNot are the pages that the browser shows. They contain nothing of the request.
const (
	pageHead = "<!doctype html><meta charset=utf-8><title>mcpc</title><p>"
	pageDone = pageHead + "Login received by mcpc. You can close this window.\n"
	pageNot  = pageHead + "This does not belong to the current mcpc login.\n"
)

// A callback is a web server on loopback that receives the browser's redirect (RFC 8252, section
// 7.3). It accepts one response, which has to belong to its login.
type callback struct {
	listener net.Listener
	server   *http.Server
	answers  chan url.Values
	// host and path are from the redirect URI.
	host, path string

	mu      sync.Mutex
	waiting *authorization
}

// listenOn opens a port of 127.0.0.1 for a redirect URI with that host and path. Port 0 selects a
// free port.
func listenOn(host string, port int, path string) (*callback, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, &Error{
			Rule: StoreFailed, // an error of this machine
			Text: "no port for the redirect URI: " + err.Error(),
			Err:  err,
			Hint: "--callback-port 0 selects a free port",
		}
	}
	c := &callback{listener: listener, answers: make(chan url.Values, 1), host: host, path: path}
	c.server = &http.Server{
		Handler:        c,
		ReadTimeout:    10 * time.Second,
		WriteTimeout:   10 * time.Second,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// redirect returns the redirect URI.
func (c *callback) redirect() string {
	_, port, _ := net.SplitHostPort(c.listener.Addr().String())
	return "http://" + net.JoinHostPort(c.host, port) + c.path
}

// close completes the response under way and closes the port.
func (c *callback) close() {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
}

// expect sets the login whose response is accepted.
func (c *callback) expect(a *authorization) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = a
}

// ServeHTTP accepts the response of the awaited login, and rejects all other requests. It handles
// one request at a time.
func (c *callback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	query := req.URL.Query()
	// The browser adds the path / to a redirect URI without a path.
	isOurURL := strings.Trim(req.URL.EscapedPath(), "/") == strings.Trim(c.path, "/") && c.isOurHost(req.Host)
	isAwaited := c.waiting != nil && c.waiting.matches(query)
	if req.Method != http.MethodGet || !isOurURL || !isAwaited {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, pageNot)
		return
	}
	c.waiting = nil // accepts no second response, so that answers, of size 1, never blocks
	_, _ = io.WriteString(w, pageDone)
	c.answers <- query
}

// isOurHost reports whether the Host field names this machine. An attacker's web page can make its
// own host name resolve to this machine, but cannot change the Host field.
func (c *callback) isOurHost(host string) bool {
	_, port, _ := net.SplitHostPort(c.listener.Addr().String())
	return host == "127.0.0.1:"+port || host == "localhost:"+port
}

// loginTime is how long the user may take in the browser.
const loginTime = 5 * time.Minute

// deviceTime is how long the user may take at another machine, where a code has to be entered.
const deviceTime = 15 * time.Minute

// wait waits for the browser's redirect, or for the user to paste its URL, and returns the query of that
// URL. It returns an error after loginTime, if parent ends, if no browser could be started, or if the
// user pastes no usable URL.
func (c *callback) wait(parent context.Context, a *authorization, req Request) (url.Values, error) {
	ctx, stop := context.WithTimeoutCause(parent, loginTime, usage.Late("the time of a login is over"))
	defer stop()
	type pasted struct {
		answer url.Values
		err    error
	}
	typed := make(chan pasted, 1)
	if req.Paste != nil {
		go func() {
			answer, err := readPasted(ctx, a, req.Paste)
			typed <- pasted{answer, err}
		}()
	}
	select {
	case answer := <-c.answers:
		return answer, nil
	case p := <-typed:
		return p.answer, p.err
	case err := <-req.NoBrowser:
		if len(c.answers) > 0 { // select chooses at random if both are ready
			return <-c.answers, nil
		}
		return nil, &Error{
			Rule: NoResponse, Text: "no browser could be started: " + err.Error(), Err: err,
			Hint: "--grant device shows a code to enter in any browser; --no-browser reads the redirect URL from stdin",
		}
	case <-ctx.Done():
		text := fmt.Sprintf("no response from the browser within %.0f minutes", loginTime.Minutes())
		if parent.Err() != nil {
			text = fmt.Sprintf("no response from the browser: %v", context.Cause(parent))
		}
		return nil, &Error{Rule: NoResponse, Text: text, Err: context.Cause(ctx)}
	}
}

// maxPastes is how often the user may paste a URL.
const maxPastes = 3

// readPasted reads the URL of the browser's redirect from the user, and returns its query. The URL is
// checked as if the browser had sent it. After a wrong URL it asks again, up to maxPastes times in all;
// its error then is what was wrong with the last one.
func readPasted(
	ctx context.Context, a *authorization, paste func(context.Context, *Error) (string, error),
) (url.Values, error) {
	// The browser adds the path / to a redirect URI without a path.
	isRedirectURI := func(u *url.URL) bool {
		return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/") == strings.TrimSuffix(a.redirect, "/")
	}
	var wrong *Error
	for range maxPastes {
		text, err := paste(ctx, wrong)
		if errors.Is(err, io.EOF) && wrong != nil {
			return nil, wrong
		}
		if errors.Is(err, io.EOF) {
			return nil, &Error{
				Rule: NoResponse, Text: "no URL was pasted: end of input", Err: err,
				Hint: "use a terminal, --grant device, --grant client_credentials, or MCPC_TOKEN",
			}
		}
		if err != nil {
			return nil, &Error{Rule: NoResponse, Text: "no URL was pasted: " + err.Error(), Err: err}
		}
		u, err := url.Parse(strings.TrimSpace(text))
		switch {
		case err != nil || !isRedirectURI(u):
			wrong = &Error{
				Rule: ResponseInvalid, Text: "this is not the redirect URI",
				Hint: wire.Hint("it begins with " + a.redirect + "? and contains the code"),
			}
		case !a.matches(u.Query()):
			wrong = &Error{
				Rule: ResponseInvalid, Text: "this URL belongs to another login",
				Hint: "paste the URL to which the browser is redirected after opening the URL above",
			}
		default:
			return u.Query(), nil
		}
	}
	return nil, wrong
}
