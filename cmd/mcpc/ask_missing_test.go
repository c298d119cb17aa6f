//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// What a tool requires and the user did not give is asked for at a terminal, checked
// while it is typed, and sent with the rest.
func TestTerminalMissingArguments(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "get-sum", "a=1")
	tm.Await(`get-sum needs more arguments(?s:.)*number> $`)
	tm.Type("abc\n")
	tm.Await(`must be a number(?s:.)*number> $`)
	tm.Type("\n")
	tm.Await(`required by the tool(?s:.)*number> $`)
	tm.Type("9007199254740993\n")
	if out := tm.Ends("0"); !strings.Contains(out, "The sum of 1 and 9007199254740993 is ") {
		t.Errorf("%q", out)
	}
	tm = terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "get-structured-content", "--json")
	tm.Await(`2  Chicago(?s:.)*> $`)
	tm.Type("2\n")
	if out := tm.Ends("0"); !strings.Contains(out, `"conditions"`) {
		t.Errorf("%q", out)
	}
}

// Without an answer or a prompt the error names what is missing, as in a pipe.
func TestTerminalMissingArgumentsNotGiven(t *testing.T) {
	t.Parallel()
	const said = `missing required member "b"`
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "get-sum", "a=1")
	tm.Await(`> $`)
	tm.Type("\x04")
	if out := tm.Ends("3"); !strings.Contains(out, said) {
		t.Errorf("%q", out)
	}
	for _, words := range [][]string{{"a=1", "--no-input"}, {"a=one"}} {
		tm := terminal.Start(t, 80, nil, append([]string{"mcpc", "-s", "demo", "call", "get-sum"}, words...)...)
		if out := tm.Ends("3"); strings.Contains(out, "needs more") {
			t.Errorf("%q: %q", words, out)
		}
	}
}

// A signal while they are asked for ends the command as a signal, and not as arguments that
// do not fit.
func TestTerminalMissingArgumentsSignalled(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "get-sum")
		tm.Await(`> $`)
		if err := tm.Cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		tm.Ends(name)
	}
}

// A tool's words cannot act on the terminal, and what is no field of a form is not
// asked for.
func TestTerminalMissingArgumentsWithoutFormField(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, `speaks 2025-11-25
tool x {"type":"object","properties":{"n\u001b[2J":{"type":"array","description":"\u001b]0;t\u0007"}},"required":["n\u001b[2J"]}
tool y {"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"integer"}}}
`)
	tm := terminal.Start(t, 80, nil, "mcpc", "call", "x", "--", "spied", script, log)
	tm.Await(`JSON, such as \["example"\]> $`)
	tm.Type("7\n")
	tm.Await(`must be array(?s:.)*JSON, such as \["example"\]> $`)
	tm.Type("[7]\n")
	if out := tm.Ends("0"); strings.Contains(out, "\x1b[2J") || strings.Contains(out, "\x1b]0;") {
		t.Errorf("%q", out)
	}
	program.AwaitFile(t, log, `:\[7\]}`)
	tm = terminal.Start(t, 80, nil, "mcpc", "call", "y", "--", "spied", script, log)
	if out := tm.Ends("3"); !strings.Contains(out, `missing required member "n"`) {
		t.Errorf("%q", out)
	}
}
