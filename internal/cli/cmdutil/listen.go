package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"mcpc/internal/loopback"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ListenLoopback listens on a loopback address HOST:PORT, for servers without authentication. It
// fails for any other address. flag is the flag that has the address, for the outcome of a failure.
func ListenLoopback(flag, address string) (net.Listener, wire.Outcome) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		hint := flag + " 127.0.0.1:3001"
		if _, err := strconv.ParseUint(address, 10, 16); err == nil { // only a port was typed
			hint = flag + " 127.0.0.1:" + address
		}
		return nil, usage.Outcome(usage.New(fmt.Sprintf("%s must be HOST:PORT, not %q", flag, address), wire.Hint(hint)))
	}
	if !loopback.IsLoopback(host) {
		return nil, wire.Outcome{
			Kind: wire.Refused, Text: fmt.Sprintf("the listen address must be loopback, not %q", host),
			Hint: wire.Hint(flag + " 127.0.0.1:" + port),
		}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, wire.Outcome{
			Kind: wire.LocalIO, Text: "listening on " + address + ": " + err.Error(), Err: err,
			Hint: wire.Hint(flag + " 127.0.0.1:0 takes a free port"),
		}
	}
	return listener, wire.Outcome{}
}

// ServeHTTP serves the handler on the listener until ctx ends, which is the outcome Signal, or the
// listener fails. It then closes the open connections, and does not wait for their streams.
func ServeHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return Exit(usage.LocalIO("serving", err))
	}
	return Exit(wire.Outcome{Kind: wire.Signal})
}
