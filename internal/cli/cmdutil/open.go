package cmdutil

import (
	"context"

	"mcpc/internal/connect"
	"mcpc/internal/wire"
)

// Open finds the server that a command means, and opens or resumes the connection with it.
// End closes it, once it has reported how the command ended: a server may take long to exit.
func (a *Factory) Open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if a.Shell != nil {
		c, o := a.Shell.Lend(how)
		a.conn = c
		return c, o
	}
	if o := Writable(a.Output); !o.Good() {
		return &connect.Conn{Env: &a.Env}, o
	}
	stop := Ticking(a)
	ShowTraffic(a, a.Verbose, a.Explain)
	c, o := connect.Dial(ctx, &a.Env, how)
	c.StopTicking = stop
	a.conn = c
	if !o.Good() && c.Dialed {
		Explained(ctx, a)
	}
	return c, o
}

// Close closes a connection of a command that goes on without it.
func (a *Factory) Close(ctx context.Context, c *connect.Conn) error {
	a.conn = nil
	return Exit(c.Close(ctx))
}
