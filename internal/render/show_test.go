package render

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

// A long message is shown in pieces: its memory is not allocated again.
func TestLongMessagesTakeNoMemory(t *testing.T) {
	st, raw := Style{Terminal: true, Width: 80}, []byte(`{"a":["`+strings.Repeat(`x y \"{\\`, 1<<20)+`"]}`)
	view := Traffic{Exchange: &wire.Exchange{Response: wire.Frame{Raw: raw}}}
	for name, shown := range map[string]func(w io.Writer) error{
		"show":   func(w io.Writer) error { return ShowTraffic(w, st, view) },
		"report": func(w io.Writer) error { return Markdown(w, Report{Traffic: view}) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := shown(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(raw)) {
			t.Errorf("%s took %d bytes for %d", name, took, len(raw))
		}
	}
}
