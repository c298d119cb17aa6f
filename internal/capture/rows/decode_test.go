package rows

import (
	"bytes"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// Bytes are read the fast way as they are read otherwise, or not at all; for a search, missing
// bytes are the same as no bytes.
func FuzzBytesIn(f *testing.F) {
	for _, frame := range []wire.Frame{
		{Seq: 1, Raw: []byte("{\"a\":\"b\\n\"}\n")},
		{Kind: wire.Closed, Close: &wire.CloseFacts{How: "cut"}},
		{Raw: []byte{}},
		{Raw: []byte("\x01\xff")},
		{Kind: wire.Head, HTTP: &wire.HTTPHead{URL: "http://x/?}"}, Hidden: 1, Size: 2},
	} {
		f.Add(bytes.TrimSpace(capture.AppendFrame(nil, frame)))
	}
	f.Add([]byte(`{"seq":1,"time":"2026-11-21T12:00:00Z","dir":"sent","kind":"body","raw":"a","raw":"b"}`))
	f.Add([]byte(`{"seq":1,"time":"0000-01-01T0:00:00Z","dir":"sent","kind":"body"}`))
	f.Add([]byte(`{"seq":1,"time":"2026-11-21T12:00:00Z","dir":"sent","kind":"body","raw":"\u00e9\/\uD83D\uDE00 \ud800"}`))
	f.Add([]byte(`{"in":"mine","seq":1,"time":"2026-11-21T12:00:00Z","dir":"sent","kind":"body","raw":"a"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		quick, ok := capture.FrameBytes(line, nil)
		if !ok {
			return
		}
		parsed, err := capture.ParseLine(line)
		if err != nil || parsed.Frame == nil {
			t.Fatalf("%q has no frame (%v), and read quickly %q", line, err, quick)
		}
		if !bytes.Equal(parsed.Frame.Raw, quick) {
			t.Fatalf("%q has %q, and read quickly %q", line, parsed.Frame.Raw, quick)
		}
	})
}
