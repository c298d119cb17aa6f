package share_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/capture/rows"
	"mcpc/internal/mock"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/samples"
	"mcpc/internal/tests/terminal"
)

// A capture may come from an untrusted source. Whatever it contains, each command ends with an
// outcome of its table, no terminal takes it for a command, and exported commands run nothing of
// it.

// hostileLooks are the commands, and how they may end.
var hostileLooks = []struct {
	args   []string
	ending *regexp.Regexp
}{
	{[]string{"log", "--file", "FILE"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"log", "--file", "FILE", "--jsonl", "evil"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE#1", "--raw"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE#1", "--json"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE#1", "--explain"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"stats", "--file", "FILE"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "har"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "jsonl"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "markdown"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "mcpc"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "curl"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "mock-script"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "k6", "-o", "FILE.load"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "bundle", "--yes", "--note", "x", "-o", "FILE.mcpcz"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"resend", "FILE#1"}, regexp.MustCompile(`^(2|12)$`)},
	{[]string{"resend", "FILE#1", "--to", "demo"}, regexp.MustCompile(`^([02368]|12)$`)},
}

func TestHostileCaptures(t *testing.T) {
	schema := harSchema(t)
	for name, text := range samples.HostileCaptures() {
		t.Run(name, func(t *testing.T) {
			b := clitest.NewHome(t)
			file := filepath.Join(b.Dir, "capture")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, look := range hostileLooks {
				args := lookArgs(look.args, file)
				got := b.MCPC(args...)
				out, ended := got.Stdout, fmt.Sprint(got.Code)
				if !look.ending.MatchString(ended) {
					t.Errorf("%q ended with %s, want %s", look.args, ended, look.ending)
				}
				if ended != "0" {
					continue
				}
				switch args[len(args)-1] {
				case "har":
					if findings, err := schema.Check([]byte(out)); err != nil || len(findings) > 0 {
						t.Errorf("the HAR breaks its schema: %v %v", err, findings)
					}
				case "jsonl":
					isCapture(t, out)
				case "mock-script":
					if _, err := mock.Parse(out); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				case file + ".load":
					isLoadTest(t, file+".load")
				case file + ".mcpcz":
					if again := b.MCPC("log", "--jsonl", "--file", file+".mcpcz"); again.Code != 0 || again.Stdout == "" {
						t.Errorf("log of the bundle ended with %d: %s", again.Code, again.Stdout)
					}
				case "curl", "mcpc":
					runsNothing(b, out)
				}
			}
		})
	}
}

// isLoadTest reads the data of a load test.
func isLoadTest(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "data.jsonl"))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(data)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// isCapture reads back what was exported as a capture.
func isCapture(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := rows.Open(name); err != nil || len(c.Rows()) == 0 {
		t.Errorf("not a capture: %v", err)
	}
}

// lookArgs are the words of a command that looks at a file.
func lookArgs(words []string, file string) (args []string) {
	for _, word := range words {
		args = append(args, strings.Replace(word, "FILE", file, 1))
	}
	return args
}

// runsNothing runs a script with curl, mcpc and all servers replaced by nothing.
func runsNothing(b *clitest.Home, script string) {
	b.T.Helper()
	inert := "curl() { :; }\nmcpc() { :; }\nsleep() { :; }\n"
	shell := clitest.Shell{Dir: b.Dir, Env: b.Env, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	if _, err := shell.Run(b.T.Context(), inert+script); err != nil {
		b.T.Errorf("%v in the script:\n%s", err, script)
	}
	if _, err := os.Stat(filepath.Join(b.Dir, "OWNED")); err == nil {
		b.T.Errorf("the script ran a recorded text:\n%s", script)
	}
}

// A screen is a terminal that keeps its output.
type screen struct{ clitest.Buffer }

func (*screen) Size() (width, height int) { return 80, 24 }

func TestHostileCapturesOnATerminal(t *testing.T) {
	captures := samples.HostileCaptures()
	for _, name := range []string{"everywhere", "http", "stdio", "wrong types", "batch"} {
		h := clitest.NewHome(t)
		h.Env = append(h.Env, "TERM=xterm-256color", "MCPC_NO_PAGER=1")
		file := filepath.Join(h.Dir, "capture")
		if err := os.WriteFile(file, []byte(captures[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		styled := 0
		for _, look := range hostileLooks {
			shown := &screen{}
			clitest.Run{Args: lookArgs(look.args, file), Env: h.Env, Stdout: shown, Stderr: shown}.Do()
			out := shown.String()
			if bad := terminal.Forbidden(out); bad != "" {
				t.Errorf("%s: %q lets %s through:\n%.600q", name, look.args, bad, out)
			}
			if terminal.Colors.MatchString(out) {
				styled++
			}
		}
		if styled == 0 {
			t.Errorf("%s: nothing has a colour, as on a terminal", name)
		}
	}
}
