// Package rendertest has helpers for the tests of the packages of render: golden files, a text with
// control sequences, and a check for forbidden characters.
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

// HostileText is a text that a hostile server may send: it has an escape sequence, a bidi override,
// a line break, a C1 control and a joiner.
const HostileText = "ok\x1b[2J\u202ekcatta\u202c\nmcpc: all is well\r\u009b31m\u200b"

// AssertVisible fails the test if text has a character that affects a terminal or is invisible.
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

// Golden compares got with testdata/name. With -update it writes got to that file.
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

// StyleName returns the settings of a style as in the names of golden files.
func StyleName(terminal, color bool, width int, ascii bool) string {
	return fmt.Sprintf("{Terminal:%t Color:%t Width:%d ASCII:%t}", terminal, color, width, ascii)
}

// IsForbidden reports whether output must not contain r: control characters, C1, and characters that
// change the direction or are invisible. It is written from the requirement, independently of the
// code under test.
func IsForbidden(r rune) bool {
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
