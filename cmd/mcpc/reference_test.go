package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mcpc/internal/render"
)

var writeReference = flag.Bool("reference", false, "write docs/commands.md anew")

// docs/commands.md has what --help shows of every command, and what the topics say.
func TestDocumentedCommandsAreCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\nWhat `mcpc COMMAND --help` and `mcpc help TOPIC` print. This page is written by the tests\n" +
		"(`go test ./cmd/mcpc -run DocumentedCommands -reference`); `mcpc man DIR` writes the same as manual pages.\n")
	var topics strings.Builder
	for _, c := range allCommands(t) {
		into, head, text := &b, c.CommandPath(), helpText(c, false)
		if isTopic(c) {
			into, head, text = &topics, "mcpc help "+c.Name(), topicText(c, render.Style{})
		}
		fmt.Fprintf(into, "\n## %s\n\n```text\n%s\n```\n", head, strings.TrimRight(text, "\n"))
	}
	b.WriteString(topics.String())
	name := filepath.Join("..", "..", "docs", "commands.md")
	if *writeReference {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/commands.md is not current (%v): go test ./cmd/mcpc -run DocumentedCommands -reference writes it", err)
	}
}

// The manual has a page for each command and topic, with each flag, and no line of
// it is a request that nobody wrote.
func TestHelpIsAlsoAManual(t *testing.T) {
	requests := regexp.MustCompile(`^\.(TH|SH|PP|TP|nf|fi)( |$)`)
	for _, c := range allCommands(t) {
		page := manPage(c)
		for _, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !requests.MatchString(line) {
				t.Errorf("%s has the request %q", c.CommandPath(), line)
			}
		}
		if strings.Count(page, "\n.nf") != strings.Count(page, "\n.fi") || !strings.Contains(page, ".SH NAME\n"+roff(manName(c))+` \- `) {
			t.Errorf("%s:\n%s", c.CommandPath(), page)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && !strings.Contains(page, roff("--"+f.Name)) {
				t.Errorf("%s has no --%s", c.CommandPath(), f.Name)
			}
		})
	}
}

func TestRoffMeansItself(t *testing.T) {
	for text, want := range map[string]string{
		"-s demo":         `\-s demo`,
		".TH\n.x 'y'":     "\\&.TH\n\\&.x \\(aqy\\(aq",
		`a\.b ~ ^ ` + "`": `a\e.b \(ti \(ha \(ga`,
		"'x":              `\(aqx`,
	} {
		if got := roff(text); got != want {
			t.Errorf("roff(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestManualIsWritten(t *testing.T) {
	dir := t.TempDir()
	h := shellCommand(dir, cleanEnv(), "mcpc man manual && ls manual/man1/mcpc.1 manual/man1/mcpc-tasks-wait.1 manual/man7/mcpc-exit-codes.7 && ! mcpc man /dev/null/x")
	if out, err := h.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
