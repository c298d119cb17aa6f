package rows

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// EachFrame gives the frames of each run under its own index, also the frames of no row, and known
// secrets are hidden.
func TestEachFrame(t *testing.T) {
	line := func(mark string, seq uint64, kind wire.FrameKind, raw string) []byte {
		b := capture.AppendFrame(nil, wire.Frame{Seq: seq, Time: noon, Dir: wire.Received, Kind: kind, Raw: []byte(raw)})
		if mark == "" {
			return b
		}
		return append([]byte(`{"in":"`+mark+`",`), b[1:]...)
	}
	var text []byte
	text = append(text, capture.AppendHead(nil, capture.Head{Mark: "aa"})...)
	text = append(text, capture.AppendHead(nil, capture.Head{Mark: "bb"})...)
	text = append(text, line("aa", 1, wire.Noise, "banner very-s3cret-word")...)
	text = append(text, line("bb", 1, wire.Body, `{"jsonrpc":"2.0","method":"x"}`)...)
	text = append(text, "{damaged\n"...)
	text = append(text, capture.AppendHead(nil, capture.Head{})...)
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

// A FrameReader continues where it ended, as far as the capture was read, and the places are the
// rows' places. Only a run with an end has ended.
func TestFrameReaderReadsOn(t *testing.T) {
	frame := func(seq uint64, dir wire.Direction, raw string) []byte {
		return capture.AppendFrame(nil, wire.Frame{Seq: seq, Time: noon, Dir: dir, Raw: []byte(raw)})
	}
	name := filepath.Join(t.TempDir(), "x.jsonl")
	text := append(capture.AppendHead(nil, capture.Head{By: capture.ByTap}), frame(1, wire.Sent, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)...)
	write := func() {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	c, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	r, got := c.FrameReader(), map[int64]uint64{}
	read := func() (seen int) {
		t.Helper()
		if err := r.Each(func(at FramePlace, f wire.Frame) error {
			got[at.Offset] = f.Seq
			seen++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	if n := read(); n != 1 || r.IsBehind() {
		t.Errorf("%d frames, behind %v", n, r.IsBehind())
	}
	text = append(text, frame(2, wire.Received, `{"jsonrpc":"2.0","id":1,"result":{}}`)...)
	write()
	if n := read(); n != 0 {
		t.Errorf("%d frames that no row has yet", n)
	}
	if _, err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	if n := read(); n != 1 || c.RunEnded(0) {
		t.Errorf("%d frames, ended %v", n, c.RunEnded(0))
	}
	var seqs []uint64
	for at := range c.Rows()[0].Lines() {
		seqs = append(seqs, got[at])
	}
	if diff := cmp.Diff([]uint64{1, 2}, seqs); diff != "" {
		t.Error(diff)
	}
	text = capture.AppendEnd(text, capture.End{Time: noon})
	write()
	if _, err := c.Refresh(); err != nil || read() != 0 || !c.RunEnded(0) || c.Rows()[0].Capture() != c {
		t.Errorf("%v, ended %v", err, c.RunEnded(0))
	}
}
