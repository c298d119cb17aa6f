package auth

import (
	"slices"
	"testing"
)

// AUTH 3.8: of several tokens that may go to a URL, the one for the narrowest
// resource is sent, in whatever order they were stored.
func TestNarrowestTokenIsSent(t *testing.T) {
	for _, c := range []struct {
		at, want  string
		resources []string
	}{
		{"https://h.example/a/b", "https://h.example/a/b", []string{"https://h.example", "https://h.example/a", "https://h.example/a/b"}},
		{"https://h.example/a/c", "https://h.example/a", []string{"https://h.example", "https://h.example/a", "https://h.example/a/b"}},
		{"https://h.example/c", "https://h.example", []string{"https://h.example", "https://h.example/a", "https://other.example/c"}},
		{"https://h.example/a", "https://h.example/a", []string{"https://h.example:443/", "https://h.example/a"}},
		{"https://h.example/a?t=1", "https://h.example/a?t=1", []string{"https://h.example/a", "https://h.example/a?t=1", "https://h.example/a?t=2"}},
		{"https://other.example/a", "", []string{"https://h.example", "https://h.example/a"}},
	} {
		var b Book
		for _, resource := range c.resources {
			b.put(Token{Resource: resource, Account: "work"})
			b.put(Token{Resource: c.at + "/", Account: "private"})
		}
		for range 2 {
			if got, ok := b.Token(c.at, "work"); got.Resource != c.want || ok != (c.want != "") {
				t.Errorf("%s: got the token for %q, want the one for %q", c.at, got.Resource, c.want)
			}
			slices.Reverse(b.Tokens)
		}
	}
}

// A slash at the end makes no other resource: the token of the last login is sent.
func TestNewerTokenOfAResourceIsSent(t *testing.T) {
	for _, resources := range [][]string{{"https://h.example/a", "https://h.example/a/"}, {"https://h.example/a/", "https://h.example/a"}} {
		var b Book
		for _, resource := range resources {
			b.put(Token{Resource: resource})
		}
		if got, _ := b.Token("https://h.example/a", ""); got.Resource != resources[1] {
			t.Errorf("%q: got the token for %q", resources, got.Resource)
		}
	}
}
