package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// notified shows progress and the server's log messages while a request runs.
func (c *Conn) notified(e *host.Env, m *wire.Message) {
	params, err := m.ParamMembers()
	if err != nil {
		params = nil
	}
	switch m.Method {
	case "notifications/progress":
		if c.Box == nil && e.UI.ShowsProgress() {
			e.UI.ShowProgress(withoutSecrets(e, params))
		}
	case "notifications/message":
		if c.OnNotification != nil {
			break
		}
		params = withoutSecrets(e, params)
		data, _ := params.Get("data")
		e.UI.ShowLog(params.Text("level"), params.Text("logger"), data)
	case "notifications/tools/list_changed":
		c.ForgetTools()
	case "notifications/prompts/list_changed":
		c.Forget(PromptKind)
	}
	if c.OnNotification != nil {
		c.OnNotification(m)
	}
}

// passing reports that nothing of a notification of progress is kept: it was not handed on, and its
// frame at most copied.
func (c *Conn) passing(e *host.Env, m *wire.Message) bool {
	return c.OnNotification == nil && e.Watch.Load() == nil && e.Trace.Tap == nil && len(m.Raw) <= capture.MaxCopied
}

// withoutSecrets is what may be shown of a notification: standard error is often kept.
func withoutSecrets(e *host.Env, params jsonraw.Members) jsonraw.Members {
	safe := slices.Clone(params)
	for range 2 { // what one member names is hidden in those before it, too
		for i, m := range params {
			safe[i].Value, _ = e.Secrets.Bytes(m.Value)
		}
	}
	return safe
}

// found shows a finding. saved is the session that the command found remembered, or nil.
func (c *Conn) found(e *host.Env, saved *state.Session, f wire.Finding) {
	if (f.Rule == client.RuleShape || f.Rule == transport.RuleGetNoise) && !c.firstOf(f) {
		return
	}
	if f.Rule == transport.RuleStdoutNoise && e.Verbose == 0 && !e.Strict && c.isKnownNoise(saved, f) {
		return
	}
	if f.Level > wire.Info || e.Verbose > 0 {
		e.Record.WriteWaiting() // which learns the secrets in the frames that wait
		e.UI.Warn(e.Secrets.Text(f.Text))
	}
}

// isKnownNoise reports a warning about text on stdout that an earlier command of the remembered session showed: most
// such servers write the same banner at each start. Otherwise it notes the warning as shown.
func (c *Conn) isKnownNoise(saved *state.Session, f wire.Finding) bool {
	if saved == nil {
		return false
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	sum := sha256.Sum256([]byte(f.Text))
	hash := hex.EncodeToString(sum[:8])
	if slices.Contains(saved.Noise, hash) {
		return true
	}
	if len(saved.Noise)+len(c.noise) < MostWarnings {
		c.noise = append(c.noise, hash)
	}
	return false
}

// rememberNoise stores with the session which warnings about text on stdout were shown.
func (c *Conn) rememberNoise(ctx context.Context) {
	c.Mu.Lock()
	noise := c.noise
	c.noise = nil
	c.Mu.Unlock()
	if len(noise) == 0 || c.Store == nil || c.Saved == nil {
		return
	}
	err := c.Store.Update(context.WithoutCancel(ctx), func(st *state.State) error {
		saved, ok := st.Session(c.Saved.Name)
		if !ok || saved.Key != c.Saved.Key {
			return nil
		}
		saved.Noise = append(saved.Noise, noise...)
		saved.Noise = saved.Noise[:min(len(saved.Noise), MostWarnings)]
		st.Put(saved)
		return nil
	})
	if err != nil && c.Env.Verbose > 0 {
		c.Env.WarnOfState("the warnings that were shown could not be stored: " + err.Error())
	}
}

// firstOf reports a malformed message of whose kind nothing was told in this command; a
// list may have many pages.
func (c *Conn) firstOf(f wire.Finding) bool {
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
func (c *Conn) strictly() (out wire.Outcome) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if len(c.malformed) > 0 && c.Env.Strict {
		out = wire.Outcome{Kind: wire.BadResponse, Where: c.Where, Phase: "result", Reached: wire.Answered,
			Text: "a message besides the response does not conform to the revision"}
	}
	c.malformed = nil
	return out
}

// renewed reports that the session had to be opened again. It stores the new session at once: other commands use
// it while this one runs.
func (c *Conn) renewed(e *host.Env, why string) {
	c.changed = true
	c.ForgetLists()
	e.UI.Note(why)
	if c.Saved == nil || c.Passing || c.Session == nil {
		return
	}
	if err := c.updateSaved(context.Background()); err != nil {
		e.WarnOfState("the new session could not be stored: " + err.Error())
	}
}

const MostWarnings = 20

// setLogLevel asks for log messages where that is a request of its own; where
// requests stand alone each one carries the level, and a server that logs nothing
// says nothing of it.
func (c *Conn) setLogLevel(ctx context.Context) {
	if c.Env.LogLevel == "" {
		return
	}
	if client.Stateless(c.Revision()) {
		if declared, known := c.Declares("logging"); known && !declared {
			c.Env.UI.Warn("the server does not declare logging, so --log-level may have no effect")
		}
		return
	}
	out := c.Do(
		ctx,
		client.Call{Method: "logging/setLevel", Params: jsonraw.With(nil, "level", jsonraw.Quote(c.Env.LogLevel))},
	)
	if !out.Good() {
		c.Env.UI.Warn("the log level could not be set: " + out.Text)
		return
	}
	c.WarnUndeclared(out, "logging")
}
