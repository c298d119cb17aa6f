package keepalive

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mcpc/internal/client/process"
	"mcpc/internal/client/transport"
	"mcpc/internal/english"
	"mcpc/internal/wire"
)

// protocolVersion is the version of the protocol between commands and supervisors. Both send lines
// that begin with a letter, a mark, which names the kind of line.
const protocolVersion = 1

// The marks of a command. A command that only reads the status does not send markUse.
const (
	markUse  = 'u' // the command uses the server
	markLine = 'i' // a line for the server's standard input
	markKeep = 'k' // keep the server after the command that opened it
	markEnd  = 'c' // stop the server
)

// The marks of a supervisor.
const (
	markHello = 'h' // Status, the first line
	markOut   = 'o' // a line of the server's standard output
	markErr   = 'e' // a line of its standard error
	markLarge = 'l' // a line of standard output exceeded this number of bytes
	markOver  = 'x' // an ending, the last line
)

// Options configure a supervisor.
type Options struct {
	Command process.Command
	Idle    time.Duration
	// Message bounds a line of the server's output in bytes; 0 is no limit.
	Message int64
	// Socket is the path of the unix socket. It is removed when the server ends.
	Socket string
	// Opener is the connection of the command that opens the session. The supervisor stops the
	// server at the end of Opener, unless the command has sent markKeep.
	Opener net.Conn
	Now    func() time.Time
}

// Status describes a supervisor.
type Status struct {
	Format int `json:"format"`
	// PID is the process id of the supervisor, Server is the server's.
	PID    int       `json:"pid"`
	Server int       `json:"server"`
	Since  time.Time `json:"since"`
	// Idle is how long the server runs without being used, in nanoseconds; 0 is unlimited.
	// Left is the rest of Idle.
	Idle time.Duration `json:"idle"`
	Left time.Duration `json:"left"`
	// Users counts the commands that use the server.
	Users int `json:"users"`
	// Opening is the result of initialize as the server sent it, with the secrets that stored
	// sessions lack; nil without a handshake.
	Opening json.RawMessage `json:"opening,omitempty"`
}

