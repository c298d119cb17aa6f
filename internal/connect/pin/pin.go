package pin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/diff"
	"mcpc/internal/diff/lockfile"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/poison"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/sanitize"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A Standing is what is known of a definition: whether it is the approved one.
type Standing int32

// The standings. A New definition is approved by a call: its tool was never called, or it is of the
// user's own server, and its changes were noted. A Changed one has to be confirmed: its changes were
// shown.
const (
	Unknown Standing = iota
	New
	Approved
	Changed
)

// Check compares a definition with the one that was approved, and shows what changed: once for
// each definition that a connection has. Only order, titles and harmless words may change
// silently; a change of a schema that is harmless and adds no text for a model is a note, and of the user's own
// server any change without text that is addressed to a model.
func Check(ctx context.Context, c *connect.Conn, tool *connect.Definition) Standing {
	if tool == nil || c.Store == nil || c.Env.Index > 0 {
		return Approved // nothing is remembered
	}
	now := Standing(tool.Pin.Load())
	if now == Unknown {
		now = compare(ctx, c, tool, kept(c, tool))
		tool.Pin.Store(int32(now))
	}
	return now
}

// ChangedTools returns the tools that have to be approved again, and shows what changed in them.
func ChangedTools(ctx context.Context, c *connect.Conn, tools []mcp.Tool) (changed []*connect.Definition) {
	for _, t := range tools {
		if c.Store == nil {
			break
		}
		if pins, err := c.Store.Pins(key(c)).Of(t.Name); err == nil && len(pins) == 0 {
			continue // never called
		}
		tool := &connect.Definition{Tool: t, Fresh: true}
		if Check(ctx, c, tool) == Changed {
			changed = append(changed, tool)
		}
	}
	return changed
}

// Approve remembers a definition that is called. Failing to is no reason not to call.
func Approve(ctx context.Context, c *connect.Conn, tool *connect.Definition) {
	if Check(ctx, c, tool) == Approved {
		return
	}
	save(ctx, c, state.Pin{Tool: tool.Name, Revision: c.Revision(), Definition: kept(c, tool)})
	tool.Pin.Store(int32(Approved))
}

func save(ctx context.Context, c *connect.Conn, pin state.Pin) {
	if pin.At.IsZero() {
		pin.At = c.Env.Now()
	}
	if err := c.Store.Pins(key(c)).Save(ctx, servers(c), pin); err != nil && c.Env.Verbose > 0 {
		c.Env.WarnOfState("the definition of " + pin.Tool + " was not stored: " + err.Error())
	}
}

// mostKept bounds a definition that is remembered, in bytes; of a larger one its hash is.
const mostKept = 1 << 20

// kept is a definition as it is remembered and compared: without the secrets that a server may
// say again.
func kept(c *connect.Conn, tool *connect.Definition) json.RawMessage {
	c.Env.Record.WriteWaiting() // which learns the secrets in the frames that wait
	definition, _ := c.Env.Secrets.Bytes(jsonraw.Compact(tool.Raw))
	if len(definition) > mostKept {
		return jsonraw.Quote(fmt.Sprintf("sha256:%x", sha256.Sum256(definition)))
	}
	return definition
}

// compare finds the pin of a tool, and what changed since. A definition that is a text is the
// hash of one.
func compare(ctx context.Context, c *connect.Conn, tool *connect.Definition, definition json.RawMessage) Standing {
	pins, err := c.Store.Pins(key(c)).Of(tool.Name)
	if err != nil {
		if r := c.Env.Record.Recorder; r != nil {
			r.Flush() // the recording may fail for the same reason: its warning always comes first
		}
		c.Env.WarnOfState("the approved definitions cannot be read: " + err.Error())
		return Approved
	}
	if len(pins) == 0 {
		for _, mark := range poison.Scan(tool.Raw, nil) {
			if mark.Kind != poison.Size {
				c.Env.UI.Warn("the definition of " + tool.Name + " has " + c.Env.Secrets.Text(mark.String()))
			}
		}
		return New
	}
	old := pins[len(pins)-1]
	same := false
	for _, p := range pins {
		if p.Revision == c.Revision() {
			old = p
			same = true
		}
	}
	// A difference in nothing but secrets of the client's own, which the server repeats, is none. A server whose text
	// looks like a hidden secret cannot hide a difference with it.
	isUnchanged := bytes.Equal(old.Definition, definition) ||
		!redact.IsUnknown(string(tool.Raw)) && bytes.Equal(redact.Blank(old.Definition), redact.Blank(definition))
	if same && isUnchanged {
		return Approved
	}
	if bytes.HasPrefix(old.Definition, []byte(`"`)) || bytes.HasPrefix(definition, []byte(`"`)) {
		return changed(c, tool, old.At, ", and is too large for a comparison", nil, isMarked(tool))
	}
	changes := diff.CompareTool(old.Definition, definition, Options())
	if !same { // another revision of the protocol has other members
		changes = diff.AsModel(changes)
	}
	worth := asked(
		slices.DeleteFunc(slices.Clone(changes), func(ch diff.Change) bool { return quiet[ch.Rule] && !isQuestion(ch) }),
	)
	if diff.Failing(worth, diff.Risky) > 0 {
		marked := slices.ContainsFunc(worth, func(ch diff.Change) bool { return forModel[ch.Rule] })
		return changed(c, tool, old.At, ":", worth, marked)
	}
	if !same {
		return New
	}
	if len(worth) > 0 {
		note(ctx, c, old, worth)
	}
	return Approved
}

// mostNewText is how many bytes of new words a title or a note of a schema may have without being a question.
const mostNewText = 100

