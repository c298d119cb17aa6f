package session_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/connecttest"
)

// The session id is shown by sessions --ids, and by nothing else; the recordings do not have it.
func TestSessionIDIsShownOnRequest(t *testing.T) {
	h := clitest.NewHome(t)
	url := connecttest.Demo(t, demo.Options{})
	opening := []string{"init", url, "--protocol", "2025-11-25", "-vvv"}
	opened := h.MCPC(opening...)
	if opened.Code != 0 || !strings.Contains(opened.Stdout, "mcpc sessions --ids shows the id") {
		t.Fatalf("exit %d: %s%s", opened.Code, opened.Stdout, opened.Stderr)
	}
	id := strings.TrimSpace(h.MCPC("sessions", "--ids", "--jq", ".sessions[0].sessionId").Stdout)
	table := h.MCPC("sessions", "--ids").Stdout
	if len(id) < 8 || !strings.Contains(table, id) {
		t.Fatalf("the id is %q:\n%s", id, table)
	}
	if strings.Contains(opened.Stdout+opened.Stderr, id) {
		t.Errorf("init shows the id:\n%s%s", opened.Stdout, opened.Stderr)
	}
	for _, args := range [][]string{{"list", "-vvv"}, {"list", "--explain"}, {"log"}, {"show", "last"}, {"sessions"}, {"sessions", "--json"}} {
		out := h.MCPC(args...)
		if strings.Contains(out.Stdout+out.Stderr, id) {
			t.Errorf("%v shows the id:\n%s", args, out.Stderr)
		}
	}
	err := filepath.WalkDir(h.Dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "state.json" {
			return err
		}
		raw, err := os.ReadFile(name)
		if bytes.Contains(raw, []byte(id)) {
			t.Errorf("%s has the id", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
