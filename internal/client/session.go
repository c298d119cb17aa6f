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

// A Server is the server of a session. Exactly one of URL, Command and Pipe is set.
type Server struct {
	URL     string
	Command []string
	// Pipe starts a server inside this process. It is called again if the server has to be
	// restarted.
	Pipe func() (io.Reader, io.WriteCloser)
	// Keepalive connects to the process that keeps Command running; nil starts Command as a child.
	Keepalive *keepalive.Dialer
	// Env and Dir are the command's environment and working directory; nil and "" mean mcpc's.
	Env []string
	Dir string
	// Transport is the transport that an earlier run found; "" detects it.
	Transport transport.Name
	// Name names the server in outcomes.
	Name string
}

// Options configure a session.
type Options struct {
	Server Server
	// Protocol pins a revision; "" negotiates one.
	Protocol string
	// KnownRevision is the revision that an earlier run negotiated, or "". It saves the probe. If
	// the server no longer speaks it, the session negotiates again.
	KnownRevision string
	// Resume continues a session of an earlier run; nil opens a new one.
	Resume *Memory
	// SkipDiscover omits server/discover if no later request depends on it.
	SkipDiscover bool
	// Version is the version of mcpc for clientInfo. Capabilities are the client capabilities that
	// this run supports; nil is an empty object.
	Version      string
	clientInfo   json.RawMessage
	Capabilities json.RawMessage
	// Verbatim declares exactly Capabilities, as another client declared them, and adds nothing.
	Verbatim bool
	// Extensions are the ids of extensions that need no more than to be declared: with each
	// request, or when a session is opened. A resumed session is used even if it was opened without
	// them.
	Extensions []string
	// Asker answers the server's requests for input that Capabilities allow; if it is nil, no
	// request is answered.
	Asker Asker
	// LogLevel asks for log messages with each request, in the era that has this parameter; "" does
	// not ask.
	LogLevel string
	// GetStream keeps a GET stream open for messages that belong to no request, if era and
	// transport have one.
	GetStream bool
	// Fields are the user's header fields. They replace fields of the same name.
	Fields []wire.Field
	Limits Limits
	// Spool is the directory of temporary files for large responses; "" keeps them in memory.
	Spool spool.Dir
	// LeaveSoon shortens the wait for the response to the request that ends the session, since the
	// process exits next.
	LeaveSoon bool
	// Dial opens connections; nil uses the network of the machine. Pins replace addresses before
	// Dial.
	Dial network.DialFunc
	Pins network.Pins
	// Proxy returns the proxy of a request; if nil, no proxy is used.
	Proxy network.ProxyFunc
	// TLS configures HTTPS; nil trusts the authorities of the system.
	TLS *tls.Config
	// Through wraps the RoundTripper of the network, for example to add credentials and to repeat a
	// request that the server refused without them. It may be nil.
	Through func(http.RoundTripper) http.RoundTripper
	// NextID returns the id of the next request; nil counts from 1.
	NextID func() int64
	// Trace returns the members of _meta that put a request into a distributed trace (SEP-414); if
	// nil, no members are added.
	Trace func() []jsonraw.Member
	// Now is the clock; nil records no times.
	Now func() time.Time
	Tap wire.Tap
	// TapFull reports whether Tap no longer records frames; nil is a tap that always records.
	TapFull func() bool
	// Secrets receives the values of header fields that are hidden from Tap; it may be nil.
	Secrets *redact.Secrets
	// Notified receives notifications, Found receives problems that do not fail the request, and
	// Reconnected is called after the session was reopened. They are called from several goroutines
	// and must not block. Each may be nil.
	Notified func(m *wire.Message)
	// Passing reports whether Notified and Tap keep no reference to m, a progress notification,
	// after they return: its memory is then reused. nil reports false.
	Passing     func(m *wire.Message) bool
	Found       func(f wire.Finding)
	Reconnected func(Renewal)
	// Shape returns the shape problems of received messages. Strict reports whether a result with
	// such problems is rejected. Each may be nil.
	Shape  ShapeCheck
	Strict func() bool
}

// withDefaults returns o with defaults in place of zero limits and nil functions.
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

// Limits bound the time and size of a session. Zero means the default; a negative duration or size
// means no limit.
type Limits struct {
	// Connect bounds the total time of DNS, TCP and TLS.
	Connect time.Duration
	// Idle bounds the silence while a request waits; a progress notification restarts it.
	Idle time.Duration
	// Wait is the time of ping --wait, whose remaining time is in Idle. Timeouts then name --wait
	// and this time in place of --timeout and Idle. Other commands leave it 0.
	Wait time.Duration
	// Hard bounds one request in total, even with progress.
	Hard time.Duration
	// Probe bounds the wait for the response to server/discover.
	Probe time.Duration
	// Start extends Idle for the first request to a stdio server, which may still be starting. A
	// value up to Idle has no effect.
	Start time.Duration
	// Message bounds one message in bytes: an HTTP body, a server-sent event, or a line of stdio.
	Message int64
	// Pages and Items bound one list.
	Pages, Items int
}

