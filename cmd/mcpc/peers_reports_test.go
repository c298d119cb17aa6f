//go:build peers

package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/lint"
)

// A reader of JUnit from npm counts in the report of check what check counted.
func TestPeerReadsJUnit(t *testing.T) {
	target := started(t, overridden(t, probedServers[""](), []override{refusal(http.StatusNotFound, -32601, "", `"prompts/list"`)}))
	file := filepath.Join(t.TempDir(), "check.xml")
	cmd := exec.Command(builtBinary(t), "check", target, "--junit", file, "--jq",
		`.counts.error, ([.rules[] | select(.verdict == "not run" or .verdict == "not applicable")] | length), ([.ladder[] | select(.state == "skipped")] | length), (.ladder | length)`)
	cmd.Env = append(cleanEnv(), "MCPC_STATE="+filepath.Join(t.TempDir(), "state"))
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
