package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/client/keepalive"
	"mcpc/internal/client/network"
	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// A Server is where a conversation goes: one of its first three members is set.
type Server struct {
	URL     string
	Command []string
	// Pipe opens a server inside this process. It is called again where the
	// server has to be started anew.
	Pipe func() (io.Reader, io.WriteCloser)
	// Keepalive leads to a process that holds the command; nil starts it as a child.
	Keepalive *keepalive.Dialer
	// Env and Dir are the command's environment and working directory; nil and
	// "" are mcpc's own.
	Env []string
	Dir string
	// Transport is the one an earlier run found to work; "" is to find out.
	Transport transport.Name
	// Name is how the server is called in outcomes.
	Name string
}

// Options is everything that a conversation depends on.
type Options struct {
	Server Server
	// Protocol pins a revision; "" negotiates.
	Protocol string
	// KnownRevision is the revision that the server was found to speak before; it saves
	// the probe, and is forgotten when it no longer holds.
	KnownRevision string
	// Resume goes on with a conversation that an earlier run opened.
	Resume *Memory
	// SkipDiscover leaves out a server/discover that nothing depends on.
	SkipDiscover bool
	// Version is mcpc's own, and clientInfo names it; Capabilities are those that this run can honour.
	Version      string
	clientInfo   json.RawMessage
	Capabilities json.RawMessage
	// Verbatim declares Capabilities as they are: of another client, without what this
	// one adds.
	Verbatim bool
	// Extensions are ids of those that ask nothing of this run but to be declared: with each
	// request, or when a session is opened. One that was opened without them is used as it is.
	Extensions []string
	// Asker answers what the server asks of what Capabilities offer; where it is
	// nil, nothing is answered.
	Asker Asker
	// LogLevel asks for log messages along with each request, in the era where
	// that is how it is done; "" does not.
	LogLevel string
	// GetStream keeps a stream open, where there is such a thing, for what the server
	// says and asks apart from the answers to requests.
	GetStream bool
	// Fields are the user's header fields. They come last and win.
	Fields []wire.Field
	Limits Limits
	// Spool is where large answers are kept until the process ends; "" is in memory.
	Spool spool.Dir
	// LeaveSoon hardly waits for the response to the request that ends the session: the process
	// ends with it, and nothing depends on the response.
	LeaveSoon bool
	// Dial opens connections; nil is the machine's network. Pins lead some elsewhere.
	Dial network.DialFunc
	Pins network.Pins
	// Proxy finds the proxy for a request; nil is none.
	Proxy network.ProxyFunc
	// TLS is that of Certificates; nil believes the system's authorities.
	TLS *tls.Config
	// Through wraps the RoundTripper of the network, which it is given: it may add to
	// requests, and send one again that a server refused to look at. It may be nil.
	Through func(http.RoundTripper) http.RoundTripper
	// NextID hands out request ids; nil counts from 1.
	NextID func() int64
	// Trace returns the members of _meta that put one request into a distributed trace
	// (SEP-414); nil is none.
	Trace func() []jsonraw.Member
	// Now is the clock; where it is nil, nothing is dated.
	Now func() time.Time
	Tap wire.Tap
	// TapFull reports a Tap that takes no more frames; nil is one that always does.
	TapFull func() bool
	// Secrets learns the values of the header fields that are hidden from the Tap;
	// it may be nil.
	Secrets *redact.Secrets
	// Notified is called with notifications, Found with problems that do not end the
	// request, Renewed when a conversation had to be opened anew. They are called
	// from several goroutines and must not block; each may be nil.
	Notified func(m *wire.Message)
	// Passing reports that Notified and Tap keep nothing of a notification of progress, of which
	// there may be many, beyond their calls; nil is never.
	Passing     func(m *wire.Message) bool
	Found       func(f wire.Finding)
	Reconnected func(Renewal)
	// Shape says what is wrong with the shape of what comes, and Strict whether such a
	// result is to be refused; each may be nil.
	Shape  ShapeCheck
	Strict func() bool
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.WithDefaults()
	o.clientInfo = json.RawMessage(`{"name":"mcpc","version":` + string(jsonraw.Quote(o.Version)) + `}`)
	if o.Capabilities == nil {
		o.Capabilities = json.RawMessage("{}")
	}
	if o.Proxy == nil {
		o.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} }
	}
	return o
}

