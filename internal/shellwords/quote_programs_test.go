//go:build programs

package shellwords

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"mcpc/internal/tests/rendertest"
)

// A shell must give back what was quoted, and nothing in the word may act on a
// terminal that shows it.
func TestShellQuote(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no POSIX shell")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatalf("%v; this test needs it: apt-get install dash", err)
	}
	for _, s := range []string{
		"plain", "", "two words", "it's", "'", `"$HOME" $(touch x) ` + "`touch x`", `back\slash`, "a\nb", "100%s %d\x1b[2J",
		"\u202e日本語", "日本語", "-n", "*", "~", "!history", "#no comment", "a;b|c&d", "\x1b]0;x\x07it's \"\\", "tab\tand\rCR", "\xff\x80",
	} {
		word := Quote(s)
		if strings.IndexFunc(word, rendertest.IsForbidden) >= 0 || strings.ContainsAny(word, "\n\t\r") {
			t.Errorf("%q shows %q", s, word)
		}
		out, err := exec.Command(shell, "-c", `printf %s `+word).Output()
		if s == "-n" {
			out, err = exec.Command(shell, "-c", `printf '%s' -- `+word).Output()
			out = []byte(strings.TrimPrefix(string(out), "--"))
		}
		if err != nil || string(out) != s {
			t.Errorf("%q as %s gives %q %v", s, word, out, err)
		}
	}
}
