//go:build unix

package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/tests/terminal"
)

var updateTerminal = flag.Bool("terminal", false, "write docs/terminal.md anew")

// docs/terminal.md shows what a person at a terminal sees. It is made from real runs: go test -run
// TestTerminalsPage ./internal/tests/docs -terminal writes it again.
func TestTerminalsPage(t *testing.T) {
	t.Parallel()
	name := module.Path(t, "docs/terminal.md")
	want := terminalIntro
	for _, part := range []struct {
		title, words string
		session      func(*testing.T) string
	}{
		{"A server request", "The tool `order-tea` asks three questions. What the user types follows the `>`.", formSession},
		{"Progress", "mcpc shows progress in one line, which it redraws at most ten times a second and clears when the\n" +
			"result arrives. These are the states of that line, one after another:", progressSession},
		{"Listening", "While this runs, another terminal calls `touch-resource` and `change-list`.", listenSession},
	} {
		want += fmt.Sprintf("\n## %s\n\n%s\n\n```text\n%s```\n", part.title, part.words, part.session(t))
	}
	if *updateTerminal {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := program.Read(t, name); got != want {
		t.Errorf("docs/terminal.md is out of date; write it with\n"+
			"go test -run TestTerminalsPage ./internal/tests/docs -terminal\ngot\n%s\nwant\n%s", got, want)
	}
}

const terminalIntro = `# At a terminal

After this page you know what mcpc shows at a terminal: forms, progress and notifications. The examples are
real runs against the built-in demo server (` + "`mcpc demo`" + `), without colors; a test repeats each run and
compares the output. In a pipe mcpc prints no prompts and no progress; the result is the same.
`

// typedAt is what a person answers to a prompt.
type typedAt struct{ prompt, text string }

func formSession(t *testing.T) string {
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "order-tea")
	for _, at := range []typedAt{
		{`at least 1 character> $`, "Ada\n"},
		{`\[c\]ancel> $`, "s\n"},
		{`0 to 9 \[1\]> $`, "2\n"},
		{`sugar  2(?s:.)*\[c\]ancel> $`, "s\n"},
		{`\[mint\]> $`, "1\n"},
		{`tea  "green"(?s:.)*\[c\]ancel> $`, "s\n"},
	} {
		tm.Await(at.prompt)
		tm.Type(at.text)
	}
	return "$ mcpc -s demo call order-tea\n" + screenOf(tm.Ends("0"))
}

// measured are the parts of a line that depend on the moment.
var measured = regexp.MustCompile(`  [0-9.]+/s  eta \d+ m?s`)

func progressSession(t *testing.T) string {
	out := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "trigger-long-running-operation", `{"duration":1.6,"steps":4}`).Ends("0")
	text, drawn := "$ mcpc -s demo call trigger-long-running-operation '{\"duration\":1.6,\"steps\":4}'\n", map[string]bool{}
	for _, picture := range strings.Split(out, "\r") {
		picture = strings.TrimRight(measured.ReplaceAllString(terminal.Colors.ReplaceAllString(picture, ""), ""), " ")
		// The last one may be drawn, or the answer is quicker.
		if strings.HasPrefix(picture, "[") && !strings.Contains(picture, "4/4") && !drawn[picture] {
			drawn[picture] = true
			text += picture + "\n"
		}
	}
	return text + screenOf(out)
}

func listenSession(t *testing.T) string {
	server := servers.ForTest(t)
	if err := server.Demo(); err != nil {
		t.Fatal(err)
	}
	tm := terminal.Start(t, 100, nil, "mcpc", "-s", server.URL("/mcp"), "listen", "--tools",
		"--resource", "demo://resource/static/document/instructions.md", "--count", "2")
	for _, step := range []struct{ shown, tool, arguments string }{
		{"Ctrl-C stops", "touch-resource", "{}"}, {"updated", "change-list", `{"list":"tools"}`},
	} {
		tm.Await(step.shown)
		if out, err := exec.Command("mcpc", "--state", t.TempDir(), "-s", server.URL("/mcp"), "call", step.tool, step.arguments).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step.tool, err, out)
		}
	}
	text := regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(screenOf(tm.Ends("0")), "12:00:00")
	return "$ mcpc listen --tools --resource demo://resource/static/document/instructions.md --count 2\n" + text
}

func screenOf(output string) string {
	return strings.TrimRight(strings.Join(terminal.Shown(output), "\n"), "\n") + "\n"
}
