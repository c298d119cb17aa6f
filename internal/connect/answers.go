package connect

import (
	"encoding/json"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
)

// capabilitiesFor returns the ClientCapabilities that the flags, and the user if person is set, can
// honour. Without any it returns an empty object.
func capabilitiesFor(f host.Answers, person bool) json.RawMessage {
	modes := json.RawMessage("{}")
	all := json.RawMessage("{}")
	answersForms := f.Elicits() || person
	answersPages := f.Decline || f.OnElicit != "" || person // implies answersForms
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
// them. If the remembered session was opened with fewer capabilities than this run's flags need,
// resumeFrom opens another session.
func (c *Conn) setAsker(opt *client.Options, how Options) error {
	if how.As != nil {
		opt.Capabilities = how.As.Capabilities
		opt.Asker = how.As.Asker
		opt.Verbatim = true
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
	person := c.Env.UI.CanAsk() && !how.SkipNegotiation
	opt.Capabilities = capabilitiesFor(flags, person)
	c.Answering = flags
	c.Promised = opt.Capabilities
	if client.MayAsk(opt.Capabilities) {
		opt.Asker, err = c.Env.Asker(c.Env, c, flags, person)
	}
	return err
}

// openSeparateIfNeeded makes this command open a separate session if the remembered session was
// opened without capabilities that the flags need, and prints a note. A kept server process has
// only one session: for it the note names the command that starts it again.
func (c *Conn) openSeparateIfNeeded(opt *client.Options) {
	offered := capabilitiesFor(c.Answering, false) // what a user could answer is not required
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
