//go:build peers

package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recording of a real server is the same when it is replayed there, and a changed response is
// named: go test -tags peers -run TestPeerReplays ./internal/tests/peers
func TestPeerReplays(t *testing.T) {
	t.Parallel()
	for _, p := range peers(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			m, file := newRunner(t), filepath.Join(t.TempDir(), "rec.jsonl")
			target := p.shared(t)
			call := callFor(p)
			m.want(0, with(target, "list", "--record", file)...)
			m.want(0, with(target, append([]string{"call", "--yes", "--record", file}, call.args...)...)...)
			got := m.want(0, with(target, "replay", file, "--yes")...).stdout
			if !strings.Contains(got, "\tsame\ttools/call "+call.args[0]) || strings.Contains(got, "skipped") {
				t.Errorf("mcpc replay: %s", got)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.ReplaceAll(string(raw), call.want, "what no server says")
			if changed == string(raw) {
				t.Fatalf("no answer has %q", call.want)
			}
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			got = m.want(1, with(target, "replay", file, "--yes", "--only", "tools/call", "--jq", ".counts.differs")...).stdout
			if strings.TrimSpace(got) != "1" {
				t.Errorf("%s answers differ", got)
			}
		})
	}
}
