package rows

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// busy records a conversation of n pings; one call runs from the beginning to the end, with a
// notification beside each ping.
func busy(t *testing.T, n int, turn capture.Rotation) {
	t.Helper()
	r := capture.NewRecorder(capture.Recording{
		Open: turn.Ring.Create, Rotation: turn, Head: capture.Head{Mcpc: "0", Started: noon, Target: "t", By: capture.ByTap},
		OnError: func(err error) { t.Error(err) },
	})
	seq := uint64(0)
	cross := func(dir wire.Direction, format string, args ...any) {
		seq++
		r.Tap(wire.Frame{
			Seq: seq, Time: noon.Add(time.Duration(seq) * time.Millisecond), Dir: dir, Kind: wire.Body,
			Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...),
		})
	}
	cross(wire.Sent, `"id":"i","method":"initialize","params":{"protocolVersion":"v"}`)
	cross(wire.Received, `"id":"i","result":{"protocolVersion":"v","capabilities":{}}`)
	cross(wire.Sent, `"id":"long","method":"tools/call","params":{"name":"long","_meta":{"progressToken":"p"}}`)
	for i := range n {
		cross(wire.Sent, `"id":%d,"method":"ping","params":{"fill":"%s"}`, i, strings.Repeat("x", 200))
		cross(wire.Received, `"method":"notifications/progress","params":{"progressToken":"p","progress":%d}`, i)
		cross(wire.Received, `"id":%d,"result":{}`, i)
	}
	cross(wire.Received, `"id":"long","result":{"content":[]}`)
	r.End(capture.End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// listed are the rows of all parts, as mcpc log lists them.
func listed(t *testing.T, ring *capture.Ring) (rows []*Row, files int) {
	t.Helper()
	runs, err := ring.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		c, err := Open(run.Path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() }) // its rows are read later
		if len(c.Findings()) > 0 || !c.HasEnded() {
			t.Errorf("run %d: %v, ended %v", run.Number, c.Findings(), c.HasEnded())
		}
		for _, row := range c.Rows() {
			if !row.ListedElsewhere {
				rows = append(rows, row)
			}
		}
	}
	return rows, len(runs)
}

// A recording that continues in another file loses nothing there: each exchange is listed once and
// whole, in a file that can be read alone.
func TestRotationLosesNothing(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	const pings = 400
	busy(t, pings, capture.Rotation{Ring: ring, Bytes: 32 << 10, Files: 1000, Carry: Carry})
	rows, files := listed(t, ring)
	seen := map[string]int{}
	for _, row := range rows {
		seen[row.Method+" "+row.ID]++
		if row.Channel != exchange.ChannelOK || row.Revision != "v" || row.Era != "legacy" {
			t.Errorf("%s %s %s: %s, %q, %q", row.Number(), row.Method, row.ID, row.Channel, row.Revision, row.Era)
		}
		if row.Method == "tools/call" {
			if x, err := row.Exchange(); err != nil || row.Notes.Notifications != pings || len(x.OtherMessages) != pings || x.Response.Raw == nil {
				t.Errorf("the long call has %d notifications, %v", row.Notes.Notifications, err)
			}
		}
	}
	if files < 5 || len(rows) != pings+2 || len(seen) != pings+2 {
		t.Errorf("%d files, %d rows, %d exchanges", files, len(rows), len(seen))
	}
}

// A rotated recording is bounded, in the number of files and in their size.
func TestRotatedRecordingIsBounded(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	busy(t, 2000, capture.Rotation{Ring: ring, Bytes: 64 << 10, Files: 3, Carry: Carry})
	rows, files := listed(t, ring)
	if files != 3 {
		t.Errorf("%d files", files)
	}
	runs, _ := ring.Runs()
	for _, run := range runs {
		if run.Bytes > maxRepeatedBytes+64<<10 {
			t.Errorf("run %d has %d bytes", run.Number, run.Bytes)
		}
	}
	last := rows[len(rows)-1]
	if last.Method != "ping" || last.ID != "1999" {
		t.Errorf("the last one is %s %s", last.Method, last.ID)
	}
}

