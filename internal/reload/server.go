// Package reload runs a stdio server whose process can be replaced while its client stays connected, and
// watches the files after whose changes this is done.
//
// A Server passes the client's lines to the process and the process's lines to the client. When the
// process is replaced, it repeats the client's handshake and subscriptions at the new one, and holds
// the client's requests meanwhile.
package reload

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/mcp"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A Process is a started server.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	// End ends the process in order and waits until it has ended.
	End func()
	// Ending describes, after End, how the process ended, such as "exit status 1: no such module". stderr
	// is the end of its standard error.
	Ending func() (how, stderr string)
}

// Options configure a Server.
type Options struct {
	// Start starts a process of the server.
	Start func() (*Process, error)
	// AwaitsBuild is true if the first process is started after a value of Run's replace.
	AwaitsBuild bool
	// ToClient receives whole lines for the client. Its Write is called by one goroutine at a time.
	ToClient io.Writer
	// Drain is how long the open requests of a process may take before it is replaced. Hold is how
	// long a request waits for a process that is ready.
	Drain, Hold time.Duration
	// FailFast is true if requests that open the conversation are refused as soon as the process fails,
	// because the client repeats them.
	FailFast bool
	// Note is called with what the user should know. Warn is called with the reason why a process or a build
	// has failed.
	Note, Warn func(text string)
	// ToolsChanged is called with the tools of two successive processes if they differ.
	ToolsChanged func(before, after []json.RawMessage)
	Now          func() time.Time
}

// A Server is a stdio server whose process can be replaced.
type Server struct {
	options Options
	// ownIDs is the beginning of the ids of the Server's own requests. It is random, so that no id of
	// the client or of the process begins with it.
	ownIDs string
	// inputEnded is closed when the client has closed its output, clientGone when it no longer reads.
	inputEnded, clientGone chan struct{}
	// hasReportedLoss is set by reportRestart once the user knows what a restart loses.
	hasReportedLoss atomic.Bool

	// mu guards the fields below, and is locked while a line is written to the client.
	mu     sync.Mutex
	lastID int
	phase  phase
	// current is the generation that the client is connected to, or nil.
	current *generation
	session session
	// open are the client's requests to the current process without a response. Open subscriptions
	// stay when the process is replaced.
	open []*clientMessage
	// asked are the process's requests to the client without a response.
	asked []askedRequest
	// held are the client's messages that wait for a process that is ready.
	held []*clientMessage
	// released is closed when the held messages have been sent or refused.
	released chan struct{}
	// drained is closed when no request is open; nil unless the phase is draining.
	drained chan struct{}
	// trouble says why no process is ready, or is "". troubleStderr is what the last process wrote about
	// it to standard error, or "".
	trouble, troubleStderr string
	// isFailing is set while requests are refused because the last process or build has failed and no
	// build runs. isBuilding is set while one runs.
	isFailing, isBuilding bool
	// lists are the entries of the server's lists, by method, as they were last known.
	lists map[string][]json.RawMessage
}

// A phase says what happens to the client's messages.
type phase int

const (
	// starting: no process is ready; messages are held.
	starting phase = iota
	// ready: messages are passed to the process.
	ready
	// draining: requests are held, and other messages are passed to the old process.
	draining
	// refusing: requests are answered with an error.
	refusing
)

// New returns a Server. Run starts its process.
func New(o Options) *Server {
	return &Server{
		options: o, ownIDs: "mcpc-" + rand.Text() + "-",
		inputEnded: make(chan struct{}), clientGone: make(chan struct{}), released: make(chan struct{}),
		lists: map[string][]json.RawMessage{},
	}
}

// The delays before a process that ended by itself is started again.
const (
	minDelay = time.Second
	maxDelay = 30 * time.Second
)

// An ending says why serve has returned.
type ending int

const (
	// finished: the client or ctx has ended the conversation.
	finished ending = iota
	// replaced: a new process is to be started.
	replaced
	// failed: the process has ended by itself, or refused the handshake.
	failed
)

