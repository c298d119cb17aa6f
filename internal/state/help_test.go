package state

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "mcpc"))
}

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func update(t testing.TB, s *Store, change func(*State) error) {
	t.Helper()
	if err := s.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, s *Store) *State {
	t.Helper()
	st, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return &st
}

func day(n int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n)
}

// sample is a session as a real one looks.
func sample(name string) Session {
	return Session{
		Name: name, Endpoint: "http://localhost:3001/mcp", Transport: "http",
		Revision: "2025-11-25", SessionID: "a2b1c0de-session-secret",
		Capabilities: json.RawMessage(`{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}`),
		ServerInfo:   json.RawMessage(`{"name":"mcp-servers/everything","title":"Everything & <more>","version":"2.0.0","x":1.10}`),
		Instructions: "Use get-sum to add. 日本語 is fine.", NextID: 3, OpenedAt: day(0),
	}
}
