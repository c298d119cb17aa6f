//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// At a terminal the inputs are asked for, the command is shown whole and asked about, and only then
// a secret, which is typed unseen.
func TestTerminalCardIsConfirmedBeforeSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	npx := filepath.Join(dir, "bin", "npx")
	writeProgram(t, npx, "#!/usr/bin/env sh\necho \"$0 $*\" >>"+ran+"\nexec mcpc demo --stdio\n")
	env := []string{"HOME=" + dir, "MCPC_STATE=" + filepath.Join(dir, "state"), "PATH=" + filepath.Dir(npx) + ":" + os.Getenv("PATH")}
	writeProgram(t, filepath.Join(dir, "server.json"), `{"name": "com.example/weather", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "weather", "version": "1.2.3",
		"packageArguments": [{"type": "positional", "valueHint": "city", "description": "The city", "isRequired": true, "choices": ["Oslo", "Bergen"]}],
		"environmentVariables": [{"name": "KEY", "description": "The key", "isRequired": true, "isSecret": true}]}]}`)
	open := func() *terminal.Terminal {
		return terminal.Start(t, 100, env, "sh", "-c", `cd "$0" && exec mcpc "$@"`, dir, "init", "--experimental", "--card", "server.json")
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
	if said := program.Read(t, ran); said != "" {
		t.Fatalf("it ran %s", said)
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
	if want := npx + " -y weather@1.2.3 Bergen\n"; program.Read(t, ran) != want {
		t.Errorf("ran %q, want %q", program.Read(t, ran), want)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, "state"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if strings.Contains(program.Read(t, path), "CANARY") {
			t.Errorf("%s has the secret", path)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// writeProgram writes a file that can be run, and its folder.
func writeProgram(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
