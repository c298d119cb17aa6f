package servers

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"mcpc/internal/wire"
)

// A Received is an HTTP request that a Scribe received.
type Received struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// A Scribe is a server that stores every request in memory.
type RequestStore struct {
	*httptest.Server

	mu       sync.Mutex
	requests []Received
}

// NewRequestStore returns a server that responds with the handler. It is closed when the test ends.
func NewRequestStore(t testing.TB, h http.Handler) *RequestStore {
	t.Helper()
	s := &RequestStore{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.requests = append(s.requests, Received{r.Method, r.URL.String(), r.Header.Clone(), body})
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// All returns the requests in the order of their arrival.
func (s *RequestStore) All() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last returns the last request with the JSON-RPC method. The test fails if there is no such
// request.
func (s *RequestStore) Last(t testing.TB, method string) Received {
	t.Helper()
	for _, r := range slices.Backward(s.All()) {
		if wire.ParseMessage(r.Body).Method == method {
			return r
		}
	}
	t.Fatalf("no %s was received", method)
	return Received{}
}

// Forget removes the stored requests.
func (s *RequestStore) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}
