package redact

import (
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

// A known value that is the begin of a token, or of a named value, does not show the rest of it.
func TestLongerSecretAroundKnownValueIsHidden(t *testing.T) {
	token := "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	for _, text := range []string{"see " + token + " there", `{"text":"` + token + `"}`, `{"password":"` + token + `/rest"}`, "https://h/?a=" + token} {
		for _, known := range []string{token[:12], token[:30], token[8:20], token[28:]} {
			var s Secrets
			s.Learn(known)
			if safe := s.Text(text); strings.Contains(safe, "a1B2") || strings.Contains(safe, "q7R8") || strings.Contains(safe, "rest\"") {
				t.Errorf("%q with %q known: %q", text, known, safe)
			}
		}
	}
}

// The beginning of a known value that an excerpt cuts is hidden, and other text does not change.
func TestStartOfCutValueIsHidden(t *testing.T) {
	var s Secrets
	s.Learn("hunter22-hunter23", "another one of these")
	for _, c := range []struct {
		text, want string
	}{
		{"is hunter22-hunter23 there", "is " + Redacted("hunter22-hunter23") + " there"},
		{jsonraw.Excerpt([]byte("is hunter22-hunter23 there"), 3+12), "is " + Redacted("hunter22-hunter23") + "… +11 bytes"},
		{jsonraw.Excerpt([]byte("is hunter22-hunter23 there"), 3+4), "is " + Redacted("hunter22-hunter23") + "… +19 bytes"},
		{jsonraw.Excerpt([]byte("is hunter22-hunter23 there"), 3+3), "is hun… +20 bytes"},
		{jsonraw.Excerpt([]byte("hunters hunt them all"), 8+4), "hunters " + Redacted("hunter22-hunter23") + "… +9 bytes"},
		{jsonraw.Excerpt([]byte("hunters sleep"), 10), "hunters sl… +3 bytes"},
		{"from hunter22-… +9 bytes to another… +13 bytes, hunter", "from " + Redacted("hunter22-hunter23") + "… +9 bytes to " + Redacted("another one of these") + "… +13 bytes, hunter"},
	} {
		if got := s.Text(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
