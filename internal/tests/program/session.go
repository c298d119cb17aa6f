package program

import (
	"os"
	"path/filepath"
	"testing"
)

// ListedSession opens a session with a server that plays a script of package mock over stdio, and
// lists the contents of the server. It returns the directory and the environment for commands that
// use the session.
func ListedSession(t testing.TB, script string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	env = append(CleanEnv(), "HOME="+dir, "TMPDIR="+dir, "MCPC_STATE="+filepath.Join(dir, "state"), "LC_ALL=C.UTF-8")
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"mcpc init --as box -- mcpc mock --stdio --script script", "mcpc list all"} {
		if out, err := Shell(dir, env, line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	return dir, env
}
