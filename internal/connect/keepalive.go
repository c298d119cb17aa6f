package connect

import (
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

// A Keeping has the flags --keep and --idle of mcpc init.
type Keeping struct {
	On   bool
	Idle time.Duration // 0 means defaultIdle, below 0 no limit
}

// defaultIdle is how long a kept server may be idle without --idle.
const defaultIdle = 10 * time.Minute

// Check returns an error if --idle is set without --keep.
func (k *Keeping) Check() error {
	if k.Idle != 0 && !k.On {
		return usage.New("--idle is the idle time of --keep", "use both, or neither")
	}
	return nil
}

// checkKeepable returns a failure if the server cannot be kept or needs no process that keeps it.
func (c *Conn) checkKeepable(server client.Server) wire.Outcome {
	if !canKeep {
		return usage.Outcome(usage.New("--keep needs unix sockets and process sessions, which this system does not have",
			"without --keep each command starts the server"))
	}
	if server.Pipe != nil {
		return usage.Outcome(usage.New("--keep needs a command after --; the demo server runs inside mcpc",
			wire.Run("init --keep -- mcpc demo --stdio")))
	}
	if server.URL != "" {
		return usage.Outcome(usage.New("--keep needs a command after --; over HTTP the server keeps the session",
			"later commands use it without --keep"))
	}
	if c.Store == nil {
		_, err := state.Open(c.Env.State) // fails again, with the reason why there is no store
		return StateFailed(err)
	}
	return wire.Outcome{}
}

// startKept makes opt start a process that starts the server and keeps it.
func (c *Conn) startKept(opt *client.Options, how *Keeping) {
	opt.Server.Keepalive = &keepalive.Dialer{Starts: true, Dial: func(context.Context) (net.Conn, error) {
		name := strings.ToLower(rand.Text()[:13]) // 65 random bits; the path of a socket must be short
		socket, err := c.Store.Socket(state.HeldSockets, name)
		if err != nil {
			return nil, err
		}
		keepalive.RemoveStaleSockets(filepath.Dir(socket))
		idle := how.Idle
		if idle == 0 {
			idle = defaultIdle
		}
		// In Keeping a negative time is no limit, in KeptServer 0.
		c.keptProcess = &state.KeptServer{Socket: socket, Idle: max(0, idle)}
		return startKeeper(c.Env, opt.Server, *c.keptProcess)
	}}
}

// dialKept makes opt connect to the kept server of the session. It stores in c.Env what
// explainLostServer needs if that server has exited.
func (c *Conn) dialKept(opt *client.Options) {
	socket := c.Saved.Held.Socket
	c.Env.Held = c.Saved
	c.Env.HeldUsed = c.Store.LastUsed(*c.Saved)
	if c.Env.HeldUsed.IsZero() {
		c.Env.HeldUsed = c.Saved.OpenedAt
	}
	opt.Server.Keepalive = &keepalive.Dialer{Dial: func(ctx context.Context) (net.Conn, error) {
		if err := state.CheckHeld(socket); err != nil {
			return nil, err
		}
		return keepalive.Dial(ctx, socket)
	}}
}

// IsKept reports whether the session's server process outlives commands.
func (c *Conn) IsKept() bool { return c.Saved != nil && c.Saved.Held != nil }

// Kept returns what is stored about the process that keeps the server of this connection, or nil.
func (c *Conn) Kept() *state.KeptServer {
	facts, ok := c.Keepalive()
	if !ok {
		return nil
	}
	if c.keptProcess == nil { // an earlier command started it
		return c.Saved.Held
	}
	c.keptProcess.PID = facts.PID
	c.keptProcess.Since = facts.Since
	return c.keptProcess
}

// StopKept stops the previous server of a session that has another one now. old may be nil.
func StopKept(ctx context.Context, e *host.Env, old *state.KeptServer) {
	if old == nil {
		return
	}
	if _, err := keepalive.Stop(ctx, old.Socket); err != nil && !errors.Is(err, keepalive.ErrGone) {
		e.UI.Warn("the previously kept server could not be stopped: " + host.Reason(err))
	}
}

// explainLostServer adds to a failed outcome why the kept server of the session has exited, and how
// to start it again. The server's memory is lost, so the user must know.
func explainLostServer(e *host.Env, o wire.Outcome) wire.Outcome {
	if e.Held == nil || o.Kind != wire.Transport {
		return o
	}
	if errors.Is(o.Err, keepalive.ErrGone) {
		keepalive.RemoveStaleSockets(filepath.Dir(e.Held.Held.Socket))
		o.Text = "the server of session " + strconv.Quote(e.Held.Name) + " has exited"
		if idle := e.Held.Held.Idle; idle > 0 && e.Now().Sub(e.HeldUsed) >= idle {
			o.Text += ": it was idle for " + english.Duration(idle)
		}
	}
	if o.Hint == "" {
		o.Hint = wire.Run("init --keep "+e.Held.Name) + " starts it again"
	}
	return o
}
