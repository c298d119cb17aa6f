package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// debianPackages names the package of Debian that has a program which tests start.
var debianPackages = map[string]string{
	"bash": "bash", "chromium": "chromium", "curl": "curl", "fish": "fish", "ps": "procps", "zsh": "zsh",
}

// mustHave gives the path of a program that a test starts. Where there is none the test
// fails: skipped, it would look like one that passed.
func mustHave(t testing.TB, name string) string {
	t.Helper()
	path, err := lookFor(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func lookFor(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w; this test needs it: apt-get install %s", err, debianPackages[name])
	}
	return path, nil
}

// inPathCount counts the programs of inPath.
var inPathCount atomic.Int64

// inPath writes a program beside those that TestMain put into the PATH, and gives its name.
// A path would be split at its blanks by what reads $BROWSER or $PAGER.
func inPath(t *testing.T, text string) string {
	t.Helper()
	self, err := exec.LookPath("mcpc")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(filepath.Dir(self), fmt.Sprint("written-", inPathCount.Add(1)))
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(name) })
	return filepath.Base(name)
}

// scriptNeeds is the command of a script that starts such programs.
func scriptNeeds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: needs PROGRAM...")
	}
	for _, name := range args {
		_, err := lookFor(name)
		ts.Check(err)
	}
}
