package client

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcpc/internal/wire"
)

// stdio is a line to a server that runs as a child.
type stdio struct {
	*pipe
	*child
}

// startStdio starts the command; nothing is read from it before Listen.
func startStdio(command Command, limit MaxSize, rec *recorder, to inbox) (transport, *fault) {
	p, err := startChild(command)
	if err != nil {
		return nil, startFault(command, err)
	}
	s := &stdio{child: p}
	s.pipe = newPipe(p.out, p.in, limit, rec, to, s.whyEnded)
	return s, nil
}

// startFault is why a server could not be started.
func startFault(command Command, err error) *fault {
	if errors.Is(err, errPipe) {
		return &fault{kind: wire.LocalIO, phase: "connect", text: err.Error(), err: err}
	}
	name := command.Args[0]
	if _, gone := os.Stat(command.Dir); command.Dir != "" && gone != nil {
		return &fault{kind: wire.Transport, phase: "connect", err: err, text: "the server's working directory cannot be used: " + command.Dir}
	}
	f := &fault{kind: wire.Transport, phase: "connect", err: err, text: "the server could not be started: " + err.Error()}
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		f.text = "no such command: " + name
		f.hint = "check that it is installed and on the PATH; many servers start with npx -y NAME or uvx NAME"
		if variable, _, assigns := strings.Cut(name, "="); assigns {
			f.text, f.hint = "no such command: "+variable+"=...", "set a variable with env: -- env "+variable+"=... COMMAND"
		} else if _, bad := os.Stat(filepath.Join(command.Dir, name)); bad == nil {
			f.hint = "it is not on the PATH; the current directory has ." + string(filepath.Separator) + name
		}
	case errors.Is(err, fs.ErrPermission):
		f.text = "the command is not executable: " + name
		f.hint = "run it with its interpreter, as in -- node server.js, or make it executable"
	}
	return f
}

// listen begins to deliver what comes.
func (s *stdio) listen() {
	s.pipe.listen()
	s.watch(func(line []byte) { s.rec.body(wire.Received, wire.Stderr, 0, line, nil) }, s.done)
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
