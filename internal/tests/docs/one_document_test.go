package docs

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/commands"
	"mcpc/internal/tests/program"

	"github.com/spf13/cobra"
)

// manyDocuments are the commands that print something else with --json, and why.
var manyDocuments = map[string]string{
	"mcpc codegen":     "code, and refuses --json",
	"mcpc completion":  "a script for a shell",
	"mcpc demo":        "serves",
	"mcpc export":      "the form that --as names",
	"mcpc man":         "manual pages",
	"mcpc mock":        "serves",
	"mcpc proxy":       "serves",
	"mcpc tap":         "what the client and the server say to each other",
	"mcpc listen":      "a line for each notification, as they come",
	"mcpc tap install": "edits a file", "mcpc tap remove": "edits a file",
	"mcpc serve install": "edits a file", "mcpc serve remove": "edits a file",
	"mcpc batch": "a line for each call", "mcpc shell": "a conversation with a person",
}

// With --json standard output is one JSON document or nothing, whatever the command:
// its reader need not know which one it was. Each command runs its first example
// that is one command and no pipe.
func TestEveryCommandPrintsOneDocument(t *testing.T) {
	seen := 0
	for _, c := range commands.All(t) {
		line := plainExample(c)
		if manyDocuments[c.CommandPath()] != "" || line == "" {
			continue
		}
		seen++
		t.Run(strings.ReplaceAll(line, "/", "|"), func(t *testing.T) {
			t.Parallel()
			printsOneDocument(t, line)
		})
	}
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
	for path := range manyDocuments {
		if c, _, err := commands.All(t)[0].Find(strings.Fields(path)[1:]); err == nil && c.CommandPath() != path && !later[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

// later are commands that may not be there.
var later = map[string]bool{"mcpc batch": true, "mcpc shell": true}

func plainExample(c *cobra.Command) string {
	for _, line := range strings.Split(c.Example, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "mcpc ") && !strings.ContainsAny(line, "|<>&") && !strings.Contains(line, "--jq") && !strings.Contains(line, "--curl") {
			return line
		}
	}
	return ""
}

func printsOneDocument(t *testing.T, line string) {
	dir := exampleDir(t)
	env := append(program.CleanEnv(), "HOME="+dir, "MCPC_STATE="+filepath.Join(dir, "state"), "LC_ALL=C.UTF-8")
	setUp(t, env, "init demo --as box", "init demo --as other", "call echo message=hi")
	before, behind, dashed := strings.Cut(line, " -- ")
	if line = before + " --json"; dashed {
		line += " -- " + behind
	}
	out, _ := program.Shell(dir, env, line).Output()
	d := json.NewDecoder(strings.NewReader(string(out)))
	var first, second any
	if err := d.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("%s\nis no JSON: %v\n%s", line, err, out)
	} else if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		t.Errorf("%s\nprints more than one document: %v\n%s", line, err, out)
	}
}
