package cmdutil

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// problem returns the text and the hint of a usage error.
func problem(f *Factory, err error) string {
	if err == nil {
		return ""
	}
	o := usage.Outcome(err)
	text, _ := f.ErrStyle.Hints.Text(o.Hint)
	return strings.TrimSuffix(o.Text+" | "+text, " | ")
}

// parsed returns a Factory and a command whose global flags have been read from words.
func parsed(t *testing.T, words ...string) (*Factory, *cobra.Command) {
	t.Helper()
	f, _ := testFactory(t)
	cmd := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
	f.AddGlobals(cmd.Flags())
	f.AddMaxChars(cmd.Flags())
	f.AddIndex(cmd.Flags())
	f.AddFresh(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	if err := cmd.ParseFlags(words); err != nil {
		t.Fatal(err)
	}
	return f, cmd
}

// The limits of the flags: a flag that is not given means the default of the client, 0 means no
// limit.
func TestLimitsOfFlags(t *testing.T) {
	f, _ := parsed(t)
	limits := f.ClientLimits()
	if limits.Connect != 0 || limits.Idle != 0 || limits.Message != 0 || limits.Pages != 1000 || limits.Items != 100000 {
		t.Errorf("without flags: %+v", limits)
	}
	f, _ = parsed(t, "--connect-timeout", "2", "--timeout", "1500ms", "--max-time", "0", "--probe-timeout", "0.25",
		"--max-message-size", "2kb", "--max-pages", "0", "--max-items", "7")
	limits = f.ClientLimits()
	if limits.Connect != 2*time.Second || limits.Idle != 1500*time.Millisecond || limits.Probe != 250*time.Millisecond {
		t.Errorf("times: %+v", limits)
	}
	if limits.Hard != -1 || limits.Pages != -1 || limits.Items != 7 || limits.Message != 2000 {
		t.Errorf("numbers: %+v", limits)
	}
}

func TestDurationsOfFlags(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"5", "5s"},
		{"1.5", "1.5s"},
		{"500ms", "500ms"},
		{"2m", "2m0s"},
		{"0", "0s"},
		{"0s", "0s"},
		{"-1", ""},
		{"-2s", ""},
		{"soon", ""},
		{"", ""},
	} {
		var s Seconds
		err := s.Set(c.text)
		if got := s.String(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q, %v", c.text, got, err)
		}
	}
}

func TestSizesOfFlags(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"4096", 4096},
		{"1KiB", 1024},
		{"2 mb", 2e6},
		{"1g", 1 << 30},
		{"3k", 3072},
		{"12b", 12},
		{
			"64MiB",
			64 << 20,
		},
		{"1GB", 1e9},
		{"0", -1},
		{"9007199254740992", 1 << 53},
		{"9007199254740993", 0},
		{"8388609GiB", 0},
		{"-1", 0},
		{"1.5m", 0},
		{"m", 0},
		{
			"1tb",
			0,
		},
	} {
		var s size
		err := s.Set(c.text)
		if got := s.bytes(); got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%q: got %d, %v", c.text, got, err)
		}
	}
	if (&size{}).String() != "" || (&size{set: true, value: 12}).String() != "12" {
		t.Error("the text of a size")
	}
}