// Run starts a process, and another one after each value of replace and after a process that ended by
// itself, until the client closes its output or ctx is done. It returns an error if the first process
// cannot be started.
func (s *Server) Run(ctx context.Context, replace <-chan struct{}) error {
	if s.options.AwaitsBuild && !s.awaitBuild(ctx, replace) {
		return nil
	}
	delay := minDelay
	for n := 1; ctx.Err() == nil; n++ {
		begin := s.options.Now()
		g, err := s.start(n)
		if err != nil && n == 1 {
			return err
		}
		why := failed
		if err == nil {
			why = s.serve(ctx, g, replace)
		}
		if why == finished {
			g.process.End()
			return nil
		}
		if why == replaced {
			s.drain(ctx, g)
			s.detach("the server was restarted before it responded", "", "")
			g.process.End()
			delay = minDelay
			continue
		}
		trouble, stderr := endFailed(g, err)
		s.detach(trouble, trouble, stderr)
		if pause.IsOver(s.inputEnded) {
			return nil
		}
		if s.options.Now().Sub(begin) >= maxDelay {
			delay = minDelay
		}
		s.options.Warn(fmt.Sprintf("%s; it is started again in %s or after a change", trouble, delay))
		isReplaced := s.waitToRestart(ctx, delay, replace)
		if pause.IsOver(s.inputEnded) {
			return nil
		}
		delay = min(2*delay, maxDelay)
		if isReplaced {
			delay = minDelay
		}
	}
	return nil
}

// awaitBuild waits for the first value of built. It returns false if ctx is done first, or if the client
// closes its output first, and then refuses the held requests.
func (s *Server) awaitBuild(ctx context.Context, built <-chan struct{}) bool {
	select {
	case <-built:
		return true
	case <-ctx.Done():
		return false
	case <-s.inputEnded:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = "the client has closed its output before --build succeeded"
	s.phase = refusing
	close(s.released)
	s.refuseHeld(func(*clientMessage) bool { return true })
	return false
}

// endFailed ends a process that has failed, and says how. If the process could not be started, err is the
// reason, and g is nil.
func endFailed(g *generation, err error) (trouble, stderr string) {
	if err != nil {
		return "the server could not be started: " + err.Error(), ""
	}
	g.process.End()
	how, stderr := g.process.Ending()
	if g.refusal != nil {
		return g.refusal.Error(), stderr
	}
	return "the server ended: " + how, stderr
}

// BuildStarted notes that a build runs: requests wait for the server that it makes.
func (s *Server) BuildStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isBuilding = true
	s.isFailing = false
}

// BuildEnded notes that a build has ended. trouble says why it failed, or is "". If it failed and no
// process is ready, requests are refused until the next build.
func (s *Server) BuildEnded(trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isBuilding = false
	if trouble != "" && s.phase == starting {
		s.trouble = trouble
		s.troubleStderr = ""
		s.setFailing()
	}
}

// setFailing refuses the held requests, and soon later ones, until files change or a process is ready.
// Requests that open the conversation wait, unless FailFast is set: many clients do not repeat them. The
// caller locks mu.
func (s *Server) setFailing() {
	s.isFailing = true
	s.refuseHeld(func(c *clientMessage) bool { return s.options.FailFast || !mcp.IsOpening(c.message.Method) })
}

// refuseHeld answers the held requests that fit with an error that says why no process is ready. The
// caller locks mu.
func (s *Server) refuseHeld(fits func(*clientMessage) bool) {
	s.held = slices.DeleteFunc(s.held, func(c *clientMessage) bool {
		if c.message.Kind != wire.Request || !fits(c) {
			return false
		}
		s.refuseRequest(c.message, s.trouble, s.troubleStderr)
		return true
	})
}

// waitToRestart waits for the delay, or until ctx is done or the client closes its output. It returns
// true at once after a value of replace.
func (s *Server) waitToRestart(ctx context.Context, delay time.Duration, replace <-chan struct{}) bool {
	ctx, stop := context.WithTimeout(ctx, delay)
	defer stop()
	select {
	case <-replace:
		s.mu.Lock()
		s.isFailing = false
		s.mu.Unlock()
		return true
	case <-ctx.Done():
	case <-s.inputEnded:
	}
	return false
}

