//go:build unix && programs

package main

import (
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// Only a terminal is asked, and only where there is something to draw.
func TestTerminalAskedForPicturesOnly(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"mcpc -s demo call get-tiny-image | cat", "mcpc -s demo call get-tiny-image -o x.png", "mcpc -s demo call get-sum a=1 b=2",
		"mcpc -s demo list", "mcpc -s demo read demo://resource/static/document/features.md",
	} {
		if out := terminal.Start(t, 80, nil, program.MustHave(t, "bash"), "-c", command).Ends("0"); strings.Contains(out, "\x1b[c") || strings.Contains(out, "\x1b_") {
			t.Errorf("%s asked the terminal: %q", command, out)
		}
	}
}

// The terminal is as it was, and nothing is left in its input for the shell to take for
// a command, however the asking ends.
func TestPictureProbeRestoresTerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ typed, shows string }{
		"answered":       {"\x1b_Gi=31;OK\x1b\\\x1b[?62;c", `\x1b_Gf=100(?s:.)*ended 0\r\n`},
		"half answered":  {"\x1b_Gi=31;OK\x1b\\\x1b[?62", `▀(?s:.)*ended 0\r\n`},
		"never answered": {"", `▀(?s:.)*ended 0\r\n`},
		"somebody types": {"echo typed\n", `▀(?s:.)*ended 0\r\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := terminal.Start(t, 80, nil, program.MustHave(t, "bash"), "-c", "mcpc -s demo call get-tiny-image"+after)
			tm.Await(asking)
			tm.Type(c.typed)
			tm.Await(`done\r\n$`)
			out := tm.Ends("0")
			if !regexp.MustCompile(c.shows).MatchString(out) || strings.Contains(out, "mute\r\n") || strings.Contains(out, "raw\r\n") || strings.Contains(out, "something is left") {
				t.Errorf("%q", out)
			}
		})
	}
}

// Ctrl-C is one while the terminal is asked, too.
func TestTerminalAskedAndInterrupted(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, program.MustHave(t, "bash"), "-c", "trap : INT; mcpc -s demo call get-tiny-image"+after)
	tm.Await(asking)
	tm.Type("\x03")
	tm.Await(`done\r\n$`)
	if out := tm.Ends("0"); !strings.Contains(out, "ended 130\r\n") || strings.Contains(out, "mute") || strings.Contains(out, "▀") {
		t.Errorf("%q", out)
	}
}

// What was typed ahead is for the next program, and in the background the terminal is
// another's: it is not asked.
func TestPictureProbeIsSkippedIfInputIsNotOurs(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, program.MustHave(t, "bash"), "-c", `echo now; read first; mcpc -s demo call get-tiny-image; read second; echo "then $second"`)
	tm.Await(`now\r\n`)
	tm.Type("a line\nahead\n")
	if out := tm.Ends("0"); strings.Contains(out, "\x1b[c") || !strings.Contains(out, "▀") || !strings.Contains(out, "then ahead\r\n") {
		t.Errorf("typed ahead: %q", out)
	}
	tm = terminal.Start(t, 80, nil, program.MustHave(t, "bash"), "-c", `set -m; mcpc -s demo call get-tiny-image & wait $!; echo "ended $?"`)
	if out := tm.Ends("0"); strings.Contains(out, "\x1b[c") || !strings.Contains(out, "▀") || !strings.Contains(out, "ended 0\r\n") {
		t.Errorf("in the background: %q", out)
	}
}

// after is the rest of a command line that prints in which state a command left its terminal.
const after = `; echo "ended $?"; stty -a | grep -qw -- -echo && echo mute; ` +
	`stty -a | grep -qw -- -icanon && echo raw; stty -icanon; read -t 0 && echo "something is left"; stty icanon; echo done`
