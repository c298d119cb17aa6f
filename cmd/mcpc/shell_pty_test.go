//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/cli/shell"
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
	tm := onTerminal(t, 80, nil, "mcpc", "shell", "--", "spied", script, log)
	tm.await("spied> ")
	tm.typed("cal" + tab + "p" + tab + "c" + tab + "g" + tab + "\r")
	tm.await("call paint colour=green")
	tm.await("painted\r\n")
	tm.typed("call " + tab)
	tm.typed("colour=red\r")
	tm.await("painted\r\n(?s:.*)painted\r\n")
	tm.typed("call paint --dr" + tab)
	tm.await(`--dry-run $|--dry-run `)
	tm.typed(ctrlC + "help exit-c" + tab)
	tm.await(`help exit-codes `)
	tm.typed(ctrlC + "explain tool_e" + tab)
	tm.await(`explain tool_error `)
	tm.typed(ctrlC + "exit\r")
	out := tm.ends("0")
	if strings.Contains(out, "touch") {
		t.Errorf("a hostile name was offered: %q", out)
	}
	if _, err := os.Stat(filepath.Join(tm.cmd.Dir, "x")); err == nil {
		t.Error("a hostile name was run")
	}
}

// Ctrl-C gives up the line or the request, and not the shell; Ctrl-D ends it. The
// arrow keys find older lines, also those of the shell before, but nothing that
// looks like a secret.
func TestTerminalShellGoesOn(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, "tool x\n\non tools/call #1\n    wait 1ms\n")
	tm := onTerminal(t, 80, nil, "mcpc", "shell", "--", "spied", script, log)
	tm.await("spied> ")
	tm.typed("call nonsense")
	tm.await("spied> call nonsense") // until the line is edited, Ctrl-C would be a signal
	tm.typed(ctrlC)
	tm.await(`nonsense(?s:.*)spied> $`)
	tm.typed("call x\r")
	awaitFile(t, log, "IN tools/call")
	tm.typed(ctrlC)
	tm.await(`interrupted \(tools/call x`)
	tm.typed(" log channel:signal\r")
	tm.await(`tools/call +x +signal`)
	tm.typed("call x password=correct-horse-battery\r")
	tm.await(`(?s)correct-horse-battery\r\n.*spied> $`)
	tm.typed("ping\r")
	tm.await(`(?s)answered server.*spied> $`)
	tm.typed(up)
	tm.await(`spied> ping.{0,14}$`)
	tm.typed(up)
	tm.await(`spied> call x.{0,14}$`)
	tm.typed(ctrlC)
	tm.await(`spied> call x(?s:.*)spied> $`)
	tm.typed(ctrlD)
	tm.ends("0")
	history := filepath.Join(tm.cmd.Dir, "state", shell.HistoryName)
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
func TestTerminalShellGivesUpQuestions(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"edited": "TERM=xterm-256color", "plain": "TERM=dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := onTerminal(t, 80, []string{env}, "mcpc", "shell", "demo")
			tm.await("demo> $")
			for n, question := range []struct{ line, prompt string }{
				{"call get-sum", "number> $"},
				{"call order-tea", "> $"},
				{"call get-sum", "number> $"},
			} {
				tm.typed(question.line + "\r")
				tm.await(question.line + "(?s:.*)" + question.prompt)
				tm.typed("12" + ctrlC)
				tm.await(question.line + `(?s:.*)demo> $`)
				tm.typed(fmt.Sprintf("call echo message=%d\r", n))
				tm.await(fmt.Sprintf("Echo: %d\r\n(?s:.*)demo> $", n))
			}
			tm.typed("call get-sum\r")
			tm.await(`Echo: 2(?s:.*)number> $`)
			tm.typed("1" + ctrlD + ctrlC) // which ends a read, and not the line
			tm.await(`Echo: 2(?s:.*)number> (?s:.*)demo> $`)
			tm.typed(ctrlD)
			tm.ends("0")
		})
	}
}

// TAB only ever adds to what was typed, where some of the values have to be quoted too.
func TestTerminalShellKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	tm := onTerminal(t, 80, nil, "mcpc", "shell", "demo")
	tm.await("demo> $")
	tm.typed("call get-structured-content location=" + tab + tab)
	tm.await(`location='New York'(?s:.*)location=Chicago(?s:.*)demo> call get-structured-content location=\x1b\[0K[^\n]*$`)
	tm.typed("Ch" + tab + "--dry-run\r")
	tm.await(`"location":"Chicago"(?s:.*)demo> $`)
	tm.typed("call get-structured-content location=New" + tab + "--dry-run\r")
	tm.await(`"location":"New York"(?s:.*)demo> $`)
	tm.typed("exit\r")
	tm.ends("0")
}
