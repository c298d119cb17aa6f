//go:build peers

package peers

import (
	"path/filepath"
	"testing"
)

// Clients of two SDKs are judged. Each value was compared with the source of the SDK: the iterator of the
// Go SDK ends at an empty cursor, and the session of the TypeScript client does not. That one reads
// further pages of tools only.
func TestPeerClientsJudged(t *testing.T) {
	t.Parallel()
	dir := peersDir(t)
	for name, c := range map[string]struct {
		argv []string
		want map[string]string
	}{
		"ts-v1": {
			append(nodeArgv(t), filepath.Join(dir, "ts-clients", "v1.mjs"), "http", "{url}"),
			map[string]string{
				"pages": "yesno", "empty-cursor": "yes", "session-header": "yes", "version-header": "yes",
				"initialized": "yes", "ends-session": "yes", "discover": "no", "resumes": "not tried",
			},
		},
		"go-sdk": {
			[]string{filepath.Join(dir, "bin", "go-client"), "stdio", "{command}"},
			map[string]string{
				"pages": "yes", "empty-cursor": "no", "initialized": "yes", "ends-session": "not tried",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRunner(t)
			args := append([]string{"judge", "--revision", "2025-11-25", "--max-time", "4m", "--json", "--"}, c.argv...)
			var report struct {
				Clients []struct {
					Facts []struct{ Name, Value string }
				}
			}
			out := p.want(0, args...).stdout
			mustUnmarshal(t, out, &report)
			if len(report.Clients) != 1 {
				t.Fatalf("not one client: %s", out)
			}
			values := map[string]string{}
			for _, fact := range report.Clients[0].Facts {
				values[fact.Name] += fact.Value
			}
			for fact, want := range c.want {
				if values[fact] != want {
					t.Errorf("%s: %q, want %q", fact, values[fact], want)
				}
			}
		})
	}
}