// Limits bound what one conversation may cost. Zero means the default, a
// negative duration or size means no limit.
type Limits struct {
	// Connect bounds DNS, TCP and TLS together.
	Connect time.Duration
	// Idle is how long nothing may happen; progress starts it anew.
	Idle time.Duration
	// Hard bounds one request whatever happens.
	Hard time.Duration
	// Probe is how long a server may be silent on server/discover.
	Probe time.Duration
	// Start is how long a stdio server may be silent on its first request where Idle is
	// less; zero and less are no longer than Idle.
	Start time.Duration
	// Message bounds one message in bytes: an HTTP body, a server-sent event,
	// a line of stdio.
	Message int64
	// Pages and Items bound one list.
	Pages, Items int
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	l.Connect = cmp.Or(l.Connect, 10*time.Second)
	l.Idle = cmp.Or(l.Idle, 60*time.Second)
	l.Hard = cmp.Or(l.Hard, 10*time.Minute)
	l.Probe = cmp.Or(l.Probe, 10*time.Second)
	l.Message = cmp.Or(l.Message, 64<<20)
	l.Pages = cmp.Or(l.Pages, 1000)
	l.Items = cmp.Or(l.Items, 100_000)
	return l
}

// A Session is a conversation with one server, opened anew where the server
// loses it. Its methods may be called from several goroutines.
type Session struct {
	opt      Options
	recorder *transport.Recorder
	// via has the connections of all transports of the session.
	connector *transport.Connector
	// pending are the requests under way.
	pending *pendingRequests
	// reported are the rules that were reported once and are not reported again.
	reportedRules onceRules
	// subscriptions are those that Listen serves or served.
	subscriptions subscriptions
	// reopening is a semaphore of one: its holder may open the conversation anew.
	reconnecting chan struct{}
	// asking is a semaphore of one: its holder may ask the user.
	askingUser chan struct{}
	// life ends when the session is closed, and with it what is under way.
	lifetime    context.Context
	answerTasks answerPool

	lastID atomic.Int64

	mu      sync.Mutex
	current *connection
	closed  bool
}

// A Call is one request.
type Call struct {
	Method string
	// Params are the caller's bytes; nil sends none.
	Params json.RawMessage
	// Members has the name where the caller composed Params, without _meta; nil has Params read.
	Members jsonraw.Members
	// Schema is the tool's inputSchema, from which header fields are mirrored.
	Schema json.RawMessage
	// ID replaces the session's own id, and may be any JSON.
	ID json.RawMessage
	// Progress asks the server to report progress.
	Progress bool
	// Progressed is called with each notification of progress, where Progress asks for them;
	// nil where the caller does not measure them. It must not block.
	Progressed func()
	// Bare sends the params without the era's stamps.
	Bare bool
	// Task lets the call become a task; nil does not.
	Task *TaskWish
	// Once forbids sending it a second time whatever happened.
	Once bool
	// OneRound returns what the server asks for in place of a result, and does not answer it.
	OneRound bool
	// inSession is set where the params are good in this conversation only, as a
	// cursor is.
	sessionOnly bool
	// patient and begun are those of the outgoing message.
	untimed        bool
	isAcknowledged func() bool
}

// Open begins a conversation, or goes on with a remembered one. After an
// outcome that is not good nothing is left open.
func Open(ctx context.Context, opt Options) (*Session, wire.Outcome) {
	opt = opt.withDefaults()
	s := &Session{opt: opt, recorder: &transport.Recorder{Now: opt.Now, Tap: opt.Tap, Full: opt.TapFull, Secrets: opt.Secrets},
		reconnecting: make(chan struct{}, 1), askingUser: make(chan struct{}, 1)}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.lifetime, s.answerTasks.lifetime, s.answerTasks.stop = life, life, stop
	s.pending = newPendingRequests(s.lifetime, opt.Limits.Hard)
	s.connector = transport.NewConnector(
		transport.ConnectorOptions{
			Connect: opt.Limits.Connect,
			Dial:    opt.Dial,
			Pins:    opt.Pins,
			Proxy:   opt.Proxy,
			TLS:     opt.TLS,
			Through: opt.Through,
			Clock:   s.pending,
		},
		s.recorder,
	)
	if opt.Resume != nil {
		s.connector.SetCookieField(opt.Server.URL, opt.Resume.Cookies)
	}
	c, o := s.connect(ctx, opt.KnownRevision, opt.Resume, nil)
	if !o.Good() {
		s.connector.SuggestTLS(ctx, opt.Server.URL, &o)
		s.connector.SuggestLoopback(ctx, opt.Server.URL, &o)
		s.Close(ctx, false)
		return s, o
	}
	s.setConnection(c)
	return s, o
}

// Revision is the negotiated one.
func (s *Session) Revision() string { return s.connection().revision() }

// Why says in a few words how the revision was found.
func (s *Session) Why() string { return s.connection().load().revisionSource }

// Info returns what the server said of itself; it is empty if the server was not asked.
func (s *Session) Info() Info {
	info := s.connection().load().info
	kept, _ := s.Keepalive()
	opening, err := jsonraw.Object(kept.Opening)
	if err != nil {
		return info
	}
	// What was remembered lacks secrets.
	info.ServerInfo = opening.Value("serverInfo")
	info.Capabilities = withoutNulls(opening.Value("capabilities"))
	info.Instructions = opening.Text("instructions")
	return info
}

// Transport names the transport in use.
func (s *Session) Transport() transport.Name { return s.connection().transport().Name() }

