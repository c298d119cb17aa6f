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

// ConfirmWords are what --confirm takes: what is asked about before a tool is called.
var ConfirmWords = []string{"auto", "always", "never"}

// Confirmed asks before a tool is called that is marked as destructive, that is no longer what
// was approved, or whose server is from another program's file and was not confirmed for good.
// What a tool declares may add caution; nothing that it says takes any away. A tool that is
// called is approved as it is.
func Confirmed(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) wire.Outcome {
	out := confirmed(ctx, c, tool, o)
	unasked := c.Env.Confirm == "never" && !o.Yes && pin.Check(ctx, c, tool) == pin.Changed
	if out.Good() && !unasked {
		pin.Approve(ctx, c, tool)
	}
	return out
}

// unchanged refuses, before the arguments are looked at, a tool that is no longer what was
// approved, where there is no user to ask.
func unchanged(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) wire.Outcome {
	if pin.Check(ctx, c, tool) != pin.Changed || o.Yes || c.Env.Confirm == "never" || c.Env.UI.Interactive() {
		return wire.Outcome{}
	}
	return unconfirmed(c, o, whyChanged, pin.LockWith(c, tool))
}

// whyChanged says why a tool that is no longer what was approved is asked about.
const whyChanged = "changed since it was approved"

// unconfirmed returns the outcome of a call that was not sent for want of a confirmation. lock is the
// lock file that has a changed tool as it is now, or nil.
func unconfirmed(c *connect.Conn, o Request, why string, lock *pin.Lock) wire.Outcome {
	refused := wire.Outcome{Kind: wire.Refused, Method: "tools/call", Name: o.Name, Where: c.Where, Phase: "arguments",
		Text: fmt.Sprintf("the tool %q %s, and the call was not confirmed", o.Name, why),
		Hint: "--yes calls it without a confirmation"}
	if why == whyChanged {
		refused.Hint = "--yes approves the tool as it is now, and calls it"
		if lock != nil {
			refused.Hint += "; " + wire.Run("trust "+lockfile.Name+" --yes") +
				" confirms that file, which has the tool as it is now"
		}
	}
	if c.Origin != nil && !c.Trusted {
		refused.Hint += "; " + wire.Run("trust "+shellwords.Quote(c.Origin.ID())) + " trusts the server"
	}
	return refused
}

func confirmed(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) wire.Outcome {
	changed := pin.Check(ctx, c, tool) == pin.Changed
	if o.Yes {
		return wire.Outcome{}
	}
	why, always := whyConfirm(c, tool)
	var lock *pin.Lock
	if changed && c.Env.Confirm != "never" {
		why = whyChanged
		lock = pin.LockWith(c, tool)
	}
	if why == "" {
		return wire.Outcome{}
	}
	refused := unconfirmed(c, o, why, lock)
	if !c.Env.UI.Interactive() {
		return refused
	}
	action := "Call it"
	if changed {
		action = "Approve it as it is now, and call it"
	}
	question := fmt.Sprintf(
		"%s of %s %s. %s with %s?",
		o.Name,
		c.Where,
		why,
		action,
		c.Env.Secrets.Text(jsonraw.Excerpt(jsonraw.Compact(o.Arguments), 400)),
	)
	offered := ""
	if lock != nil {
		offered = "/always for all tools of this " + lockfile.Name
	} else if always {
		offered = "/always for exactly this tool"
	}
	switch answer := c.Env.UI.AskAlways(ctx, question, offered); {
	case answer == "always" && lock != nil:
		if err := lock.Confirm(ctx, c.Env, c.Store); err != nil {
			c.Env.WarnOfState("it could not be stored: " + err.Error())
		}
	case answer == "always" && always:
		trustTool(ctx, c, tool)
	case answer == "yes":
	case ctx.Err() != nil:
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	default:
		refused.Text = "the call was not confirmed"
		refused.Hint = ""
		return refused
	}
	return wire.Outcome{}
}

// whyConfirm says what a call is asked about for, or "", and whether the answer may be
// remembered.
func whyConfirm(c *connect.Conn, tool *connect.Definition) (why string, always bool) {
	switch untrusted := c.Origin != nil && !c.Trusted; {
	case c.Env.Confirm == "never":
	case tool != nil && tool.Hints.IsDestructive():
		return "is marked as destructive" + likeAll(c), false
	case c.Env.Confirm == "always":
		return "needs a confirmation (--confirm always)", false
	case untrusted && !toolTrusted(c, tool):
		return "belongs to a server of " + c.Env.Tilde(c.Origin.File) + " that is not trusted", tool != nil
	}
	return "", false
}

// likeAll says that a server marks all its tools as destructive, as frameworks do whose authors set nothing; "" if it
// does not, or has few.
func likeAll(c *connect.Conn) string {
	const few = 3
	entries := c.RememberedEntries(connect.ToolKind)
	destructive := func(entry state.Tool) bool {
		tool, _ := mcp.ParseTool(entry.Raw)
		return tool.Hints.IsDestructive()
	}
	isOther := func(entry state.Tool) bool { return !destructive(entry) }
	if len(entries) < few || slices.ContainsFunc(entries, isOther) {
		return ""
	}
	return fmt.Sprintf(", as are all %d tools of this server", len(entries))
}

// toolPrint is what is confirmed of a tool: its whole definition, at that server.
func toolPrint(c *connect.Conn, tool *connect.Definition) string {
	sum := sha256.Sum256([]byte(c.Origin.Fingerprint() + "\n" + string(jsonraw.Compact(tool.Raw))))
	return hex.EncodeToString(sum[:])
}

func toolTrusted(c *connect.Conn, tool *connect.Definition) bool {
	return tool != nil && slices.ContainsFunc(c.Env.Trusts(c.Store), func(t state.Trust) bool {
		return t.Tool == tool.Name && t.Fingerprint == toolPrint(c, tool)
	})
}

func trustTool(ctx context.Context, c *connect.Conn, tool *connect.Definition) {
	err := error(nil)
	if c.Store != nil {
		err = c.Store.Trusts().Save(
			ctx,
			state.Trust{
				Fingerprint: toolPrint(c, tool),
				Server:      c.Origin.ID(),
				File:        c.Origin.File,
				Tool:        tool.Name,
				At:          c.Env.Now(),
			},
		)
	}
	if err != nil {
		c.Env.WarnOfState("it could not be stored: " + err.Error())
	}
}
