package session_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/connecttest"
)

// A screen is a terminal that keeps its output.
type screen struct{ clitest.Buffer }

func (*screen) Size() (width, height int) { return 200, 24 }

var sessionID = regexp.MustCompile(`Mcp-Session-Id: ([0-9A-Za-z_-]{8,})`)

// The session id is shown by init --explain at a terminal, and by nothing else; the recordings do not have it.
func TestSessionIDIsShownOnce(t *testing.T) {
	h := clitest.NewHome(t)
	h.Env = append(h.Env, "NO_COLOR=1", "MCPC_NO_PAGER=1")
	url := connecttest.Demo(t, demo.Options{})
	shown := &screen{}
	args := []string{"init", url, "--protocol", "2025-11-25", "--explain"}
	if code := (clitest.Run{Args: args, Env: h.Env, Stdout: shown, Stderr: shown}).Do(); code != 0 {
		t.Fatalf("exit %d: %s", code, shown.String())
	}
	found := sessionID.FindAllStringSubmatch(shown.String(), -1)
	if len(found) != 1 {
		t.Fatalf("the id is shown %d times:\n%s", len(found), shown.String())
	}
	id := found[0][1]
	for _, args := range [][]string{args, {"list", "--explain"}, {"log"}} {
		out := h.MCPC(args...)
		if sessionID.MatchString(out.Stdout+out.Stderr) || strings.Contains(out.Stdout+out.Stderr, id) {
			t.Errorf("%v without a terminal shows the id:\n%s", args, out.Stderr)
		}
	}
	list := &screen{}
	clitest.Run{Args: []string{"list", "--explain"}, Env: h.Env, Stdout: list, Stderr: list}.Do()
	if sessionID.MatchString(list.String()) {
		t.Errorf("list shows the id:\n%s", list.String())
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