// If the next file cannot be created, the recording continues in its present file.
func TestRecordingContinuesIfRotationFails(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	made := 0
	r := capture.NewRecorder(capture.Recording{
		Rotation: capture.Rotation{Ring: ring, Bytes: 4 << 10, Files: 3, Carry: Carry}, Head: capture.Head{Started: noon, By: capture.ByProxy},
		Open: func() (io.WriteCloser, int, error) {
			if made++; made > 1 {
				return nil, 0, os.ErrPermission
			}
			return ring.Create()
		},
	})
	for i := range 200 {
		r.Tap(wire.Frame{Seq: uint64(i), Time: noon, Dir: wire.Sent, Kind: wire.Body, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(ring.Path(1))
	if err != nil || len(c.Rows()) != 200 || made < 2 {
		t.Errorf("%v, %d rows, %d files were asked for", err, len(c.Rows()), made)
	}
}

// The streams of HTTP+SSE that were opened, and cancellations, are known in the next part:
// responses on the stream belong to their requests, and a late response has its request.
func TestRotationKeepsStreamsAndCancellations(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	r := capture.NewRecorder(capture.Recording{
		Open: ring.Create, Rotation: capture.Rotation{Ring: ring, Bytes: 16 << 10, Files: 1000, Carry: Carry},
		Head: capture.Head{Started: noon, Target: "t", By: capture.ByProxy}, OnError: func(err error) { t.Error(err) },
	})
	seq := 0
	cross := func(line string, args ...any) {
		f := scripted(fmt.Sprintf(line, args...), seq)
		f.Conn = 1
		seq++
		r.Tap(f)
	}
	post := func(stream int, message string) {
		cross(">%d post", stream)
		cross(">%d %s", stream, message)
		cross("<%d status 202", stream)
		cross("<%d closed end", stream)
	}
	cross(">1 get")
	cross("<1 status 200")
	cross("<1 named endpoint /messages?session=x")
	post(2, `{"jsonrpc":"2.0","id":"late","method":"tools/call","params":{"name":"late"}}`)
	post(3, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"late","reason":"no time"}}`)
	const pings = 100
	for i := range pings {
		post(4+i, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"fill":"%s"}}`, i, strings.Repeat("x", 200)))
		cross(`<1 named message {"jsonrpc":"2.0","id":%d,"result":{}}`, i)
	}
	cross(`<1 named message {"jsonrpc":"2.0","id":"late","result":{"content":[]}}`)
	r.End(capture.End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	rows, files := listed(t, ring)
	calls := 0
	for _, row := range rows {
		x, err := row.Exchange()
		if err != nil {
			t.Fatal(err)
		}
		if head, err := row.capture.StreamBefore(row, x.Request); row.Orphan || row.IsSeparate || err != nil || head == nil {
			t.Errorf("%s %s: %s, orphan %v, opened by %v, %v", row.Number(), row.Method, row.ID, row.Orphan, head, err)
		}
		if row.Method != "tools/call" {
			continue
		}
		if calls++; row.Channel != exchange.ChannelCancelled || !row.Cancel.IsLate || !row.CancelledEarlier || row.Cancel.Why != "no time" {
			t.Errorf("the cancelled call: %s, %+v", row.Channel, row.Cancel)
		}
	}
	if files < 3 || len(rows) != pings+1 || calls != 1 {
		t.Errorf("%d files, %d rows, %d calls", files, len(rows), calls)
	}
}

// The first byte of a response on the stream of HTTP+SSE is the byte on that stream, not the
// response that accepted the request.
func TestFirstByteOfResponseOnSSEStream(t *testing.T) {
	c, err := Open(written(t, ">1 get", "<1 status 200", "<1 named endpoint /messages", ">2 post", ">2 "+aCall, "<2 status 202", "<2 closed end",
		`<1 named message {"jsonrpc":"2.0","id":1,"result":{}}`, ">3 post", `>3 {"jsonrpc":"2.0","id":2,"method":"ping"}`, "<3 status 200",
		`<3 {"jsonrpc":"2.0","id":2,"result":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, want := range []time.Duration{3 * time.Millisecond, time.Millisecond} {
		if row := c.Row(i + 1); row == nil || row.TimeToFirst != want {
			t.Errorf("row %d: %+v, want the first byte after %v", i+1, row, want)
		}
	}
}
