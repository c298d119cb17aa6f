package cmdutil

import (
	"context"

	"mcpc/internal/cli/outfile"
	"mcpc/internal/connect"
	"mcpc/internal/wire"
)

// Open finds the server that a command means, and opens or resumes the connection with it.
// End closes it, once it has reported how the command ended: a server may take long to exit.
func (f *Factory) Open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if f.Shell != nil {
		c, o := f.Shell.Lend(how)
		f.conn = c
		return c, o
	}
	if o := outfile.Writable(f.Output); !o.Good() {
		return &connect.Conn{Env: &f.Env}, o
	}
	stop := StartSpinner(f)
	ShowTraffic(f, f.Verbose, f.Explain)
	c, o := connect.Dial(ctx, &f.Env, how)
	c.StopTicking = stop
	f.conn = c
	if !o.Good() && c.Dialed {
		Explained(ctx, f)
	}
	return c, o
}

// Close closes a connection of a command that goes on without it.
func (f *Factory) Close(ctx context.Context, c *connect.Conn) error {
	f.conn = nil
	return Exit(c.Close(ctx))
}