// serve connects a generation to the client until it ends or is to be replaced.
func (s *Server) serve(ctx context.Context, g *generation, replace <-chan struct{}) ending {
	opened := make(chan error, 1)
	go func() { opened <- s.openSession(g) }()
	for {
		select {
		case <-ctx.Done():
			return finished
		case <-s.clientGone:
			return finished
		case <-g.ended:
			return failed
		case err := <-opened:
			if err != nil {
				g.refusal = err
				return failed
			}
		case <-replace:
			if !pause.IsOver(s.inputEnded) { // else the process finishes what it was asked
				return replaced
			}
		}
	}
}

// start starts a generation. Its output is passed to the client from now on.
func (s *Server) start(n int) (*generation, error) {
	p, err := s.options.Start()
	if err != nil {
		return nil, err
	}
	g := newGeneration(n, p)
	s.mu.Lock()
	s.current = g
	s.mu.Unlock()
	go g.input.writeTo(p.Stdin)
	go func() {
		defer close(g.ended)
		eachLine(p.Stdout, func(line []byte) { s.handleServerLine(g, line) })
		g.input.abandon()
	}()
	go s.followLists(g)
	return g, nil
}

// drain holds new requests and waits until the open ones have their responses, at most Options.Drain.
func (s *Server) drain(ctx context.Context, g *generation) {
	s.mu.Lock()
	if s.phase != ready {
		s.mu.Unlock()
		return
	}
	s.phase = draining
	s.released = make(chan struct{})
	drained := make(chan struct{})
	s.drained = drained
	s.checkDrained()
	s.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, s.options.Drain)
	defer stop()
	select {
	case <-drained:
	case <-g.ended:
	case <-ctx.Done():
	}
}

// checkDrained closes drained if no request is open. The caller locks mu.
func (s *Server) checkDrained() {
	if s.drained == nil {
		return
	}
	if slices.ContainsFunc(s.open, func(c *clientMessage) bool { return !c.isSubscription() }) {
		return
	}
	close(s.drained)
	s.drained = nil
}

// detach disconnects the current process from the client: its open requests are answered with an
// error, except subscriptions and, unless the process failed and FailFast is set, requests that open the
// conversation, which are sent again to the next process once. The process's own requests to the client are
// cancelled. trouble says why no process is ready until the next one is, or is "", and stderr what the
// process wrote about it. If a process fails before it was ready, requests are refused.
func (s *Server) detach(why, trouble, stderr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hasFailed := trouble != "" && !s.isBuilding
	isFailing := hasFailed && s.phase == starting
	if s.phase == ready || s.phase == refusing {
		s.released = make(chan struct{})
	}
	s.phase = starting
	s.current = nil
	s.drained = nil
	s.trouble = trouble
	s.troubleStderr = stderr
	s.isFailing = false
	var subscriptions, openings []*clientMessage
	for _, c := range s.open {
		if c.isSubscription() {
			subscriptions = append(subscriptions, c)
		} else if mcp.IsOpening(c.message.Method) && hasFailed && s.options.FailFast {
			s.refuseRequest(c.message, why, stderr)
			isFailing = true
		} else if mcp.IsOpening(c.message.Method) && !(c.isRepeated && trouble != "") {
			c.isRepeated = true
			openings = append(openings, c)
			s.limitHold(c)
		} else {
			s.refuseRequest(c.message, why, stderr)
		}
	}
	s.open = subscriptions
	s.held = append(openings, s.held...)
	if isFailing {
		s.setFailing()
	}
	for _, a := range s.asked {
		s.sendToClient(composeCancelled(a.clientID, why))
	}
	s.asked = nil
}

// errorCode is the code of the errors that a Server answers requests with, one that servers define.
const errorCode = -32000

// sendToClient sends one message to the client. The caller locks mu.
func (s *Server) sendToClient(message []byte) { s.writeToClient(append(message, '\n')) }

// writeToClient writes a whole line to the client. The caller locks mu.
func (s *Server) writeToClient(line []byte) {
	if _, err := s.options.ToClient.Write(line); err != nil && !pause.IsOver(s.clientGone) {
		close(s.clientGone)
	}
}

// newID returns an id, as JSON, for a request of the Server's own. The caller locks mu.
func (s *Server) newID() json.RawMessage {
	s.lastID++
	return fmt.Appendf(nil, "%q", fmt.Sprint(s.ownIDs, s.lastID))
}
