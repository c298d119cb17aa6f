package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// A conversation is a session with the server that a command means, and what
// mcpc remembers of it.
type conversation struct {
	*client.Session
	a      *env
	target target.Target
	// where is the server as a person would name it.
	where string
	store *state.Store // nil where no state can be kept
	// saved is the remembered session, or nil; oneOff then says where to go.
	saved, oneOff *state.Session
	names         []string // of the remembered sessions
	// tellsLeftOut is set while a list comes of which each entry that is left out is told.
	tellsLeftOut atomic.Bool
	// holding is the process that was started to hold the server.
	holding *state.Held
	ids     idBlock
	fields  []wire.Field // the user's own
	// origin is the server in another program's file that is meant, or nil. What it says
	// is settled once consent is given: headers and child come of it, and trusted is set
	// where it was confirmed for good.
	origin           *target.Server
	settled, trusted bool
	headers          []wire.Field
	child            struct {
		env []string
		dir string
	}
	// known is the key under which the server's revision is remembered.
	known string
	// recalled are the capabilities that an earlier run heard the server declare.
	recalled json.RawMessage
	heard    func(*wire.Message) // nil where only answers matter
	// changed is set when the session had to be opened anew.
	changed bool
	// answering is how this run answers what the server asks, and promised the
	// client capabilities that come of it.
	answering answering
	promised  json.RawMessage
	// passing is set while it is another conversation than the remembered one.
	passing     bool
	stopTicking func() // nil where it is done
	// dialed is set once the server was tried.
	dialed bool
	// lent is set while it belongs to a shell, whose lines do not close it.
	lent bool
	// showing is how frames are shown while they cross; nil where they are not.
	// box is what a conversation of many calls knows of the tools; nil elsewhere.
	box *toolbox

	mu sync.Mutex
	// warned are the capabilities that are used and were never declared.
	warned []string
	// typed are the contents with which a person answered what was asked; nil is a no.
	typed []json.RawMessage
	// malformed is what was told of messages that are not as their revision has them.
	malformed []string
}

// An opening says how a command wants its conversation.
type opening struct {
	// argv is a command to speak stdio with, nil to go by -s.
	argv []string
	// greet asks the server who it is even where nothing depends on it.
	greet bool
	// blind sends without making sure of the revision.
	blind bool
	// anew opens a new conversation where an old one could be gone on with: that is what
	// the command is for.
	anew bool
	// remembers is for what the state is to keep: it is tried before anything is sent.
	remembers bool
	// draft composes a request that is not sent.
	draft bool
	// keep lets the server live on; nil does not.
	keep *keeping
	// visits asks a server that is held where another would be started.
	visits bool
	// many is set for a conversation of many calls, none of which is waited for by name.
	many bool
	// fits refuses a server before anything is sent; nil takes every one.
	fits func(*conversation) wire.Outcome
	// heard takes each notification besides; what the server logs is then not shown.
	heard func(*wire.Message)
}

// open finds the server a command means and opens or resumes the conversation
// with it. A caller must close it, also after an outcome that is not good.
func (a *app) open(ctx context.Context, how opening) (*conversation, wire.Outcome) {
	if a.shell != nil {
		return a.shell.lend(how)
	}
	if o := writable(a.output); !o.Good() {
		return &conversation{a: &a.env}, o
	}
	stop := a.ticking()
	a.showTraffic(a.verbose, a.explain)
	c, o := a.env.dial(ctx, how)
	c.stopTicking = stop
	if !o.Good() && c.dialed {
		a.explained()
	}
	return c, o
}

// close closes the connection of a command.
func (a *app) close(ctx context.Context, c *conversation) {
	if out := c.close(ctx); !out.Good() {
		a.endAlso(out)
	}
}

