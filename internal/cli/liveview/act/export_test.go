package act

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/live"
)

// A server can answer with more than a clipboard should get, or memory has room for several times.
func TestCopyIsNotTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl")
	text := `{"mcpc-traffic":1,"mcpc":"1","started":"2026-01-02T15:04:05Z","target":"demo","by":"tap"}` + "\n"
	for i, length := range []int{10, mostCopied} {
		text += fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T15:04:05Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\",\"params\":{\"x\":\"%s\"}}"}`+"\n",
			i+1, i, strings.Repeat("<", length))
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := cmdutil.New(nil, nil, nil)
	f.Now = time.Now
	a := New(Options{Factory: f, Open: func(live.Key) (*capture.Capture, error) { return capture.Open(path) }})
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