// Memory is what a later run needs to go on.
func (s *Session) Memory() Memory {
	c := s.connection()
	return Memory{Revision: c.revision(), Transport: c.transport().Name(), SessionID: c.era().sessionID(),
		Cookies: s.connector.CookieField(s.opt.Server.URL), Declared: c.era().declared(), Info: c.load().info}
}

// Close lets go of the server; end asks it to forget the conversation as well.
// Requests under way end. It takes as long as the shutdown of a process may
// take, 5 s.
func (s *Session) Close(ctx context.Context, endSession bool) {
	s.mu.Lock()
	endSession = endSession && !s.closed
	s.closed = true
	c := s.current
	s.mu.Unlock()
	if c != nil {
		c.questions.drop()
	}
	s.answerTasks.finish()
	if c != nil {
		c.close(ctx, endSession)
	}
	s.connector.CloseIdle()
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// connection is the conversation as it now stands.
func (s *Session) connection() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// install makes t the conversation, unless the session was closed meanwhile.
func (s *Session) setConnection(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.current = c
	}
	return !s.closed
}

// Do sends one request and waits for its ending, over as many rounds as the
// server needs. Where the server no longer knows the conversation, a new one is
// opened, and the request is sent again if that cannot do anything twice.
func (s *Session) Do(ctx context.Context, call Call) wire.Outcome {
	o, _ := s.doRound(ctx, &call)
	if o.Kind == wire.Transport {
		s.connector.SuggestLoopback(ctx, s.opt.Server.URL, &o)
	}
	if !s.requestsInput(o) {
		return o
	}
	r := &inputRounds{s: s, call: call}
	return r.answerRounds(ctx, o)
}

// asksBack reports whether an outcome has questions of the server, so that the request takes another round.
func (s *Session) requestsInput(o wire.Outcome) bool {
	if o.Kind == wire.InputRequired {
		return o.Message != nil && o.Message.Kind == wire.Response
	}
	return o.RPC() != nil && o.RPC().Code == codeURLElicitation && s.opt.Asker != nil && !Stateless(s.Revision())
}

// Notify sends a notification with the session's stamps.
func (s *Session) Notify(ctx context.Context, call Call) wire.Outcome {
	began := s.opt.Now()
	c := s.connection()
	out := &outgoing{Outgoing: transport.Outgoing{Method: call.Method}}
	out.Raw = wire.ComposeNotification(call.Method, c.stamp(c.era(), &call, out))
	o := c.outcome(c.era(), &call, c.sendOneWay(ctx, &out.Outgoing))
	o.Took = s.opt.Now().Sub(began)
	return o
}

// Raw sends exactly these bytes and takes the first thing that comes back,
// notifications and the server's own requests aside. The header fields are those
// of the era unless bare is set.
func (s *Session) Raw(ctx context.Context, raw []byte, bare bool) wire.Outcome {
	began := s.opt.Now()
	c := s.connection()
	e := c.era()
	m := wire.ParseMessage(raw)
	call := &Call{Method: m.Method, Params: m.Params, Bare: bare}
	out := &outgoing{Outgoing: transport.Outgoing{ID: m.ID, Method: m.Method, AnyReply: true}}
	c.stamp(e, call, out)
	out.Raw = raw
	out.Resumable = false
	out.token = nil
	out.lasting = out.lasting || m.Kind != wire.Request
	var r reply
	if m.Kind == wire.Notification || m.Kind == wire.Response || m.Kind == wire.ErrorResponse {
		r = c.sendOneWay(ctx, &out.Outgoing)
	} else {
		r = c.exchange(ctx, e, out, s.opt.Limits.Idle)
	}
	if !c.load().unconfirmed {
		r.Fault.NoteReachable()
	}
	o := c.outcome(e, call, r)
	if r.Message != nil && r.Message.Kind == wire.Batch && e.batches() {
		o.Kind = wire.OK
		o.Phase = "result"
		o.Text = ""
	}
	o.Took = s.opt.Now().Sub(began)
	return o
}

func (s *Session) nextID() json.RawMessage {
	if s.opt.NextID != nil {
		return strconv.AppendInt(nil, s.opt.NextID(), 10)
	}
	return strconv.AppendInt(nil, s.lastID.Add(1), 10)
}

// LastID is the last request id that the session itself has counted; 0 where
// ids come from elsewhere.
func (s *Session) LastID() int64 { return s.lastID.Load() }

// Keepalive is what the supervisor of the server says of itself, where there is one.
func (s *Session) Keepalive() (keepalive.Status, bool) {
	if c, ok := s.connection().transport().(*keepalive.Conn); ok {
		return c.Status, true
	}
	return keepalive.Status{}, false
}

// Keep lets the held server live on when the session is closed. The error is
// ErrGone where it has gone already.
func (s *Session) Keep() error {
	if c, ok := s.connection().transport().(*keepalive.Conn); ok {
		return c.Keep()
	}
	return nil
}
