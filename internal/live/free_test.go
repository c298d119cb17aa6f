package live

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// Dropped rows are not held: neither a recording without kept rows, nor the rows that were dropped
// from an ended recording.
func TestDroppedRowsAreFreed(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	r := capture.NewRecorder(capture.Recording{
		Open: ring.Create, Rotation: capture.Rotation{Ring: ring, Bytes: 8 << 10, Files: 100, Carry: rows.Carry},
		Head: capture.Head{Started: noon, Target: "t", By: capture.ByTap},
	})
	for i := range 400 {
		at := noon.Add(time.Duration(i) * time.Second)
		r.Tap(wire.Frame{Seq: uint64(2*i + 1), Time: at, Conn: 1, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)})
		r.Tap(wire.Frame{Seq: uint64(2*i + 2), Time: at, Conn: 1, Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i)})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	runs, err := ring.Runs()
	if err != nil || len(runs) < 5 {
		t.Fatalf("%d files, %v", len(runs), err)
	}
	grown := capture.NewRing(t.TempDir())
	s := still(t, Options{Ring: grown, MaxRows: 60, Now: func() time.Time { return noon }})
	queries := []Query{{}, {Sort: "-took"}, {Filter: "body:ping"}, {Filter: "is:open"}}
	all := map[string]weak.Pointer[rows.Row]{}
	for _, run := range runs {
		raw := read(t, run.Path)
		for part := 0; part < len(raw); part += 700 {
			write(t, grown.Path(run.Number), raw[part:min(part+700, len(raw))])
			s.step()
			for _, q := range queries {
				found(t, s, q)
			}
			_ = s.Each(Query{}, func(r *rows.Row) bool {
				all[KeyOf(r).String()] = weak.Make(r)
				return true
			})
		}
	}
	same(t, s)
	for _, x := range s.queries.recent {
		if behind := x.found[len(x.found):cap(x.found)]; slices.ContainsFunc(behind, func(e *entry) bool { return e != nil }) {
			t.Errorf("%+v holds rows that are not found any more", x.queryKey)
		}
	}
	runtime.GC()
	runtime.GC()
	held := 0
	for key, row := range all {
		r := row.Value()
		if r == nil {
			continue
		}
		if held++; held > 60 {
			t.Fatalf("%s is held, as are %d others of %d", key, held, len(all))
		}
	}
	if len(all) != 400 || held != 60 {
		t.Errorf("%d rows were there, %d are", len(all), held)
	}
}
