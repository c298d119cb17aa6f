package capture

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// EachFrame gives the frames of each run under its own index, also those of no row, and what
// is known to be secret is hidden.
func TestEachFrame(t *testing.T) {
	line := func(mark string, seq uint64, kind wire.FrameKind, raw string) []byte {
		b := AppendFrame(nil, wire.Frame{Seq: seq, Time: noon, Dir: wire.Received, Kind: kind, Raw: []byte(raw)})
		if mark == "" {
			return b
		}
		return append([]byte(`{"in":"`+mark+`",`), b[1:]...)
	}
	var text []byte
	text = append(text, AppendHead(nil, Head{In: "aa"})...)
	text = append(text, AppendHead(nil, Head{In: "bb"})...)
	text = append(text, line("aa", 1, wire.Noise, "banner very-s3cret-word")...)
	text = append(text, line("bb", 1, wire.Body, `{"jsonrpc":"2.0","method":"x"}`)...)
	text = append(text, "{damaged\n"...)
	text = append(text, AppendHead(nil, Head{})...)
	text = append(text, line("", 1, wire.Body, `{}`)...)
	text = append(text, `{"seq":2,"ti`...)
	name := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var secrets redact.Secrets
	secrets.Learn("very-s3cret-word")
	c.Hide(&secrets)
	type seen struct {
		Head int
		Kind wire.FrameKind
	}
	var got []seen
	if err := c.EachFrame(func(head int, f wire.Frame) error {
		if string(f.Raw) == "banner very-s3cret-word" {
			t.Errorf("not hidden: %s", f.Raw)
		}
		got = append(got, seen{head, f.Kind})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]seen{{0, wire.Noise}, {1, wire.Body}, {2, wire.Body}}, got); diff != "" {
		t.Error(diff)
	}
	stop := errors.New("stop")
	if err := c.EachFrame(func(int, wire.Frame) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	for _, row := range c.Rows() {
		if row.RunIndex() < 0 || row.RunIndex() >= len(c.Heads) {
			t.Error(row.RunIndex())
		}
	}
}
