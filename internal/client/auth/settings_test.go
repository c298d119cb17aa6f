package auth

import (
	"strings"
	"testing"
)

// What the user chose for a login holds for the next one there, also after the token was dropped: for the same
// server, account and issuer, and until a logout.
func TestSettingsAreRemembered(t *testing.T) {
	const document = "https://mcpc.example/client.json"
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"client_id_metadata_document_supported":true,`, 1)
	login := func(change func(*Request)) {
		t.Helper()
		if _, err := w.login(store, change); err != nil {
			t.Fatal(err)
		}
	}
	login(func(r *Request) { r.DocumentURL = document })
	login(nil)
	if w.asked.Get("client_id") != document {
		t.Errorf("the next login asked %v", w.asked)
	}
	_ = store.Change(t.Context(), func(b *Records) { b.Drop(func(Token) bool { return true }) })
	login(nil)
	if w.asked.Get("client_id") != document {
		t.Errorf("a login after the token was dropped asked %v", w.asked)
	}
	login(func(r *Request) { r.DocumentURL = document + "?2" })
	login(nil)
	if w.asked.Get("client_id") != document+"?2" {
		t.Errorf("the settings were not replaced: %v", w.asked)
	}
	login(func(r *Request) { r.Account = "other" })
	if w.asked.Get("client_id") != "registered-id" {
		t.Error("another account has the settings")
	}
	_ = store.Change(t.Context(), func(b *Records) { b.Forget(w.url+"/mcp", "") })
	login(nil)
	if w.asked.Get("client_id") != "registered-id" || len(book(t, store).Settings) != 0 {
		t.Error("a logout keeps the settings")
	}
}

// A port of 0 is a choice, too.
func TestSettingsOverTheLast(t *testing.T) {
	some, none := 8976, 0
	last := Settings{Port: &some}
	for _, c := range []struct {
		given *int
		want  int
	}{{nil, some}, {&none, none}, {&some, some}} {
		if got := (Settings{Port: c.given}).over(last); *got.Port != c.want {
			t.Errorf("got %d, want %d", *got.Port, c.want)
		}
	}
}
