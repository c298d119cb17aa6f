//go:build peers

package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Calls of a real server become saved calls, which pass there; and the code that is generated from
// its tools is built with the standard library alone: go test -tags peers -run TestPeerSaved
// ./internal/tests/peers
func TestPeerSavedCallsAndCode(t *testing.T) {
	t.Parallel()
	code := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("each", func(t *testing.T) {
		for _, p := range peers(t) {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				m, dir := newRunner(t), t.TempDir()
				target := p.shared(t)
				call := callFor(p)
				m.want(0, with(target, append([]string{"call", "--yes"}, call.args...)...)...)
				saved := m.want(0, "export", "last", "--as", "mcpc-yaml").stdout
				if !strings.Contains(saved, "call: "+call.args[0]) {
					t.Fatalf("saved calls:\n%s", saved)
				}
				file := filepath.Join(dir, "it.mcpc.yaml")
				write(file, saved+"    expect: {text: '"+call.want+"', within: 20s}\n  - list: tools\n    expect: .tools | length == "+strconv.Itoa(p.tools)+"\n")
				if got := m.want(0, "run", "--yes", "--allow-exec", file, "--junit", filepath.Join(dir, "out.xml")).stdout; !strings.Contains(got, "2 steps: 2 passed; ") {
					t.Errorf("mcpc run: %s", got)
				}
				write(file, saved+"    expect: {text: 'what no server says'}\n")
				if got := m.want(1, "run", "--yes", "--allow-exec", file).stdout; !strings.Contains(got, `expected a text with "what no server says", got`) {
					t.Errorf("mcpc run: %s", got)
				}
				if p.transport != "http" && hasHTTP(t, p) {
					return // it has the code of the same server over HTTP
				}
				write(filepath.Join(code, p.name, "tools.go"), m.want(0, with(target, "codegen", "--go")...).stdout)
				if first, second := m.want(0, with(target, "codegen", "--ts")...), m.want(0, with(target, "codegen", "--ts")...); first.stdout != second.stdout {
					t.Error("two runs give different code")
				}
			})
		}
	})
	write(filepath.Join(code, "go.mod"), "module code\n\ngo 1.24\n")
	cmd := exec.Command("sh", "-c", `go vet ./... && test -z "$(gofmt -l .)"`)
	cmd.Dir, cmd.Env = code, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet, gofmt: %v\n%s", err, out)
	}
}

// hasHTTP reports whether the table has the server of a peer over HTTP, too.
func hasHTTP(t *testing.T, p peer) bool {
	t.Helper()
	server := p.name[:strings.LastIndex(p.name, "-")]
	return slices.ContainsFunc(peers(t), func(other peer) bool {
		return other.transport == "http" && strings.HasPrefix(other.name, server+"-")
	})
}
