package connect

import (
	"strings"
	"sync"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/state"
)

// The usual address itself may be taken on the machine that tests.
func TestDefaultURLHintNamesSessions(t *testing.T) {
	for hint, names := range map[string][]string{"mcpc init URL opens a session": nil, ": -s box selects a session": {"box", "two"}} {
		if got := (&Conn{sessionNames: names}).defaultURLHint(); !strings.Contains(got.String(), hint) {
			t.Errorf("with %q: %s", names, got)
		}
	}
}

// A notification may come while mcpc init remembers the session. The race detector watches.
func TestNotificationWhileASessionIsSaved(t *testing.T) {
	t.Parallel()
	store, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{Env: &host.Env{Shared: &host.Shared{}}, Store: store, OneOff: &state.Session{Endpoint: DemoEndpoint}}
	var server sync.WaitGroup
	server.Go(func() { c.ForgetTools() })
	c.SaveAs(&state.Session{Key: "of a session"})
	server.Wait()
	if c.Saved.Key != "of a session" || c.Passing {
		t.Errorf("%+v", c.Saved)
	}
}