// WithDefaults returns l with the default for each zero limit.
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

// idleTimeout returns the error for a request that was silent for the time of after. what names
// what is missing. The error names the flag that the user gave, and its time.
func (l Limits) idleTimeout(what string, after time.Duration) transport.TimeoutError {
	if l.Wait <= 0 {
		return transport.TimeoutError{Flag: "--timeout", What: what, After: after}
	}
	if after == l.Idle { // the rest of Wait; any other time is a separate limit
		after = l.Wait
	}
	return transport.TimeoutError{Flag: "--wait", What: what, After: after}
}

// A Session is a session with one server. It reopens the session if the server loses it. Its
// methods may be called from several goroutines.
type Session struct {
	opt      Options
	recorder *transport.Recorder
	// connector opens the connections of all transports.
	connector *transport.Connector
	// pending are the requests that wait for a response.
	pending *pendingRequests
	// reportedRules are the rules that are reported at most once per session.
	reportedRules onceRules
	// subscriptions are the active and the ended subscriptions of Listen.
	subscriptions subscriptions
	// reconnecting is a semaphore of one: its holder may reopen the session.
	reconnecting chan struct{}
	// askingUser is a semaphore of one: its holder may ask the user.
	askingUser chan struct{}
	// lifetime ends when the session is closed. answerTasks answer the server's requests.
	lifetime    context.Context
	answerTasks answerPool

	// lastID is the last request id that nextID counted.
	lastID atomic.Int64

	mu sync.Mutex
	// current is nil until Open has connected. Close sets closed.
	current *connection
	closed  bool
}

// A Call is one request or notification.
type Call struct {
	Method string
	// Params are sent with the era's metadata added; nil if the caller has no params.
	Params json.RawMessage
	// Members are the members of Params without _meta, if the caller knows them; nil parses Params.
	Members jsonraw.Members
	// Schema is the tool's inputSchema: some arguments are repeated in header fields.
	Schema json.RawMessage
	// ID replaces the id that the session counts. It may be any JSON.
	ID json.RawMessage
	// Progress asks the server to report progress.
	Progress bool
	// Progressed is called for each progress notification of the request. It may be nil and must
	// not block.
	Progressed func()
	// Bare sends Params without the era's metadata.
	Bare bool
	// Task allows the server to run the call as a task; nil does not.
	Task *TaskWish
	// Once forbids to send the request a second time for any reason.
	Once bool
	// OneRound returns the server's input requests as the outcome instead of answering them.
	OneRound bool
	// sessionOnly is set if the params are valid in the current session only, such as a cursor.
	sessionOnly bool
	// shape is as in WalkOptions.
	shape ShapeCheck
	// untimed and isAcknowledged are copied to the outgoing message.
	untimed        bool
	isAcknowledged func() bool
}

// Open opens a session, or resumes the session of an earlier run. If the outcome is not OK, the
// returned session is closed.
func Open(ctx context.Context, opt Options) (*Session, wire.Outcome) {
	opt = opt.withDefaults()
	s := &Session{
		opt:          opt,
		recorder:     &transport.Recorder{Now: opt.Now, Tap: opt.Tap, Full: opt.TapFull, Secrets: opt.Secrets},
		reconnecting: make(chan struct{}, 1),
		askingUser:   make(chan struct{}, 1),
	}
	// ctx limits the opening only: the session lasts until Close.
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.lifetime = lifetime
	s.answerTasks.lifetime = lifetime
	s.answerTasks.stop = stop
	s.pending = newPendingRequests(s.lifetime, opt.Limits)
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
	c, o := s.openConnection(ctx, opt.KnownRevision, opt.Resume, nil)
	if !o.OK() {
		s.connector.SuggestTLS(ctx, opt.Server.URL, &o)
		s.connector.SuggestLoopback(ctx, opt.Server.URL, &o)
		const endSession = false // openConnection has closed the connection
		s.Close(ctx, endSession)
		return s, o
	}
	s.setConnection(c)
	return s, o
}

// Revision returns the negotiated revision.
func (s *Session) Revision() string { return s.connection().revision() }

// Why returns a short text for the user: how the revision was found.
func (s *Session) Why() string { return s.connection().load().revisionSource }

// Info returns the server's name, capabilities and instructions. It is empty if the server was not
// asked.
func (s *Session) Info() Info {
	info := s.connection().load().info
	kept, _ := s.Keepalive()
	opening, err := jsonraw.Object(kept.Opening)
	if err != nil {
		return info
	}
	// The supervisor has the original result of initialize; stored information lacks secrets.
	info.ServerInfo = opening.Value("serverInfo")
	info.Capabilities = withoutNulls(opening.Value("capabilities"))
	info.Instructions = opening.Text("instructions")
	return info
}

