package cmdutil

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The error of a flag names the flag, the expected value and the given value.
func TestErrorsOfFlags(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"--count", "--count needs a value: --count N"},
		{"--file", "--file needs a value: --file FILE"},
		{"--count x", `--count wants an integer, got "x"`},
		{"--count 99999999999999999999", `--count wants an integer in the supported range, got "99999999999999999999"`},
		{"--on=perhaps", `--on wants true or false, got "perhaps"`},
		{"--wait soon", `--wait: time: invalid duration "soon"`},
		{"--nosuch", "unknown flag: --nosuch"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.Int("count", 0, "")
		flags.Bool("on", false, "")
		flags.String("file", "", "the `file`")
		flags.Duration("wait", 0, "")
		if got := FlagText(flags.Parse(strings.Fields(c.words))); got != c.want {
			t.Errorf("%s: got %s", c.words, got)
		}
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("task", "", "a `time`")
	flags.Lookup("task").NoOptDefVal = "1"
	if got := ShownValue(flags.Lookup("task")); got != "[=TIME]" {
		t.Errorf("got %s", got)
	}
}

// A row of help has no more than 80 columns; its text is a separate column.
func TestRowsOfHelp(t *testing.T) {
	var b strings.Builder
	WriteHelpRow(&b, "\n  --flag  ", strings.Repeat("word ", 30))
	WriteHelpRow(&b, "  --none  ", "")
	lines := strings.Split(b.String(), "\n")
	if lines[1] != "  --flag  "+strings.TrimSpace(strings.Repeat("word ", 14)) || len(lines[1]) > 80 {
		t.Errorf("got %q", lines[1])
	}
	if !strings.HasPrefix(lines[2], "          word ") || lines[4] != "  --none  " {
		t.Errorf("got %q", lines)
	}
}
