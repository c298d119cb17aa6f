//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Many calls in one conversation, over each transport and in both eras: as many
// results as lines, in their order, each the answer to its own call.
func TestPeersTakeABatch(t *testing.T) {
	t.Parallel()
	const calls = 64 // four rounds of 16 side by side
	for _, p := range peers(t) {
		if callFor(p).args[0] != "get-sum" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			target := p.shared(t)
			var lines bytes.Buffer
			for i := range calls {
				fmt.Fprintf(&lines, `{"tool":"get-sum","arguments":{"a":%d,"b":1},"key":%d}`+"\n", i, i)
			}
			name := filepath.Join(t.TempDir(), "calls.jsonl")
			if err := os.WriteFile(name, lines.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, parallel := range []string{"1", "16"} {
				out := m.want(0, with(target, "batch", name, "--yes", "--parallel", parallel)...).stdout
				d := json.NewDecoder(strings.NewReader(out))
				for i := range calls {
					var r struct {
						Line, Key int
						Result    struct{ Content []struct{ Text string } }
					}
					if err := d.Decode(&r); err != nil {
						t.Fatalf("result %d: %v\n%s", i, err, out)
					}
					want := fmt.Sprintf("The sum of %d and 1 is %d.", i, i+1)
					if r.Line != i+1 || r.Key != i || len(r.Result.Content) != 1 || r.Result.Content[0].Text != want {
						t.Fatalf("parallel %s, result %d is %+v, want %q", parallel, i, r, want)
					}
				}
				if d.More() {
					t.Errorf("there are more than %d results", calls)
				}
			}
		})
	}
}

// A shell speaks with each of them in one session.
func TestPeersInAShell(t *testing.T) {
	t.Parallel()
	for _, p := range peers(t) {
		if callFor(p).args[0] != "get-sum" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			cmd := exec.Command("mcpc", with(p.shared(t), "shell")...)
			cmd.Env = m.environment()
			cmd.Stdin = strings.NewReader("list --jq .tools[].name\n" + strings.Repeat("call get-sum a=40 b=2 --yes\n", 20))
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "The sum of 40 and 2 is 42.") != 20 {
				t.Fatalf("%v\n%s", err, out)
			}
			rows := m.want(0, "log", "--jsonl", "method:initialize or method:server/discover")
			if n := strings.Count(rows.stdout, "\n"); n > 3 { // a probe, a handshake, and one more on the oldest transport
				t.Errorf("%d requests opened the conversation:\n%s", n, rows.stdout)
			}
		})
	}
}
