package connect

import (
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// notified shows progress and the server's log messages while a request runs.
func notified(c *Conn, m *wire.Message) {
	params, err := m.ParamMembers()
	if err != nil {
		params = nil
	}
	switch m.Method {
	case "notifications/progress":
		if c.Box == nil {
			c.Env.UI.ShowProgress(withoutSecrets(c, params))
		}
	case "notifications/message":
		if c.OnNotification != nil {
			break
		}
		params = withoutSecrets(c, params)
		data, _ := params.Get("data")
		c.Env.UI.ShowLog(params.Text("level"), params.Text("logger"), data)
	case "notifications/tools/list_changed":
		ForgetTools(c)
	case "notifications/prompts/list_changed":
		c.Forget(PromptKind)
	}
	if c.OnNotification != nil {
		c.OnNotification(m)
	}
}

// withoutSecrets is what may be shown of a notification: standard error is often kept.
func withoutSecrets(c *Conn, params jsonraw.Members) jsonraw.Members {
	safe := slices.Clone(params)
	for i, m := range safe {
		safe[i].Value, _ = c.Env.Secrets.Bytes(m.Value)
	}
	return safe
}

func found(c *Conn, f wire.Finding) {
	if f.Rule == client.RuleShape && !firstOf(c, f) {
		return
	}
	if f.Level > wire.Info || c.Env.Verbose > 0 {
		c.Env.UI.Warn(f.Text)
	}
}

// firstOf reports a malformed message of whose kind nothing was told in this command; a
// list may have many pages.
func firstOf(c *Conn, f wire.Finding) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if slices.Contains(c.malformed, f.Text) || len(c.malformed) == MostWarnings {
		return false
	}
	c.malformed = append(c.malformed, f.Text)
	return true
}

// strictly is how a command ends with --strict where a server sent more than its responses
// that is not as its revision has it.
func strictly(c *Conn) (out wire.Outcome) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if len(c.malformed) > 0 && c.Env.Strict {
		out = wire.Outcome{Kind: wire.BadResponse, Where: c.Where, Phase: "result", Reached: wire.Answered,
			Text: "a message besides the response does not conform to the revision"}
	}
	c.malformed = nil
	return out
}

func renewed(c *Conn, why string) {
	c.changed = true
	ForgetTools(c)
	c.Forget(PromptKind)
	c.Env.UI.Note(why)
}

const MostWarnings = 20
