//go:build !unix

package connect

import (
	"errors"
	"net"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/state"
)

// canKeep is false: no process can outlive the terminal as it does in a Unix session.
const canKeep = false

func startKeeper(*host.Env, client.Server, state.KeptServer) (net.Conn, error) {
	return nil, errors.New("init --keep is not supported on this system")
}
