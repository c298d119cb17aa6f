package auth

import (
	"testing"
	"time"
)

// A browser opens once in an hour for an account of a server, and again if the process that opened it has
// ended, but at most three times.
func TestClaimBrowser(t *testing.T) {
	t.Parallel()
	store := &Store{File: &memory{}}
	now := time.Now()
	claim := func(step, endpoint string, refused Secret, want bool) {
		t.Helper()
		got, err := store.ClaimBrowser(t.Context(), endpoint, "", refused, now)
		if err != nil || got != want {
			t.Errorf("%s: %t, %v", step, got, err)
		}
	}
	release := func() {
		t.Helper()
		if err := store.ReleaseBrowser(t.Context(), "https://a.example/", ""); err != nil {
			t.Error(err)
		}
	}
	claim("first", "https://a.example/", "", true)
	claim("second", "https://a.example/", "", false)
	claim("other server", "https://b.example/", "", true)
	release()
	claim("after the end of the process", "https://a.example/", "", true)
	claim("while the second process runs", "https://a.example/", "", false)
	release()
	claim("third process", "https://a.example/", "", true)
	release()
	claim("fourth process", "https://a.example/", "", false)
	now = now.Add(time.Hour)
	claim("an hour later", "https://a.example/", "", true)
	now = now.Add(time.Hour)
	err := store.Change(t.Context(), func(b *Records) {
		b.Tokens = append(b.Tokens, Token{Endpoint: "https://a.example/", Resource: "https://a.example/", Access: "plain:new"})
	})
	if err != nil {
		t.Fatal(err)
	}
	claim("another process has logged in", "https://a.example/", "plain:old", false)
	claim("the server refused this token", "https://a.example/", "plain:new", true)
}
