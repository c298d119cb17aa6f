package cmdutil

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"mcpc/internal/wire"
)

func TestServeHTTPEndsWithItsContextOrItsListener(t *testing.T) {
	for _, c := range []struct {
		name string
		// end ends the server from inside a request.
		end  func(stop context.CancelFunc, listener net.Listener)
		want wire.Kind
	}{
		{"context", func(stop context.CancelFunc, _ net.Listener) { stop() }, wire.Signal},
		{"listener", func(_ context.CancelFunc, listener net.Listener) { listener.Close() }, wire.LocalIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				end := func(http.ResponseWriter, *http.Request) { c.end(stop, listener) }
				ended <- ServeHTTP(ctx, listener, http.HandlerFunc(end))
			}()
			if resp, err := http.Get("http://" + listener.Addr().String()); err == nil {
				resp.Body.Close()
			}
			exit, ok := errors.AsType[*ExitError](<-ended)
			if !ok || exit.Outcome.Kind != c.want {
				t.Errorf("got %v, want %s", exit, c.want)
			}
		})
	}
}
