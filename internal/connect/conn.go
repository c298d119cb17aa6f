// Package connect opens connections to the servers that users name: a URL, a command, a session, or
// an entry of another program's configuration. Dial finds the server, resumes its session or opens
// one, and records the traffic. A Conn lists and finds tools, prompts and resources, and remembers
// what it learned in the state directory. Dial reaches files, the network and the user through its
// host.Env. Package toolcall calls tools over a Conn, and package elicit answers what a server
// requests.
package connect

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shape"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Conn is a session with the server of a command, with what mcpc remembers about that server.
type Conn struct {
	*client.Session
	Env    *host.Env // of the invocation that the Conn serves
	Target target.Target
	// Where names the server for the user: a URL, a command, a session.
	Where string
	// Shown is Options.Shown.
	Shown []string
	Store *state.Store // nil if no state can be kept
	// Saved is the remembered session. If it is nil, OneOff is the server to dial. SaveAs sets Saved
	// once the session is open.
	Saved, OneOff  *state.Session
	Fields         []wire.Field        // the header fields that the user set
	OnNotification func(*wire.Message) // nil if only responses matter

	// Origin is the server in the configuration of another program, or nil. Its variables get
	// values once the user consents, which sets originResolved. Trusted is set if that consent is
	// remembered.
	Origin         *target.Server
	originResolved bool
	Trusted        bool
	card           *CardServer  // card is set if Origin was made from the server card of this command
	originHeaders  []wire.Field // of Origin
	childEnv       []string     // environment of Origin's command, or nil
	childDir       string

	// Answering is how this run answers requests of the server, and Promised the client capabilities
	// that it declares for that.
	Answering host.Answers
	Promised  json.RawMessage

	// Mu guards the members of this block.
	Mu sync.Mutex
	// Typed are the contents of the forms that the user filled in; nil is a refusal.
	Typed []json.RawMessage
	// undeclaredUsed are the capabilities that were used without being declared.
	undeclaredUsed []string
	// malformedTexts are the warnings about messages that do not match the schema of their revision.
	malformedTexts []string
	// newNoise are hashes of the warnings about text on stdout that this command was the first to
	// show.
	newNoise []string

	sessionNames []string
	ids          requestIDs
	// negotiatedKey is the key that the server's revision is remembered under, or "".
	negotiatedKey string
	// recalledCapabilities are the capabilities that the server declared to an earlier run.
	recalledCapabilities json.RawMessage
	// toolCache caches the tools of a connection of many calls. Other connections have nil.
	toolCache *toolCache

	Dialed   bool // the command tried to reach the server
	reopened bool // the session was opened again
	Passing  bool // this is not the connection of the remembered session
	Lent     bool // a shell owns the connection: its lines do not close it
	// keptProcess is the process that was started to keep the server, or nil.
	keptProcess *state.KeptServer
	StopTicking func() // ends the spinner; nil without a spinner
}

// Options say what connection a command needs.
type Options struct {
	// Argv is a command to run as a stdio server. If it is nil, -s names the server.
	Argv []string
	// Shown is the command that names the server for the user if Argv runs it in mcpc tap; else nil.
	Shown []string
	// Card is the server of a card. It replaces Argv and -s unless it is nil.
	Card *CardServer
	// RequireServerInfo asks for serverInfo even if the connection does not need it.
	RequireServerInfo bool
	// SkipNegotiation sends requests without negotiating a revision first.
	SkipNegotiation bool
	// NoResume opens a new session even if the remembered one could be resumed.
	NoResume bool
	// Remembers is set if the command stores something: the state directory is tried before
	// anything is sent.
	Remembers bool
	// Draft builds a request that is not sent.
	Draft bool
	// Keep lets the server process outlive the command. nil does not.
	Keep *Keeping
	// KeepRevision opens a new session in the revision of the remembered one.
	KeepRevision bool
	// UseKept uses the kept server process of a session instead of starting another one.
	UseKept bool
	// MultiCall is set for a connection of many calls, such as a batch.
	MultiCall bool
	// FewLists is set only with MultiCall, if calls follow each other quickly. The tools are then listed
	// at most once a minute, even if the server gave no ttlMs.
	FewLists bool
	// OneAnswer is set if the process ends after printing one answer. A large answer is kept in a
	// file until then.
	OneAnswer bool
	// Fits refuses a server before anything is sent. nil accepts every server.
	Fits func(*Conn) wire.Outcome
	// OnNotification receives every notification. If it is set, the server's log messages are not
	// shown.
	OnNotification func(*wire.Message)
	// LogLevel is the level of the log messages that each request asks for in the era that has this parameter,
	// if the command has no --log-level. "" asks for none.
	LogLevel string
	// Unjudged skips the check of results against the schema of their revision, for commands with
	// so many results that the check would cost more than the calls.
	Unjudged bool
	// Extensions are the ids of the client extensions that the command uses.
	Extensions []string
	// As is the client that mcpc acts for. If it is nil, mcpc is the client.
	As *Stand
}

