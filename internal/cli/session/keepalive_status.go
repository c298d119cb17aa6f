package session

import (
	"cmp"
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

// lookTime limits the look at a holder, which answers at once if it answers at all.
const lookTime = 2 * time.Second

// lookAtHeld queries all holders, by session; the map has no entry for one that has gone.
func lookAtHeld(ctx context.Context, all []state.Session) map[string]*keepalive.Status {
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	found := map[string]*keepalive.Status{}
	var mu sync.Mutex
	var looks sync.WaitGroup
	turns := make(chan struct{}, 16)
	for _, s := range all {
		if s.Held == nil || state.CheckHeld(s.Held.Socket) != nil {
			continue
		}
		turns <- struct{}{}
		looks.Go(func() {
			defer func() { <-turns }()
			if facts, err := keepalive.ReadStatus(ctx, s.Held.Socket); err == nil {
				mu.Lock()
				defer mu.Unlock()
				found[s.Name] = &facts
			}
		})
	}
	looks.Wait()
	return found
}

// heldCell says in a table what has become of a session's server.
func heldCell(s state.Session, facts *keepalive.Status) string {
	if s.Held == nil {
		return ""
	}
	if facts == nil {
		return "has ended"
	}
	return fmt.Sprintf("%s, process %d", leftWord(*facts), facts.PID)
}

// leftWord says how long a server will be held.
func leftWord(f keepalive.Status) string {
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

// heldRow is what a script learns of a held server; times are in seconds.
type heldRow struct {
	Alive  bool      `json:"alive"`
	PID    int       `json:"pid"`
	Server int       `json:"serverPid,omitempty"`
	Since  time.Time `json:"since"`
	Idle   float64   `json:"idle"`
	Left   float64   `json:"left"`
	Users  int       `json:"users"`
}

func heldRowOf(s state.Session, f *keepalive.Status) *heldRow {
	if s.Held == nil {
		return nil
	}
	if f == nil {
		return &heldRow{PID: s.Held.PID, Since: s.Held.Since, Idle: s.Held.Idle.Seconds()}
	}
	return &heldRow{true, f.PID, f.Server, f.Since, f.Idle.Seconds(), f.Left.Seconds(), f.Users}
}

// sweep removes what dead holders left.
func sweep(store *state.Store) {
	for _, dir := range store.SocketDirs(state.HeldSockets) {
		if state.CheckHeld(filepath.Join(dir, "any")) == nil {
			keepalive.RemoveStaleSockets(dir)
		}
	}
}

// closeHeld ends the server of a session that was forgotten.
func closeHeld(ctx context.Context, f *cmdutil.Factory, store *state.Store, s state.Session) error {
	err := state.CheckHeld(s.Held.Socket)
	var facts keepalive.Status
	if err == nil {
		facts, err = keepalive.Stop(ctx, s.Held.Socket)
	}
	sweep(store)
	switch {
	case errors.Is(err, keepalive.ErrGone):
		f.Note("closed " + s.Name + ", whose server had exited already")
	case err != nil:
		return cmdutil.Exit(wire.Outcome{Kind: wire.Transport, Phase: "close", Where: s.Name, Err: err,
			Text: "the keep process does not stop the server: " + host.Reason(err),
			Hint: wire.Hint(fmt.Sprintf("kill -9 %d stops both", cmp.Or(facts.PID, s.Held.PID)))})
	default:
		f.Note("closed " + s.Name + " and stopped its server")
	}
	return nil
}
