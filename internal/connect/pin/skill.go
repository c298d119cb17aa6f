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

// Server returns a hash that identifies the server of a connection in the store of approved
// definitions.
func Server(c *connect.Conn) string {
	sum := sha256.Sum256([]byte(storeKey(c)))
	return hex.EncodeToString(sum[:])
}

// pinName returns the name of a skill's pin. No tool can have it.
func pinName(e *skill.Entry) string { return "skill " + e.URI }

// Skill returns the standing of a skill's files, and what changed since they were approved. It is New
// if they were never approved or nothing can be stored; a dynamic skill, whose files have no hashes,
// is always New.
func Skill(c *connect.Conn, e *skill.Entry) (Standing, []string) {
	fingerprint := e.Print()
	if c.Store == nil || fingerprint == nil {
		return New, nil
	}
	pins, err := c.Store.Pins(storeKey(c)).Of(pinName(e))
	if err != nil {
		c.Env.WarnOfState("the approved definitions cannot be read: " + err.Error())
		return New, nil
	}
	if len(pins) == 0 {
		return New, nil
	}
	approved := pins[len(pins)-1].Definition // the newest
	if bytes.Equal(approved, fingerprint) {
		return Approved, nil
	}
	return Changed, skill.Changed(approved, fingerprint)
}

// ApproveSkill stores the files of a skill as approved, in place of the previous ones.
func ApproveSkill(ctx context.Context, c *connect.Conn, e *skill.Entry) {
	if fingerprint := e.Print(); c.Store != nil && fingerprint != nil {
		savePin(ctx, c, state.Pin{Tool: pinName(e), Definition: fingerprint})
	}
}
