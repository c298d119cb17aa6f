package main

import (
	"os"
	"path/filepath"
	"testing"
)

// playFile writes a script, and gives the name of a log for what it sees.
func playFile(t *testing.T, script string) (name, log string) {
	t.Helper()
	dir := t.TempDir()
	name = filepath.Join(dir, "script")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, filepath.Join(dir, "log")
}
