package mock

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/wire"
)

// passTo returns the target of --on-miss pass:TARGET, or "" if the value is something else.
func (o playOptions) passTo() string {
	target, _ := strings.CutPrefix(o.onMiss, "pass:")
	if target == o.onMiss {
		return ""
	}
	return target
}

// A passThrough sends requests that the recording lacks to a real server. It connects on the first
// request; its traffic is recorded like the traffic of every command.
type passThrough struct {
	f      *cmdutil.Factory
	target string

	mu   sync.Mutex
	conn *connect.Conn
}

// send sends one request, without retries.
func (s *passThrough) send(ctx context.Context, method string, params json.RawMessage) (*wire.Message, string, error) {
	c, out := s.connect(ctx)
	if !out.OK() {
		return nil, "", errors.New(out.Text)
	}
	out = c.Do(ctx, client.Call{Method: method, Params: params, Once: true})
	if out.Message == nil || out.Message.Result == nil && out.Message.Error == nil {
		return nil, "", errors.New(out.Text)
	}
	return out.Message, c.Revision(), nil
}

// connect returns the connection, and opens it on the first call.
func (s *passThrough) connect(ctx context.Context) (*connect.Conn, wire.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.conn, wire.Outcome{}
	}
	s.f.Server = s.target
	s.f.ServerGiven = true
	c, out := connect.Dial(context.WithoutCancel(ctx), &s.f.Env, connect.Options{MultiCall: true})
	if !out.OK() {
		_ = c.Close(ctx)
		return nil, out
	}
	s.conn = c
	return c, out
}

// close closes the connection, if there is one.
func (s *passThrough) close(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close(context.WithoutCancel(ctx))
	}
}
