package connect

import (
	"encoding/json"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
)

// capabilitiesFor returns the ClientCapabilities that the flags, and the user if canAskUser is set,
// can honour. Without any it returns an empty object.
func capabilitiesFor(f host.Answers, canAskUser bool) json.RawMessage {
	modes := json.RawMessage("{}")
	all := json.RawMessage("{}")
	answersForms := f.Elicits() || canAskUser
	answersPages := f.Decline || f.OnElicit != "" || canAskUser // each of them also answers forms
	if answersForms {
		modes = jsonraw.With(modes, "form", json.RawMessage("{}"))
	}
	if answersPages {
		modes = jsonraw.With(modes, "url", json.RawMessage("{}"))
	}
	if answersForms {
		all = jsonraw.With(all, "elicitation", modes)
	}
	if f.Samples() {
		all = jsonraw.With(all, "sampling", json.RawMessage("{}"))
	}
	if len(f.Roots) > 0 {
		all = jsonraw.With(all, "roots", json.RawMessage("{}"))
	}
	var extensions json.RawMessage
	for _, text := range f.Extensions {
		id, settings := host.Extension(text)
		extensions = jsonraw.With(extensions, id, settings)
	}
	if extensions != nil {
		all = jsonraw.With(all, "extensions", extensions)
	}
	return all
}

// setAsker sets what answers the server's requests, and the capabilities that are declared for
// them: the capabilities of the client that mcpc acts for, or else of the flags, the session and
// the user. The error is about a flag.
func (c *Conn) setAsker(opt *client.Options, how Options) error {
	if how.As != nil {
		opt.Capabilities = how.As.Capabilities
		opt.Asker = how.As.Asker
		opt.Verbatim = true // the other client declares all its capabilities itself
		opt.GetStream = serverMayAsk(*opt)
		opt.Reconnected = how.As.Renewed
		c.Promised = how.As.Capabilities
		return nil
	}
	var saved *host.Answers
	if c.Saved != nil && !how.NoResume {
		saved = c.Saved.Answering
	}
	flags, err := host.SettleAnswers(c.Env.Answers, saved)
	if err != nil {
		return err
	}
	if c.Env.Asker == nil { // this program cannot answer requests, so it declares nothing
		return nil
	}
	canAskUser := c.Env.UI.CanAsk() && !how.SkipNegotiation
	opt.Capabilities = capabilitiesFor(flags, canAskUser)
	c.Answering = flags
	c.Promised = opt.Capabilities
	if client.MayAsk(opt.Capabilities) {
		opt.Asker, err = c.Env.Asker(c.Env, c, flags, canAskUser)
	}
	return err
}

// openSeparateIfNeeded makes this command open a separate session if the remembered session was
// opened without capabilities that the flags need, and prints a note. A kept server process has
// only one session: for it the note names the command that starts it again.
func (c *Conn) openSeparateIfNeeded(opt *client.Options) {
	const canAskUser = false // a user at the terminal is no reason to open another session
	offered := capabilitiesFor(c.Answering, canAskUser)
	// A session in a stateless revision declares its capabilities with each request.
	if client.Stateless(c.Saved.Revision) || client.Covers(c.Saved.Declared, offered) {
		return
	}
	if c.IsKept() {
		c.Env.UI.Note("session " + c.Saved.Name + " was opened without the capabilities of these flags; mcpc init --keep " +
			c.Saved.Name + " with the same flags starts its server again")
		return
	}
	if opt.Resume == nil || c.Saved.Transport != string(transport.StreamableHTTP) {
		return // every command opens a separate session anyway
	}
	opt.Resume = nil
	c.Passing = true
	c.Env.UI.Note(
		"session " + c.Saved.Name + " was opened without the capabilities of these flags, so this command opens a session " +
			"of its own; mcpc init " + c.Saved.Name + " with the same flags opens one that is kept",
	)
}

// serverMayAsk reports whether the declared capabilities allow the server to send requests. It then
// gets a stream for them.
func serverMayAsk(opt client.Options) bool {
	offered := opt.Capabilities
	if opt.Resume != nil {
		offered = opt.Resume.Declared
	}
	return client.MayAsk(offered)
}

// ServerInfo returns the serverInfo of this run or of the remembered session. Returns nil if
// neither is known.
func (c *Conn) ServerInfo() json.RawMessage {
	if c.Session != nil {
		if info := c.Info().ServerInfo; info != nil {
			return info
		}
	}
	if c.Saved != nil {
		return c.Saved.ServerInfo
	}
	return nil
}

// AddTyped records what the user typed into a form, for a call that is saved.
func (c *Conn) AddTyped(content json.RawMessage) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Typed = append(c.Typed, content)
}