// A Stand is another client: what it declares, how it answers the server's requests, and
// what it does when the session had to be opened again.
type Stand struct {
	Capabilities json.RawMessage
	Asker        client.Asker
	Renewed      func(client.Renewal)
}

// Dial finds the server that a command names, and opens or resumes the connection. The caller must
// close the Conn, also after a failure.
func Dial(ctx context.Context, e *host.Env, how Options) (*Conn, wire.Outcome) {
	if e.Shared == nil {
		e.Shared = new(host.Shared)
	}
	host.TuneGC(e, how.MultiCall)
	c := &Conn{Env: e, Shown: how.Shown, OnNotification: how.OnNotification}
	if how.MultiCall {
		c.toolCache = &toolCache{opened: e.Now()}
	}
	if how.FewLists {
		c.toolCache.recentEnough = recentEnoughForBatch
	}
	var o wire.Outcome
	if how.Card != nil {
		o = c.findCard(how.Card)
	} else {
		o = c.Find(how.Argv)
	}
	if how.Shown != nil {
		c.Where = c.Env.Secrets.Text(CommandLine(how.Shown))
	}
	if o.OK() && how.Remembers {
		o = TryState(ctx, e) // a session that cannot be stored is not opened
	}
	if !o.OK() {
		return c, o
	}
	opt, o := c.ClientOptions(ctx, how)
	if o.OK() && how.Fits != nil {
		o = how.Fits(c)
	}
	if !o.OK() {
		return c, o
	}
	// server/discover verifies the revision that the user asked for, and returns the serverInfo.
	isDiscoverNeeded := how.RequireServerInfo || e.Protocol != ""
	opt.SkipDiscover = how.SkipNegotiation || !isDiscoverNeeded
	// A command of one call does not wait long for the response to the request that ends the session,
	// unless -v is to show that response.
	opt.LeaveSoon = !how.MultiCall && e.Verbose == 0
	e.IsConnected.Store(true)
	c.Dialed = true
	session, o := client.Open(ctx, opt)
	if !o.OK() {
		isUnreachable := o.Kind == wire.Transport && o.Reached == wire.Unsent
		if isUnreachable && c.Target.Source == target.FromDefault {
			o.Hint = c.defaultURLHint()
		}
		// For a command with NoResume, such as init, opening the session is the operation itself.
		if !how.NoResume {
			o = o.WithPart(wire.BeforeOperation)
		}
		return c, o
	}
	c.Session = session
	c.rememberNegotiated(ctx, opt)
	if e.Verbose > 0 {
		e.UI.Note("protocol " + session.Revision() + ": " + session.Why())
	}
	c.setLogLevel(ctx)
	return c, o
}

// defaultURLHint returns the hint for a default URL at which no server answers.
func (c *Conn) defaultURLHint() wire.Hint {
	const hint = "no current session, using the default URL: "
	if len(c.sessionNames) > 0 {
		return hint + "-s " + wire.Hint(c.sessionNames[0]) + " selects a session; " + wire.Run("sessions") + " lists them"
	}
	return hint + wire.Run("init URL") + " opens a session; -s demo is the built-in demo server"
}

