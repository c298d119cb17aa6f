//go:build unix

package terminal

import (
	"strings"
	"testing"
)

func TestShownDrawsOver(t *testing.T) {
	if got := strings.Join(Shown("a\r\n[##--] 1/2\r           \rdone\r\n"), "|"); got != "a|done|" {
		t.Errorf("%q", got)
	}
}

func TestScreenMovesTheCursor(t *testing.T) {
	s := NewScreen(8, 3)
	if got := s.Show("one\r\ntwo\r\nthree\r\nfour\x1b[H\x1b[31mT\x1b[0m\x1b[2;2H\x1b[K世"); got != "Two\nt世\nfour" {
		t.Errorf("%q", got)
	}
	if unknown := s.Unknown(); len(unknown) > 0 {
		t.Errorf("unknown sequences: %q", unknown)
	}
	s.Show("\x1b[1v")
	if unknown := s.Unknown(); len(unknown) != 1 || unknown[0] != "v" {
		t.Errorf("unknown sequences: %q, want v", unknown)
	}
}
