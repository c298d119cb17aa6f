package rows

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A world is traffic that is drawn by lot: conversations over every transport at the same
// time, with streams, notifications, questions of the server and cancellations.
type world struct {
	*rand.Rand
	frames  []wire.Frame
	streams int
}

// A speaker is one conversation; on is the stream of a GET, or 0.
type speaker struct {
	*world
	conn, on       int
	way            string // "pipe", "streamable", "sse", "stateless"
	ids, asked     int
	open           []spoken
	questions      []int
	listens, ended bool
}

// A spoken request waits for its answer on a stream.
type spoken struct {
	id, stream int
	cancelled  bool
}

func (s *speaker) cross(f wire.Frame) {
	f.Seq, f.Conn, f.Time = uint64(len(s.frames)+1), s.conn, noon.Add(time.Duration(len(s.frames))*time.Millisecond)
	s.frames = append(s.frames, f)
}

func (s *speaker) head(stream int, method string) {
	s.cross(wire.Frame{Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Method: method, URL: "http://127.0.0.1/" + s.way}})
}

func (s *speaker) status(stream, status int) {
	s.cross(wire.Frame{Kind: wire.Head, Dir: wire.Received, Stream: stream, HTTP: &wire.HTTPHead{Status: status}})
}

func (s *speaker) end(stream int, by wire.Direction, how string) {
	s.cross(wire.Frame{Kind: wire.Closed, Dir: by, Stream: stream, Close: &wire.CloseFacts{By: by, How: how}})
}

// says sends a message of the server on a stream, or on the pipe.
func (s *speaker) says(stream int, format string, args ...any) {
	f := wire.Frame{Kind: wire.Event, Dir: wire.Received, Stream: stream, SSE: &sse.Facts{Event: "message"}}
	if s.way == "pipe" {
		f.Kind, f.Stream, f.SSE = wire.Body, 0, nil
	}
	f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...)
	s.cross(f)
}

// sends sends a message of the client; answered is the status of its POST, or 0 if that is left
// open.
func (s *speaker) sends(answered int, format string, args ...any) (stream int) {
	if s.way != "pipe" {
		s.streams++
		stream = s.streams
		s.head(stream, "POST")
	}
	s.cross(wire.Frame{Stream: stream, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...)})
	switch {
	case stream == 0:
	case answered == 202 || s.way == "sse":
		s.status(stream, 202)
		s.cross(wire.Frame{Dir: wire.Received, Stream: stream, Raw: []byte("Accepted")})
		s.end(stream, wire.Received, "end")
	default:
		s.status(stream, 200)
	}
	return stream
}

// begin opens the conversation, and its stream, if it has one.
func (s *speaker) begin() {
	if s.way == "sse" || s.way == "streamable" && s.IntN(3) > 0 {
		s.streams++
		s.on = s.streams
		s.head(s.on, "GET")
		s.status(s.on, 200)
	}
	if s.way == "sse" {
		s.cross(wire.Frame{Kind: wire.Event, Dir: wire.Received, Stream: s.on, SSE: &sse.Facts{Event: "endpoint"}, Raw: []byte("/messages")})
	}
	if s.way == "stateless" {
		s.ids++
		s.sends(0, `"id":%d,"method":"subscriptions/listen"`, s.ids)
		s.listens = true
	}
}

// own returns the stream where the server speaks unasked, and whether it has such a stream.
func (s *speaker) own() (stream int, ok bool) { return s.on, s.on > 0 || s.way == "pipe" }

// step lets one thing happen.
func (s *speaker) step() {
	var call *spoken
	if len(s.open) > 0 {
		call = &s.open[s.IntN(len(s.open))]
	}
	own, speaks := s.own()
	on := own // the stream of messages that belong to the call
	if call != nil && call.stream > 0 && s.way != "sse" {
		on = call.stream
	}
	if call != nil && s.way == "streamable" && speaks && s.IntN(3) == 0 {
		on = own // which it may as well
	}
	switch what := s.IntN(11); {
	case s.ended:
	case what < 3 || call == nil && what < 6:
		s.ids++
		id := s.ids
		stream := s.sends(0, `"id":%d,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":%d}}`, id, id)
		s.open = append(s.open, spoken{id: id, stream: stream})
	case call != nil && what == 3:
		s.says(on, `"method":"notifications/progress","params":{"progressToken":%d,"progress":1}`, call.id)
	case call != nil && what == 4 && s.way != "stateless":
		s.asked++
		s.questions = append(s.questions, s.asked)
		s.says(on, `"id":%d,"method":"roots/list"`, s.asked)
	case call != nil && what == 5 && !call.cancelled:
		call.cancelled = true
		if s.way == "stateless" {
			s.end(call.stream, wire.Sent, "cancelled")
			s.forget(call.id)
			return
		}
		s.sends(202, `"method":"notifications/cancelled","params":{"requestId":%d,"reason":"r"}`, call.id)
	case call != nil && what < 8:
		s.answers(*call, on)
	case what == 8 && len(s.questions) > 0:
		s.sends(202, `"id":%d,"result":{"roots":[]}`, s.questions[0])
		s.questions = s.questions[1:]
	case what == 9 && s.listens:
		s.says(s.streams, `"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`)
	case what == 9 && speaks:
		s.says(own, `"method":"notifications/message","params":{"level":"info","data":"own"}`)
	case call != nil:
		s.says(on, `"method":"notifications/message","params":{"level":"info","data":1}`)
	case s.IntN(20) == 0 && s.way == "pipe":
		s.ended = true
		s.end(0, wire.Sent, "exit")
	}
}

func (s *speaker) answers(call spoken, on int) {
	if s.way == "streamable" {
		on = call.stream
	}
	if s.forget(call.id); s.IntN(2) == 0 {
		s.says(on, `"id":%d,"error":{"code":-1,"message":"no"}`, call.id)
	} else {
		s.says(on, `"id":%d,"result":{"content":[]}`, call.id)
	}
	if on == call.stream && on > 0 {
		s.end(on, wire.Received, "end")
	}
}

func (s *speaker) forget(id int) {
	s.open = slices.DeleteFunc(s.open, func(c spoken) bool { return c.id == id })
}

func drawn(seed uint64) []wire.Frame {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 14))}
	var all []*speaker
	for i, way := range []string{"pipe", "streamable", "sse", "stateless", "streamable", "pipe"} {
		all = append(all, &speaker{world: w, conn: i, way: way})
		all[i].begin()
	}
	for range 40 + w.IntN(200) {
		all[w.IntN(len(all))].step()
	}
	return w.frames
}

// Each message is in the row that its ids and its stream determine, whatever is sent at the same
// time; and the rows are the same however much of the file is read at a time.
func TestEveryFrameIsOnItsRow(t *testing.T) {
	for seed := range uint64(30) {
		path := assertRows(t, drawn(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if seed < 10 {
			assertSameInChunks(t, path, rand.New(rand.NewPCG(seed, 15)))
		}
	}
}

func assertSameInChunks(t *testing.T, path string, random *rand.Rand) {
	t.Helper()
	whole, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	growing := filepath.Join(t.TempDir(), "growing.jsonl")
	var c *Capture
	for at := 0; at < len(raw); {
		at = min(at+1+random.IntN(len(raw)/10), len(raw))
		if err := os.WriteFile(growing, raw[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		if c == nil {
			c, _ = Open(growing) // until there is a head
		} else if _, err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	defer c.Close()
	if diff := cmp.Diff(rowsOf(t, whole), rowsOf(t, c)); diff != "" {
		t.Errorf("(-at once +growing):\n%s", diff)
	}
}
