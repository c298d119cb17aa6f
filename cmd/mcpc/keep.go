package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A keeping is how long `mcpc init --keep` lets a server live without being used.
type keeping struct {
	on   bool
	idle time.Duration // 0 is keepIdle, below 0 none
}

// keepIdle is how long that is unless --idle says otherwise.
const keepIdle = 10 * time.Minute

func (k *keeping) check() error {
	if k.idle != 0 && !k.on {
		return hinted("--idle is the idle time of --keep", "use both, or neither")
	}
	return nil
}

func (k *keeping) limit() time.Duration { return max(0, cmp.Or(k.idle, keepIdle)) }

// mayKeep refuses to hold what needs no holder.
func (c *conversation) mayKeep(server client.Server) wire.Outcome {
	switch {
	case !canHold:
		return usage(hinted("--keep needs unix sockets and process sessions, which this system does not have",
			"without --keep each command starts the server"))
	case server.Pipe != nil:
		return usage(hinted("--keep needs a command after --; the demo server runs inside mcpc", wire.Run("init --keep -- mcpc demo --stdio")))
	case server.URL != "":
		return usage(hinted("--keep needs a command after --; over HTTP the server keeps the session",
			"later commands use it without --keep"))
	case c.store == nil:
		_, err := state.Open(c.a.state)
		return stateFailed(err)
	}
	return wire.Outcome{}
}

// startsHeld lets the server be started by a holder, which is started for it.
func (c *conversation) startsHeld(opt *client.Options, how *keeping) {
	opt.Server.Held = &client.HeldBy{Starts: true, Dial: func(context.Context) (net.Conn, error) {
		socket, err := c.store.HeldSocket()
		if err != nil {
			return nil, err
		}
		client.SweepHeld(filepath.Dir(socket))
		c.holding = &state.Held{Socket: socket, Idle: how.limit()}
		return startHolder(opt.Server, *c.holding)
	}}
}

// goesOnHeld leads to the server that the session holds.
func (c *conversation) goesOnHeld(opt *client.Options) {
	socket := c.saved.Held.Socket
	c.a.held, c.a.heldUsed = c.saved, cmp.Or(c.store.LastUsed(*c.saved), c.saved.OpenedAt)
	opt.Server.Held = &client.HeldBy{Dial: func(ctx context.Context) (net.Conn, error) {
		if err := state.CheckHeld(socket); err != nil {
			return nil, err
		}
		return client.DialHeld(ctx, socket)
	}}
}

// isHeld reports a session whose server lives on between commands.
func (c *conversation) isHeld() bool { return c.saved != nil && c.saved.Held != nil }

// heldNow is what is remembered of the holder of this conversation; nil where it has
// none.
func (c *conversation) heldNow() *state.Held {
	facts, ok := c.Held()
	switch {
	case !ok:
		return nil
	case c.holding == nil: // it was held before
		return c.saved.Held
	}
	c.holding.PID, c.holding.Since = facts.PID, facts.Since
	return c.holding
}

// letGo ends the server of a session that has another one now.
func (a *env) letGo(ctx context.Context, old *state.Held) {
	if old == nil {
		return
	}
	if _, err := client.EndHeld(ctx, old.Socket); err != nil && !errors.Is(err, client.ErrNotHeld) {
		a.ui.warn("the previously kept server could not be stopped: " + reason(err))
	}
}

// unheld says of a session whose server has gone what became of it, and how it comes
// back: what the server had in mind is lost, and nobody should find that out by chance.
func (a *env) unheld(o wire.Outcome) wire.Outcome {
	if a.held == nil || o.Kind != wire.Transport {
		return o
	}
	if errors.Is(o.Err, client.ErrNotHeld) {
		client.SweepHeld(filepath.Dir(a.held.Held.Socket))
		o.Text = "the server of session " + strconv.Quote(a.held.Name) + " has exited" + a.whyUnheld()
	}
	if o.Hint == "" {
		o.Hint = wire.Run("init --keep "+a.held.Name) + " starts it again"
	}
	return o
}

// whyUnheld is a reason that nobody wrote down: its time was over.
func (a *env) whyUnheld() string {
	idle := a.held.Held.Idle
	if idle == 0 || a.now().Sub(a.heldUsed) < idle {
		return ""
	}
	return ": it was idle for " + client.Short(idle)
}
