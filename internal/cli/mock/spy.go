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

// passTo returns the target of --on-miss pass:TARGET, "" for other values.
func (o playOptions) passTo() string {
	target, _ := strings.CutPrefix(o.onMiss, "pass:")
	if target == o.onMiss {
		return ""
	}
	return target
}

// A spy sends requests that the recording lacks to a real server. It connects on the first request;
// its traffic is recorded like that of every command.
type spy struct {
	f  *cmdutil.Factory
	to string

	mu   sync.Mutex
	conn *connect.Conn
}

// pass sends one request, without retries.
func (s *spy) pass(ctx context.Context, method string, params json.RawMessage) (*wire.Message, string, error) {
	c, out := s.connected(ctx)
	if !out.OK() {
		return nil, "", errors.New(out.Text)
	}
	out = c.Do(ctx, client.Call{Method: method, Params: params, Once: true})
	if out.Message == nil || out.Message.Result == nil && out.Message.Error == nil {
		return nil, "", errors.New(out.Text)
	}
	return out.Message, c.Revision(), nil
}

// connected returns the connection, and opens it on the first call.
func (s *spy) connected(ctx context.Context) (*connect.Conn, wire.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.conn, wire.Outcome{}
	}
	s.f.Server = s.to
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
func (s *spy) close(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close(context.WithoutCancel(ctx))
	}
}
