package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/sse"
)

// A life is all that belongs to one request, in its order. Lives run at the same
// time, and what the fold makes of their frames must be the lives again.
type life struct {
	conn  *conversation
	steps []func() // the remaining steps
	seqs  []uint64 // the frames of this life, in the order they were sent in
}

// A conversation numbers its own messages.
type conversation struct{ number, ids, asked, streams int }

// A traffic makes up conversations over HTTP where everything names its request: by its id, its
// stream, an event's id or what the request of a round is about.
type traffic struct {
	rand   *rand.Rand
	conns  []*conversation
	frames []Frame
	lives  []*life
}

func (tr *traffic) cross(l *life, f Frame) {
	f.Seq, f.Conn = uint64(len(tr.frames)+1), l.conn.number
	tr.frames = append(tr.frames, f)
	l.seqs = append(l.seqs, f.Seq)
}

func (tr *traffic) head(l *life, dir Direction, stream int, lastEvent string) {
	h := &HTTPHead{}
	if lastEvent != "" {
		h.Fields = []Field{{"Last-Event-ID", lastEvent}}
	}
	tr.cross(l, Frame{Kind: Head, Dir: dir, Stream: stream, HTTP: h})
}

func (tr *traffic) body(l *life, dir Direction, stream int, format string, args ...any) {
	tr.cross(l, Frame{Kind: Body, Dir: dir, Stream: stream, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...)})
}

func (tr *traffic) event(l *life, stream int, id, format string, args ...any) {
	tr.cross(l, Frame{
		Kind: Event, Dir: Received, Stream: stream, SSE: &sse.Facts{ID: &id},
		Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...),
	})
}

// begin plans the life of a request: the events before the response are random.
func (tr *traffic) begin() {
	l := &life{conn: tr.conns[tr.rand.IntN(len(tr.conns))]}
	c := l.conn
	tr.lives = append(tr.lives, l)
	id, stream, event, params := 0, 0, 0, ""
	bookmark := func() string { event++; return fmt.Sprintf("%p-%d", l, event) }
	then := func(step func()) { l.steps = append(l.steps, step) }
	send := func() {
		then(func() { c.streams++; stream = c.streams; tr.head(l, Sent, stream, "") })
		then(func() { tr.body(l, Sent, stream, `"id":%d,"method":"m","params":{%s"name":"%p"}`, id, params, l) })
		then(func() { tr.head(l, Received, stream, "") })
	}
	then(func() { c.ids++; id = c.ids })
	send()
	for range tr.rand.IntN(6) {
		switch tr.rand.IntN(5) {
		case 0: // the server sends a notification
			then(func() { tr.event(l, stream, bookmark(), `"method":"notifications/message"`) })
		case 1: // the server asks, and is answered on a stream whose heads are no exchange's
			var asked, other int
			then(func() {
				asked = c.asked
				c.asked++
				tr.event(l, stream, bookmark(), `"id":%d,"method":"roots/list"`, asked)
			})
			then(func() { c.streams++; other = c.streams; tr.head(&life{conn: c}, Sent, other, "") })
			then(func() { tr.body(l, Sent, other, `"id":%d,"result":{}`, asked) })
			then(func() { tr.head(&life{conn: c}, Received, other, "") })
		case 2: // the request is sent again
			send()
		case 3: // the stream breaks and is taken up again
			then(func() {
				last := bookmark()
				tr.event(l, stream, last, `"method":"notifications/message"`)
				c.streams++
				stream = c.streams
				tr.head(l, Sent, stream, last)
			})
			then(func() { tr.head(l, Received, stream, "") })
		case 4: // the server wants to know more first
			then(func() {
				state := tr.rand.IntN(2) // which servers hand out to several
				tr.body(l, Received, stream, `"id":%d,"result":{"resultType":"input_required","requestState":"%d"}`, id, state)
				params = fmt.Sprintf(`"requestState":"%d","inputResponses":{},`, state)
				c.ids++
				id = c.ids
			})
			send()
		}
	}
	if tr.rand.IntN(4) > 0 {
		then(func() { tr.event(l, stream, bookmark(), `"id":%d,"result":{}`, id) })
	}
	if tr.rand.IntN(8) == 0 { // late
		then(func() { tr.event(l, stream, bookmark(), `"method":"notifications/message"`) })
	}
}

// run lets all lives happen, a step of one and then a step of another.
func (tr *traffic) run() {
	for {
		var alive []*life
		for _, l := range tr.lives {
			if len(l.steps) > 0 {
				alive = append(alive, l)
			}
		}
		if len(alive) == 0 {
			return
		}
		l := alive[tr.rand.IntN(len(alive))]
		step := l.steps[0]
		l.steps = l.steps[1:]
		step()
	}
}

// seqs are the numbers of an exchange's frames.
func seqs(e *Exchange) []uint64 {
	all := []uint64{e.Request.Seq}
	if e.Response.Raw != nil {
		all = append(all, e.Response.Seq)
	}
	for _, f := range slices.Concat(e.OtherMessages, e.Heads) {
		all = append(all, f.Seq)
	}
	slices.Sort(all)
	return all
}

func TestFoldGivesBackTheLivesOfRequests(t *testing.T) {
	for seed := range uint64(500) {
		tr := &traffic{rand: rand.New(rand.NewPCG(seed, 1))}
		for number := range 1 + tr.rand.IntN(3) {
			tr.conns = append(tr.conns, &conversation{number: number})
		}
		for range 1 + tr.rand.IntN(6) {
			tr.begin()
		}
		tr.run()
		want := map[uint64][]uint64{}
		for _, l := range tr.lives {
			want[l.seqs[0]] = l.seqs
		}
		got := map[uint64][]uint64{}
		for _, e := range GroupFrames(tr.frames) {
			if e.IsFromServer() { // it belongs to the life of what the client asked
				continue
			}
			all := seqs(e)
			got[all[0]] = all
		}
		if diff := cmp.Diff(want, got); diff != "" {
			for _, f := range tr.frames {
				t.Logf("%d %v %v stream %d %s %v", f.Seq, f.Dir, f.Kind, f.Stream, f.Raw, f.HTTP)
			}
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}
