package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// messagePath is the start of the paths for POST requests over HTTP+SSE. The number of the stream
// follows it.
const messagePath = "/message/"

// streams are the open streams of clients on HTTP+SSE, by path.
type streams struct {
	mu     sync.Mutex
	count  int
	byPath map[string]chan func(http.ResponseWriter)
}

// serve opens a stream, sends its endpoint, and sends the responses until the client disconnects.
func (s *streams) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.count++
	path, answers := messagePath+strconv.Itoa(s.count), make(chan func(http.ResponseWriter), 16)
	if s.byPath == nil {
		s.byPath = map[string]chan func(http.ResponseWriter){}
	}
	s.byPath[path] = answers
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", path)
	for {
		w.(http.Flusher).Flush()
		select {
		case answer := <-answers:
			e := &event{to: w}
			answer(e)
			fmt.Fprint(w, "\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// send passes a response to the stream at path.
func (s *streams) send(path string, answer func(http.ResponseWriter)) {
	s.mu.Lock()
	stream := s.byPath[path]
	s.mu.Unlock()
	if stream != nil {
		stream <- answer
	}
}

// An event is a response writer for a stream. It omits the header fields and writes "data: " before
// the body, unless the response is a stream itself.
type event struct {
	to     http.ResponseWriter
	header http.Header
	begun  bool
}

func (e *event) Header() http.Header {
	if e.header == nil {
		e.header = http.Header{}
	}
	return e.header
}

func (e *event) WriteHeader(int) {}

func (e *event) Write(p []byte) (int, error) {
	if !e.begun && !bytes.HasPrefix(p, []byte("data: ")) {
		fmt.Fprint(e.to, "event: message\ndata: ")
	}
	e.begun = true
	return e.to.Write(p)
}
