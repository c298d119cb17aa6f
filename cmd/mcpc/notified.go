package main

import (
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/wire"
)

// notified shows progress and the server's log messages while a request runs.
func (c *conversation) notified(m *wire.Message) {
	params, err := m.ParamMembers()
	if err != nil {
		params = nil
	}
	switch m.Method {
	case "notifications/progress":
		if c.box == nil {
			c.a.ui.showProgress(c.withoutSecrets(params))
		}
	case "notifications/message":
		if c.heard != nil {
			break
		}
		params = c.withoutSecrets(params)
		data, _ := params.Get("data")
		c.a.ui.showLog(params.Text("level"), params.Text("logger"), data)
	case "notifications/tools/list_changed":
		c.forgetTools()
	case "notifications/prompts/list_changed":
		c.forget(promptKind)
	}
	if c.heard != nil {
		c.heard(m)
	}
}

// withoutSecrets is what may be shown of a notification: standard error is often kept.
func (c *conversation) withoutSecrets(params wire.Members) wire.Members {
	safe := slices.Clone(params)
	for i, m := range safe {
		safe[i].Value, _ = c.a.secrets.Bytes(m.Value)
	}
	return safe
}

func (c *conversation) found(f wire.Finding) {
	if f.Rule == client.RuleShape && !c.firstOf(f) {
		return
	}
	if f.Level > wire.Info || c.a.verbose > 0 {
		c.a.ui.warn(f.Text)
	}
}

// firstOf reports a malformed message of whose kind nothing was told in this command; a
// list may have many pages.
func (c *conversation) firstOf(f wire.Finding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.malformed, f.Text) || len(c.malformed) == mostWarnings {
		return false
	}
	c.malformed = append(c.malformed, f.Text)
	return true
}

// strictly is how a command ends with --strict where something came besides its answers
// that is not as its revision has it.
func (c *conversation) strictly() (out wire.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.malformed) > 0 && c.a.strict {
		out = wire.Outcome{Kind: wire.BadResponse, Where: c.where, Phase: "result", Reached: wire.Answered,
			Text: "a message besides the response does not conform to the revision"}
	}
	c.malformed = nil
	return out
}

func (c *conversation) renewed(why string) {
	c.changed = true
	c.forgetTools()
	c.forget(promptKind)
	c.a.ui.note(why)
}
