//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/lint"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// withoutPrompts returns the URL of a demo server without the method prompts/list.
func withoutPrompts(t *testing.T) string {
	t.Helper()
	inner := demo.Handler(demo.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(body)
		if m.Method == "prompts/list" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// A reader of JUnit from npm counts in the report of check what check counted.
func TestPeerReadsJUnit(t *testing.T) {
	target := withoutPrompts(t)
	file := filepath.Join(t.TempDir(), "check.xml")
	cmd := exec.Command(program.BuiltMCPC(t), "check", target, "--junit", file, "--jq",
		`.counts.error, ([.rules[] | select(.verdict == "not run" or .verdict == "not applicable")] | length), ([.ladder[] | select(.state == "skipped")] | length), (.ladder | length)`)
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+filepath.Join(t.TempDir(), "state"))
	out, _ := cmd.Output() // there is a finding
	var errors, skipped, skippedSteps, steps int
	if _, err := fmt.Sscan(string(out), &errors, &skipped, &skippedSteps, &steps); err != nil || errors == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	script := filepath.Join(peersDir(t), "reports", "junit.mjs")
	read, err := exec.Command("node", script, file).CombinedOutput()
	want := fmt.Sprint(steps+len(lint.Rules()), errors, steps+len(lint.Rules()), errors, skipped+skippedSteps)
	if got := strings.TrimSpace(string(read)); err != nil || got != want {
		t.Errorf("%v: read %s, want %s", err, got, want)
	}
}
