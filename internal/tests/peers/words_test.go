//go:build peers

package peers

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/tests/samples"
)

// Each row of samples.ArgumentRows is typed to three real servers. The sent arguments count; some
// responses are errors, since a server may accept them or not.
func TestPeersGetTheArguments(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ts-server-http", "go-sdk-http", "mcp-go-http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRunner(t)
			dir := t.TempDir()
			for name, text := range samples.ArgumentFiles {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			url := peerNamed(t, name).start(t)[1]
			p.want(0, "init", url, "--as", "peer")
			for _, row := range samples.ArgumentRows {
				r := p.run(append([]string{"call", row.Tool, "-s", "peer", "-vvv", "--yes"}, inDirectory(dir, row.Words)...)...)
				sent := ""
				for line := range strings.Lines(r.stderr) {
					if text, err := strconv.Unquote(strings.TrimSpace(line)); err == nil && strings.Contains(text, `"method":"tools/call"`) {
						sent = text
					}
				}
				code, text := 0, row.Want
				if !strings.HasPrefix(row.Want, "{") {
					code, _ = strconv.Atoi(row.Want[:1])
					text = row.Want[2:]
				}
				switch {
				case code == 0 && !strings.Contains(sent, `"arguments":`+text+`,"_meta"`) && !strings.Contains(sent, `"arguments":`+text+`}`):
					t.Errorf("%s %q\nsent %s\nwant %s\n%s", row.Tool, row.Words, sent, text, r.stderr)
				case code != 0 && (sent != "" || r.code != code):
					t.Errorf("%s %q: exit %d, want %d, and sent %q\n%s", row.Tool, row.Words, r.code, code, sent, r.stderr)
				}
			}
		})
	}
}

// inDirectory makes the names of files whole.
func inDirectory(dir string, words []string) (all []string) {
	for _, w := range words {
		before, name, _ := strings.Cut(w, "@")
		if _, known := samples.ArgumentFiles[name]; known && (before == "" || strings.HasSuffix(before, "=")) {
			w = before + "@" + filepath.Join(dir, name)
		}
		all = append(all, w)
	}
	return all
}