// isQuestion reports a change that is harmless to a caller, and is confirmed nevertheless: annotations that declare
// less turn mcpc's own confirmation off, and new text may tell a model what to do.
func isQuestion(ch diff.Change) bool {
	switch ch.Rule {
	case "annotation-safer", "argument-added":
		return true
	case "input-enum-added", "input-alternative-added", "default-added":
		return ch.NewText() > 0
	case "title-changed", "schema-note-changed":
		return ch.NewText() > mostNewText
	}
	return false
}

// mostShown is how many bytes of a new value are shown.
const mostShown = 300

// asked returns changes of which those that are questions are risky, and show what a model would read.
func asked(changes []diff.Change) []diff.Change {
	for i, ch := range changes {
		if !isQuestion(ch) {
			continue
		}
		changes[i].Level = max(ch.Level, diff.Risky)
		if ch.Rule == "argument-added" || ch.Rule == "schema-note-changed" {
			changes[i].Text += ": " + sanitize.Line(jsonraw.Excerpt(ch.Is, mostShown), sanitize.Signs)
		}
	}
	return diff.Sorted(changes)
}

// forModel are the rules of changes that add text which is addressed to a model.
var forModel = map[string]bool{
	"poison-hidden": true, "poison-instruction": true, "poison-secret": true, "poison-text": true,
}

// isMarked reports whether a definition has text that is addressed to a model.
func isMarked(tool *connect.Definition) bool {
	return slices.ContainsFunc(poison.Scan(tool.Raw, nil), func(m poison.Mark) bool { return m.Kind != poison.Size })
}

// changed shows the changes of a tool, and returns its standing: the user's own server may change,
// unless the new text is marked, and so may a tool that a confirmed lock file has as it is now. approved is when the
// former definition was approved. A user is not asked about the tools of the own server: their last call is named.
func changed(
	c *connect.Conn,
	tool *connect.Definition,
	approved time.Time,
	more string,
	changes []diff.Change,
	marked bool,
) Standing {
	headline := "the tool " + tool.Name + " of " + c.Where + " changed since it was "
	if isOwn(c) && !marked {
		c.Env.UI.ShowChanges(wire.Info, headline+"last called"+more, changes)
		return New
	}
	if lock := LockWith(c, tool); lock != nil && lock.IsConfirmed(c.Env, c.Store) {
		c.Env.UI.Note(tool.Name + " changed since it was approved; " + lockfile.Name + " has it as it is now")
		return New
	}
	c.Env.UI.ShowChanges(wire.Warning, headline+"approved ("+english.Ago(c.Env.Now(), approved)+")"+more, changes)
	return Changed
}

// isOwn reports whether the user started the server, or it listens on this machine, and no other
// program's configuration names it.
func isOwn(c *connect.Conn) bool {
	place := cmp.Or(c.Saved, c.OneOff)
	isHere := len(place.Command) > 0 || place.Endpoint == connect.DemoEndpoint || auth.IsLocal(place.Endpoint)
	return c.Origin == nil && isHere
}

// quiet are the rules of changes that do nothing to a caller: a header field has the argument
// that is sent anyway. What they change stays compared
// with what was approved, so that many small ones are noticed.
var quiet = map[string]bool{
	"description-reworded": true,
	"title-changed":        true,
	"icons-changed":        true,
	"meta-changed":         true,
	"order-changed":        true,
	"schema-note-changed":  true,
	"equivalent-form":      true,
	"annotation-changed":   true,
	"dialect-standard":     true,
	"header-added":         true,
	"header-changed":       true,
	"header-removed":       true,
}

// note tells of harmless changes, once.
func note(ctx context.Context, c *connect.Conn, old state.Pin, changes []diff.Change) {
	var prints, texts []string
	for _, ch := range changes {
		prints = append(prints, ch.Fingerprint)
		if !slices.Contains(texts, ch.Text) {
			texts = append(texts, ch.Text)
		}
	}
	if told := strings.Join(prints, " "); told != old.Noted {
		old.Noted = told
		c.Env.UI.Note(old.Tool + " has harmless changes: " + strings.Join(texts, "; "))
		save(ctx, c, old)
	}
}

// key names the server whose tools are remembered: the same for a session and for a URL or a
// command that is typed, and for all tokens, which are renewed: with a key for each of them every
// new one would approve all tools unseen. The account tells users apart. Of header fields that are
// no secret the values count, since tools may depend on them.
func key(c *connect.Conn) string {
	place := cmp.Or(c.Saved, c.OneOff)
	parts := []string{place.Endpoint}
	switch {
	case c.Origin != nil:
		parts = []string{c.Origin.ID(), c.Origin.File} // an edited entry is the same server, whose tools may differ
	case len(place.Command) > 0:
		folder, _ := os.Getwd() // a command with a relative path is another one elsewhere
		argv, _ := json.Marshal(place.Command)
		parts = []string{string(argv), cmp.Or(place.Folder, folder)}
	case place.Endpoint == connect.DemoEndpoint:
		parts = append(parts, c.Env.Version)
	}
	parts = append(parts, "account "+c.Env.Auth.Account)
	for _, f := range c.Fields {
		if redact.RedactField(f) == f {
			parts = append(parts, f.Name+": "+f.Value)
		} else {
			parts = append(parts, f.Name)
		}
	}
	return strings.Join(parts, "\n")
}

// servers are the names that the user calls it by.
func servers(c *connect.Conn) (names []string) {
	if c.Origin != nil {
		return []string{c.Origin.ID()}
	}
	if c.Saved == nil {
		return []string{c.Where}
	}
	if c.Saved.Endpoint != "" {
		names = []string{c.Env.Secrets.Text(redact.RedactURL(c.Saved.Endpoint))}
	}
	return append(names, c.Saved.Name)
}
