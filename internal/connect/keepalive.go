package connect

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Keeping is how long `mcpc init --keep` lets a server live without being used.
type Keeping struct {
	On   bool
	Idle time.Duration // 0 is keepIdle, below 0 none
}

// keepIdle is how long that is unless --idle says otherwise.
const keepIdle = 10 * time.Minute

func (k *Keeping) Check() error {
	if k.Idle != 0 && !k.On {
		return usage.New("--idle is the idle time of --keep", "use both, or neither")
	}
	return nil
}

// mayKeep refuses to hold what needs no holder.
func (c *Conn) mayKeep(server client.Server) wire.Outcome {
	switch {
	case !canHold:
		return usage.Outcome(usage.New("--keep needs unix sockets and process sessions, which this system does not have",
			"without --keep each command starts the server"))
	case server.Pipe != nil:
		return usage.Outcome(
			usage.New(
				"--keep needs a command after --; the demo server runs inside mcpc",
				wire.Run("init --keep -- mcpc demo --stdio"),
			),
		)
	case server.URL != "":
		return usage.Outcome(usage.New("--keep needs a command after --; over HTTP the server keeps the session",
			"later commands use it without --keep"))
	case c.Store == nil:
		_, err := state.Open(c.Env.State)
		return StateFailed(err)
	}
	return wire.Outcome{}
}

// startsHeld lets the server be started by a holder, which is started for it.
func (c *Conn) startsHeld(opt *client.Options, how *Keeping) {
	opt.Server.Keepalive = &keepalive.Dialer{Starts: true, Dial: func(context.Context) (net.Conn, error) {
		socket, err := c.Store.Socket(state.HeldSockets, strings.ToLower(rand.Text()[:13]))
		if err != nil {
			return nil, err
		}
		keepalive.RemoveStaleSockets(filepath.Dir(socket))
		c.holding = &state.KeptServer{Socket: socket, Idle: max(0, cmp.Or(how.Idle, keepIdle))}
		return startHolder(c.Env, opt.Server, *c.holding)
	}}
}

// goesOnHeld leads to the server that the session holds.
func (c *Conn) goesOnHeld(opt *client.Options) {
	socket := c.Saved.Held.Socket
	c.Env.Held, c.Env.HeldUsed = c.Saved, cmp.Or(c.Store.LastUsed(*c.Saved), c.Saved.OpenedAt)
	opt.Server.Keepalive = &keepalive.Dialer{Dial: func(ctx context.Context) (net.Conn, error) {
		if err := state.CheckHeld(socket); err != nil {
			return nil, err
		}
		return keepalive.Dial(ctx, socket)
	}}
}

// IsKept reports a session whose server lives on between commands.
func (c *Conn) IsKept() bool { return c.Saved != nil && c.Saved.Held != nil }

// Kept is what is remembered of the holder of this conversation; nil where it has
// none.
func (c *Conn) Kept() *state.KeptServer {
	facts, ok := c.Keepalive()
	if !ok {
		return nil
	}
	if c.holding == nil { // it was held before
		return c.Saved.Held
	}
	c.holding.PID = facts.PID
	c.holding.Since = facts.Since
	return c.holding
}

// StopKept ends the server of a session that has another one now.
func StopKept(ctx context.Context, e *host.Env, old *state.KeptServer) {
	if old == nil {
		return
	}
	if _, err := keepalive.Stop(ctx, old.Socket); err != nil && !errors.Is(err, keepalive.ErrGone) {
		e.UI.Warn("the previously kept server could not be stopped: " + host.Reason(err))
	}
}

// explainLostServer adds to the outcome of a session whose server has gone why it exited,
// and how to start it again: the server's memory is lost, which the user should be told.
func explainLostServer(e *host.Env, o wire.Outcome) wire.Outcome {
	if e.Held == nil || o.Kind != wire.Transport {
		return o
	}
	if errors.Is(o.Err, keepalive.ErrGone) {
		keepalive.RemoveStaleSockets(filepath.Dir(e.Held.Held.Socket))
		o.Text = "the server of session " + strconv.Quote(e.Held.Name) + " has exited"
		if idle := e.Held.Held.Idle; idle > 0 && e.Now().Sub(e.HeldUsed) >= idle { // which no recording has
			o.Text += ": it was idle for " + english.Duration(idle)
		}
	}
	if o.Hint == "" {
		o.Hint = wire.Run("init --keep "+e.Held.Name) + " starts it again"
	}
	return o
}
