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

// A supervisor keeps a stdio server running between commands. It is a process of its
// own with a unix socket, at which each command speaks with the server as if it
// had started it. Both ends of that socket are mcpc; what crosses is lines, each
// with a letter before it that says what it is.
const format = 1

// What a command says. One that does not say markUse has only come to look.
const (
	markUse  = 'u' // it will speak with the server
	markLine = 'i' // a line for the server's standard input
	markKeep = 'k' // live on when the one who opened it has gone
	markEnd  = 'c' // end the server
)

// What a supervisor says.
const (
	markHello = 'h' // Status, before anything else
	markOut   = 'o' // a line of the server's standard output
	markErr   = 'e' // a line of its standard error
	markLarge = 'l' // a line of standard output was longer than so many bytes
	markOver  = 'x' // a ending: nothing can come any more
)

// Options say what a supervisor keeps, and how long.
type Options struct {
	Command process.Command
	// Idle is how long the server lives without being used; 0 is for ever.
	Idle time.Duration
	// Message bounds a line of the server's output in bytes; 0 is no limit.
	Message int64
	// Socket is where the supervisor listens; it is removed when the server ends.
	Socket string
	// Opener is the connection of the command that opens the session. The server
	// ends with it unless it says that the session is to be kept.
	Opener net.Conn
	Now    func() time.Time
}

// Status is what a supervisor says of itself.
type Status struct {
	Format int `json:"format"`
	// PID is the supervisor, Server the process that it holds.
	PID    int       `json:"pid"`
	Server int       `json:"server"`
	Since  time.Time `json:"since"`
	// Idle is how long the server lives without being used, in nanoseconds, and Left
	// what is left of that; Idle is 0 where it is for ever.
	Idle time.Duration `json:"idle"`
	Left time.Duration `json:"left"`
	// Users counts the commands that speak with the server.
	Users int `json:"users"`
	// Opening is the result of initialize as the server sent it; nil without a handshake. What is stored of
	// a session lacks the secrets that a server repeats.
	Opening json.RawMessage `json:"opening,omitempty"`
}

