//go:build peers

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// All stdio peers stand in one project's file, and all that listen in the user's own:
// each is used by its name, and one command asks all of them.
func TestPeersFromAConfiguration(t *testing.T) {
	t.Parallel()
	type entry struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
	}
	dir := t.TempDir()
	m := &machine{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), ran: filepath.Join(dir, "ran")}
	m.env = append(cleanEnv(), "HOME="+m.home, "MCPC_STATE="+m.state(), "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME=", "CODEX_HOME=")
	own, brought, tools := map[string]entry{}, map[string]entry{}, map[string]int{}
	for _, p := range peers(t) {
		words := p.start(t)
		if words[0] == "--" {
			brought[p.name] = entry{Command: words[1], Args: words[2:], Env: map[string]string{"PEER_TOKEN": "CANARY-peer-1234"}}
			tools["claude-code:"+p.name] = p.tools
		} else {
			own[p.name] = entry{URL: words[1]}
			tools["cursor:"+p.name] = p.tools
		}
	}
	write := func(name string, servers map[string]entry) {
		raw, err := json.Marshal(map[string]any{"mcpServers": servers})
		if err != nil {
			t.Fatal(err)
		}
		m.write(name, string(raw))
	}
	write(filepath.Join(m.home, ".cursor", "mcp.json"), own)
	write(filepath.Join(m.project, ".mcp.json"), brought)
	m.write(filepath.Join(m.project, ".vscode", "keep"), "")
	for name := range brought {
		m.mcpc("12", "-s", name, "list")
		m.mcpc("0", "trust", name, "--yes")
	}
	cmd := exec.Command("mcpc", "list", "--all", "--json", "--parallel", "4")
	cmd.Dir, cmd.Env = m.project, m.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, errs.String())
	}
	type listed struct {
		ID    string
		Same  []string
		Tools []json.RawMessage
	}
	var doc struct{ Servers []listed }
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	for id, want := range tools {
		i := slices.IndexFunc(doc.Servers, func(s listed) bool { return s.ID == id || slices.Contains(s.Same, id) })
		if i < 0 || len(doc.Servers[i].Tools) != want {
			t.Errorf("%s: want %d tools\n%s", id, want, errs.String())
		}
	}
	m.keepsNoSecret()
}
