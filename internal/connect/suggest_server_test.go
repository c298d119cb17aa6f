package connect

import (
	"testing"

	"mcpc/internal/connect/host"
)

// A tool's name that begins with a known server's name gives a hint with this server.
func TestSuggestServer(t *testing.T) {
	c := &Conn{Env: &host.Env{
		Shared: &host.Shared{}, UI: host.Quiet{}, Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		State: t.TempDir(), NoRecord: true,
	}}
	for name, want := range map[string]string{
		"demo.echo": "did you mean mcpc -s demo call echo?",
		"demo/echo": "did you mean mcpc -s demo call echo?",
		"demo:echo": "did you mean mcpc -s demo call echo?",
		"demo.":     "",
		".echo":     "",
		"echo":      "",
		"other.x":   "",
	} {
		if got := c.SuggestServer(name).String(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
