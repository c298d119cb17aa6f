package rows

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// traffic makes frames of several conversations at a time, with every possible course.
type traffic struct {
	*rand.Rand
	conn, stream, id int
	// known are the conversations; about each nth exchange belongs to one.
	known []int
	nth   int
}

// next returns the rest of an exchange: the frames of one stream, in order.
func (t *traffic) next() (frames []wire.Frame) {
	t.stream++
	stream, id := t.stream, t.id
	if t.IntN(3) > 0 {
		t.id++
		id = t.id
	}
	conn := 0
	if len(t.known) > 0 && t.IntN(t.nth) == 0 {
		conn = t.known[t.IntN(len(t.known))]
	} else {
		t.conn++
		conn = t.conn
		t.known = append(t.known, conn)
	}
	if t.IntN(30) == 0 {
		stream = 0
	}
	add := func(f wire.Frame) {
		f.Conn, f.Stream = conn, stream
		frames = append(frames, f)
	}
	body := func(dir wire.Direction, format string, args ...any) {
		f := wire.Frame{Dir: dir, Kind: wire.Body, Raw: fmt.Appendf(nil, format, args...)}
		if dir == wire.Received && t.IntN(2) == 0 {
			f.Kind, f.SSE = wire.Event, &sse.Facts{}
			if t.IntN(8) == 0 {
				event := fmt.Sprint(t.stream, len(frames))
				f.SSE.ID = &event
			}
		}
		add(f)
	}
	if stream > 0 {
		add(wire.Frame{Dir: wire.Sent, Kind: wire.Head, HTTP: &wire.HTTPHead{Method: "POST", URL: "http://127.0.0.1/mcp", Proto: "HTTP/1.1"}})
	}
	asked := []string{
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":%[1]d}}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":%d,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"v"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"server/discover"}`,
		`[{"jsonrpc":"2.0","id":%d,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","requestState":"s","inputResponses":{}}}`,
		`{"jsonrpc":"2.0","id":%d,"result":{}}`,
		`no message %d`,
	}
	if t.IntN(12) > 0 {
		body(wire.Sent, asked[min(t.IntN(2*len(asked)), t.IntN(len(asked)))], id)
	}
	if t.IntN(12) == 0 {
		return frames // it waits
	}
	if stream > 0 {
		status := 200
		if t.IntN(4) == 0 {
			status = []int{202, 204, 401, 404, 405, 503}[t.IntN(6)]
		}
		add(wire.Frame{Dir: wire.Received, Kind: wire.Head, HTTP: &wire.HTTPHead{
			Status: status, Proto: "HTTP/1.1",
			Fields: []wire.Field{{Name: "Content-Type", Value: []string{"application/json", "text/event-stream", "text/html"}[t.IntN(3)]}},
		}})
	}
	for t.IntN(4) == 0 {
		body(wire.Received, []string{
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":%d}}`,
			`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{}}`,
		}[t.IntN(5)], id)
	}
	if t.IntN(20) == 0 {
		add(wire.Frame{Dir: wire.Received, Kind: wire.Event, Raw: []byte("/messages"), SSE: &sse.Facts{Event: "endpoint"}})
	}
	if t.IntN(12) > 0 {
		if t.IntN(15) == 0 {
			id++
		}
		answers := []string{
			`"result":{}`, `"result":{"content":[],"isError":true}`, `"error":{"code":-32601,"message":"no"}`,
			`"result":{"resultType":"input_required","requestState":"s","inputRequests":{}}`,
		}
		body(wire.Received, `{"jsonrpc":"2.0","id":%d,%s}`, id, answers[min(t.IntN(4), t.IntN(4))])
	}
	if stream > 0 && t.IntN(12) > 0 {
		by, how := wire.Received, "end"
		if t.IntN(6) == 0 {
			by, how = wire.Direction(t.IntN(2)), []string{"end", "cut", "cancelled"}[t.IntN(3)]
		}
		add(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how}})
	}
	return frames
}

// A part repeats the same lines of the part before whether they are looked for in the spans or in the whole part.
func TestCarryRepeatsTheUnfinishedRows(t *testing.T) {
	turned, some := 0, 0
	for seed := range uint64(36) {
		made := &traffic{Rand: rand.New(rand.NewPCG(seed, 7)), nth: []int{3, 100, 1000}[seed%3]}
		ring := capture.NewRing(t.TempDir())
		carry := func(w io.Writer, part string, spans []capture.Span) (int, error) {
			if spans[0].Length < math.MaxInt64 {
				some++
			}
			return Carry(w, part, spans)
		}
		r := capture.NewRecorder(capture.Recording{
			Open: ring.Create, Rotation: capture.Rotation{Ring: ring, Bytes: 12 << 10, Files: 1000, Carry: carry},
			Head: capture.Head{Started: noon, Target: "t", By: capture.ByProxy}, OnError: func(err error) { t.Error(err) },
		})
		var under [][]wire.Frame
		for seq := range 400 {
			if len(under) < 5 {
				under = append(under, made.next())
			}
			i := made.IntN(len(under))
			if len(under[i]) > 0 {
				f := under[i][0]
				f.Seq, f.Time = uint64(seq), noon.Add(time.Duration(seq)*time.Millisecond)
				r.Tap(f)
				under[i] = under[i][1:]
			}
			if len(under[i]) == 0 {
				under = append(under[:i], under[i+1:]...)
			}
		}
		r.Flush()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		runs, err := ring.Runs()
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs[1:] {
			turned++
			if want, got := beginningAfter(t, runs[i].Path, runs[i+1].Path), contents(t, runs[i+1].Path); !bytes.HasPrefix(got, want) {
				t.Fatalf("seed %d: part %d does not begin with\n%s\nbut is\n%s\nafter\n%s", seed, runs[i+1].Number, want, got, contents(t, runs[i].Path))
			}
		}
	}
	if turned < 80 || some < 4 {
		t.Errorf("%d parts were looked at, %d were begun from some lines", turned, some)
	}
}

// beginningAfter is what a part begins with by all rows of the one before it.
func beginningAfter(t *testing.T, path, next string) []byte {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	behind, err := Open(next)
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	c.newestMaker.openings, c.newestMaker.waiting = nil, map[int32]struct{}{}
	for _, row := range c.Rows() {
		if row.OpensConversation() {
			c.newestMaker.openings = append(c.newestMaker.openings, int32(row.fileIndex))
		}
		c.newestMaker.waiting[int32(row.fileIndex)] = struct{}{}
	}
	var carried bytes.Buffer
	lines, err := c.carry(&carried)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(append(capture.AppendHead(nil, behind.Heads[0]), carried.Bytes()...), "{\"carried\":%d}\n", lines)
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
