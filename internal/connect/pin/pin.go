package pin

import (
	"bytes"
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

// A Standing is whether a definition is the approved one.
type Standing int32

// The standings. A call approves a New definition: its tool was never called, or it belongs to the
// user's own server and its changes were noted. The user has to confirm a Changed definition, whose
// changes were shown.
const (
	Unknown Standing = iota
	New
	Approved
	Changed
)

// Check compares a definition with the approved one and shows what changed, once for each
// definition of a connection. Order, titles and harmless words may change silently. Harmless
// changes of a schema without new text for a model are a note, and so are all changes of the user's
// own server without such text.
func Check(ctx context.Context, c *connect.Conn, tool *connect.Definition) Standing {
	hasSharedName := c.Env.Index > 0 // --index: pins are stored by name, which is not unique here
	if tool == nil || c.Store == nil || hasSharedName {
		return Approved // nothing is stored
	}
	standing := Standing(tool.Pin.Load())
	if standing == Unknown {
		standing = compare(ctx, c, tool, storedForm(c, tool))
		tool.Pin.Store(int32(standing))
	}
	return standing
}

// ChangedTools returns the tools that the user has to approve again, and shows what changed in
// them. It returns nil without a state directory.
func ChangedTools(ctx context.Context, c *connect.Conn, tools []mcp.Tool) []*connect.Definition {
	var changed []*connect.Definition
	for _, t := range tools {
		if c.Store == nil {
			break
		}
		if pins, err := c.Store.Pins(storeKey(c)).Of(t.Name); err == nil && len(pins) == 0 {
			continue // never called
		}
		tool := &connect.Definition{Tool: t, Fresh: true}
		if Check(ctx, c, tool) == Changed {
			changed = append(changed, tool)
		}
	}
	return changed
}

// Approve stores the definition of a tool that is called. An error does not prevent the call.
func Approve(ctx context.Context, c *connect.Conn, tool *connect.Definition) {
	if Check(ctx, c, tool) == Approved {
		return
	}
	savePin(ctx, c, state.Pin{Tool: tool.Name, Revision: c.Revision(), Definition: storedForm(c, tool)})
	tool.Pin.Store(int32(Approved))
}

// savePin stores an approved definition. It warns about errors only with -v.
func savePin(ctx context.Context, c *connect.Conn, pin state.Pin) {
	if pin.At.IsZero() {
		pin.At = c.Env.Now()
	}
	if err := c.Store.Pins(storeKey(c)).Save(ctx, serverNames(c), pin); err != nil && c.Env.Verbose > 0 {
		c.Env.WarnOfState("the definition of " + pin.Tool + " was not stored: " + err.Error())
	}
}

// maxDefinition limits the definitions that are stored, in bytes. A hash replaces a larger one.
const maxDefinition = 1 << 20

// storedForm returns a definition as it is stored and compared: compact, and without secrets, which
// a server may repeat. A definition that is too large becomes a string with its hash.
func storedForm(c *connect.Conn, tool *connect.Definition) json.RawMessage {
	c.Env.Record.WriteWaiting() // learns the secrets in the waiting frames
	definition, _ := c.Env.Secrets.Bytes(jsonraw.Compact(tool.Raw))
	if len(definition) > maxDefinition {
		return jsonraw.Quote(fmt.Sprintf("sha256:%x", sha256.Sum256(definition)))
	}
	return definition
}

// compare returns the standing of a definition, and shows what changed since the approved one. For a
// tool that was never called it shows text that is addressed to a model. definition is the stored
// form of tool. If the approved definitions cannot be read, it warns and returns Approved.
func compare(ctx context.Context, c *connect.Conn, tool *connect.Definition, definition json.RawMessage) Standing {
	pins, err := c.Store.Pins(storeKey(c)).Of(tool.Name)
	if err != nil {
		if r := c.Env.Record.Recorder; r != nil {
			r.Flush() // the recording may fail for the same reason: its warning always comes first
		}
		c.Env.WarnOfState("the approved definitions cannot be read: " + err.Error())
		return Approved // a damaged store blocks no call, and nothing is written to it
	}
	if len(pins) == 0 { // never called
		warnOfModelText(c, tool)
		return New
	}
	old, isSameRevision := approvedPin(pins, c.Revision())
	if isSameRevision && isUnchanged(tool, old.Definition, definition) {
		return Approved
	}
	// A definition is an object; a too large one was replaced by a string with its hash.
	isHash := func(definition json.RawMessage) bool { return bytes.HasPrefix(definition, []byte(`"`)) }
	if isHash(old.Definition) || isHash(definition) {
		return showChanged(c, tool, old.At, ", and is too large for a comparison", nil, hasModelText(tool))
	}
	changes := diff.CompareTool(old.Definition, definition, Options())
	if !isSameRevision { // another revision has other members: compare what a model sees of the tool
		changes = diff.AsModel(changes)
	}
	// A harmless change is shown only if isQuestion finds a reason to ask the user all the same.
	isQuiet := func(ch diff.Change) bool { return harmlessRules[ch.Rule] && !isQuestion(ch) }
	shown := raiseQuestions(slices.DeleteFunc(slices.Clone(changes), isQuiet))
	if diff.Failing(shown, diff.Risky) > 0 {
		addsModelText := slices.ContainsFunc(shown, func(ch diff.Change) bool { return modelTextRules[ch.Rule] })
		return showChanged(c, tool, old.At, ":", shown, addsModelText)
	}
	if !isSameRevision { // the call stores the definition of this revision too
		return New
	}
	if len(shown) > 0 {
		noteChanges(ctx, c, old, shown)
	}
	return Approved
}

// isUnchanged reports whether the stored form of a tool, current, is equal to the approved one. A
// difference that consists only of the client's own hidden secrets is no change. A server cannot
// abuse this: text of its own that looks like a hidden secret makes every difference count.
func isUnchanged(tool *connect.Definition, approved, current json.RawMessage) bool {
	if bytes.Equal(approved, current) {
		return true
	}
	if redact.HasHiddenParts(string(tool.Raw)) {
		return false
	}
	return bytes.Equal(redact.Blank(approved), redact.Blank(current))
}

// warnOfModelText warns about each text in a definition that is addressed to a model.
func warnOfModelText(c *connect.Conn, tool *connect.Definition) {
	var unknownNames poison.Names // a call does not list the other tools
	for _, mark := range poison.Scan(tool.Raw, unknownNames) {
		if mark.Kind != poison.Size { // a large definition is no such text
			c.Env.UI.Warn("the definition of " + tool.Name + " has " + c.Env.Secrets.Text(mark.String()))
		}
	}
}

// approvedPin returns the pin to compare a definition with: the last pin of this protocol revision,
// otherwise the newest pin, and whether it is of this revision. There must be at least one pin.
func approvedPin(pins []state.Pin, revision string) (state.Pin, bool) {
	for _, p := range slices.Backward(pins) {
		if p.Revision == revision {
			return p, true
		}
	}
	return pins[len(pins)-1], false
}

// maxNewText is how many bytes of new text a title or a note in a schema may have without a
// question to the user.
const maxNewText = 100

// isQuestion reports whether the user has to confirm a change although it is harmless to callers:
// annotations that declare less turn off mcpc's own confirmation, and new text may instruct a
// model.
func isQuestion(ch diff.Change) bool {
	switch ch.Rule {
	case "annotation-safer", "argument-added":
		return true
	case "input-enum-added", "input-alternative-added", "default-added":
		return ch.NewText() > 0
	case "title-changed", "schema-note-changed":
		return ch.NewText() > maxNewText
	}
	return false
}

// maxShownValue limits how many bytes of a new value are shown.
const maxShownValue = 300

// raiseQuestions sets the level of each change that the user has to confirm to at least Risky, and
// returns the changes, sorted again. To the text of a new argument or a changed note it adds what a
// model would read. It modifies changes.
func raiseQuestions(changes []diff.Change) []diff.Change {
	for i, ch := range changes {
		if !isQuestion(ch) {
			continue
		}
		changes[i].Level = max(ch.Level, diff.Risky)
		if ch.Rule == "argument-added" || ch.Rule == "schema-note-changed" {
			changes[i].Text += ": " + sanitize.Line(jsonraw.Excerpt(ch.Is, maxShownValue), sanitize.Signs)
		}
	}
	return diff.Sorted(changes)
}

// modelTextRules are the rules of changes that add text for a model.
var modelTextRules = map[string]bool{
	"poison-hidden": true, "poison-instruction": true, "poison-secret": true, "poison-text": true,
}

// hasModelText reports whether a definition has text for a model.
func hasModelText(tool *connect.Definition) bool {
	return slices.ContainsFunc(poison.Scan(tool.Raw, nil), func(m poison.Mark) bool { return m.Kind != poison.Size })
}

// showChanged shows the changes of a tool and returns its standing. New lets the call go on without a
// question: the server is the user's own and the tool has no text that is addressed to a model
// (hasText), or a confirmed lock file has the present definition. Otherwise it returns Changed.
// storedAt is when the former definition was stored, by the user's approval or, for the user's own
// server, by a call. suffix ends the headline. changes may be nil.
func showChanged(
	c *connect.Conn,
	tool *connect.Definition,
	storedAt time.Time,
	suffix string,
	changes []diff.Change,
	hasText bool,
) Standing {
	headline := "the tool " + tool.Name + " of " + c.Where + " changed since it was "
	if isOwnServer(c) && !hasText {
		c.Env.UI.ShowChanges(wire.Info, headline+"last called"+suffix, changes)
		return New
	}
	if lock := LockWith(c, tool); lock != nil && lock.IsConfirmed(c.Env, c.Store) {
		c.Env.UI.Note(tool.Name + " changed since it was approved; " + lockfile.Name + " has it as it is now")
		return New
	}
	c.Env.UI.ShowChanges(wire.Warning, headline+"approved ("+english.Ago(c.Env.Now(), storedAt)+")"+suffix, changes)
	return Changed
}

// isOwnServer reports whether the user started the server, or it listens on this machine, and it is
// not a configured server of another program.
func isOwnServer(c *connect.Conn) bool {
	session := c.ServerSession()
	isHere := len(session.Command) > 0 || session.Endpoint == connect.DemoEndpoint || auth.IsLocal(session.Endpoint)
	return c.Origin == nil && isHere
}

// harmlessRules are the rules of changes that do not affect callers: the argument of a changed
// header field is sent anyway. Such changes are not stored, so that many small changes are noticed
// in total.
var harmlessRules = map[string]bool{
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

// noteChanges prints a note about harmless changes, once: the pin old stores the fingerprints of the
// changes that were noted, but keeps the approved definition.
func noteChanges(ctx context.Context, c *connect.Conn, old state.Pin, changes []diff.Change) {
	var fingerprints, texts []string
	for _, ch := range changes {
		fingerprints = append(fingerprints, ch.Fingerprint)
		if !slices.Contains(texts, ch.Text) {
			texts = append(texts, ch.Text)
		}
	}
	noted := strings.Join(fingerprints, " ")
	if noted == old.Noted {
		return
	}
	old.Noted = noted
	c.Env.UI.Note(old.Tool + " has harmless changes: " + strings.Join(texts, "; "))
	savePin(ctx, c, old)
}

// storeKey returns the key that the server's definitions are stored under. It is the same for a
// session and for its URL or command. It does not depend on tokens: they are renewed, and each new
// one would approve all tools unseen. The account distinguishes users. Values of header fields that
// are not secret are part of it, because tools may depend on them.
func storeKey(c *connect.Conn) string {
	session := c.ServerSession()
	parts := []string{session.Endpoint}
	switch {
	case c.Origin != nil:
		parts = []string{c.Origin.ID(), c.Origin.File} // an edited entry is still the same server
	case len(session.Command) > 0:
		folder, _ := os.Getwd() // a relative path names another command in another folder
		argv, _ := json.Marshal(session.Command)
		if session.Folder != "" {
			folder = session.Folder
		}
		parts = []string{string(argv), folder}
	case session.Endpoint == connect.DemoEndpoint:
		parts = append(parts, c.Env.Version)
	}
	parts = append(parts, "account "+c.Env.Auth.Account)
	for _, f := range c.Fields {
		if redact.RedactField(f) == f { // not secret
			parts = append(parts, f.Name+": "+f.Value)
		} else {
			parts = append(parts, f.Name)
		}
	}
	return strings.Join(parts, "\n")
}

// serverNames returns the names that the user knows the server by.
func serverNames(c *connect.Conn) []string {
	if c.Origin != nil {
		return []string{c.Origin.ID()}
	}
	if c.Saved == nil {
		return []string{c.Where}
	}
	var names []string
	if c.Saved.Endpoint != "" {
		names = []string{c.Env.Secrets.Text(redact.RedactURL(c.Saved.Endpoint))}
	}
	return append(names, c.Saved.Name)
}
