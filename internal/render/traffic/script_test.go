package traffic

import (
	"strings"
	"testing"

	"mcpc/internal/redact"
)

func TestCurlRefusesInvalidRequests(t *testing.T) {
	for _, p := range []HTTPRequest{{"POST", "file:///etc/passwd", nil, nil}, {"POST", "x", nil, nil}, {"a b", "http://x/", nil, nil}, {"POST", "http:///x", nil, nil}, {"", "http://x/", nil, nil}} {
		if err := new(Script).Curl(p, ""); err == nil {
			t.Errorf("%v was written", p)
		}
	}
}

// A secret that a URL and a message spell differently has a variable for each, and a comment about
// it.
func TestSecretInTwoSpellingsHasTwoVariables(t *testing.T) {
	var s Script
	s.Command(s.URL(redact.RedactURL("http://h/mcp?token=one-secret-value")),
		s.Word(`{"key":"`+redact.Redacted("one-secret-value")+`"}`, InBody),
		s.Word(redact.Redacted("another-value-12"), "X-Key"))
	text := s.String()
	for _, want := range []string{
		"# Set MCPC_URL_SECRET to the value in the URL, encoded as there, a hidden value",
		"# Set MCPC_SECRET to the value in the message, encoded as there (it is the one of MCPC_URL_SECRET), a hidden value",
		"# Set MCPC_X_KEY to the value of X-Key, a hidden value",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %s", text, want)
		}
	}
}
