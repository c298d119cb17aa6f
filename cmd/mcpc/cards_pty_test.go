//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// At a terminal the inputs are asked for, the command is shown whole and asked about, and only then
// a secret, which is typed unseen.
func TestACardIsAskedAboutAtATerminal(t *testing.T) {
	t.Parallel()
	w := newCardWorld(t)
	w.write("server.json", `{"name": "com.example/weather", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "weather", "version": "1.2.3",
		"packageArguments": [{"type": "positional", "valueHint": "city", "description": "The city", "isRequired": true, "choices": ["Oslo", "Bergen"]}],
		"environmentVariables": [{"name": "KEY", "description": "The key", "isRequired": true, "isSecret": true}]}]}`, 0o600)
	open := func() *terminal.Terminal {
		return terminal.Start(t, 100, w.env(), "sh", "-c", `cd "$0" && exec mcpc "$@"`, w.dir, "init", "--experimental", "--card", "server.json")
	}
	tm := open()
	tm.Await(`city: The city \(Oslo, Bergen\): $`)
	tm.Type("\x03")
	tm.Ends("SIGINT")
	tm = open()
	tm.Await(`city: The city \(Oslo, Bergen\): $`)
	tm.Type("Rome\r")
	tm.Ends("2")
	for _, answer := range []string{"\r", "n\r"} {
		tm = open()
		tm.Await(`city: The city \(Oslo, Bergen\): $`)
		tm.Type("Oslo\r")
		tm.Await(`Run it\? \[y/N/always for exactly this\] $`)
		tm.Type(answer)
		if out := tm.Ends("12"); !strings.Contains(out, "npx -y weather@1.2.3 Oslo") {
			t.Errorf("the command is not shown:\n%q", out)
		}
	}
	if ran := w.ran(); ran != "" {
		t.Fatalf("it ran %s", ran)
	}
	tm = open()
	tm.Await(`city: The city \(Oslo, Bergen\): $`)
	tm.Type("Bergen\r")
	tm.Await(`Run it\?`)
	tm.Type("y\r")
	tm.Await(`KEY: The key: $`)
	tm.Type("CANARY-typed\r")
	if out := tm.Ends("0"); strings.Contains(out, "CANARY") {
		t.Errorf("what is typed is shown:\n%q", out)
	}
	if want := filepath.Join(w.dir, "bin", "npx") + " -y weather@1.2.3 Bergen\n"; w.ran() != want {
		t.Errorf("ran %q, want %q", w.ran(), want)
	}
	w.keepsNoSecret()
}
