package mock

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A realServer is the connection to the server that continues a recording. It is opened before the recording
// is played. All clients share it, because the server may keep state for it.
type realServer struct {
	f    *cmdutil.Factory
	id   string
	argv []string
	// revision is the recorded revision, or "". capabilities are what the recorded client declared.
	revision     string
	capabilities json.RawMessage
	// hasRepeated is set if the server got requests that the client does not repeat.
	hasRepeated bool
	conn        *connect.Conn
	env         *host.Env
	// endRecording ends the recording of env.
	endRecording func()

	mu sync.Mutex
	// users are the handlers of the clients that use the connection, the newest first.
	users []connect.Options
}

// maxUsers limits the clients whose handlers are kept: the oldest are forgotten.
const maxUsers = 64

// newRealServer returns the server of the options. It does not connect.
func newRealServer(f *cmdutil.Factory, o untilOptions, p *plan) *realServer {
	s := &realServer{f: f, id: o.then, argv: o.argv, capabilities: jsonraw.OrEmpty(p.capabilities)}
	if slices.Contains(client.Revisions(), p.rows[p.until].Revision) {
		s.revision = p.rows[p.until].Revision
	}
	s.env, s.endRecording = connectionEnv(f, s.id)
	return s
}

// connect opens the connection, as the recorded client.
func (s *realServer) connect(ctx context.Context) wire.Outcome {
	conn, out := s.open(ctx, connect.Options{
		Argv: s.argv, NoResume: true, MultiCall: true, RequireServerInfo: true, Unjudged: true,
		OnNotification: func(m *wire.Message) {
			for _, user := range s.currentUsers() {
				user.OnNotification(m)
			}
		},
		As: &connect.Stand{Capabilities: s.capabilities, Asker: s.ask, Renewed: func(r client.Renewal) {
			users := s.currentUsers()
			if len(users) == 0 {
				s.f.Note(s.f.ErrStyle.Line(s.f.Secrets.Text(r.Why)))
			}
			if s.hasRepeated {
				s.f.Warn("the real server may have lost what the repeated requests made")
			}
			for _, user := range users {
				user.As.Renewed(r)
			}
		}},
	})
	if !out.OK() {
		_ = conn.Close(ctx)
		out = connect.Explain(s.env, out)
		s.endRecording()
		return out
	}
	s.conn = conn
	return out
}

// open opens a connection in the recorded revision or, if the server does not support that, in another
// one.
func (s *realServer) open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if s.env.Protocol != "" || s.revision == "" {
		return connect.Dial(ctx, s.env, how)
	}
	s.env.Protocol = s.revision
	conn, out := connect.Dial(ctx, s.env, how)
	isHTTPError := out.Kind == wire.Transport && out.HTTP != nil
	if out.Kind != wire.RPCFailed && out.Kind != wire.BadResponse && !isHTTPError {
		return conn, out
	}
	_ = conn.Close(ctx)
	s.env.Protocol = ""
	return connect.Dial(ctx, s.env, how)
}

// ask passes a request of the server to the clients, the newest first, until one answers.
func (s *realServer) ask(ctx context.Context, q client.InputRequest) client.Answer {
	for _, user := range s.currentUsers() {
		if answer := user.As.Asker(ctx, q); answer.Result != nil {
			return answer
		}
	}
	return client.Answer{}
}

// currentUsers returns the handlers of the clients, the newest first.
func (s *realServer) currentUsers() []connect.Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.users)
}

// share returns the connection for a client with the handlers of how. It reports a client with other
// capabilities than the server was told.
func (s *realServer) share(how connect.Options) *connect.Conn {
	if string(jsonraw.Compact(how.As.Capabilities)) != string(jsonraw.Compact(s.capabilities)) {
		s.f.Note(s.f.ErrStyle.Line("the client declares other capabilities than the recorded client; the server knows " +
			string(s.capabilities)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users = slices.Insert(s.users, 0, how)
	if len(s.users) > maxUsers {
		s.users = s.users[:maxUsers]
	}
	return s.conn
}

// close closes the connection, and ends its recording.
func (s *realServer) close() {
	_ = s.conn.Close(context.Background())
	s.endRecording()
}
