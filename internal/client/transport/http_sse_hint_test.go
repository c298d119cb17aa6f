package transport

import (
	"strings"
	"testing"
)

// A host that a server names is quoted in the hint, so that a shell runs nothing of it.
func TestHintAtAnotherOriginIsQuoted(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://localhost:1/m":  "-s http://localhost:1/sse",
		"https://h/m":           "-s https://h/sse",
		"http://$(touch)/m":     "-s 'http://$(touch)/sse'",
		"//127.0.0.1:2/m?sid=x": "-s http://127.0.0.1:2/sse",
	} {
		_, f := resolveEndpoint("http://127.0.0.1:1/sse?key=x", endpoint)
		if f == nil || !strings.HasSuffix(string(f.Hint), want) {
			t.Errorf("%s: %+v, want a hint at %s", endpoint, f, want)
		}
	}
}
