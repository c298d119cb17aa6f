//go:build peers

package peers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
)

// edits is how often a test changes the server.
const edits = 50

// A server on the TypeScript SDK is edited while a client calls it 20 times a second through mcpc tap --watch: no call
// fails, each difference of the tools is printed once, the client is notified about it, and its subscription works
// after each restart.
func TestPeerServerIsEditedDuringCalls(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"v1", "v2"} { // the eras
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, peer := range map[string]string{"server.mjs": "ts-server", "client.mjs": "ts-clients"} {
				text := program.Read(t, filepath.Join(module.Path(t, "internal/tests/peers/testdata/reload"), name))
				writeFile(t, filepath.Join(dir, peer, name), text)
				if err := os.Symlink(filepath.Join(peersDir(t), peer, "node_modules"), filepath.Join(dir, peer, "node_modules")); err != nil {
					t.Fatal(err)
				}
			}
			tools := filepath.Join(dir, "ts-server", "src", "tools.mjs")
			edit := func(n int) { writeFile(t, tools, fmt.Sprintf("export const names = ['stays', 'edit-%d'];\n", n)) }
			edit(0)
			node := nodeArgv(t)
			argv := append(node, filepath.Join(dir, "ts-clients", "client.mjs"), client,
				"mcpc", "tap", "--watch", "src/**/*.mjs", "--build", "node --check src/tools.mjs", "--")
			argv = append(append(argv, node...), filepath.Join(dir, "ts-server", "server.mjs"))
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir = filepath.Join(dir, "ts-server")
			cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+filepath.Join(dir, "state"))
			outFile, errFile := filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")
			cmd.Stdout = create(t, outFile)
			cmd.Stderr = create(t, errFile)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			await := func(what string, holds func(stdout, stderr string) bool) {
				t.Helper()
				for deadline := time.Now().Add(2 * program.Patience); !holds(program.Read(t, outFile), program.Read(t, errFile)); {
					if time.Now().After(deadline) {
						t.Fatalf("no %s:\n%s\n%s", what, program.Read(t, outFile), program.Read(t, errFile))
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
			await("call", func(stdout, _ string) bool { return strings.Contains(stdout, "called\n") })
			for n := 1; n <= edits; n++ {
				if n == edits/2 {
					writeFile(t, tools, "export const names = [\n")
					await("failed build", func(_, stderr string) bool { return strings.Contains(stderr, "--build failed (exit status 1)") })
				}
				edit(n)
				await(fmt.Sprint("difference ", n), func(stdout, stderr string) bool {
					return strings.Contains(stderr, renamedTo(n)) && strings.Count(stdout, "updated\n") == n
				})
			}
			if _, err := io.WriteString(stdin, "end\n"); err != nil {
				t.Error(err)
			}
			stdin.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			stdout, stderr := program.Read(t, outFile), program.Read(t, errFile)
			t.Log(stdout[strings.LastIndex(stdout, "calls"):])
			if strings.Contains(stdout, "failed") || strings.Count(stdout, "changed\n") != edits {
				t.Errorf("the client printed:\n%s\n%s", stdout, stderr)
			}
			for n := 1; n <= edits; n++ {
				if got := strings.Count(stderr, renamedTo(n)); got != 1 {
					t.Errorf("difference %d is printed %d times", n, got)
				}
			}
			if left := program.ProcessesLeft(t, dir); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// renamedTo is what mcpc prints about the tool of an edit.
func renamedTo(n int) string { return fmt.Sprintf("was probably renamed to edit-%d:", n) }

// writeFile writes a file in place, and the directories above it.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// create creates a file that is closed after the test.
func create(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