// ClientOptions returns what the client needs to open or resume the connection. It asks for consent
// to run a configured server, and sets the fields of c that follow from how, such as Fields and
// Passing. A usage error or a refused consent is a failed outcome.
func (c *Conn) ClientOptions(ctx context.Context, how Options) (client.Options, wire.Outcome) {
	e := c.Env // the callbacks keep this Env, even if the Conn serves another invocation later
	fields, err := e.Fields()
	if err != nil {
		return client.Options{}, usage.Outcome(err)
	}
	if o := c.SettleOrigin(ctx, how.Draft); !o.OK() {
		return client.Options{}, o
	}
	fields = c.WithFields(fields)
	c.Fields = fields
	c.LearnSecrets(fields)
	e.UI.NameServer(how.Argv)
	saved := c.Saved // init replaces c.Saved while messages arrive
	opt := client.Options{
		Secrets:     &e.Secrets,
		Protocol:    e.Protocol,
		Version:     e.Version,
		LogLevel:    e.LogLevel,
		Fields:      fields,
		Limits:      e.Limits,
		Now:         e.Now,
		Tap:         c.Tap(),
		TapFull:     func() bool { return tapFull(e) },
		Trace:       host.TraceMeta(e),
		Spool:       host.SpoolDir(e, how.OneAnswer),
		Notified:    func(m *wire.Message) { c.showNotification(e, m) },
		Found:       func(f wire.Finding) { c.reportFinding(e, saved, f) },
		Reconnected: func(r client.Renewal) { c.storeRenewal(e, r.Why) },
		Passing:     func(m *wire.Message) bool { return c.isDiscarded(e, m) },
		Strict:      func() bool { return e.Strict },
	}
	if opt.LogLevel == "" {
		opt.LogLevel = how.LogLevel
	}
	if !how.Unjudged {
		opt.Shape = shape.Check
	}
	c.SetServer(&opt)
	if how.Keep != nil {
		if o := c.checkKeepable(opt.Server); !o.OK() {
			return opt, o
		}
	}
	if err := c.SetNetwork(&opt); err != nil {
		return opt, usage.Outcome(err)
	}
	if err := c.SetAuthTransport(&opt); err != nil {
		return opt, usage.Outcome(err)
	}
	opt.Extensions = append(slices.Clone(opt.Extensions), how.Extensions...)
	if err := c.setAsker(&opt, how); err != nil {
		return opt, usage.Outcome(err)
	}
	// A kept server is used even with NoResume: it has only one session.
	usesKept := how.UseKept && c.IsKept() && c.canResume()
	if how.NoResume && !usesKept {
		c.openNew(&opt, how)
		return opt, wire.Outcome{}
	}
	o := wire.Outcome{}
	if c.Saved != nil {
		o = c.resumeFrom(ctx, &opt)
	} else {
		c.recallNegotiated(&opt, how.Draft)
	}
	opt.GetStream = serverMayAsk(opt) // after resumeFrom: it depends on what the session declared
	return opt, o
}

// openNew sets opt to open a new session, even if one is remembered. It takes over the remembered
// revision if how asks for that.
func (c *Conn) openNew(opt *client.Options, how Options) {
	opt.Server.Transport = "" // the new session negotiates its transport
	c.Passing = true
	keepsRevision := how.KeepRevision && c.Env.Protocol == ""
	if (keepsRevision || how.UseKept) && c.Saved != nil {
		opt.KnownRevision = c.Saved.Revision
	}
	if how.Keep != nil {
		c.startKept(opt, how.Keep)
	}
}

// resumeFrom sets opt to resume the remembered session, unless --protocol asks for another
// revision. It reserves request ids that no other process uses, and fails if it cannot store the
// reservation.
func (c *Conn) resumeFrom(ctx context.Context, opt *client.Options) wire.Outcome {
	saved := c.Saved
	if c.canResume() {
		opt.Resume = &client.Memory{
			Revision:  saved.Revision,
			Transport: transport.Name(saved.Transport),
			SessionID: string(saved.SessionID),
			Cookies:   string(saved.Cookies),
			Declared:  saved.Declared,
			Info: client.Info{
				ServerInfo:   saved.ServerInfo,
				Capabilities: saved.Capabilities,
				Instructions: saved.Instructions,
			},
		}
		opt.KnownRevision = saved.Revision
		c.openSeparateIfNeeded(opt)
		if saved.Held != nil {
			c.dialKept(opt)
		}
	} else if saved.Held != nil { // a kept server has one session, in one revision
		c.Passing = true
		c.Env.UI.Note("session " + saved.Name + " keeps a server at " + saved.Revision +
			": this command starts another server process")
	}
	c.ids = requestIDs{ctx: ctx, store: c.Store, session: *saved, warn: c.Env.UI.Warn}
	if err := c.ids.reserveBlock(); err != nil {
		return StateFailed(err)
	}
	opt.NextID = c.ids.next
	return wire.Outcome{}
}

// canResume reports whether the revision of the remembered session is acceptable.
func (c *Conn) canResume() bool {
	return c.Env.Protocol == "" || c.Env.Protocol == c.Saved.Revision
}

