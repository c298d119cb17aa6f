//go:build !unix

package connect

import (
	"errors"
	"net"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/state"
)

// canHold: there is no session of processes to live in when the terminal has gone.
const canHold = false

func startHolder(*host.Env, client.Server, state.KeptServer) (net.Conn, error) {
	return nil, errors.New("keeping a server is not supported on this system")
}
