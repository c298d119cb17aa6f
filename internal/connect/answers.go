package connect

import (
	"encoding/json"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
)

// offer are the ClientCapabilities that can be honoured: by flags, and by
// a person at the terminal.
func offer(f host.Answers, person bool) json.RawMessage {
	modes := json.RawMessage("{}")
	all := json.RawMessage("{}")
	form := f.Elicits() || person
	page := f.Decline || f.OnElicit != "" || person
	if form {
		modes = jsonraw.With(modes, "form", json.RawMessage("{}"))
	}
	if page {
		modes = jsonraw.With(modes, "url", json.RawMessage("{}"))
	}
	if form {
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

// respondTo settles what answers the server's requests in this conversation, and
// offers the server no more than that. A remembered conversation that was opened
// without what this run's flags offer stays as it is: another one is opened.
func (c *Conn) respondTo(opt *client.Options, how Options) error {
	if how.As != nil {
		opt.Capabilities, opt.Asker, c.Promised = how.As.Capabilities, how.As.Asker, how.As.Capabilities
		opt.Verbatim, opt.GetStream, opt.Reconnected = true, mayBeAsked(*opt), how.As.Renewed
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
	if c.Env.Asker == nil {
		return nil
	}
	person := c.Env.UI.CanAsk() && !how.SkipNegotiation
	opt.Capabilities = offer(flags, person)
	c.Answering = flags
	c.Promised = opt.Capabilities
	if client.MayAsk(opt.Capabilities) {
		opt.Asker, err = c.Env.Asker(c.Env, c, flags, person)
	}
	return err
}

// standBeside opens a conversation of its own where the remembered one offers the
// server less than the flags do.
func (c *Conn) standBeside(opt *client.Options) {
	offered := offer(c.Answering, false)
	if c.IsKept() && !client.Stateless(c.Saved.Revision) && !client.Covers(c.Saved.Declared, offered) {
		c.Env.UI.Note("session " + c.Saved.Name + " was opened without the capabilities of these flags; mcpc init --keep " +
			c.Saved.Name + " with the same flags starts its server again")
		return
	}
	if opt.Resume == nil || c.Saved.Transport != string(transport.StreamableHTTP) || client.Stateless(c.Saved.Revision) ||
		client.Covers(c.Saved.Declared, offered) {
		return
	}
	opt.Resume = nil
	c.Passing = true
	c.Env.UI.Note(
		"session " + c.Saved.Name + " was opened without the capabilities of these flags, so this command opens a session " +
			"of its own; mcpc init " + c.Saved.Name + " with the same flags opens one that is kept",
	)
}

// mayBeAsked reports a conversation in which the server may ask: it then gets a
// stream to do that on.
func mayBeAsked(opt client.Options) bool {
	offered := opt.Capabilities
	if opt.Resume != nil {
		offered = opt.Resume.Declared
	}
	return client.MayAsk(offered)
}

// ServerInfo returns what the server called itself, in this run or when the session
// was opened; nil where it is not known yet.
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

// AddTyped notes what the user typed into a form, for a call that is saved.
func (c *Conn) AddTyped(content json.RawMessage) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Typed = append(c.Typed, content)
}
