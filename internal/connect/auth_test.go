package connect

import (
	"strings"
	"testing"

	"mcpc/internal/client/auth"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// A server's text in an error is cut to a readable length.
func TestLongLoginErrorsAreCut(t *testing.T) {
	o := AuthFailed(&auth.Error{Rule: auth.TokenRefused, Text: "no token: " + strings.Repeat("A", 500_000)}, wire.Outcome{})
	if len(o.Text) > host.MostSaid+100 || !strings.HasPrefix(o.Text, "no token: AAA") || !strings.HasSuffix(o.Text, "bytes") {
		t.Errorf("%d bytes: %.60q", len(o.Text), o.Text)
	}
}
