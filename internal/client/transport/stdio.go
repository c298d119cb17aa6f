package transport

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcpc/internal/client/process"
	"mcpc/internal/wire"
)

// A StdioProcess is a connection to a server that runs as a child process.
type StdioProcess struct {
	*Pipe
	*process.Process
}

// StartStdio starts the command. It reads nothing before Listen is called.
func StartStdio(command process.Command, limit MaxSize, rec *Recorder, to Inbox) (Transport, *Fault) {
	p, err := process.Start(command)
	if err != nil {
		return nil, StartFault(command, err)
	}
	s := &StdioProcess{Process: p}
	s.Pipe = NewPipe(p.Stdout, p.Stdin, limit, rec, to, s.endFault)
	return s, nil
}

// StartFault returns the fault for a server that could not be started because of err. Its text and hint
// name the likely mistake: the folder, the name of the command or its permissions.
func StartFault(command process.Command, err error) *Fault {
	if errors.Is(err, process.ErrPipe) {
		return &Fault{Kind: wire.LocalIO, Phase: "connect", Text: err.Error(), Err: err}
	}
	name := command.Args[0]
	// The error for a missing folder looks like that for a missing command.
	if _, statErr := os.Stat(command.Dir); command.Dir != "" && statErr != nil {
		return &Fault{
			Kind:  wire.Transport,
			Phase: "connect",
			Err:   err,
			Text:  "the server's working directory cannot be used: " + command.Dir,
		}
	}
	f := &Fault{Kind: wire.Transport, Phase: "connect", Err: err, Text: "the server could not be started: " + err.Error()}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		f.Text = "no such command: " + name
		f.Hint = "check that it is installed and on the PATH; many servers start with npx -y NAME or uvx NAME"
		program, _, hasSpace := strings.Cut(name, " ")
		_, lookErr := exec.LookPath(program)
		if variable, _, assigns := strings.Cut(name, "="); assigns { // the value may be a secret
			f.Text = "no such command: " + variable + "=..."
			f.Hint = "set a variable with env: -- env " + wire.Hint(variable) + "=... COMMAND"
		} else if hasSpace && lookErr == nil {
			f.Hint = "the whole text was taken as the program's name: pass each argument as a separate word, " +
				"in a configuration file in \"args\""
		} else if _, statErr := os.Stat(filepath.Join(command.Dir, name)); statErr == nil {
			f.Hint = "it is not on the PATH; the current directory has ." + wire.Hint(string(filepath.Separator)+name)
		}
	} else if errors.Is(err, fs.ErrPermission) {
		f.Text = "the command is not executable: " + name
		f.Hint = "run it with its interpreter, as in -- node server.js, or make it executable"
	}
	return f
}

// Listen starts delivering received messages and recording standard error.
func (s *StdioProcess) Listen() {
	s.Pipe.Listen()
	s.Watch(func(line []byte) { s.rec.RecordBody(wire.Received, wire.Stderr, pipeStream, line, nil) }, s.done)
}

// endFault returns the fault for the end of the server's output.
func (s *StdioProcess) endFault(err error) *Fault { return EndFault(s.Ending(), err) }

// EndFault returns the fault for a process that sends no more messages.
func EndFault(facts *wire.ProcessFacts, err error) *Fault {
	f := &Fault{
		Kind:    wire.Transport,
		Phase:   "read",
		Err:     err,
		Text:    "the server closed its standard output",
		Process: facts,
	}
	if facts.HowEnded != "" {
		f.Text = f.describeEnd() + " before it answered"
	}
	return f
}

// Close ends the process.
func (s *StdioProcess) Close() {
	select {
	case <-s.Exited:
	default:
		s.hungUp.Store(true)
	}
	s.Process.End()
}

// StderrTail returns the end of the server's standard error. A running server may say there what it
// waits for.
func (s *StdioProcess) StderrTail() *wire.ProcessFacts { return s.Stderr.Facts() }