// dial finds the server that a command means and opens or resumes the connection with
// it. A caller must close it, also after an outcome that is not good.
func (a *env) dial(ctx context.Context, how opening) (*conversation, wire.Outcome) {
	a.spareCollections(how.many)
	c := &conversation{a: a, heard: how.heard}
	if how.many {
		c.box = &toolbox{}
	}
	o := c.find(how.argv)
	if o.Good() && how.remembers {
		o = a.tryState(ctx)
	}
	if !o.Good() {
		return c, o
	}
	opt, o := c.options(ctx, how)
	if o.Good() && how.fits != nil {
		o = how.fits(c)
	}
	if !o.Good() {
		return c, o
	}
	// A revision that was asked for is made sure of, except where the user wants
	// to send whatever he likes.
	opt.Quick = how.blind || !how.greet && a.protocol == ""
	a.talking.Store(true)
	c.dialed = true
	session, o := client.Open(ctx, opt)
	if !o.Good() {
		if c.target.Source == target.FromDefault && o.Kind == wire.Transport && o.Reached == wire.Unsent {
			o.Hint = c.withoutCurrent()
		}
		if !how.anew {
			o = o.As(wire.Before)
		}
		return c, o
	}
	c.Session = session
	c.remember(ctx, opt)
	if a.verbose > 0 {
		a.ui.note("protocol " + session.Revision() + ": " + session.Why())
	}
	c.setLogLevel(ctx)
	return c, o
}

// withoutCurrent leads on from the usual address, at which nobody is.
func (c *conversation) withoutCurrent() wire.Hint {
	const hint = "no current session, using the default URL: "
	if len(c.names) > 0 {
		return hint + "-s " + wire.Hint(c.names[0]) + " selects a session; " + wire.Run("sessions") + " lists them"
	}
	return hint + wire.Run("init URL") + " opens a session; -s demo is the built-in demo server"
}

// options puts together what the client needs for this target.
func (c *conversation) options(ctx context.Context, how opening) (client.Options, wire.Outcome) {
	fields, err := c.a.fields()
	if err != nil {
		return client.Options{}, usage(err)
	}
	if o := c.settleOrigin(ctx, how.draft); !o.Good() {
		return client.Options{}, o
	}
	fields = c.withFields(fields)
	c.fields = fields
	c.learnSecrets(fields)
	c.a.ui.nameServer(how.argv)
	opt := client.Options{
		Secrets: &c.a.secrets, Protocol: c.a.protocol, Version: c.a.version, LogLevel: c.a.logLevel,
		Fields: fields, Limits: c.a.limits, Now: c.a.now, Tap: c.tap(), TapFull: c.tapFull,
		Notified: c.notified, Found: c.found, Renewed: c.renewed,
		Shape: c.shape, Strict: func() bool { return c.a.strict },
	}
	c.serverOf(&opt)
	if how.keep != nil {
		if o := c.mayKeep(opt.Server); !o.Good() {
			return opt, o
		}
	}
	if err := c.reachServer(&opt); err != nil {
		return opt, usage(err)
	}
	if err := c.guard(&opt); err != nil {
		return opt, usage(err)
	}
	if err := c.respondTo(&opt, how); err != nil {
		return opt, usage(err)
	}
	switch {
	case how.anew && !(how.visits && c.isHeld() && c.resumes()):
		opt.Server.Transport, c.passing = "", true
		if how.visits && c.saved != nil {
			opt.Known = c.saved.Revision // what is told of a session is what it speaks
		}
		if how.keep != nil {
			c.startsHeld(&opt, how.keep)
		}
	case c.saved != nil:
		o := c.resumeFrom(ctx, &opt)
		opt.Standing = mayBeAsked(opt)
		return opt, o
	default:
		c.recall(&opt, how.draft)
		opt.Standing = mayBeAsked(opt)
	}
	return opt, wire.Outcome{}
}

// resumeFrom goes on with a remembered session, unless another revision is
// asked for, and takes request ids that no other process uses.
func (c *conversation) resumeFrom(ctx context.Context, opt *client.Options) wire.Outcome {
	saved := c.saved
	if c.resumes() {
		opt.Resume = &client.Memory{
			Revision: saved.Revision, Transport: client.TransportName(saved.Transport), SessionID: string(saved.SessionID),
			Declared: saved.Declared, Info: client.Info{ServerInfo: saved.ServerInfo, Capabilities: saved.Capabilities, Instructions: saved.Instructions},
		}
		opt.Known = saved.Revision
		c.standBeside(opt)
		if saved.Held != nil {
			c.goesOnHeld(opt)
		}
	} else if saved.Held != nil {
		c.passing = true
		c.a.ui.note("session " + saved.Name + " keeps a server at " + saved.Revision + ": this command starts another server process")
	}
	c.ids = idBlock{ctx: ctx, store: c.store, session: *saved, warn: c.a.ui.warn}
	if err := c.ids.refill(); err != nil {
		return stateFailed(err)
	}
	opt.NextID = c.ids.next
	return wire.Outcome{}
}

