package client

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A Server is where a conversation goes: one of its three members is set.
type Server struct {
	URL     string
	Command []string
	// Pipe opens a server inside this process.
	Pipe func() (io.Reader, io.WriteCloser)
	// Transport is the one an earlier run found to work; "" is to find out.
	Transport TransportName
	// Name is how the server is called in outcomes.
	Name string
}

// Options is everything that a conversation depends on.
type Options struct {
	Server Server
	// Protocol pins a revision; "" negotiates.
	Protocol string
	// Known is the revision that the server was found to speak before; it saves
	// the probe, and is forgotten when it no longer holds.
	Known string
	// Resume goes on with a conversation that an earlier run opened.
	Resume *Memory
	// Quick leaves out a server/discover that nothing depends on.
	Quick bool
	// Version is mcpc's own; Capabilities are those that this run can honour.
	Version      string
	Capabilities json.RawMessage
	// LogLevel asks for log messages along with each request, in the era where
	// that is how it is done; "" does not.
	LogLevel string
	// Fields are the user's header fields. They come last and win.
	Fields []wire.Field
	Limits Limits
	// NextID hands out request ids; nil counts from 1.
	NextID func() int64
	Now    func() time.Time
	Tap    wire.Tap
	// Notified is told of notifications, Found of what is wrong and can be lived
	// with, Renewed of a conversation that had to be opened anew, Asked of nothing
	// else. They are called from several goroutines; each may be nil.
	Notified func(m *wire.Message)
	Found    func(f wire.Finding)
	Renewed  func(why string)
}

// A Session is a conversation with one server. Its methods may be called from
// several goroutines.
type Session struct {
	opt  Options
	rec  *recorder
	info Info
	// why says how the revision was found.
	why string
	// opened is set once this run has opened the conversation itself.
	opened bool

	answers sync.WaitGroup

	mu     sync.Mutex
	lastID int64
	waits  map[string]*watch // by progress token
	// Both are replaced when the conversation is opened anew; the era is nil
	// until it is found.
	currentLine transport
	currentEra  era
}

func (s *Session) line() transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.currentLine
}

func (s *Session) setLine(t transport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.currentLine = t
}

func (s *Session) era() era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.currentEra
}

func (s *Session) setEra(e era) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.currentEra = e
}

// A Call is one request.
type Call struct {
	Method string
	// Params are the caller's bytes; nil sends none.
	Params json.RawMessage
	// Schema is the tool's inputSchema, from which header fields are mirrored.
	Schema json.RawMessage
	// ID replaces the session's own id, and may be any JSON.
	ID json.RawMessage
	// Progress asks the server to report progress.
	Progress bool
	// Bare sends the params without the era's stamps.
	Bare bool
	// Once forbids sending it a second time whatever happened.
	Once bool
}

// Open begins a conversation, or goes on with a remembered one.
func Open(ctx context.Context, opt Options) (*Session, wire.Outcome) {
	opt.Limits = opt.Limits.WithDefaults()
	if opt.Capabilities == nil {
		opt.Capabilities = json.RawMessage("{}")
	}
	s := &Session{opt: opt, rec: &recorder{now: opt.Now, tap: opt.Tap}, waits: map[string]*watch{}}
	o := s.begin(ctx)
	if !o.Good() {
		s.Close(ctx, false)
	}
	return s, o
}

// Revision is the negotiated one; Why says how it was found.
func (s *Session) Revision() string { return s.era().revision() }

// Why says in a few words how the revision was found.
func (s *Session) Why() string { return s.why }

// Info is what the server said of itself; empty where it was not asked.
func (s *Session) Info() Info { return s.info }

// Transport names the transport in use.
func (s *Session) Transport() TransportName { return s.line().name() }

// Memory is what a later run needs to go on.
func (s *Session) Memory() Memory {
	e := s.era()
	return Memory{Revision: e.revision(), Transport: s.line().name(), SessionID: e.sessionID(), Info: s.info}
}

// Close lets go of the server; end asks it to forget the conversation as well.
func (s *Session) Close(ctx context.Context, end bool) {
	s.answers.Wait()
	line, e := s.line(), s.era()
	if end && e != nil && line != nil {
		e.end(ctx, s)
	}
	if line != nil {
		line.close()
	}
}

// Do sends one request and waits for its ending. Where the server no longer
// knows the conversation, a new one is opened, and the request is sent again if
// that cannot do anything twice.
func (s *Session) Do(ctx context.Context, call Call) wire.Outcome {
	fresh := !s.opened
	r := s.request(ctx, s.era(), &call, s.opt.Limits.Idle)
	if call.Bare || ctx.Err() != nil {
		return s.outcome(&call, r)
	}
	switch {
	case s.era().lost(r):
		s.opt.Known = s.era().revision()
		return s.again(ctx, call, r, fresh, "the server no longer knows this session: a new one was opened")
	case fresh && s.mistaken(r):
		was := s.era().revision()
		s.opt.Known = ""
		return s.again(ctx, call, r, true, "the server no longer speaks "+was+": the revision was negotiated anew")
	}
	s.opened = s.opened || r.fault == nil
	return s.outcome(&call, r)
}

