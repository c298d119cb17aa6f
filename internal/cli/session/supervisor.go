package session

import (
	"net"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/client/process"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewSupervisor returns the hidden command that runs a server for mcpc init --keep. Its standard
// input is a socket to the command that opens the session.
func NewSupervisor(f *cmdutil.Factory) *cobra.Command {
	var socket string
	var idle time.Duration
	cmd := &cobra.Command{
		Use:    "hold --socket PATH -- COMMAND...",
		Short:  "keep a server running for mcpc init --keep",
		Hidden: true,

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			notByHand := usage.New("hold is started by mcpc init --keep", wire.Run("init --keep -- COMMAND..."))
			in := tty.File(f.In)
			if in == nil || socket == "" || len(own) > 0 || len(argv) == 0 {
				return notByHand
			}
			opener, err := net.FileConn(in)
			if err != nil {
				return notByHand
			}
			_ = in.Close()            // opener has a copy of it
			f.IsConnected.Store(true) // a signal then ends the context, and Run stops the server
			defer f.IsConnected.Store(false)
			keepalive.Run(cmd.Context(), keepalive.Options{
				Command: process.Command{Args: argv},
				Idle:    max(0, idle),
				Socket:  socket,
				Message: f.Limits.WithDefaults().Message,
				Opener:  opener,
				Now:     f.Now,
			})
			return nil
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "socket to listen on")
	cmd.Flags().Var((*cmdutil.Seconds)(&idle), "idle", "stop the server after this idle time (0 never)")
	return cmd
}
