package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// messagePath begins the paths that clients on HTTP+SSE post to, the number of the stream ends
// them.
const messagePath = "/message/"

// streams are the open streams of clients on HTTP+SSE, by path.
type streams struct {
	mu     sync.Mutex
	made   int
	byPath map[string]chan func(http.ResponseWriter)
}

// serve opens a stream, names its endpoint and sends the answers until the client goes.
func (s *streams) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.made++
	path, answers := messagePath+strconv.Itoa(s.made), make(chan func(http.ResponseWriter), 16)
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

// send gives the stream at path an answer to write.
func (s *streams) send(path string, answer func(http.ResponseWriter)) {
	s.mu.Lock()
	stream := s.byPath[path]
	s.mu.Unlock()
	if stream != nil {
		stream <- answer
	}
}

// An event is an answer that is written to a stream: without the header fields of a body of
// its own, and behind "data: ", which is already there where the answer is a stream itself.
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
