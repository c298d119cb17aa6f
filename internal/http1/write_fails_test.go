package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

var errNoWrite = errors.New("operation not permitted")

// A mute is a connection on which nothing can be written.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, errNoWrite }

// A request that cannot be written ends, although the server keeps the connection open.
func TestWriteFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	for _, length := range []int{3, 2 * MostInline} { // written by the caller, and by a goroutine
		transport := New(&http.Transport{IdleConnTimeout: time.Minute, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return mute{conn}, err
		}}, time.Now)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+listener.Addr().String(), strings.NewReader(strings.Repeat("x", length)))
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := transport.RoundTrip(req); err == nil || !strings.Contains(err.Error(), errNoWrite.Error()) || ctx.Err() != nil {
			t.Errorf("%d bytes: %v, %v", length, resp, err)
		}
		stop()
	}
}
