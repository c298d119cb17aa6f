//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// At a terminal the inputs are asked for, the command is shown whole and asked about, and only then
// a secret, which is typed unseen.
func TestACardIsAskedAboutAtATerminal(t *testing.T) {
	t.Parallel()
	w := newCardWorld(t)
	w.write("server.json", `{"name": "com.example/weather", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "weather", "version": "1.2.3",
		"packageArguments": [{"type": "positional", "valueHint": "city", "description": "The city", "isRequired": true, "choices": ["Oslo", "Bergen"]}],
		"environmentVariables": [{"name": "KEY", "description": "The key", "isRequired": true, "isSecret": true}]}]}`, 0o600)
	open := func() *terminal {
		return onTerminal(t, 100, w.env(), "sh", "-c", `cd "$0" && exec mcpc "$@"`, w.dir, "init", "--experimental", "--card", "server.json")
	}
	tm := open()
	tm.await(`city: The city \(Oslo, Bergen\): $`)
	tm.typed("\x03")
	tm.ends("SIGINT")
	tm = open()
	tm.await(`city: The city \(Oslo, Bergen\): $`)
	tm.typed("Rome\r")
	tm.ends("2")
	for _, answer := range []string{"\r", "n\r"} {
		tm = open()
		tm.await(`city: The city \(Oslo, Bergen\): $`)
		tm.typed("Oslo\r")
		tm.await(`Run it\? \[y/N/always for exactly this\] $`)
		tm.typed(answer)
		if out := tm.ends("12"); !strings.Contains(out, "npx -y weather@1.2.3 Oslo") {
			t.Errorf("the command is not shown:\n%q", out)
		}
	}
	if ran := w.ran(); ran != "" {
		t.Fatalf("it ran %s", ran)
	}
	tm = open()
	tm.await(`city: The city \(Oslo, Bergen\): $`)
	tm.typed("Bergen\r")
	tm.await(`Run it\?`)
	tm.typed("y\r")
	tm.await(`KEY: The key: $`)
	tm.typed("CANARY-typed\r")
	if out := tm.ends("0"); strings.Contains(out, "CANARY") {
		t.Errorf("what is typed is shown:\n%q", out)
	}
	if want := filepath.Join(w.dir, "bin", "npx") + " -y weather@1.2.3 Bergen\n"; w.ran() != want {
		t.Errorf("ran %q, want %q", w.ran(), want)
	}
	w.keepsNoSecret()
}
