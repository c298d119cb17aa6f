package faulty

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/proxy"
	"mcpc/internal/wire"
)

// quiet returns a Factory on buffers.
func quiet() *cmdutil.Factory {
	var out bytes.Buffer
	f := cmdutil.New(strings.NewReader("when method:ping do hang\n"), &out, &out)
	f.Now, f.Getenv = time.Now, func(string) string { return "" }
	f.SettleStyles()
	return f
}

// Bad reactions of a client come first, and a repeated reaction appears once.
func TestReportsOfWhatAClientDid(t *testing.T) {
	verdict := func(line int, did string, bad bool) proxy.Verdict {
		v := proxy.Verdict{Did: did, Bad: bad}
		v.Line = line
		return v
	}
	verdicts := []proxy.Verdict{
		verdict(1, proxy.Stopped, false), verdict(2, proxy.Repeated, true),
		verdict(1, proxy.Stopped, false),
	}
	var b bytes.Buffer
	WriteVerdicts(&b, verdicts, func(text string) string { return "<" + text + ">" })
	lines := strings.Split(b.String(), "\n")
	if !strings.HasPrefix(lines[0], "! <") || !strings.HasPrefix(lines[2], "  <") ||
		!strings.HasSuffix(lines[3], " (2 times)") ||
		lines[4] != "3 faults, 1 handled badly" {
		t.Errorf("got\n%s", &b)
	}
	if out := Outcome(verdicts); out.Kind != wire.CheckFailed || out.Text != "the client handled 1 of 3 faults badly" {
		t.Errorf("got %q %q", out.Kind, out.Text)
	}
	if out := Outcome(verdicts[:1]); !out.OK() || CountBad(verdicts[:1]) != 0 {
		t.Errorf("a good client: %q", out.Text)
	}
	if got := string(Document(7, nil, nil)); got != `{"seed":7,"bad":0,"faults":[]}` {
		t.Errorf("got %s", got)
	}
	b.Reset()
	var many []proxy.Verdict
	for n := range 105 {
		many = append(many, verdict(n, proxy.Stopped, false))
	}
	WriteVerdicts(&b, many, func(text string) string { return text })
	if !strings.Contains(b.String(), "  and 5 more\n105 faults, 0 handled badly\n") {
		t.Errorf("got\n%s", &b)
	}
}

// A word is the name of a preset, a rule, or a file; - is standard input.
func TestWordsForRules(t *testing.T) {
	for _, c := range []struct {
		word    string
		rules   int
		failure string
	}{
		{"preset:slow", 1, ""},
		{"preset:nosuch", 0, "nosuch"},
		{"when method:ping do hang", 1, ""},
		{" when method:ping do hang", 1, ""},
		{
			"when method:ping do nonsense", 0,
			"nonsense",
		},
		{"-", 1, ""},
		{"none", 0, `"none" is neither a file nor a rule`},
		{"a b", 0, `"a b" is neither a file nor a rule`},
		{"", 0, `"" is neither a file nor a rule`},
	} {
		rules, err := Read(quiet(), c.word)
		if len(rules) < c.rules || (err != nil) != (c.failure != "") || err != nil &&
			!strings.Contains(err.Error(), c.failure) {
			t.Errorf("%q: got %d rules, %v", c.word, len(rules), err)
		}
	}
}

// Flags that exclude each other are refused before anything starts.
func TestFlagsOfFaults(t *testing.T) {
	for _, c := range []struct {
		words   []string
		failure string
		given   bool
	}{
		{nil, "", false},
		{[]string{"--fault", "when method:ping do hang"}, "", true},
		{[]string{"--fault", "when method:ping do hang", "--fault-seed", "7"}, "", true},
		{[]string{"--fault-seed", "7"}, "there are no fault rules to report on, or to seed", false},
		{[]string{"--fault-report", "x"}, "there are no fault rules to report on, or to seed", false},
		{
			[]string{"--fault", "when method:ping do hang", "--fault-seed", "x"},
			`--fault-seed must be a whole number, not "x"`,
			false,
		},
		{[]string{"--fault", "when method:ping do nonsense"}, "nonsense", false},
		{
			[]string{"--fault", "when method:ping do hang", "--fault-report", "none/x"},
			"--fault-report: no such directory: none", false,
		},
	} {
		var o Options
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(flags)
		if err := flags.Parse(c.words); err != nil {
			t.Fatal(err)
		}
		faults, err := o.Start(quiet(), Link(true))
		if (faults != nil) != c.given || (err != nil) != (c.failure != "") || err != nil &&
			!strings.Contains(err.Error(), c.failure) {
			t.Errorf("%q: got %v, %v", c.words, faults, err)
		}
	}
}

// A command that mcpc starts gets the same flags, but no report on its standard error.
func TestFlagsAsWords(t *testing.T) {
	words := []string{"--fault", "when method:ping do hang", "--fault-seed", "7", "--fault-report", "x", "--control", "s"}
	var o Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse(words); err != nil {
		t.Fatal(err)
	}
	got, err := o.Words(quiet())
	if strings.Join(got, " ") != strings.Join(words, " ") || err != nil || !o.HasRules() {
		t.Errorf("got %q, %v", got, err)
	}
	o.report = "-"
	if _, err := o.Words(quiet()); err == nil ||
		err.Error() != "the server's stderr is not shown, so --fault-report needs a file" {
		t.Errorf("got %v", err)
	}
	o = Options{rules: []string{"when method:ping do nonsense"}}
	if _, err := o.Words(quiet()); err == nil {
		t.Error("a wrong rule is passed on")
	}
}
