package liveview

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/redact"
)

// A server can answer with more than a clipboard should get, or memory has room for several times.
func TestCopyIsNotTooLong(t *testing.T) {
	defer func(bytes int) { maxCopied = bytes }(maxCopied)
	maxCopied = 64 << 10
	path := filepath.Join(t.TempDir(), "long.jsonl")
	text := `{"mcpc-traffic":1,"mcpc":"1","started":"2026-01-02T15:04:05Z","target":"demo","by":"tap"}` + "\n"
	for i, length := range []int{10, maxCopied} {
		text += fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T15:04:05Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\",\"params\":{\"x\":\"%s\"}}"}`+"\n",
			i+1, i, strings.Repeat("<", length))
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := cmdutil.New(nil, nil, nil)
	f.Now = time.Now
	a := NewActor(ActorOptions{Factory: f, Open: func(live.Key) (*rows.Capture, error) { return rows.Open(path) }})
	defer a.Close(t.Context())
	for _, form := range []string{"json", "request"} {
		if got, err := a.Copy(t.Context(), "1", form); err != nil || !strings.Contains(got, "<<<<<<<<<<") {
			t.Errorf("%s: got %.100q, %v", form, got, err)
		}
		if got, err := a.Copy(t.Context(), "2", form); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("%s: got %d bytes, %v", form, len(got), err)
		}
	}
}

// Every form of the same exchanges reports the same number of hidden secrets, before and after it
// is written.
func TestExportsCountSecretsAlike(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.jsonl")
	hidden := redact.Redacted("s3cret-s3cret")
	text := `{"mcpc-traffic":1,"mcpc":"1","started":"2026-01-02T15:04:05Z","target":"https://example.com/mcp","by":"proxy"}
{"seq":1,"time":"2026-01-02T15:04:05Z","dir":"sent","kind":"body","conn":1,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{\"token\":\"` + hidden + `\"}}}"}
{"seq":2,"time":"2026-01-02T15:04:06Z","dir":"received","kind":"body","conn":1,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"` + hidden + `\"}]}}"}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := cmdutil.New(nil, nil, nil)
	f.Now = time.Now
	f.State = t.TempDir()
	open := func(live.Key) (*rows.Capture, error) { return rows.Open(path) }
	store, err := live.New(live.Options{Path: path, Now: time.Now, Judge: &recorded.RowFindings{}, Open: rows.Open})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a := NewActor(ActorOptions{Factory: f, Open: open, Reader: view.New(store, view.Options{Now: time.Now}), Powers: view.Powers{Export: true}})
	defer a.Close(t.Context())
	for _, form := range []string{"bundle", "html", "har", "markdown", "jsonl"} {
		seen, err := a.Preview(t.Context(), view.Export{Form: form})
		if err != nil {
			t.Fatal(form, err)
		}
		done, err := a.Export(t.Context(), view.Export{Form: form})
		if err != nil || seen.Hidden != 2 || done.Hidden != 2 {
			t.Errorf("%s: %d secrets are hidden, then %d, %v", form, seen.Hidden, done.Hidden, err)
		}
	}
}
