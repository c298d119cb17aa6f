package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"mcpc/scripts/bench/plan"
)

// A recorder is a proxy in front of a server that counts and stores the requests. It is used while
// a row is prepared, not while it is measured.
type recorder struct {
	*httptest.Server
	url string

	mu       sync.Mutex
	requests []plan.Request
}

// newRecorder starts a recorder in front of the server at a URL. The caller closes it.
func newRecorder(target string) (*recorder, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	proxy.FlushInterval = -1                    // send each event at once
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a client may disconnect before the response
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.storeRequest(req, string(body))
		proxy.ServeHTTP(w, req)
	}))
	r.url = r.Server.URL + u.Path
	return r, nil
}

func (r *recorder) storeRequest(req *http.Request, body string) {
	header := req.Header.Clone()
	for _, own := range []string{"Connection", "Content-Length", "Te"} {
		header.Del(own) // every client sets these fields itself
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, plan.Request{Method: req.Method, Header: header, Body: body})
}

// takeRequests returns and removes the stored requests.
func (r *recorder) takeRequests() []plan.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.requests
	r.requests = nil
	return seen
}
