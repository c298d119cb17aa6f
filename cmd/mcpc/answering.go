package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// answering are the flags that say how to answer what a server asks. It is what
// a session remembers of them.
type answering = state.Answering

// elicits, samples and shows report which parts of an answering are set.
func elicits(f answering) bool { return scripted(f) || f.Decline || f.OnElicit != "" }

func scripted(f answering) bool { return len(f.Answers) > 0 || f.Defaults }

func samples(f answering) bool { return f.Sampling != "" || f.OnSampling != "" }

// settle checks the flags of this run, makes their paths absolute, and fills in
// what the session remembers where this run says nothing.
func settle(now answering, before *answering) (answering, error) {
	if err := contradiction(now); err != nil {
		return now, err
	}
	if err := absolute(&now); err != nil {
		return now, err
	}
	return behind(now, before), nil
}

// behind fills in what the session remembers where the flags say nothing.
func behind(now answering, before *answering) answering {
	if before == nil {
		return now
	}
	if !elicits(now) {
		now.Answers, now.Defaults, now.Decline, now.OnElicit = before.Answers, before.Defaults, before.Decline, before.OnElicit
	}
	if !samples(now) {
		now.Sampling, now.OnSampling = before.Sampling, before.OnSampling
	}
	if len(now.Roots) == 0 {
		now.Roots = before.Roots
	}
	return now
}

func contradiction(f answering) error {
	ways := 0
	for _, set := range []bool{scripted(f), f.Decline, f.OnElicit != ""} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return hinted("a form has one answer: --answer and --answer-defaults, --decline, or --on-elicit", "use only one of them")
	case f.Sampling != "" && f.OnSampling != "":
		return hinted("use --sampling or --on-sampling, not both", "use only one of them")
	}
	return nil
}

// absolute makes what names a file good in every directory.
func absolute(f *answering) error {
	var failed error
	path := func(name string) string {
		full, err := filepath.Abs(name)
		failed = cmp.Or(failed, err)
		return full
	}
	f.Answers = mapped(f.Answers, func(text string) string {
		if name, ok := strings.CutPrefix(text, "@"); ok && name != "-" {
			return "@" + path(name)
		}
		return text
	})
	if f.Sampling != "" && f.Sampling != "-" {
		f.Sampling = path(f.Sampling)
	}
	f.Roots = mapped(f.Roots, path)
	for _, dir := range f.Roots {
		if info, err := os.Stat(dir); failed == nil && (err != nil || !info.IsDir()) {
			return hinted(fmt.Sprintf("--root: there is no directory %s", dir), "")
		}
	}
	return failed
}

// offer are the ClientCapabilities that can be honoured: by flags, and by
// a person at the terminal.
func offer(f answering, person bool) json.RawMessage {
	modes, all := json.RawMessage("{}"), json.RawMessage("{}")
	form, page := elicits(f) || person, f.Decline || f.OnElicit != "" || person
	if form {
		modes = wire.With(modes, "form", json.RawMessage("{}"))
	}
	if page {
		modes = wire.With(modes, "url", json.RawMessage("{}"))
	}
	if form {
		all = wire.With(all, "elicitation", modes)
	}
	if samples(f) {
		all = wire.With(all, "sampling", json.RawMessage("{}"))
	}
	if len(f.Roots) > 0 {
		all = wire.With(all, "roots", json.RawMessage("{}"))
	}
	return all
}

// respondTo settles who answers in this conversation, and offers the server no
// more than that. A remembered conversation that was opened without what this
// run's flags offer stays as it is: another one is opened beside it.
func (c *conversation) respondTo(opt *client.Options, how opening) error {
	var saved *answering
	if c.saved != nil && !how.anew {
		saved = c.saved.Answering
	}
	flags, err := settle(c.a.answers, saved)
	if err != nil {
		return err
	}
	person := c.a.ui.canAsk() && !how.blind
	asker, err := c.a.asker(c, flags, person)
	if err != nil {
		return err
	}
	if opt.Capabilities = offer(flags, person); string(opt.Capabilities) != "{}" {
		opt.Asker = asker
	}
	c.answering, c.promised = flags, opt.Capabilities
	return nil
}

// isZero reports flags of which none is set.
func isZero(f answering) bool { return reflect.ValueOf(f).IsZero() }

// standBeside opens a conversation of its own where the remembered one offers the
// server less than the flags do.
func (c *conversation) standBeside(opt *client.Options) {
	offered := offer(c.answering, false)
	if c.isHeld() && !client.Stateless(c.saved.Revision) && !client.Covers(c.saved.Declared, offered) {
		c.a.ui.note("session " + c.saved.Name + " was opened without the capabilities of these flags; mcpc init --keep " +
			c.saved.Name + " with the same flags starts its server again")
		return
	}
	if opt.Resume == nil || c.saved.Transport != string(client.StreamableHTTP) || client.Stateless(c.saved.Revision) ||
		client.Covers(c.saved.Declared, offered) {
		return
	}
	opt.Resume, c.passing = nil, true
	c.a.ui.note("session " + c.saved.Name + " was opened without the capabilities of these flags, so this command opens a session " +
		"of its own; mcpc init " + c.saved.Name + " with the same flags opens one that is kept")
}

// mayBeAsked reports a conversation in which the server may ask: it then gets a
// stream to do that on.
func mayBeAsked(opt client.Options) bool {
	offered := opt.Capabilities
	if opt.Resume != nil {
		offered = opt.Resume.Declared
	}
	return !client.Covers(nil, offered)
}

// serverInfo is what the server called itself, in this run or when the session
// was opened; while the conversation is being opened nobody knows yet.
func (c *conversation) serverInfo() json.RawMessage {
	if c.Session != nil {
		if info := c.Info().ServerInfo; info != nil {
			return info
		}
	}
	if c.saved != nil {
		return c.saved.ServerInfo
	}
	return nil
}

// addTyped notes what the user typed into a form, for a call that is saved.
func (c *conversation) addTyped(content json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.typed = append(c.typed, content)
}
