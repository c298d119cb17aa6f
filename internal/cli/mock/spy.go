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

// passTo is the target of --on-miss pass:TARGET, "" without one.
func (o playOptions) passTo() string {
	target, _ := strings.CutPrefix(o.onMiss, "pass:")
	if target == o.onMiss {
		return ""
	}
	return target
}

// A spy asks a real server what the recording does not have. It connects with the first request; the
// traffic is recorded as that of every command.
type spy struct {
	f  *cmdutil.Factory
	to string

	mu   sync.Mutex
	conn *connect.Conn
}

// pass sends one request, which is never sent twice.
func (s *spy) pass(ctx context.Context, method string, params json.RawMessage) (*wire.Message, string, error) {
	c, out := s.connected(ctx)
	if !out.Good() {
		return nil, "", errors.New(out.Text)
	}
	out = c.Do(ctx, client.Call{Method: method, Params: params, Once: true})
	if out.Message == nil || out.Message.Result == nil && out.Message.Error == nil {
		return nil, "", errors.New(out.Text)
	}
	return out.Message, c.Revision(), nil
}

func (s *spy) connected(ctx context.Context) (*connect.Conn, wire.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.conn, wire.Outcome{}
	}
	s.f.Server = s.to
	s.f.ServerGiven = true
	c, out := connect.Dial(context.WithoutCancel(ctx), &s.f.Env, connect.Options{MultiCall: true})
	if !out.Good() {
		_ = c.Close(ctx)
		return nil, out
	}
	s.conn = c
	return c, out
}

func (s *spy) close(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close(context.WithoutCancel(ctx))
	}
}
