// Package connect opens connections to the servers that users name: a URL, a command, a
// session, or an entry of another program's configuration. Dial finds the server, resumes its
// session or opens one, and records the traffic; a Conn lists and finds tools, prompts and
// resources, and remembers what it learned in the state directory. What Dial may touch of the
// world, and how the user is told and asked, is the host.Env that it gets; toolcall calls
// tools over a Conn, and elicit answers what its server requests.
package connect

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
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

// A Conn is a session with the server that a command means, and what mcpc remembers of it.
type Conn struct {
	*client.Session
	Env    *host.Env // of the invocation that the Conn serves
	Target target.Target
	// Where names the server for the user: a URL, a command, a session.
	Where string
	Store *state.Store // nil if no state can be kept
	// Saved is the remembered session. If it is nil, OneOff is the server to dial. SaveAs sets Saved
	// once the session is open.
	Saved, OneOff  *state.Session
	Fields         []wire.Field        // the header fields that the user set
	OnNotification func(*wire.Message) // nil if only responses matter

	// Origin is the server in the configuration of another program, or nil. Its variables get values
	// once the user consents, which sets originSettled. Trusted is set if that consent is remembered.
	Origin        *target.Server
	originSettled bool
	Trusted       bool
	card          *CardServer  // that Origin was made of, in the command that was given a card; else nil
	originHeaders []wire.Field // of Origin
	childEnv      []string     // environment of Origin's command, or nil
	childDir      string

	// Answering is how this run answers requests of the server, and Promised the client capabilities
	// for it.
	Answering host.Answers
	Promised  json.RawMessage

	// Mu guards the members of this block.
	Mu sync.Mutex
	// Typed are the contents of the forms that the user filled in; nil is a refusal.
	Typed []json.RawMessage
	// warned are the capabilities that are used and were never declared.
	warned []string
	// malformed are the warnings about messages that break the schema of their revision.
	malformed []string
	// noise are hashes of the warnings about text on stdout that were first shown in this command.
	noise []string

	names []string // of the sessions
	ids   requestIDs
	// verdictKey is the key under which the server's revision is remembered, or "".
	verdictKey string
	// recalled are the capabilities that the server declared to an earlier run.
	recalled json.RawMessage
	// Box has the tools of a connection of many calls; nil otherwise.
	Box *toolbox
	// tellsLeftOut is set while each entry that a list leaves out is reported.
	tellsLeftOut atomic.Bool

	Dialed  bool // the server was tried
	changed bool // the session was opened again
	Passing bool // this is not the connection of the remembered session
	Lent    bool // the connection belongs to a shell, whose lines do not close it
	// holding is the supervisor that was started for the server.
	holding     *state.KeptServer
	StopTicking func() // ends the spinner; nil if there is none
}

// An Options says how a command wants its conversation.
type Options struct {
	// Argv is a command to speak stdio with, nil to go by -s.
	Argv []string
	// Card is the server of a card in the place of Argv; nil is none.
	Card *CardServer
	// RequireServerInfo forces a request for serverInfo even where nothing depends on it.
	RequireServerInfo bool
	// SkipNegotiation sends without making sure of the revision.
	SkipNegotiation bool
	// NoResume opens a new conversation where an old one could be gone on with: that is what
	// the command is for.
	NoResume bool
	// Remembers is for what the state is to keep: it is tried before anything is sent.
	Remembers bool
	// Draft composes a request that is not sent.
	Draft bool
	// Keep lets the server live on; nil does not.
	Keep *Keeping
	// KeepRevision opens a conversation of its own in the revision of the remembered one.
	KeepRevision bool
	// UseKept asks a server that is held where another would be started.
	UseKept bool
	// MultiCall is set for a conversation of many calls, none of which is waited for by name.
	MultiCall bool
	// FewLists is set besides where calls come quickly: the tools are listed once a minute at
	// most, and not before each call that the server promised nothing for.
	FewLists bool
	// OneAnswer is set where one answer is printed before the process ends: until then a large
	// one is kept in a file.
	OneAnswer bool
	// Fits refuses a server before anything is sent; nil takes every one.
	Fits func(*Conn) wire.Outcome
	// OnNotification takes each notification besides; what the server logs is then not shown.
	OnNotification func(*wire.Message)
	// Unjudged takes results without holding them against the shape of their revision, where
	// so many come that it would cost more than they do.
	Unjudged bool
	// Extensions are the ids of client extensions that the command is about.
	Extensions []string
	// As is the client that the command stands for; nil is mcpc, by the user's flags.
	As *Stand
}

