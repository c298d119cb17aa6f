//go:build programs

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mcpc/internal/tests/program"
)

// What a server starts in a session of its own does not outlive mcpc either, even where
// it has started more of that sort, and where the server itself has ended before.
func TestNoSessionOutlivesItsServer(t *testing.T) {
	program.MustHave(t, "setsid")
	binary := program.BuiltMCPC(t)
	for name, before := range map[string]string{
		"beside the server":     "setsid sleep 600 & ",
		"of a dead parent":      "(setsid sleep 600 >/dev/null 2>&1 &) ; ",
		"of one in a session":   "setsid sh -c 'setsid sleep 600 & sleep 600' & ",
		"without environment":   "setsid env -i MARK=$TMPDIR sleep 600 & ",
		"of a server that ends": "setsid sleep 600 </dev/null >/dev/null 2>&1 & exec true; ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte("tool echo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			marker := t.TempDir()
			cmd := exec.Command(binary, "call", "echo", `{"a":1}`, "--", "sh", "-c", before+`"$@"`, "sh", binary, "mock", "--stdio", "--script", script)
			cmd.Env = append(program.CleanEnv(), "TMPDIR="+marker, "MCPC_STATE="+filepath.Join(t.TempDir(), "state"))
			out, err := cmd.CombinedOutput()
			if good := name != "of a server that ends"; good && err != nil {
				t.Errorf("%v: %s", err, out)
			}
			for _, p := range program.ProcessesWith(t, marker) { // at once
				t.Errorf("%s is left", p)
			}
		})
	}
}
