package reload

import (
	"bytes"
	"context"
	"encoding/json"

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
