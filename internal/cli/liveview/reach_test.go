package liveview

import (
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
	"mcpc/internal/redact"
	"mcpc/internal/state"
	"mcpc/internal/target"
)

// A view sends to servers with an address, and starts commands only if it may.
func TestServersThatViewsMayCall(t *testing.T) {
	t.Parallel()
	f := cmdutil.New(nil, nil, nil)
	f.Now, f.State, f.Getenv = time.Now, t.TempDir(), func(string) string { return "" }
	client, _ := target.ClientNamed("cursor")
	f.Known = &[]host.ConfigFile{{Client: client, Servers: []target.Server{
		{Client: client, Name: "file-url", Kind: target.HTTP, URL: "http://127.0.0.1:1/mcp"},
		{Client: client, Name: "file-command", Kind: target.Stdio, Command: []string{"x"}},
	}}}
	store, err := state.Open(f.State)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Update(t.Context(), func(st *state.State) error {
		st.Put(state.Session{Name: "url", Endpoint: "http://127.0.0.1:1/mcp"})
		st.Put(state.Session{Name: "command", Command: []string{"x"}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		want, ifMay bool
	}{
		{"demo", true, true},
		{"http://127.0.0.1:1/mcp", true, true},
		{"http://127.0.0.1:1/mcp?key=" + redact.Redacted("s3cret-s3cret"), false, false},
		{"url", true, true},
		{"command", false, true},
		{"file-url", true, true},
		{"file-command", false, true},
		{"nobody", false, false},
	} {
		for mayExec, want := range map[bool]bool{false: c.want, true: c.ifMay} {
			a := NewActor(ActorOptions{Factory: f, Exec: mayExec})
			if got := a.isReachable(f, c.name); got != want {
				t.Errorf("%s, exec %t: reachable %t", c.name, mayExec, got)
			}
		}
	}
	a := NewActor(ActorOptions{Factory: f})
	a.agreeToServer("file-command") // the user tried it
	if !a.isReachable(f, "file-command") || a.isReachable(f, "command") {
		t.Error("only the server that was tried is reachable")
	}
}
