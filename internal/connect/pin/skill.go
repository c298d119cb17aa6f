package pin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"

	"mcpc/internal/connect"
	"mcpc/internal/skill"
	"mcpc/internal/state"
)

// Server identifies the server of a connection, as the store of approved definitions does: a hash.
func Server(c *connect.Conn) string {
	sum := sha256.Sum256([]byte(key(c)))
	return hex.EncodeToString(sum[:])
}

// pinOf is the name of a skill's pin. No tool can be called so.
func pinOf(e *skill.Entry) string { return "skill " + e.URI }

// Skill reports whether the files of a skill are those that were approved, and what changed where
// others were. A dynamic skill is always New.
func Skill(c *connect.Conn, e *skill.Entry) (now Standing, changes []string) {
	print := e.Print()
	if c.Store == nil || print == nil {
		return New, nil
	}
	pins, err := c.Store.Pins(key(c)).Of(pinOf(e))
	if err != nil {
		c.Env.WarnOfState("the approved definitions cannot be read: " + err.Error())
		return New, nil
	}
	if len(pins) == 0 {
		return New, nil
	}
	if bytes.Equal(pins[len(pins)-1].Definition, print) {
		return Approved, nil
	}
	return Changed, skill.Changed(pins[len(pins)-1].Definition, print)
}

// ApproveSkill remembers the files of a skill, in place of those that were approved before.
func ApproveSkill(ctx context.Context, c *connect.Conn, e *skill.Entry) {
	if print := e.Print(); c.Store != nil && print != nil {
		save(ctx, c, state.Pin{Tool: pinOf(e), Definition: print})
	}
}
