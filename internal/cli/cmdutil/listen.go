package cmdutil

import (
	"fmt"
	"net"
	"strconv"

	"mcpc/internal/loopback"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ListenLoopback opens a loopback port for a server without authentication.
func ListenLoopback(address string) (net.Listener, wire.Outcome) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		hint := "--listen 127.0.0.1:3001"
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			hint = "--listen 127.0.0.1:" + address
		}
		return nil, usage.Outcome(usage.New(fmt.Sprintf("--listen must be HOST:PORT, not %q", address), wire.Hint(hint)))
	}
	if !loopback.IsLoopback(host) {
		return nil, wire.Outcome{Kind: wire.Refused, Text: fmt.Sprintf("the listen address must be loopback, not %q", host),
			Hint: wire.Hint("--listen 127.0.0.1:" + port)}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, wire.Outcome{Kind: wire.LocalIO, Text: "listening on " + address + ": " + err.Error(), Err: err,
			Hint: "--listen 127.0.0.1:0 takes a free port"}
	}
	return listener, wire.Outcome{}
}