// recallNegotiated sets the revision and transport that an earlier command negotiated with this
// server, if it has no session and the result is not older than rememberFor.
func (c *Conn) recallNegotiated(opt *client.Options, draft bool) {
	if c.negotiatedKey == "" || c.Store == nil || c.Env.Protocol != "" {
		return
	}
	verdict, ok := c.Store.Verdict(c.negotiatedKey)
	if !ok || c.Env.Now().Sub(verdict.At) > rememberFor {
		return
	}
	overStdio := len(opt.Server.Command) > 0
	if overStdio && client.Stateless(verdict.Revision) && !draft { // a draft starts no process to probe
		return // probing is free over stdio, while a wrong revision costs a process
	}
	c.recalledCapabilities = verdict.Capabilities // the server is not asked for them again
	opt.KnownRevision = verdict.Revision
	opt.Server.Transport = transport.Name(verdict.Transport)
}

// rememberFor is how long a revision or a tool's definition is used without asking the server
// again.
const rememberFor = 24 * time.Hour

// rememberNegotiated stores the negotiated revision and transport for recall. It ignores errors:
// the command itself does not need them.
func (c *Conn) rememberNegotiated(ctx context.Context, opt client.Options) {
	if c.Saved != nil || c.negotiatedKey == "" || c.Store == nil || c.Shown != nil {
		// A session has its own record, the demo server needs no record, and the revision of a server that mcpc tap
		// restarts after changes may change.
		return
	}
	if c.Env.Protocol != "" {
		return // the user chose the revision: nothing was negotiated
	}
	isRemembered := opt.KnownRevision == c.Revision() && opt.Server.Transport == c.Transport()
	if isRemembered {
		return
	}
	_ = c.Store.SaveVerdict(ctx, c.negotiatedKey, state.Verdict{
		Revision:     c.Revision(),
		Transport:    string(c.Transport()),
		Capabilities: SafeInfo(c.Env, c.Info()).Capabilities,
		At:           c.Env.Now(),
	})
}

// ServerSession returns the session that has the server's URL or command: the remembered session,
// or OneOff if no session is remembered.
func (c *Conn) ServerSession() *state.Session {
	if c.Saved != nil {
		return c.Saved
	}
	return c.OneOff
}

// Close closes the connection. It also ends the session at the server unless the session is
// remembered. Returns a failure if --strict is set and a message was malformed.
func (c *Conn) Close(ctx context.Context) wire.Outcome {
	if c.StopTicking != nil {
		c.StopTicking()
		c.StopTicking = nil
	}
	out := c.malformedOutcome()
	if c.Session == nil || c.Lent {
		return out
	}
	if c.reopened { // the server may have changed: empty options make it store the result in any case
		c.rememberNegotiated(ctx, client.Options{})
	}
	// With --protocol this may be another session than the remembered one, in another revision.
	hasSavedRevision := c.Saved != nil && (c.reopened || c.Saved.Revision == c.Revision())
	endsSession := c.Passing || !hasSavedRevision
	c.Session.Close(context.WithoutCancel(ctx), endsSession)
	c.rememberNoise(ctx)
	c.Env.IsConnected.Store(false)
	return out
}

// updateSaved stores the reopened session in place of the remembered one. It stores nothing and
// returns nil if another process has closed or replaced that one.
func (c *Conn) updateSaved(ctx context.Context) error {
	memory := c.Memory()
	memory.Info = SafeInfo(c.Env, memory.Info)
	return c.Store.Update(ctx, func(st *state.State) error {
		saved, ok := st.Session(c.Saved.Name)
		if !ok || saved.Key != c.Saved.Key {
			return nil
		}
		FillSession(&saved, memory)
		st.Put(saved)
		return nil
	})
}

// FillSession copies what the client remembers of a session into s.
func FillSession(s *state.Session, m client.Memory) {
	s.Transport = string(m.Transport)
	s.Revision = m.Revision
	s.SessionID = state.Secret(m.SessionID)
	s.Cookies = state.Secret(m.Cookies)
	s.Declared = m.Declared
	s.Capabilities = m.Info.Capabilities
	s.ServerInfo = m.Info.ServerInfo
	s.Instructions = m.Info.Instructions
}

// SafeInfo returns what a server said about itself without secrets: it may repeat what was sent to
// it. A member that is not JSON any more without its secrets becomes nil.
func SafeInfo(e *host.Env, info client.Info) client.Info {
	for _, raw := range []*json.RawMessage{&info.Capabilities, &info.ServerInfo} {
		if safe, n := e.Secrets.Bytes(*raw); n > 0 {
			*raw = safe
			if jsonraw.Valid(safe) != nil {
				*raw = nil
			}
		}
	}
	info.Instructions = e.Secrets.Text(info.Instructions)
	return info
}
