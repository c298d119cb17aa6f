package client

import "mcpc/internal/wire"

// stdio is a line to a server that runs as a child.
type stdio struct {
	*pipe
	*child
}

// startStdio starts the command; nothing is read from it before listen.
func startStdio(server Server, limits Limits, rec *recorder, to inbox) (*stdio, *fault) {
	c, f := startChild(server)
	if f != nil {
		return nil, f
	}
	s := &stdio{newPipe(c.out, c.in, limits, rec, to), c}
	c.said = func(line []byte) { rec.body(wire.Received, wire.Stderr, 0, line, nil) }
	c.heard, s.pipe.why = s.pipe.done, s.whyEnded
	return s, nil
}

// listen begins to deliver what comes.
func (s *stdio) listen() {
	go s.pipe.readAll()
	s.watch()
}

func (s *stdio) whyEnded(err error) *fault { return processFault(s.howEnded(), err) }

// processFault is why nothing can come any more from a process.
func processFault(facts *wire.ProcessFacts, err error) *fault {
	f := &fault{kind: wire.Transport, phase: "read", err: err, text: "the server closed its standard output", process: facts}
	if facts.Ended != "" {
		f.text = f.event() + " before it answered"
	}
	return f
}

func (s *stdio) close() {
	select {
	case <-s.exited:
	default:
		s.hungUp.Store(true)
	}
	s.child.end()
}

// lastWords are what a server that still runs wrote to standard error: it may
// say what it is waiting for. A server that wrote nothing says nothing.
func (s *stdio) lastWords() *wire.ProcessFacts { return s.stderr.words() }
