package reload

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A generation is one process of the server, with the state that ends with it.
type generation struct {
	// number counts the processes from 1.
	number  int
	process *Process
	input   *lineQueue
	// ended is closed at the end of the process's output.
	ended chan struct{}
	// listsWanted receives a value when the lists of the process are to be read.
	listsWanted chan struct{}
	// refusal is why the process refused the handshake, or nil. Only Run's goroutine uses it.
	refusal error

	// Server.mu guards the fields below.

	// own are the Server's own requests without a response, by id.
	own map[string]ownRequest
	// capabilities are what the process declares, nil before it has.
	capabilities json.RawMessage
	// isListed is set when the lists were read.
	isListed bool
}

// An ownRequest is a request that the Server sends by itself.
type ownRequest struct {
	method string
	// reply receives the response; nil if nothing waits for it.
	reply chan *wire.Message
}

// newGeneration returns the generation of a process.
func newGeneration(number int, p *Process) *generation {
	return &generation{
		number: number, process: p, input: newLineQueue(), ended: make(chan struct{}),
		listsWanted: make(chan struct{}, 1), own: map[string]ownRequest{},
	}
}

// wantLists lets followLists read the lists.
func (g *generation) wantLists() {
	select {
	case g.listsWanted <- struct{}{}:
	default:
	}
}

// ask sends a request of the Server's own and waits for the response. It returns nil if the process
// ends, or ctx is done first.
func (s *Server) ask(
	ctx context.Context, g *generation, method string, compose func(id json.RawMessage) []byte,
) *wire.Message {
	reply := make(chan *wire.Message, 1)
	s.mu.Lock()
	s.sendOwn(g, ownRequest{method, reply}, compose)
	s.mu.Unlock()
	select {
	case m := <-reply:
		return m
	case <-g.ended:
	case <-ctx.Done():
	}
	return nil
}

// sendOwn sends a request of the Server's own. The caller locks mu.
func (s *Server) sendOwn(g *generation, own ownRequest, compose func(id json.RawMessage) []byte) {
	id := s.newID()
	g.own[string(id)] = own
	g.input.add(append(compose(id), '\n'))
}

// repeat returns a function that composes a request like that in line, with another id.
func repeat(line []byte) func(id json.RawMessage) []byte {
	return func(id json.RawMessage) []byte { return jsonraw.With(bytes.TrimRight(line, "\r\n"), "id", id) }
}

// A lineQueue holds lines for a process, so that a process that does not read never delays the
// messages in the other direction.
type lineQueue struct {
	mu sync.Mutex
	// changed is signalled when a field below has changed.
	changed sync.Cond
	lines   [][]byte
	size    int // bytes of lines
	// isClosed is set when no line follows; isBroken when the process no longer reads.
	isClosed, isBroken bool
}

// newLineQueue returns an empty queue.
func newLineQueue() *lineQueue {
	q := &lineQueue{}
	q.changed.L = &q.mu
	return q
}

// maxQueued is how many bytes may wait for a process before the client has to wait.
const maxQueued = 1 << 20

// add appends a line. It never waits.
func (q *lineQueue) add(line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isBroken {
		q.lines = append(q.lines, line)
		q.size += len(line)
		q.changed.Broadcast()
	}
}

// close lets writeTo close its writer after the last line.
func (q *lineQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isClosed = true
	q.changed.Broadcast()
}

// awaitRoom waits while too many bytes are queued.
func (q *lineQueue) awaitRoom() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size > maxQueued && !q.isBroken {
		q.changed.Wait()
	}
}

// writeTo writes the lines to a process until the queue is closed or the process no longer reads.
func (q *lineQueue) writeTo(w io.WriteCloser) {
	defer w.Close()
	for {
		q.mu.Lock()
		for len(q.lines) == 0 && !q.isClosed && !q.isBroken {
			q.changed.Wait()
		}
		lines := q.lines
		q.lines = nil
		q.mu.Unlock()
		if len(lines) == 0 {
			return
		}
		for _, line := range lines {
			_, err := w.Write(line)
			q.mu.Lock()
			q.size -= len(line)
			q.isBroken = q.isBroken || err != nil
			q.changed.Broadcast()
			q.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// abandon ends writeTo.
func (q *lineQueue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isBroken = true
	q.lines = nil
	q.changed.Broadcast()
}

// maxLine is the longest line that is passed on, in bytes.
const maxLine = 64 << 20

// eachLine calls handle with each line of a stream and its line end. A last line without one gets
// one. It returns at the end of the stream, or at a line longer than maxLine.
func eachLine(from io.Reader, handle func(line []byte)) {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
			continue
		}
		if err != nil && len(line) > 0 && len(line) <= maxLine {
			line = append(line, '\n')
		}
		if len(line) > 0 && len(line) <= maxLine {
			handle(line)
		}
		if err != nil {
			return
		}
		line = nil
	}
}
