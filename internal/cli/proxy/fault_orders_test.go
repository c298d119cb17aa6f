package proxy_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// controlled returns the socket of a command with a rule that delays calls.
func controlled(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	f := cmdutil.New(strings.NewReader(""), &out, &out)
	f.Now, f.Getenv = time.Now, func(string) string { return "" }
	f.SettleStyles()
	socket := filepath.Join(program.ShortDir(t), "s")
	var o faulty.Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse([]string{"--control", socket, "--fault", "when method:tools/call do delay 2s"}); err != nil {
		t.Fatal(err)
	}
	faults, err := o.Start(f, faulty.Link(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = faults.End() })
	return socket
}

// The rules of a running command are listed, added to and removed, one after the other.
func TestOrdersToARunningCommand(t *testing.T) {
	socket := controlled(t)
	for _, c := range []struct {
		words          []string
		code           int
		stdout, stderr string
	}{
		{[]string{"list"}, 0, "when method:tools/call do delay 2s", ""},
		{[]string{"add", "when method:ping do hang"}, 0, "when method:ping do hang", ""},
		{[]string{"list", "--jq", ".rules[].number"}, 0, "1\n2\n", ""},
		{[]string{"add", "when method:ping do nonsense"}, 2, "", "nonsense"},
		{[]string{"add", "no-such-file"}, 2, "", "no-such-file"},
		{[]string{"add", "preset:nosuch"}, 2, "", "nosuch"},
		{
			[]string{"add"},
			2, "",
			"fault add takes a file, a rule, or preset:NAME\nhint: mcpc help faults describes the rules",
		},
		{[]string{"remove"}, 2, "", "fault remove takes the number of a rule\nhint: mcpc fault list shows them"},
		{[]string{"remove", "0"}, 2, "", "fault remove takes the number of a rule"},
		{[]string{"remove", "9"}, 2, "", "hint: mcpc help faults describes the rules"},
		{[]string{"remove", "1", "--jq", "(.rules|length),.removed"}, 0, "1\n1\n", ""},
		{[]string{"off", "x"}, 2, "", `unexpected argument "x"`},
		{[]string{"off", "--jq", ".removed"}, 0, "1\n", ""},
		{[]string{"list"}, 0, "no fault rules: everything passes unchanged\n", ""},
		{[]string{"list", "x"}, 2, "", `unexpected argument "x"`},
	} {
		out := clitest.MCPC(t, nil, append([]string{"fault"}, append(c.words, "--control", socket)...)...)
		if out.Code != c.code || !strings.Contains(out.Stdout, c.stdout) || !strings.Contains(out.Stderr, c.stderr) {
			t.Errorf("%q: exit code %d\n%s%s", c.words, out.Code, out.Stdout, out.Stderr)
		}
	}
}

func TestOrdersWithoutACommand(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		words  []string
		code   int
		stderr string
	}{
		{[]string{"list"}, 2, "which command? --control is missing"},
		{[]string{"list", "--control", none}, 13, "is a command with --control " + none + " running?"},
		{[]string{"lst"}, 2, "did you mean mcpc fault list?"},
		{[]string{"report", "a", "b"}, 2, `unexpected argument "b"`},
		{[]string{"report"}, 2, "no recorded run has faults"},
	} {
		out := clitest.MCPC(t, nil, append([]string{"fault"}, c.words...)...)
		if out.Code != c.code || !strings.Contains(out.Stderr, c.stderr) {
			t.Errorf("%q: exit code %d\n%s", c.words, out.Code, out.Stderr)
		}
	}
}
