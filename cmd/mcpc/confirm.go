package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// confirmWords are what --confirm takes: what is asked about before a tool is called.
var confirmWords = []string{"auto", "always", "never"}

// confirmed asks before a tool is called that is marked as destructive, or whose
// server stands in another program's file and was not confirmed for good. What a tool
// declares may add caution; nothing that it says takes any away.
func (c *conversation) confirmed(ctx context.Context, tool *definition, o callRequest) wire.Outcome {
	if o.yes {
		return wire.Outcome{}
	}
	why, always := c.whyConfirm(tool)
	if why == "" {
		return wire.Outcome{}
	}
	refused := wire.Outcome{Kind: wire.Refused, Method: "tools/call", Name: o.name, Where: c.where, Phase: "arguments",
		Text: fmt.Sprintf("the tool %q %s, and the call was not confirmed", o.name, why),
		Hint: "--yes calls it without a confirmation"}
	if c.origin != nil && !c.trusted {
		refused.Hint += "; " + wire.Run("trust "+shellwords.Quote(c.origin.ID())) + " trusts the server"
	}
	if !c.a.ui.interactive() {
		return refused
	}
	question := fmt.Sprintf("%s of %s %s. Call it with %s?", o.name, c.where, why, c.a.secrets.Text(wire.Excerpt(wire.Compact(o.arguments), 400)))
	offered := ""
	if always {
		offered = "/always for exactly this tool"
	}
	switch answer := c.a.ui.askAlways(ctx, question, offered); {
	case answer == "always" && always:
		c.trustTool(ctx, tool)
	case answer == "yes":
	case ctx.Err() != nil:
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	default:
		refused.Text, refused.Hint = "the call was not confirmed", ""
		return refused
	}
	return wire.Outcome{}
}

// whyConfirm says what a call is asked about for, or "", and whether the answer may be
// remembered.
func (c *conversation) whyConfirm(tool *definition) (why string, always bool) {
	switch untrusted := c.origin != nil && !c.trusted; {
	case c.a.confirm == "never":
	case tool != nil && tool.Hints.Destructive != nil && *tool.Hints.Destructive:
		return "is marked as destructive", false
	case c.a.confirm == "always":
		return "needs a confirmation (--confirm always)", false
	case untrusted && !c.toolTrusted(tool):
		return "belongs to a server of " + c.a.tilde(c.origin.File) + " that is not trusted", tool != nil
	}
	return "", false
}

// toolPrint is what is confirmed of a tool: its whole definition, at that server.
func (c *conversation) toolPrint(tool *definition) string {
	sum := sha256.Sum256([]byte(c.origin.Fingerprint() + "\n" + string(wire.Compact(tool.Raw))))
	return hex.EncodeToString(sum[:])
}

func (c *conversation) toolTrusted(tool *definition) bool {
	return tool != nil && slices.ContainsFunc(c.a.trusts(c.store), func(t state.Trust) bool {
		return t.Tool == tool.Name && t.Fingerprint == c.toolPrint(tool)
	})
}

func (c *conversation) trustTool(ctx context.Context, tool *definition) {
	err := error(nil)
	if c.store != nil {
		err = c.store.SaveTrust(ctx, state.Trust{Fingerprint: c.toolPrint(tool), Server: c.origin.ID(), File: c.origin.File, Tool: tool.Name, At: c.a.now()})
	}
	if err != nil {
		c.a.ui.warn("it could not be stored: " + err.Error())
	}
}
