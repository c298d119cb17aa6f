//go:build peers && unix

package peers

import (
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// The image of server-everything, whose colour profile has a wrong checksum, is drawn
// in each of the ways.
func TestPeersPictures(t *testing.T) {
	t.Parallel()
	target := peerNamed(t, "everything-stdio").start(t)
	for how, want := range map[string]string{"blocks": "\x1b\\[0;38;5;[0-9;]+m▀", "kitty": "\x1b_Gf=100", "iterm2": "\x1b\\]1337;File=", "sixel": "\x1bP0;1q"} {
		out := terminal.Start(t, 80, []string{"CI=1", "COLORTERM="}, append([]string{"mcpc"}, with(target, "call", "get-tiny-image", "--images", how)...)...).Ends("0")
		if !regexp.MustCompile(want).MatchString(out) || strings.Contains(out, "not drawn") {
			t.Errorf("%s: %.600q", how, out)
		}
	}
}