// An endMessage says why the server has ended.
type endMessage struct {
	// Kind, Text and Hint describe a server that could not be started. For other servers, Text says
	// why the supervisor stopped the server, or is "".
	Kind wire.Kind `json:"kind,omitempty"`
	Text string    `json:"text,omitempty"`
	Hint wire.Hint `json:"hint,omitempty"`
	// Ended and Stderr are as in wire.ProcessFacts.
	Ended  string `json:"ended,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// A supervisor keeps one server running.
type supervisor struct {
	Options
	listener net.Listener
	child    *process.Process
	since    time.Time
	// outputEnded is closed at the end of the server's output. stopping is closed when stopReason
	// is set.
	outputEnded, stopping chan struct{}
	// writing guards writes to the server. It is not locked while mu is held. writers are the
	// goroutines that write to users.
	writing sync.Mutex
	writers sync.WaitGroup

	mu sync.Mutex
	// stopReason says why the server is being stopped; "" if it is not. isClosed is set when all
	// connections have got the ending, isKept by markKeep.
	stopReason  string
	isClosed    bool
	isKept      bool
	connections map[*user]bool
	// idle.timer stops the server after the idle time. idle.used is when the last user
	// disconnected.
	idle struct {
		timer *time.Timer
		used  time.Time
	}

	// pending are the requests that wait for a response, by id as JSON. requestCount counts all
	// requests. The commands of a session take their ids from one counter; if two requests have
	// the same id nevertheless, the second one waits.
	pending      map[string]*request
	requestCount int
	// abandoned are the ids of requests whose user disconnected before the response.
	abandoned *transport.RecentIDs
	// initialized is set after a handshake. mayAsk is set if the handshake declared that the client
	// answers requests from the server. The server does not say which request caused its own, so
	// then only one user at a time has pending requests.
	initialized, mayAsk bool
	// initializeResult is the result of initialize, or nil without a handshake. It is sent to each new
	// connection as Status.Opening.
	initializeResult json.RawMessage
	// storedRequests are the server's requests that were received while no user was connected.
	storedRequests []*wire.Message
	// storedChanges has, by method, the last list_changed notification for tools and prompts that
	// was received while no user was connected: clients may cache these lists. storedStderr is the
	// end of the standard error of that time.
	storedChanges map[string][]byte
	storedStderr  *process.Tail
	// users are the commands that use the server, in the order they connected in.
	users []*user
	// wake wakes sendQueued when a message may be sent, its user has gone away or the server is
	// being stopped.
	wake *sync.Cond
}

// Run starts a server and keeps it running until a command stops it, the command that opened the
// session exits without having asked to keep it (markKeep), no command has used it for the idle
// time, ctx ends, the server exits, or it no longer reads its stdin. It then removes the socket and
// ends the process.
func Run(ctx context.Context, opt Options) {
	s := &supervisor{
		Options: opt, since: opt.Now(), outputEnded: make(chan struct{}), stopping: make(chan struct{}),
		connections: map[*user]bool{}, pending: map[string]*request{}, abandoned: transport.NewRecentIDs(),
		storedChanges: map[string][]byte{}, storedStderr: process.NewTail(),
	}
	s.wake = sync.NewCond(&s.mu)
	s.idle.used = opt.Now()
	s.idle.timer = time.AfterFunc(time.Hour, func() { // it is started when no command uses the server
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.users) == 0 && s.idleLeftLocked() <= 0 { // a command may have connected in the meantime
			s.endLocked("it was idle for " + english.Duration(s.Idle))
		}
	})
	s.idle.timer.Stop()
	if failure := s.start(); failure != nil {
		end := endMessage{Kind: failure.Kind, Text: failure.Text, Hint: failure.Hint}
		_ = writeMarked(opt.Opener, markOver, jsonOf(end))
		opt.Opener.Close()
		return
	}
	go s.read()
	s.child.Watch(func(line []byte) { s.broadcast(markErr, line) }, s.outputEnded)
	const isOpener = true
	s.join(opt.Opener, isOpener)
	go s.accept()
	s.wait(ctx)
}

// start opens the socket and starts the server. After a fault the socket is removed.
func (s *supervisor) start() *transport.Fault {
	var err error
	s.listener, err = listen(s.Socket)
	if err != nil {
		return &transport.Fault{Kind: wire.LocalIO, Text: "opening a socket for the kept server: " + err.Error()}
	}
	s.child, err = process.Start(s.Command)
	if err != nil {
		s.stopListening()
		return transport.StartFault(s.Command, err)
	}
	return nil
}

// wait waits until the server ends or has to be stopped, and ends all connections.
func (s *supervisor) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
		s.end("a signal stopped the process that keeps the server")
	case <-s.outputEnded:
	case <-s.stopping:
	}
	s.stopListening()
	s.mu.Lock()
	why := s.stopReason
	s.mu.Unlock()
	if why == "" { // the server exited by itself: commands get the ending at once
		facts := s.child.Ending()
		s.sendEnding(endMessage{Ended: facts.HowEnded, Stderr: facts.Stderr})
		s.child.End()
	} else {
		s.child.End()
		s.sendEnding(endMessage{Text: why, Stderr: s.child.Stderr.BothEnds()})
	}
	s.writers.Wait()
	RemoveStaleSockets(filepath.Dir(s.Socket))
}

// end stops the server. The first reason is kept.
func (s *supervisor) end(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(why)
}

// endLocked stops the server: wait notices the reason. The first reason is kept. The caller holds mu.
func (s *supervisor) endLocked(why string) {
	if s.stopReason == "" {
		s.stopReason = why
		close(s.stopping)
		s.wake.Broadcast()
	}
}

// stopListening removes the socket and accepts no more connections.
func (s *supervisor) stopListening() {
	_ = os.Remove(s.Socket)
	s.listener.Close()
}

// idleLeftLocked returns the rest of the idle time, which is all of it while a command uses the server.
func (s *supervisor) idleLeftLocked() time.Duration {
	if len(s.users) > 0 {
		return s.Idle
	}
	return max(0, s.Idle-s.Now().Sub(s.idle.used))
}

// broadcast sends a line to all users. Without users it stores standard error.
func (s *supervisor) broadcast(mark byte, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.users) == 0 && mark == markErr {
		s.storedStderr.Add(append(text, '\n'))
	}
	for _, u := range s.users {
		u.appendLocked(mark, text)
	}
}

// sendEnding sends end to all connections and closes them: after the output was written, or after
// SessionEndGrace if the command does not read. Later connections are closed at once.
func (s *supervisor) sendEnding(end endMessage) {
	raw := jsonOf(end)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked("it has ended") // without effect if it was stopped; ends sendQueued
	s.isClosed = true
	for u := range s.connections {
		u.appendLocked(markOver, raw)
		u.finishLocked()
		time.AfterFunc(transport.SessionEndGrace, func() { u.conn.Close() })
	}
}

// jsonOf returns v as JSON.
func jsonOf(v any) []byte {
	raw, _ := json.Marshal(v) // cannot fail for structs of strings and numbers
	return raw
}

// writeMarked writes a line with its mark.
func writeMarked(w io.Writer, mark byte, text []byte) error {
	_, err := w.Write(marked(mark, text))
	return err
}

// marked returns a line with its mark.
func marked(mark byte, text []byte) []byte {
	return slices.Concat([]byte{mark}, text, []byte{'\n'})
}
