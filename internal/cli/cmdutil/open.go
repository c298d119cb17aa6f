package cmdutil

import (
	"context"

	"mcpc/internal/connect"
	"mcpc/internal/wire"
)

// Open finds the server a command means and opens or resumes the conversation
// with it. A caller must close it, also after an outcome that is not good.
func (a *Factory) Open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if a.Shell != nil {
		return a.Shell.Lend(how)
	}
	if o := Writable(a.Output); !o.Good() {
		return &connect.Conn{Env: &a.Env}, o
	}
	stop := Ticking(a)
	ShowTraffic(a, a.Verbose, a.Explain)
	c, o := connect.Dial(ctx, &a.Env, how)
	c.StopTicking = stop
	if !o.Good() && c.Dialed {
		Explained(a)
	}
	return c, o
}

// Close closes the connection of a command.
func (a *Factory) Close(ctx context.Context, c *connect.Conn) {
	if out := connect.Close(ctx, c); !out.Good() {
		a.EndAlso(out)
	}
}