// Transport returns the name of the transport.
func (s *Session) Transport() transport.Name { return s.connection().transport().Name() }

// Memory returns what a later run needs to resume the session.
func (s *Session) Memory() Memory {
	c := s.connection()
	return Memory{
		Revision: c.revision(), Transport: c.transport().Name(), SessionID: c.era().sessionID(),
		Cookies: s.connector.CookieField(s.opt.Server.URL), Declared: c.era().declaredCapabilities(), Info: c.load().info,
	}
}

// Close ends pending requests and closes the connection. endSession also asks the server to end the
// session. Close takes up to 5 s if it has to stop a process.
func (s *Session) Close(ctx context.Context, endSession bool) {
	s.mu.Lock()
	endSession = endSession && !s.closed // once only
	s.closed = true
	c := s.current
	s.mu.Unlock()
	if c != nil {
		c.questions.withdrawAll() // their answers end, and finish need not wait for the user
	}
	s.answerTasks.finish()
	if c != nil {
		c.close(ctx, endSession)
	}
	s.connector.CloseIdle()
}

// isClosed reports whether Close was called.
func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// connection returns the current connection, nil before Open has connected.
func (s *Session) connection() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// setConnection makes c the current connection. It reports false, and keeps the old connection, if
// the session is closed.
func (s *Session) setConnection(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.current = c
	}
	return !s.closed
}

// Do sends one request and returns its outcome. It answers the server's input requests and sends
// the request again with the answers, in as many rounds as the server needs. If the server has lost
// the session, Do opens a new one and sends the request again, unless the request could then take
// effect twice.
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

// requestsInput reports whether the server requests input in o, so that the request needs another
// round: with a result, or up to 2025-11-25 with an error that lists pages to visit.
func (s *Session) requestsInput(o wire.Outcome) bool {
	if o.Kind == wire.InputRequired {
		return o.Message != nil && o.Message.Kind == wire.Response // else it is a separate request
	}
	listsPages := rpcCode(o) == codeURLElicitation && !Stateless(s.Revision())
	return listsPages && s.opt.Asker != nil
}

// Notify sends a notification with the era's metadata.
func (s *Session) Notify(ctx context.Context, call Call) wire.Outcome {
	began := s.opt.Now()
	c := s.connection()
	out := &outgoing{Outgoing: transport.Outgoing{Method: call.Method}}
	out.Raw = wire.ComposeNotification(call.Method, c.stamp(c.era(), &call, out))
	o := c.outcome(c.era(), &call, c.sendOneWay(ctx, &out.Outgoing))
	o.Took = s.opt.Now().Sub(began)
	return o
}

// Raw sends raw unchanged and returns the first message received that is neither a notification nor
// a request. The request has the era's header fields unless bare is set.
func (s *Session) Raw(ctx context.Context, raw []byte, bare bool) wire.Outcome {
	began := s.opt.Now()
	c := s.connection()
	e := c.era()
	m := wire.ParseMessage(raw)
	call := &Call{Method: m.Method, Params: m.Params, Bare: bare}
	out := &outgoing{Outgoing: transport.Outgoing{ID: m.ID, Method: m.Method, AcceptsAny: true}}
	c.stamp(e, call, out) // only for the header fields: raw is sent as it is
	out.Raw = raw
	out.Resumable = false
	out.token = nil // progress is shown like any notification, and extends no limit
	out.mustNotCancel = out.mustNotCancel || m.Kind != wire.Request
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
	isBatch := r.Message != nil && r.Message.Kind == wire.Batch
	if isBatch && e.allowsBatches() { // a response to a batch, which no single request can have
		o.Kind = wire.OK
		o.Phase = "result"
		o.Text = ""
	}
	o.Took = s.opt.Now().Sub(began)
	return o
}

// nextID returns the id of the next request.
func (s *Session) nextID() json.RawMessage {
	if s.opt.NextID != nil {
		return strconv.AppendInt(nil, s.opt.NextID(), 10)
	}
	return strconv.AppendInt(nil, s.lastID.Add(1), 10)
}

// LastID returns the last request id that the session has counted; 0 if Options.NextID supplies the
// ids.
func (s *Session) LastID() int64 { return s.lastID.Load() }

// Keepalive returns the status of the supervisor that keeps the server running. It reports false if
// the server has no supervisor.
func (s *Session) Keepalive() (keepalive.Status, bool) {
	if c, ok := s.connection().transport().(*keepalive.Conn); ok {
		return c.Status, true
	}
	return keepalive.Status{}, false
}

// Keep keeps the server running after Close. It returns keepalive.ErrGone if the supervisor has
// exited, and nil if there is no supervisor.
func (s *Session) Keep() error {
	if c, ok := s.connection().transport().(*keepalive.Conn); ok {
		return c.Keep()
	}
	return nil
}
