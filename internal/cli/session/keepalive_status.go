package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// queryTimeout limits the query of keep processes, which answer at once if they answer at all.
const queryTimeout = 2 * time.Second

// maxQueries limits the keep processes that are queried at the same time.
const maxQueries = 16

// queryKept queries the keep processes of all sessions in parallel. It returns their status by
// session name, without the processes that do not answer.
func queryKept(ctx context.Context, sessions []state.Session) map[string]*keepalive.Status {
	ctx, stop := context.WithTimeout(ctx, queryTimeout)
	defer stop()
	statuses := map[string]*keepalive.Status{}
	var mu sync.Mutex
	var queries sync.WaitGroup
	slots := make(chan struct{}, maxQueries)
	for _, s := range sessions {
		if s.Held == nil || state.CheckHeld(s.Held.Socket) != nil { // another user could own the socket
			continue
		}
		slots <- struct{}{}
		queries.Go(func() {
			defer func() { <-slots }()
			if status, err := keepalive.ReadStatus(ctx, s.Held.Socket); err == nil {
				mu.Lock()
				defer mu.Unlock()
				statuses[s.Name] = &status
			}
		})
	}
	queries.Wait()
	return statuses
}

// keptCell returns the table cell for a session's kept server. facts is nil if the keep process does
// not answer.
func keptCell(s state.Session, facts *keepalive.Status) string {
	if s.Held == nil {
		return ""
	}
	if facts == nil {
		return "has ended"
	}
	return fmt.Sprintf("%s, process %d", remainingText(*facts), facts.PID)
}

// remainingText returns how long a server will be kept: until mcpc close if it has no idle time, and
// otherwise until the idle time has passed, which starts when no command uses the server.
func remainingText(f keepalive.Status) string {
	if f.Idle == 0 {
		return "until mcpc close"
	}
	if f.Users > 0 {
		return "in use"
	}
	if f.Left < time.Minute {
		return english.Duration(f.Left.Round(time.Second)) + " left"
	}
	return english.Duration(f.Left.Round(time.Minute)) + " left"
}

// A keptRow is a kept server in JSON output. Times are in seconds.
type keptRow struct {
	Alive  bool      `json:"alive"`
	PID    int       `json:"pid"`
	Server int       `json:"serverPid,omitempty"`
	Since  time.Time `json:"since"`
	Idle   float64   `json:"idle"`
	Left   float64   `json:"left"`
	Users  int       `json:"users"`
}

// keptRowOf returns the kept server of a session, or nil. f is nil if the keep process does not
// answer.
func keptRowOf(s state.Session, f *keepalive.Status) *keptRow {
	if s.Held == nil {
		return nil
	}
	if f == nil {
		return &keptRow{PID: s.Held.PID, Since: s.Held.Since, Idle: s.Held.Idle.Seconds()}
	}
	return &keptRow{true, f.PID, f.Server, f.Since, f.Idle.Seconds(), f.Left.Seconds(), f.Users}
}

// removeStaleSockets deletes the sockets of keep processes that have exited. It skips directories
// that another user could write to.
func removeStaleSockets(store *state.Store) {
	for _, dir := range store.SocketDirs(state.HeldSockets) {
		if state.CheckHeld(filepath.Join(dir, "any")) == nil { // "any": CheckHeld checks the parent of a path
			keepalive.RemoveStaleSockets(dir)
		}
	}
}

// closeKept stops the kept server of a closed session, whose s.Held is not nil. It returns no error
// if the server has exited already.
func closeKept(ctx context.Context, f *cmdutil.Factory, store *state.Store, s state.Session) error {
	err := state.CheckHeld(s.Held.Socket)
	var facts keepalive.Status
	if err == nil {
		facts, err = keepalive.Stop(ctx, s.Held.Socket)
	}
	removeStaleSockets(store)
	switch {
	case errors.Is(err, keepalive.ErrGone):
		f.Note("closed " + s.Name + ", whose server had exited already")
	case err != nil:
		pid := facts.PID
		if pid == 0 { // the keep process did not say it
			pid = s.Held.PID
		}
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.Transport, Phase: "close", ServerName: s.Name, Err: err,
			Text: "the keep process does not stop the server: " + host.Reason(err),
			Hint: wire.Hint(fmt.Sprintf("kill -9 %d stops both", pid)),
		})
	default:
		f.Note("closed " + s.Name + " and stopped its server")
	}
	return nil
}