// A ending says why nothing can come from the server any more.
type ending struct {
	// Kind, Text and Hint are those of a server that could not be started; of any other
	// Text is why the supervisor ended it.
	Kind wire.Kind `json:"kind,omitempty"`
	Text string    `json:"text,omitempty"`
	Hint wire.Hint `json:"hint,omitempty"`
	// Ended and Stderr are those of wire.ProcessFacts.
	Ended  string `json:"ended,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// A supervisor is the state of one.
type supervisor struct {
	Options
	listener net.Listener
	child    *process.Process
	since    time.Time
	// heard is closed when the server's output has ended, ending when the server is to end.
	heard, ending chan struct{}
	// writing guards writes to the server. It is not locked while mu is held.
	writing sync.Mutex
	writers sync.WaitGroup

	mu sync.Mutex
	// why is the reason why the server is to end, "" while it is not; parted is set when
	// all connections were told.
	why    string
	parted bool
	kept   bool
	lines  map[*user]bool
	// idle ends the server, which a user spoke with last at used.
	idle struct {
		timer *time.Timer
		used  time.Time
	}

	// pending are the requests under way, by their ids as they crossed, count how many
	// there were. The commands of a session take ids from one counter; where two use
	// the same all the same, the second waits for the end of the first.
	pending map[string]*pendingRequest
	count   int
	// abandoned are the ids of requests that were given up with the command that made them.
	abandoned *transport.RecentIDs
	// initialized is set after a handshake, and asks where the client that made it offered
	// the server to answer questions. A question says not on whose account it is asked,
	// so then only one command at a time has requests under way.
	initialized, asks bool
	// opening is the result of initialize.
	opening json.RawMessage
	// questions are the server's requests that came while no user was connected.
	questions []*wire.Message
	// changed holds, by method, the last list_changed notification for tools and prompts,
	// whose lists clients may cache, that came while no user was connected; keptStderr is the
	// end of what came on standard error meanwhile.
	changed    map[string][]byte
	keptStderr *process.Tail
	// users are those that speak, in the order in which they came.
	users []*user
	// turn wakes sendQueued when a line may be sent, its user has gone or the server is to end.
	turn *sync.Cond
}

// Run starts a server and keeps it until a command ends it, the opener exits without
// keeping it, no command has used it for the idle time, ctx ends, or the server ends or
// no longer reads its stdin. Neither process nor socket is left then.
func Run(ctx context.Context, opt Options) {
	s := &supervisor{Options: opt, since: opt.Now(), heard: make(chan struct{}), ending: make(chan struct{}),
		lines: map[*user]bool{}, pending: map[string]*pendingRequest{}, abandoned: transport.NewRecentIDs(),
		changed: map[string][]byte{}, keptStderr: process.NewTail()}
	s.turn = sync.NewCond(&s.mu)
	s.idle.used = opt.Now()
	s.idle.timer = time.AfterFunc(time.Hour, func() { // it is started when no command uses the server
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.users) == 0 && s.leftLocked() <= 0 {
			s.endLocked("it was idle for " + english.Duration(s.Idle))
		}
	})
	s.idle.timer.Stop()
	if f := s.begin(); f != nil {
		_ = writeMarked(opt.Opener, markOver, jsonOf(ending{Kind: f.Kind, Text: f.Text, Hint: wire.Hint(f.Hint)}))
		opt.Opener.Close()
		return
	}
	go s.read()
	s.child.Watch(func(line []byte) { s.tellAll(markErr, line) }, s.heard)
	s.join(opt.Opener, true)
	go s.accept()
	s.wait(ctx)
}

// begin opens the socket and starts the server.
func (s *supervisor) begin() *transport.Fault {
	var err error
	s.listener, err = listen(s.Socket)
	if err != nil {
		return &transport.Fault{Kind: wire.LocalIO, Text: "opening a socket for the kept server: " + err.Error()}
	}
	s.child, err = process.Start(s.Command)
	if err != nil {
		s.shut()
		return transport.StartFault(s.Command, err)
	}
	return nil
}

// wait waits for the end of the server, or for the reason to end it.
func (s *supervisor) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
		s.end("the keep process was stopped by a signal")
	case <-s.heard:
	case <-s.ending:
	}
	s.shut()
	s.mu.Lock()
	why := s.why
	s.mu.Unlock()
	if why == "" { // the server ended by itself: commands are told at once
		facts := s.child.Ending()
		s.sendEnding(ending{Ended: facts.Ended, Stderr: facts.Stderr})
		s.child.End()
	} else {
		s.child.End()
		s.sendEnding(ending{Text: why, Stderr: s.child.Stderr.BothEnds()})
	}
	s.writers.Wait()
	RemoveStaleSockets(filepath.Dir(s.Socket))
}

// end is the reason why the server ends; the first one stays.
func (s *supervisor) end(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(why)
}

func (s *supervisor) endLocked(why string) {
	if s.why == "" {
		s.why = why
		close(s.ending)
		s.turn.Broadcast()
	}
}

// shut removes the socket and accepts no more connections.
func (s *supervisor) shut() {
	_ = os.Remove(s.Socket)
	s.listener.Close()
}

// leftLocked is what is left of the idle time.
func (s *supervisor) leftLocked() time.Duration {
	if len(s.users) > 0 {
		return s.Idle
	}
	return max(0, s.Idle-s.Now().Sub(s.idle.used))
}

// tellAll tells all users; what comes on standard error is kept where there is none.
func (s *supervisor) tellAll(mark byte, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.users) == 0 && mark == markErr {
		s.keptStderr.Add(append(text, '\n'))
	}
	for _, u := range s.users {
		u.putLocked(mark, text)
	}
}

// sendEnding sends end to all connections and closes them.
func (s *supervisor) sendEnding(end ending) {
	raw := jsonOf(end)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked("it has ended")
	s.parted = true
	for u := range s.lines {
		u.putLocked(markOver, raw)
		u.doneLocked()
		time.AfterFunc(transport.SessionEndGrace, func() { u.conn.Close() })
	}
}

func jsonOf(v any) []byte {
	raw, _ := json.Marshal(v) // structs of texts and numbers
	return raw
}

func writeMarked(w io.Writer, mark byte, text []byte) error {
	_, err := w.Write(marked(mark, text))
	return err
}

func marked(mark byte, text []byte) []byte {
	return slices.Concat([]byte{mark}, text, []byte{'\n'})
}