// again opens a new conversation. The request was refused unread; still, one
// that may do something, and was meant for the state of a session, is sent
// again only when this run had not used that session yet.
func (s *Session) again(ctx context.Context, call Call, r reply, fresh bool, why string) wire.Outcome {
	s.opt.Resume, s.opened = nil, true
	s.line().close()
	if o := s.begin(ctx); !o.Good() {
		return o
	}
	s.note(why)
	if call.Once || !fresh && !repeatable(call.Method) {
		o := s.outcome(&call, r)
		o.Kind, o.Phase, o.Reached, o.Retryable = wire.Transport, "wait", wire.Unsent, true
		o.Text = "the server no longer knew the session, and " + call.Method + " was not sent again"
		o.Hint = "a new session is open: run the command again"
		return o
	}
	return s.outcome(&call, s.request(ctx, s.era(), &call, s.opt.Limits.Idle))
}

// repeatable are the methods that only read.
func repeatable(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
		"resources/read", "completion/complete", "server/discover", "ping", "tasks/get", "tasks/list":
		return true
	}
	return false
}

// Notify sends a notification with the session's stamps.
func (s *Session) Notify(ctx context.Context, call Call) wire.Outcome {
	out := &outgoing{method: call.Method}
	s.stamp(s.era(), &call, out)
	out.raw = wire.ComposeNotification(call.Method, call.Params)
	return s.outcome(&call, s.line().send(ctx, out))
}

// Raw sends exactly these bytes and takes the first thing that comes back. The
// header fields are those of the era unless bare is set.
func (s *Session) Raw(ctx context.Context, raw []byte, bare bool) wire.Outcome {
	m := wire.ParseMessage(raw)
	call := &Call{Method: m.Method, Params: m.Params, Bare: bare}
	out := &outgoing{id: m.ID, method: m.Method, anyReply: true}
	stamped := *call
	s.stamp(s.era(), &stamped, out)
	out.raw, out.resumable = raw, false
	if m.Kind == wire.Notification || m.Kind == wire.Response || m.Kind == wire.ErrorResponse {
		return s.outcome(call, s.line().send(ctx, out))
	}
	return s.outcome(call, s.exchange(ctx, out, s.opt.Limits.Idle))
}

// request composes a request, sends it and waits for its response.
func (s *Session) request(ctx context.Context, e era, call *Call, idle time.Duration) reply {
	out := &outgoing{id: call.ID, method: call.Method}
	if out.id == nil {
		out.id = s.nextID()
	}
	stamped := *call
	s.stamp(e, &stamped, out)
	out.raw = wire.ComposeRequest(out.id, call.Method, stamped.Params)
	return s.exchange(ctx, out, idle)
}

// stamp puts the era's marks on a request, in its params and in its header
// fields. A bare one gets neither.
func (s *Session) stamp(e era, call *Call, out *outgoing) {
	if !call.Bare {
		e.stamp(s, call, out)
	}
}

func (s *Session) nextID() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opt.NextID != nil {
		return strconv.AppendInt(nil, s.opt.NextID(), 10)
	}
	s.lastID++
	return strconv.AppendInt(nil, s.lastID, 10)
}

// LastID is the last request id that the session itself has counted; 0 where
// ids come from elsewhere.
func (s *Session) LastID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastID
}

// receive is the inbox: what came and answers nothing.
func (s *Session) receive(m *wire.Message) {
	switch m.Kind {
	case wire.Request:
		if e := s.era(); e != nil {
			s.answers.Go(func() { e.asked(s, m) })
		}
	case wire.Notification:
		s.notified(m)
	case wire.Batch:
		for _, item := range m.Items {
			s.receive(item)
		}
	case wire.Response, wire.ErrorResponse:
		s.finding(wire.Finding{Rule: "orphan", Level: wire.Info,
			Text: "a response came that nobody waits for, with id " + orNone(m.ID)})
	default:
		s.finding(wire.Finding{Rule: "message", Level: wire.Warning, Text: "something came that is no JSON-RPC message: " + m.Problem()})
	}
}

func (s *Session) notified(m *wire.Message) {
	if m.Method == "notifications/progress" {
		s.progressed(m)
	}
	if s.opt.Notified != nil {
		s.opt.Notified(m)
	}
}

func (s *Session) finding(f wire.Finding) {
	if s.opt.Found != nil {
		s.opt.Found(f)
	}
}

func (s *Session) note(why string) {
	if s.opt.Renewed != nil {
		s.opt.Renewed(why)
	}
}
