package toolcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"mcpc/internal/connect"
	"mcpc/internal/connect/pin"
	"mcpc/internal/diff/lockfile"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// ConfirmWords are the values of --confirm.
var ConfirmWords = []string{"auto", "always", "never"}

// Confirmed asks the user before a call of a tool that is marked as destructive, that changed since
// it was approved, or whose server is from another program's file and not trusted. What a tool
// declares may add a question, but never removes one. A call that is confirmed approves the tool. It
// returns an empty outcome if the tool may be called, otherwise why not. tool may be nil.
func Confirmed(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) wire.Outcome {
	out := askConfirmation(ctx, c, tool, o)
	// --confirm never allows the call, but the user has not approved the change.
	isUnapproved := c.Env.Confirm == "never" && !o.Yes && pin.Check(ctx, c, tool) == pin.Changed
	if out.OK() && !isUnapproved {
		pin.Approve(ctx, c, tool)
	}
	return out
}

// refuseChanged returns a failure for a tool that changed since it was approved if no user can be
// asked. It runs before the arguments are checked.
func refuseChanged(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) wire.Outcome {
	isChanged := pin.Check(ctx, c, tool) == pin.Changed
	mayCall := o.Yes || c.Env.Confirm == "never"
	if !isChanged || mayCall || c.Env.UI.Interactive() {
		return wire.Outcome{}
	}
	return notConfirmedOutcome(c, o, changedReason, isChanged, pin.LockWith(c, tool))
}

// changedReason is the reason to confirm a changed tool.
const changedReason = "changed since it was approved"

// A NotConfirmed is the Err of the outcome of a call that needs a confirmation and did not get one.
type NotConfirmed struct{ Tool, Why string }

// Error says why the call needs a confirmation.
func (e *NotConfirmed) Error() string { return fmt.Sprintf("the tool %q %s", e.Tool, e.Why) }

// notConfirmedOutcome returns the outcome of a call that the user did not confirm. isChanged is set
// if the tool changed since it was approved; lock is then the lock file with its present
// definition, or nil.
func notConfirmedOutcome(c *connect.Conn, o Request, why string, isChanged bool, lock *pin.Lock) wire.Outcome {
	reason := &NotConfirmed{Tool: o.Name, Why: why}
	refused := wire.Outcome{
		Kind: wire.Refused, Method: "tools/call", Name: o.Name, ServerName: c.Where, Phase: "arguments",
		Text: reason.Error() + ", and the call was not confirmed",
		Hint: "--yes calls it without asking for confirmation",
		Err:  reason,
	}
	if isChanged {
		refused.Hint = "--yes approves the tool as it is now, and calls it"
		if lock != nil {
			refused.Hint += "; " + wire.Run("servers trust "+lockfile.Name+" --yes") +
				" confirms that file, which has the tool as it is now"
		}
	}
	if c.Origin != nil && !c.Trusted {
		refused.Hint += "; " + wire.Run("servers trust "+shellwords.Quote(c.Origin.ID())) + " trusts the server"
	}
	return refused
}

// askConfirmation asks the user whether the tool may be called, if that is necessary, and returns an
// empty outcome if it may be called. The answer "always" is stored.
func askConfirmation(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) wire.Outcome {
	changed := pin.Check(ctx, c, tool) == pin.Changed // shows what changed, also with --yes
	if o.Yes {
		return wire.Outcome{}
	}
	why, canStore := confirmReason(c, tool)
	var lock *pin.Lock
	asksForChange := changed && c.Env.Confirm != "never"
	if asksForChange {
		why = changedReason
		lock = pin.LockWith(c, tool)
	}
	if why == "" {
		return wire.Outcome{}
	}
	refused := notConfirmedOutcome(c, o, why, asksForChange, lock)
	if !c.Env.UI.Interactive() {
		return refused
	}
	action := "Call it"
	if changed { // also with --confirm never
		action = "Approve it as it is now, and call it"
	}
	shown := c.Env.Secrets.Text(jsonraw.Excerpt(jsonraw.Compact(o.Arguments), 400))
	question := fmt.Sprintf("%s of %s %s. %s with %s?", o.Name, c.Where, why, action, shown)
	offered := ""
	if lock != nil {
		offered = "/always for all tools of this " + lockfile.Name
	} else if canStore {
		offered = "/always for exactly this tool"
	}
	answer := c.Env.UI.AskAlways(ctx, question, offered)
	if answer == "yes" {
		return wire.Outcome{}
	}
	if answer == "always" && lock != nil {
		if err := lock.Confirm(ctx, c.Env, c.Store); err != nil {
			c.Env.WarnOfState("it could not be stored: " + err.Error())
		}
		return wire.Outcome{}
	}
	if answer == "always" && canStore {
		trustTool(ctx, c, tool)
		return wire.Outcome{}
	}
	if ctx.Err() != nil {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	refused.Text = "the call was not confirmed"
	refused.Hint = "" // the user has just decided
	return refused
}

// confirmReason returns why a call has to be confirmed, or "". canStore reports whether the user may
// answer for later calls too. tool may be nil. A change of the tool is no reason here.
func confirmReason(c *connect.Conn, tool *connect.Definition) (why string, canStore bool) {
	if c.Env.Confirm == "never" {
		return "", false
	}
	if tool != nil && tool.Hints.IsDestructive() {
		return "is marked as destructive" + allDestructiveRemark(c), false
	}
	if c.Env.Confirm == "always" {
		return "needs a confirmation (--confirm always)", false
	}
	isTrusted := c.Origin == nil || c.Trusted
	if !isTrusted && !isToolTrusted(c, tool) {
		return "belongs to a server of " + c.Env.Tilde(c.Origin.File) + " that is not trusted", tool != nil
	}
	return "", false
}

// allDestructiveRemark returns a remark if the server marks all its tools as destructive, as
// frameworks do by default. Returns "" if it does not, or has only a few tools.
func allDestructiveRemark(c *connect.Conn) string {
	const minTools = 3
	entries := c.RememberedEntries(connect.ToolKind)
	isHarmless := func(entry state.Tool) bool {
		tool, _ := mcp.ParseTool(entry.Raw)
		return !tool.Hints.IsDestructive()
	}
	if len(entries) < minTools || slices.ContainsFunc(entries, isHarmless) {
		return ""
	}
	return fmt.Sprintf(", as are all %d tools of this server", len(entries))
}

// toolFingerprint returns a hash of a tool's definition and its server: what the user confirms.
func toolFingerprint(c *connect.Conn, tool *connect.Definition) string {
	sum := sha256.Sum256([]byte(c.Origin.Fingerprint() + "\n" + string(jsonraw.Compact(tool.Raw))))
	return hex.EncodeToString(sum[:])
}

// isToolTrusted reports whether the user has trusted exactly this tool. tool may be nil.
func isToolTrusted(c *connect.Conn, tool *connect.Definition) bool {
	return tool != nil && slices.ContainsFunc(c.Env.Trusts(c.Store), func(t state.Trust) bool {
		return t.Tool == tool.Name && t.Fingerprint == toolFingerprint(c, tool)
	})
}

// trustTool stores that the user trusts exactly this tool.
func trustTool(ctx context.Context, c *connect.Conn, tool *connect.Definition) {
	if c.Store == nil {
		return
	}
	err := c.Store.Trusts().Save(ctx, state.Trust{
		Fingerprint: toolFingerprint(c, tool),
		Server:      c.Origin.ID(),
		File:        c.Origin.File,
		Tool:        tool.Name,
		At:          c.Env.Now(),
	})
	if err != nil {
		c.Env.WarnOfState("it could not be stored: " + err.Error())
	}
}