func TestFlagsFromTheEnvironment(t *testing.T) {
	variables := map[string]string{
		"MCPC_MAX_TIME": "3s", "MCPC_PROTOCOL": "x", "MCPC_SERVER": "other", "MCPC_JSON": "1",
		"MCPC_HEADER": "A: b",
	}
	f, cmd := parsed(t, "--protocol", "2025-11-25")
	if err := SetFlagsFromEnvironment(cmd, func(name string) string { return variables[name] }); err != nil {
		t.Fatal(err)
	}
	if f.ClientLimits().Hard != 3*time.Second || !f.JSON || len(f.Headers) != 1 || f.Headers[0] != "A: b" {
		t.Errorf("not taken: %+v %v %q", f.ClientLimits(), f.JSON, f.Headers)
	}
	if f.Protocol != "2025-11-25" || f.Server != "" {
		t.Errorf("the flag has precedence, and --server has no variable here: %q, %q", f.Protocol, f.Server)
	}
	f, cmd = parsed(t)
	err := SetFlagsFromEnvironment(cmd, func(name string) string { return map[string]string{"MCPC_MAX_PAGES": "many"}[name] })
	if got := problem(f, err); !strings.HasPrefix(got, "the variable MCPC_MAX_PAGES: ") ||
		!strings.HasSuffix(got, "| unset MCPC_MAX_PAGES removes it") {
		t.Error(got)
	}
}

func TestInvalidFlagValues(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"", ""},
		{"--protocol 2025-11-25 --color always --confirm never --log-level debug --images blocks", ""},
		{"--protocol 2025-13-01", `unknown revision "2025-13-01" | mcpc supports `},
		{"--color alway", `--color must be auto, always or never, not "alway" | did you mean --color always?`},
		{"--confirm sometimes", `--confirm must be auto, always or never, not "sometimes" | auto asks for`},
		{"--log-level warn", `unknown log level "warn" | did you mean --log-level warning?`},
		{"--log-level xyzzy", `unknown log level "xyzzy" | levels are debug, info`},
		{"--max-pages -1", "--max-pages and --max-items must be 0 or more | 0 means no limit"},
		{"--max-items -1", "--max-pages and --max-items must be 0 or more | 0 means no limit"},
		{"--images ascii", `unknown value "ascii" for --images | it is one of auto, none, blocks`},
		{"-H nothing", "nothing"},
	} {
		f, _ := parsed(t, strings.Fields(c.words)...)
		got := problem(f, f.CheckFlags())
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", c.words, got)
		}
	}
}

func TestMaxCharsLimits(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"", ""},
		{"--max-chars 100", ""},
		{"--max-chars 100 --json", ""},
		{"--max-chars 99", "--max-chars must be 100 or more, not 99 | --max-chars 4000 is about 1000 tokens"},
		{"--max-chars -1", "--max-chars must be 100 or more, not -1 | --max-chars 4000 is about 1000 tokens"},
		{"--max-chars 100 --wire", "--wire prints messages unchanged, so it has no --max-chars | use --json --max-chars"},
	} {
		f, _ := parsed(t, strings.Fields(c.words)...)
		if got := problem(f, f.CheckFlags()); got != c.want {
			t.Errorf("%s: got %s", c.words, got)
		}
	}
}

// The requested form of the output decides whether an answer may be written as it arrives.
func TestFormsOfOutput(t *testing.T) {
	for _, c := range []struct {
		words                        string
		tables, text, json, document bool
	}{
		{"", true, true, false, false},
		{"--json", false, false, true, true},
		{"--json -o x", false, false, false, true},
		{"--json --max-chars 100", false, false, false, true},
		{"--json --jq .", false, false, false, true},
		{"--json --wire", false, false, false, true},
		{"--jq .", false, false, false, true},
		{"--wire", false, false, false, true},
		{"-o x", true, false, false, false},
		{"--max-chars 100", true, false, false, false},
	} {
		f, _ := parsed(t, strings.Fields(c.words)...)
		if f.ShowsTables() != c.tables || f.OnlyWritesText() != c.text || f.OnlyWritesJSON() != c.json ||
			f.PrintsJSON() != c.document {
			t.Errorf("%q: got tables %v, text %v, JSON %v, document %v", c.words, f.ShowsTables(), f.OnlyWritesText(),
				f.OnlyWritesJSON(), f.PrintsJSON())
		}
	}
}

func TestJSONOfALineThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		words, variable string
		want            bool
	}{
		{"list --json --bad", "", true},
		{"list --bad", "", false},
		{"list -- x --json", "", false},
		{"list", "1", true},
		{"list", "true", true},
		{"list", "0", false},
		{"list", "perhaps", false},
	} {
		f, _ := testFactory(t)
		f.Getenv = func(name string) string { return map[string]string{"MCPC_JSON": c.variable}[name] }
		if got := f.AsksJSON(strings.Fields(c.words)); got != c.want {
			t.Errorf("%s, MCPC_JSON=%s: got %v", c.words, c.variable, got)
		}
	}
}

// A line of the shell begins with the flags of the shell, and does not change them.
func TestShellLineFlagsDoNotChangeShell(t *testing.T) {
	f, _ := parsed(t, "--timeout", "3", "--jq", ".a")
	f.NewRoot = func(g *Factory) *cobra.Command {
		cmd := &cobra.Command{}
		g.AddGlobals(cmd.Flags())
		return cmd
	}
	line := f.Invocation()
	root := line.NewRootWithFlags()
	if line.Jq != ".a" || line.ClientLimits().Idle != 3*time.Second {
		t.Errorf("the flags are lost: %q, %v", line.Jq, line.ClientLimits())
	}
	if err := root.ParseFlags([]string{"--jq", ".b"}); err != nil || line.Jq != ".b" || f.Jq != ".a" {
		t.Errorf("got %q in the line and %q in the shell, %v", line.Jq, f.Jq, err)
	}
	f.Secrets.Learn("a long secret")
	if got := line.Secrets.Text("a long secret"); got == "a long secret" {
		t.Error("an invocation does not share the secrets")
	}
	if got := f.Separate().Secrets.Text("a long secret"); got != "a long secret" {
		t.Error("a separate one does")
	}
}

func TestAnsweringFlagsOfACommand(t *testing.T) {
	_, cmd := parsed(t)
	var names []string
	for _, flag := range AnsweringFlags(cmd) {
		names = append(names, flag.Name)
	}
	if got := strings.Join(names, " "); got != "answer answer-defaults decline on-elicit sampling on-sampling root" {
		t.Error(got)
	}
	if got := AnsweringFlags(&cobra.Command{}); got != nil {
		t.Error(got)
	}
}

func TestListenersAreOfThisMachine(t *testing.T) {
	for _, c := range []struct {
		address string
		kind    wire.Kind
		hint    string
	}{
		{"127.0.0.1:0", wire.OK, ""},
		{"localhost:0", wire.OK, ""},
		{"Localhost:0", wire.OK, ""},
		{"a.localhost:1", wire.Refused, "--listen 127.0.0.1:1"},
		{"3001", wire.Usage, "--listen 127.0.0.1:3001"},
		{"70000", wire.Usage, "--listen 127.0.0.1:3001"},
		{"here", wire.Usage, "--listen 127.0.0.1:3001"},
		{"0.0.0.0:3002", wire.Refused, "--listen 127.0.0.1:3002"},
		{"example.com:1", wire.Refused, "--listen 127.0.0.1:1"},
		{"127.0.0.1:70000", wire.LocalIO, "--listen 127.0.0.1:0 takes a free port"},
	} {
		listener, out := ListenLoopback("--listen", c.address)
		if listener != nil {
			listener.Close()
		}
		if out.Kind != c.kind || string(out.Hint) != c.hint || (listener == nil) == out.OK() {
			t.Errorf("%s: got %q %q %q", c.address, out.Kind, out.Text, out.Hint)
		}
	}
}

// The answer is on standard output and the notes on standard error.
func TestFactoryStreams(t *testing.T) {
	f, out, stderr := answering(t)
	if _, err := f.Stdout().Write([]byte("answer\n")); err != nil {
		t.Fatal(err)
	}
	f.Note("a note")
	if out.String() != "answer\n" || stderr.String() != "mcpc: note: a note\n" {
		t.Errorf("got %q and %q", out.String(), stderr.String())
	}
}
