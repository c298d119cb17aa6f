package main

import (
	"context"
	"net"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/wire"
)

// newHold is the process in which a server lives that `mcpc init --keep` keeps. Nobody
// types it: its standard input is a socket to the command that opens the session.
func newHold(a *app) *cobra.Command {
	var socket string
	var idle time.Duration
	cmd := &cobra.Command{
		Use:    "hold --socket PATH -- COMMAND...",
		Short:  "keep a server running for mcpc init --keep",
		Hidden: true,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			opener, err := net.FileConn(a.in)
			if err != nil || socket == "" || len(own) > 0 || len(argv) == 0 {
				return hinted("hold is started by mcpc init --keep", wire.Run("init --keep -- COMMAND..."))
			}
			_ = a.in.Close()
			a.hold(cmd.Context(), client.Holding{Server: client.Server{Command: argv}, Idle: max(0, idle), Socket: socket,
				Message: a.limits.WithDefaults().Message, Opener: opener, Now: a.now})
			return nil
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "socket to listen on")
	cmd.Flags().Var((*seconds)(&idle), "idle", "stop the server after this idle time (0 never)")
	return cmd
}

func (a *app) hold(ctx context.Context, h client.Holding) {
	a.talking.Store(true)
	defer a.talking.Store(false)
	client.Hold(ctx, h)
}
