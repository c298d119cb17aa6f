//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/cli/shell"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// The shell as a person meets it.

const ctrlC, ctrlD, tab, up = "\x03", "\x04", "\t", "\x1b[A"

// TAB completes commands, tools, arguments and their values, from the conversation
// itself; what is hostile is not offered.
func TestTerminalShellCompletes(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, `tool paint {"type":"object","properties":{"colour":{"enum":["red","green"]}},"required":["colour"]}
tool $(touch${IFS}x)

on tools/call
    result {"content":[{"type":"text","text":"painted"}]}
`)
	tm := terminal.Start(t, 80, nil, "mcpc", "shell", "--", "spied", script, log)
	tm.Await("spied> ")
	tm.Type("cal" + tab + "p" + tab + "c" + tab + "g" + tab + "\r")
	tm.Await("call paint colour=green")
	tm.Await("painted\r\n")
	tm.Type("call " + tab)
	tm.Type("colour=red\r")
	tm.Await("painted\r\n(?s:.*)painted\r\n")
	tm.Type("call paint --dr" + tab)
	tm.Await(`--dry-run $|--dry-run `)
	tm.Type(ctrlC + "help exit-c" + tab)
	tm.Await(`help exit-codes `)
	tm.Type(ctrlC + "explain tool_e" + tab)
	tm.Await(`explain tool_error `)
	tm.Type(ctrlC + "exit\r")
	out := tm.Ends("0")
	if strings.Contains(out, "touch") {
		t.Errorf("a hostile name was offered: %q", out)
	}
	if _, err := os.Stat(filepath.Join(tm.Cmd.Dir, "x")); err == nil {
		t.Error("a hostile name was run")
	}
}

// A line that ends in a backslash or within quotes goes on in the next one.
func TestTerminalShellContinuesLines(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"edited": "TERM=xterm-256color", "plain": "TERM=dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := terminal.Start(t, 80, []string{env}, "mcpc", "shell", "demo")
			tm.Await("demo> $")
			tm.Type("call echo \\\r")
			tm.Await(`(?s)\r\n> $`)
			tm.Type("message='a\r")
			tm.Await(`(?s)message='a\r\n(.*\r)?> $`)
			tm.Type("b'\r")
			tm.Await(`(?s)Echo: a\r\nb\r\n.*demo> $`)
			tm.Type("exit\r")
			tm.Ends("0")
		})
	}
}

// Ctrl-C gives up the line or the request, and not the shell; Ctrl-D ends it. The
// arrow keys find older lines, also those of the shell before, but nothing that
// looks like a secret.
func TestTerminalShellSurvivesCtrlC(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, "tool x\n\non tools/call #1\n    wait 1ms\n")
	tm := terminal.Start(t, 80, nil, "mcpc", "shell", "--", "spied", script, log)
	tm.Await("spied> ")
	tm.Type("call nonsense")
	tm.Await("spied> call nonsense") // until the line is edited, Ctrl-C would be a signal
	tm.Type(ctrlC)
	tm.Await(`nonsense(?s:.*)spied> $`)
	tm.Type("call x\r")
	program.AwaitFile(t, log, "IN tools/call")
	tm.Type(ctrlC)
	tm.Await(`interrupted \(tools/call x`)
	tm.Type(" log channel:signal\r")
	tm.Await(`tools/call +x +signal`)
	tm.Type("call x password=correct-horse-battery\r")
	tm.Await(`(?s)correct-horse-battery\r\n.*spied> $`)
	tm.Type("ping\r")
	tm.Await(`(?s)answered server.*spied> $`)
	tm.Type(up)
	tm.Await(`spied> ping.{0,14}$`)
	tm.Type(up)
	tm.Await(`spied> call x.{0,14}$`)
	tm.Type(ctrlC)
	tm.Await(`spied> call x(?s:.*)spied> $`)
	tm.Type(ctrlD)
	tm.Ends("0")
	history := filepath.Join(tm.Cmd.Dir, "state", shell.HistoryName)
	raw, err := os.ReadFile(history)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(raw), "call x\nping\n"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	if info, err := os.Stat(history); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Ctrl-C at a question that a line puts, for an argument or for the server, ends the
// line alone: what is typed then is the shell's.
func TestTerminalShellCtrlCEndsQuestionOnly(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"edited": "TERM=xterm-256color", "plain": "TERM=dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := terminal.Start(t, 80, []string{env}, "mcpc", "shell", "demo")
			tm.Await("demo> $")
			for n, question := range []struct{ line, prompt string }{
				{"call get-sum", "number> $"},
				{"call order-tea", "> $"},
				{"call get-sum", "number> $"},
			} {
				tm.Type(question.line + "\r")
				tm.Await(question.line + "(?s:.*)" + question.prompt)
				tm.Type("12" + ctrlC)
				tm.Await(question.line + `(?s:.*)demo> $`)
				tm.Type(fmt.Sprintf("call echo message=%d\r", n))
				tm.Await(fmt.Sprintf("Echo: %d\r\n(?s:.*)demo> $", n))
			}
			tm.Type("call get-sum\r")
			tm.Await(`Echo: 2(?s:.*)number> $`)
			tm.Type("1" + ctrlD + ctrlC) // which ends a read, and not the line
			tm.Await(`Echo: 2(?s:.*)number> (?s:.*)demo> $`)
			tm.Type(ctrlD)
			tm.Ends("0")
		})
	}
}

// TAB only ever adds to what was typed, where some of the values have to be quoted too.
func TestTerminalShellKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, "mcpc", "shell", "demo")
	tm.Await("demo> $")
	tm.Type("call get-structured-content location=" + tab + tab)
	tm.Await(`location='New York'(?s:.*)location=Chicago(?s:.*)demo> call get-structured-content location=\x1b\[0K[^\n]*$`)
	tm.Type("Ch" + tab + "--dry-run\r")
	tm.Await(`"location":"Chicago"(?s:.*)demo> $`)
	tm.Type("call get-structured-content location=New" + tab + "--dry-run\r")
	tm.Await(`"location":"New York"(?s:.*)demo> $`)
	tm.Type("exit\r")
	tm.Ends("0")
}