// A Stand is another client: what it declares, how it answers the server's requests, and what
// it does when the conversation had to be opened anew.
type Stand struct {
	Capabilities json.RawMessage
	Asker        client.Asker
	Renewed      func(client.Renewal)
}

// Dial finds the server that a command means and opens or resumes the connection with
// it. A caller must close it, also after an outcome that is not good.
func Dial(ctx context.Context, e *host.Env, how Options) (*Conn, wire.Outcome) {
	if e.Shared == nil {
		e.Shared = new(host.Shared)
	}
	host.TuneGC(e, how.MultiCall)
	c := &Conn{Env: e, OnNotification: how.OnNotification}
	if how.MultiCall {
		c.Box = &toolbox{opened: e.Now()}
	}
	if how.FewLists {
		c.Box.recentEnough = fewLists
	}
	var o wire.Outcome
	if how.Card != nil {
		o = c.findCard(how.Card)
	} else {
		o = c.Find(how.Argv)
	}
	if o.Good() && how.Remembers {
		o = TryState(ctx, e)
	}
	if !o.Good() {
		return c, o
	}
	opt, o := c.ClientOptions(ctx, how)
	if o.Good() && how.Fits != nil {
		o = how.Fits(c)
	}
	if !o.Good() {
		return c, o
	}
	// A revision that was asked for is made sure of, except where the user wants
	// to send whatever he likes.
	opt.SkipDiscover = how.SkipNegotiation || !how.RequireServerInfo && e.Protocol == ""
	opt.LeaveSoon = !how.MultiCall && e.Verbose == 0 // with -v the response is shown
	e.Talking.Store(true)
	c.Dialed = true
	session, o := client.Open(ctx, opt)
	if !o.Good() {
		if c.Target.Source == target.FromDefault && o.Kind == wire.Transport && o.Reached == wire.Unsent {
			o.Hint = c.withoutCurrent()
		}
		if !how.NoResume {
			o = o.As(wire.Before)
		}
		return c, o
	}
	c.Session = session
	c.remember(ctx, opt)
	if e.Verbose > 0 {
		e.UI.Note("protocol " + session.Revision() + ": " + session.Why())
	}
	c.setLogLevel(ctx)
	return c, o
}

// withoutCurrent is the hint where no server answers at the default URL.
func (c *Conn) withoutCurrent() wire.Hint {
	const hint = "no current session, using the default URL: "
	if len(c.names) > 0 {
		return hint + "-s " + wire.Hint(c.names[0]) + " selects a session; " + wire.Run("sessions") + " lists them"
	}
	return hint + wire.Run("init URL") + " opens a session; -s demo is the built-in demo server"
}

