//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/mock"
	"mcpc/internal/tests/samples"
	"mcpc/internal/tests/terminal"
)

// A capture may be a stranger's. Whatever it contains, each command comes to an
// ending of its table, no terminal takes it for a command, and exported commands
// run nothing of it.

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
	t.Parallel()
	schema := harSchema(t)
	for name, text := range samples.HostileCaptures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			file := filepath.Join(b.Dir, "capture")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, look := range hostileLooks {
				args := []string{"mcpc"}
				for _, word := range look.args {
					args = append(args, strings.Replace(word, "FILE", file, 1))
				}
				out, ended := b.Run(args...)
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
					if again, ended := b.Run("mcpc", "log", "--jsonl", "--file", file+".mcpcz"); ended != "0" || again == "" {
						t.Errorf("log of the bundle ended with %s: %s", ended, again)
					}
				case "curl", "mcpc":
					b.runsNothing(out)
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
	if c, err := capture.Open(name); err != nil || len(c.Rows()) == 0 {
		t.Errorf("not a capture: %v", err)
	}
}

// runsNothing runs a script with curl, mcpc and all servers replaced by nothing.
func (b *bench) runsNothing(script string) {
	b.t.Helper()
	name := filepath.Join(b.Dir, "script.sh")
	inert := "curl() { :; }\nmcpc() { :; }\nsleep() { :; }\n"
	if err := os.WriteFile(name, []byte(inert+script), 0o600); err != nil {
		b.t.Fatal(err)
	}
	_, _ = b.Run("sh", name)
	if _, err := os.Stat(filepath.Join(b.Dir, "OWNED")); err == nil {
		b.t.Errorf("the script ran a recorded text:\n%s", script)
	}
}

func TestHostileCapturesOnATerminal(t *testing.T) {
	t.Parallel()
	captures := samples.HostileCaptures()
	for _, name := range []string{"everywhere", "http", "stdio", "wrong types", "batch"} {
		text := captures[name]
		file := filepath.Join(t.TempDir(), "capture")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, look := range hostileLooks {
			argv := []string{"mcpc"}
			for _, word := range look.args {
				argv = append(argv, strings.Replace(word, "FILE", file, 1))
			}
			tm := terminal.Start(t, 80, nil, argv...)
			out := tm.EndsSomehow()
			if bad := forbidden(out); bad != "" {
				t.Errorf("%s: %q lets %s through:\n%.600q", name, look.args, bad, out)
			}
		}
	}
}
