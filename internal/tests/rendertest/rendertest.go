// Package rendertest has what the tests of the packages of render share: golden files, a
// text that acts on terminals, and what no output may hold.
package rendertest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/sanitize"
)

// HostileText is what a server may put wherever a text is allowed: an escape
// sequence, a bidi override, a line of its own, a C1 control, a joiner.
const HostileText = "ok\x1b[2J\u202ekcatta\u202c\nmcpc: all is well\r\u009b31m\u200b"

// AssertVisible fails where anything in text could act on a terminal or hide.
func AssertVisible(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if clean := sanitize.Line(line, sanitize.Signs); clean != line {
			t.Errorf("not sanitized: %q\n want %q", line, clean)
		}
	}
	for _, forged := range []string{"\nmcpc: all is well", "\nhint: all is well"} {
		if strings.Contains(text, forged) {
			t.Errorf("a server's text became a line of its own: %q", text)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares got with testdata/name; with -update it becomes that file.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// StyleName are the settings of a style, as the golden files name them.
func StyleName(terminal, color bool, width int, ascii bool) string {
	return fmt.Sprintf("{Terminal:%t Color:%t Width:%d ASCII:%t}", terminal, color, width, ascii)
}

// Forbidden is written from the requirement and not from the code: no control
// byte, no C1, nothing that sets direction or is not seen.
func Forbidden(r rune) bool {
	switch {
	case r <= 0x08, r >= 0x0b && r <= 0x1f && r != '\r', r >= 0x7f && r <= 0x9f:
	case r == 0xad, r == 0x61c, r >= 0x200b && r <= 0x200c, r == 0x200e, r == 0x200f:
	case r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0xfe00 && r <= 0xfe0e:
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
	default:
		return false
	}
	return true
}