// ClientOptions puts together what the client needs for this target.
func (c *Conn) ClientOptions(ctx context.Context, how Options) (client.Options, wire.Outcome) {
	e := c.Env // the callbacks keep it, also where the Conn serves another invocation later
	fields, err := e.Fields()
	if err != nil {
		return client.Options{}, usage.Outcome(err)
	}
	if o := c.SettleOrigin(ctx, how.Draft); !o.Good() {
		return client.Options{}, o
	}
	fields = c.WithFields(fields)
	c.Fields = fields
	c.LearnSecrets(fields)
	e.UI.NameServer(how.Argv)
	saved := c.Saved // which init replaces while messages arrive
	opt := client.Options{
		Secrets: &e.Secrets, Protocol: e.Protocol, Version: e.Version, LogLevel: e.LogLevel,
		Fields: fields, Limits: e.Limits, Now: e.Now, Tap: c.Tap(), TapFull: func() bool { return tapFull(e) }, Trace: host.TraceMeta(e), Spool: host.SpoolDir(e, how.OneAnswer),
		Notified: func(m *wire.Message) { c.notified(e, m) },
		Found:    func(f wire.Finding) { c.found(e, saved, f) }, Reconnected: func(r client.Renewal) { c.renewed(e, r.Why) },
		Passing: func(m *wire.Message) bool { return c.passing(e, m) }, Strict: func() bool { return e.Strict },
	}
	if !how.Unjudged {
		opt.Shape = func(revision, method string, m *wire.Message) []wire.Finding {
			if c.tellsLeftOut.Load() && !e.Strict {
				return checkListShape(revision, method, m)
			}
			return shape.Check(revision, method, m)
		}
	}
	c.SetServer(&opt)
	if how.Keep != nil {
		if o := c.mayKeep(opt.Server); !o.Good() {
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
	if err := c.respondTo(&opt, how); err != nil {
		return opt, usage.Outcome(err)
	}
	switch {
	case how.NoResume && !(how.UseKept && c.IsKept() && c.resumes()):
		opt.Server.Transport = ""
		c.Passing = true
		if (how.UseKept || how.KeepRevision && c.Env.Protocol == "") && c.Saved != nil {
			opt.KnownRevision = c.Saved.Revision // a session is described in the revision that it uses
		}
		if how.Keep != nil {
			c.startsHeld(&opt, how.Keep)
		}
	case c.Saved != nil:
		o := c.resumeFrom(ctx, &opt)
		opt.GetStream = mayBeAsked(opt)
		return opt, o
	default:
		c.recall(&opt, how.Draft)
		opt.GetStream = mayBeAsked(opt)
	}
	return opt, wire.Outcome{}
}

// resumeFrom goes on with a remembered session, unless another revision is
// asked for, and takes request ids that no other process uses.
func (c *Conn) resumeFrom(ctx context.Context, opt *client.Options) wire.Outcome {
	saved := c.Saved
	if c.resumes() {
		opt.Resume = &client.Memory{
			Revision: saved.Revision, Transport: transport.Name(saved.Transport), SessionID: string(saved.SessionID), Cookies: string(saved.Cookies),
			Declared: saved.Declared, Info: client.Info{ServerInfo: saved.ServerInfo, Capabilities: saved.Capabilities, Instructions: saved.Instructions},
		}
		opt.KnownRevision = saved.Revision
		c.standBeside(opt)
		if saved.Held != nil {
			c.goesOnHeld(opt)
		}
	} else if saved.Held != nil {
		c.Passing = true
		c.Env.UI.Note("session " + saved.Name + " keeps a server at " + saved.Revision + ": this command starts another server process")
	}
	c.ids = requestIDs{ctx: ctx, store: c.Store, session: *saved, warn: c.Env.UI.Warn}
	if err := c.ids.refill(); err != nil {
		return StateFailed(err)
	}
	opt.NextID = c.ids.next
	return wire.Outcome{}
}

// resumes reports that the remembered session is one to go on with.
func (c *Conn) resumes() bool {
	return c.Env.Protocol == "" || c.Env.Protocol == c.Saved.Revision
}

// recall takes what an earlier run found out about a target that has no
// session. It is believed for a day.
func (c *Conn) recall(opt *client.Options, draft bool) {
	if c.verdictKey == "" || c.Store == nil || c.Env.Protocol != "" {
		return
	}
	verdict, ok := c.Store.Verdict(c.verdictKey)
	if !ok || c.Env.Now().Sub(verdict.At) > rememberFor {
		return
	}
	overStdio := len(opt.Server.Command) > 0
	if overStdio && client.Stateless(verdict.Revision) && !draft {
		return // a probe costs nothing there, and a wrong guess a process
	}
	c.recalled = verdict.Capabilities
	opt.KnownRevision = verdict.Revision
	opt.Server.Transport = transport.Name(verdict.Transport)
}

// rememberFor is how long a revision or a tool's definition is believed without
// asking.
const rememberFor = 24 * time.Hour

// remember keeps what opening the conversation found out. Failing to is no
// reason to fail: the command's purpose was another.
func (c *Conn) remember(ctx context.Context, opt client.Options) {
	same := opt.KnownRevision == c.Revision() && opt.Server.Transport == c.Transport()
	if c.Saved != nil || c.verdictKey == "" || c.Store == nil || same || c.Env.Protocol != "" {
		return
	}
	_ = c.Store.SaveVerdict(ctx, c.verdictKey, state.Verdict{
		Revision: c.Revision(), Transport: string(c.Transport()), Capabilities: SafeInfo(c.Env, c.Info()).Capabilities, At: c.Env.Now()})
}

// Close ends the conversation. A session that is not remembered is ended at the server too.
func (c *Conn) Close(ctx context.Context) wire.Outcome {
	if c.StopTicking != nil {
		c.StopTicking()
		c.StopTicking = nil
	}
	out := c.strictly()
	if c.Session == nil || c.Lent {
		return out
	}
	if c.changed {
		c.remember(ctx, client.Options{})
	}
	// With --protocol it may be another conversation than the remembered one.
	remembered := c.Saved != nil && !c.Passing && (c.changed || c.Saved.Revision == c.Revision())
	c.Session.Close(context.WithoutCancel(ctx), !remembered)
	c.rememberNoise(ctx)
	c.Env.Talking.Store(false)
	return out
}

// updateSaved writes the renewed session over the remembered one, unless
// another process closed or replaced it meanwhile.
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

// SafeInfo is what a server said of itself as it may be kept: it may say again what it was
// sent.
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