// resumes reports that the remembered session is one to go on with.
func (c *conversation) resumes() bool {
	return c.a.protocol == "" || c.a.protocol == c.saved.Revision
}

// recall takes what an earlier run found out about a target that has no
// session. It is believed for a day.
func (c *conversation) recall(opt *client.Options, draft bool) {
	if c.known == "" || c.store == nil || c.a.protocol != "" {
		return
	}
	verdict, ok := c.store.Verdict(c.known)
	if !ok || c.a.now().Sub(verdict.At) > rememberFor {
		return
	}
	overStdio := len(opt.Server.Command) > 0
	if overStdio && client.Stateless(verdict.Revision) && !draft {
		return // a probe costs nothing there, and a wrong guess a process
	}
	c.recalled = verdict.Capabilities
	opt.Known, opt.Server.Transport = verdict.Revision, client.TransportName(verdict.Transport)
}

// rememberFor is how long a revision or a tool's definition is believed without
// asking.
const rememberFor = 24 * time.Hour

// remember keeps what opening the conversation found out. Failing to is no
// reason to fail: the command's purpose was another.
func (c *conversation) remember(ctx context.Context, opt client.Options) {
	same := opt.Known == c.Revision() && opt.Server.Transport == c.Transport()
	if c.saved != nil || c.known == "" || c.store == nil || same || c.a.protocol != "" {
		return
	}
	_ = c.store.SaveVerdict(ctx, c.known, state.Verdict{
		Revision: c.Revision(), Transport: string(c.Transport()), Capabilities: c.a.kept(c.Info()).Capabilities, At: c.a.now()})
}

// close ends the conversation. A session that is not remembered is ended at the
// server too; one that had to be opened anew is remembered as it now is.
func (c *conversation) close(ctx context.Context) wire.Outcome {
	if c.stopTicking != nil {
		c.stopTicking()
		c.stopTicking = nil
	}
	out := c.strictly()
	if c.Session == nil || c.lent {
		return out
	}
	if c.saved != nil && c.changed && !c.passing {
		if err := c.updateSaved(ctx); err != nil {
			c.a.ui.warn("the new session could not be stored: " + err.Error())
		}
	}
	if c.changed {
		c.remember(ctx, client.Options{})
	}
	// With --protocol it may be another conversation than the remembered one.
	remembered := c.saved != nil && !c.passing && (c.changed || c.saved.Revision == c.Revision())
	c.Session.Close(context.WithoutCancel(ctx), !remembered)
	c.a.talking.Store(false)
	return out
}

// updateSaved writes the renewed session over the remembered one, unless
// another process closed or replaced it meanwhile.
func (c *conversation) updateSaved(ctx context.Context) error {
	memory := c.Memory()
	memory.Info = c.a.kept(memory.Info)
	return c.store.Update(ctx, func(st *state.State) error {
		saved, ok := st.Session(c.saved.Name)
		if !ok || saved.Key != c.saved.Key {
			return nil
		}
		fillSession(&saved, memory)
		st.Put(saved)
		return nil
	})
}

func fillSession(s *state.Session, m client.Memory) {
	s.Transport, s.Revision, s.SessionID = string(m.Transport), m.Revision, state.Secret(m.SessionID)
	s.Declared, s.Capabilities, s.ServerInfo, s.Instructions = m.Declared, m.Info.Capabilities, m.Info.ServerInfo, m.Info.Instructions
}

// tryState refuses a state that cannot be changed.
func (a *env) tryState(ctx context.Context) wire.Outcome {
	store, err := state.Open(a.state)
	if err == nil {
		err = store.Try(ctx)
	}
	if err != nil {
		return stateFailed(err)
	}
	return wire.Outcome{}
}

// stateFailed is the ending of a command that cannot do without the state.
func stateFailed(err error) wire.Outcome {
	o := wire.Outcome{Kind: wire.LocalIO, Phase: "state", Text: err.Error(), Err: err}
	if with, ok := errors.AsType[*state.Error](err); ok {
		o.Hint = with.Hint()
	}
	return o
}
