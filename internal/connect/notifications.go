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

// showNotification shows progress and log messages, and drops cached lists that have changed. It
// passes every notification to OnNotification.
func (c *Conn) showNotification(e *host.Env, m *wire.Message) {
	params, err := m.ParamMembers()
	if err != nil {
		params = nil // params that are no object are shown as if they were missing
	}
	switch m.Method {
	case "notifications/progress":
		isSingleCall := c.toolCache == nil // parallel calls would mix their progress
		if isSingleCall && e.UI.ShowsProgress() {
			e.UI.ShowProgress(withoutSecrets(e, params))
		}
	case "notifications/message":
		if c.OnNotification != nil {
			break // it shows log messages itself
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

// isDiscarded reports whether nothing keeps the bytes of a progress notification: it is not passed
// on, and its frame is copied if at all.
func (c *Conn) isDiscarded(e *host.Env, m *wire.Message) bool {
	isShown := e.Watch.Load() != nil || e.Trace.Tap != nil // in its frame
	return c.OnNotification == nil && !isShown && len(m.Raw) <= capture.MaxCopied
}

// withoutSecrets returns the parameters of a notification without secrets. They go to standard
// error, which is often stored.
func withoutSecrets(e *host.Env, params jsonraw.Members) jsonraw.Members {
	safe := slices.Clone(params)
	for range 2 { // the second pass hides secrets that a later member revealed
		for i, m := range params {
			safe[i].Value, _ = e.Secrets.Bytes(m.Value)
		}
	}
	return safe
}

// reportFinding shows a finding as a warning. It omits repeated findings, and without -v findings
// of severity Info. saved is the session that the command found, or nil.
func (c *Conn) reportFinding(e *host.Env, saved *state.Session, f wire.Finding) {
	isMalformed := f.Rule == client.RuleShape || f.Rule == transport.RuleGetNoise
	if isMalformed && !c.isFirstMalformed(f) {
		return
	}
	showsEach := e.Verbose > 0 || e.Strict
	if f.Rule == transport.RuleStdoutNoise && !showsEach && c.isKnownNoise(saved, f) {
		return
	}
	if f.Severity > wire.Info || e.Verbose > 0 {
		e.Record.WriteWaiting() // learns the secrets in the waiting frames
		e.UI.Warn(e.Secrets.Text(f.Text))
	}
}

// isKnownNoise reports whether an earlier command of the session showed this warning about text on
// stdout: most such servers write the same text at each start. If not, it records that this command
// shows it, for rememberNoise.
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
	if len(saved.Noise)+len(c.newNoise) < MostWarnings {
		c.newNoise = append(c.newNoise, hash)
	}
	return false
}

// rememberNoise stores with the session which warnings about text on stdout were shown, so that
// later commands do not show them again. It stores nothing without a session.
func (c *Conn) rememberNoise(ctx context.Context) {
	c.Mu.Lock()
	noise := c.newNoise
	c.newNoise = nil // a second Close stores nothing again
	c.Mu.Unlock()
	if len(noise) == 0 || c.Store == nil || c.Saved == nil {
		return
	}
	err := c.Store.Update(context.WithoutCancel(ctx), func(st *state.State) error {
		saved, ok := st.Session(c.Saved.Name)
		if !ok || saved.Key != c.Saved.Key { // closed, or opened again for another server
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

// isFirstMalformed reports whether a finding about a malformed message is the first with its text
// in this command, and records it. It returns false after MostWarnings findings: a list may have
// many pages.
func (c *Conn) isFirstMalformed(f wire.Finding) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if slices.Contains(c.malformedTexts, f.Text) || len(c.malformedTexts) == MostWarnings {
		return false
	}
	c.malformedTexts = append(c.malformedTexts, f.Text)
	return true
}

// malformedOutcome returns a failure if --strict is set and a message other than a response was
// malformed.
func (c *Conn) malformedOutcome() wire.Outcome {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	failed := len(c.malformedTexts) > 0 && c.Env.Strict
	c.malformedTexts = nil // the next line of a shell starts without them
	if !failed {
		return wire.Outcome{}
	}
	return wire.Outcome{
		Kind: wire.BadResponse, ServerName: c.Where, Phase: "result", Reached: wire.Answered,
		Text: "a message besides the response does not conform to the revision",
	}
}

// storeRenewal reports that the session was opened again, and stores the new one at once: other
// commands use it while this one runs.
func (c *Conn) storeRenewal(e *host.Env, why string) {
	c.reopened = true
	c.ForgetLists()
	e.UI.Note(why)
	if c.Saved == nil || c.Passing || c.Session == nil {
		return
	}
	if err := c.updateSaved(context.Background()); err != nil {
		e.WarnOfState("the new session could not be stored: " + err.Error())
	}
}

// MostWarnings limits the warnings of one kind in a command.
const MostWarnings = 20

// setLogLevel sends logging/setLevel if --log-level is set. In stateless revisions each request
// carries the level instead.
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
	params := jsonraw.With(nil, "level", jsonraw.Quote(c.Env.LogLevel))
	out := c.Do(ctx, client.Call{Method: "logging/setLevel", Params: params})
	if !out.OK() {
		c.Env.UI.Warn("the log level could not be set: " + out.Text)
		return
	}
	c.WarnUndeclared(out, "logging")
}
