package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/sse"
)

// transcript reads frames, numbered from 1, one on each line: ">" was sent and
// "<" received, then comes the stream, then the traffic: "head", with the last
// event's id if there is one; "event" with its id; "closed"; or a body.
func transcript(text string) (frames []Frame) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f := Frame{Seq: uint64(len(frames) + 1)}
		if line[0] == '<' {
			f.Dir = Received
		}
		stream, rest, _ := strings.Cut(line[2:], " ")
		_, _ = fmt.Sscan(stream, &f.Stream)
		word, after, _ := strings.Cut(rest, " ")
		switch word {
		case "head":
			f.Kind, f.HTTP = Head, &HTTPHead{Fields: []Field{{"last-event-id", after}}}
		case "event":
			id, data, _ := strings.Cut(after, " ")
			f.Kind, f.SSE, f.Raw = Event, &sse.Facts{ID: &id}, []byte(data)
		case "closed":
			f.Kind = Closed
			if after != "" {
				f.Close = &CloseFacts{How: after}
			}
		case "status":
			f.Kind, f.HTTP = Head, &HTTPHead{}
			_, _ = fmt.Sscan(after, &f.HTTP.Status)
		case "again":
			id, raw, _ := strings.Cut(after, " ")
			f.PreviousID, f.Raw = id, []byte(raw)
		default:
			f.Raw = []byte(rest)
		}
		if strings.HasPrefix(string(f.Raw), "{") {
			f.Raw = []byte(`{"jsonrpc":"2.0",` + string(f.Raw[1:]))
		}
		frames = append(frames, f)
	}
	return frames
}

// folded writes exchanges with the numbers of their frames.
func folded(exchanges []*Exchange) (lines []string) {
	for _, e := range exchanges {
		line := fmt.Sprintf("%d → %d", e.Request.Seq, e.Response.Seq)
		for _, part := range []struct {
			name   string
			frames []Frame
		}{{"between", e.OtherMessages}, {"heads", e.Heads}, {"carriers", e.Carriers}} {
			for i, f := range part.frames {
				if i == 0 {
					line += ", " + part.name
				}
				line += fmt.Sprint(" ", f.Seq)
				if part.name == "between" && e.IsGuess(f) {
					line += "?"
				}
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestFoldFramesToExchanges(t *testing.T) {
	for _, c := range []struct {
		name, frames string
		want         []string
	}{
		{"nothing", ``, nil},
		{"no request", `
			< 0 {"method":"a"}
			< 0 {"id":1,"result":1}
			> 0 {"method":"b"}
			< 1 head
			> 1 closed`, []string{"0 → 0, between 1 2 3"}},
		{"a pipe", `
			> 0 {"id":1,"method":"initialize"}
			< 0 {"id":1,"result":{}}
			> 0 {"method":"notifications/initialized"}
			> 0 {"id":2,"method":"a"}
			< 0 {"method":"notifications/message"}
			< 0 {"id":2,"error":{"code":1,"message":"no"}}
			< 0 closed`, []string{"1 → 2, between 3", "4 → 6, between 5?", "0 → 0, between 5"}},
		{"answers out of order", `
			> 0 {"id":1,"method":"a"}
			> 0 {"id":"1","method":"b"}
			> 0 {"id":3,"method":"c"}
			< 0 {"id":3,"result":1}
			< 0 {"id":"1","result":1}
			< 0 {"id":1.0,"result":1}`, []string{"1 → 6", "2 → 5", "3 → 4"}},
		{"ids that overlap", `
			> 0 {"id":1,"method":"a"}
			< 0 {"id":1,"method":"roots/list"}
			> 0 {"id":2,"method":"b"}
			> 0 {"id":1,"result":{"roots":[]}}
			< 0 {"id":2,"method":"sampling/createMessage"}
			< 0 {"id":1,"result":{}}
			> 0 {"id":2,"error":{"code":-1,"message":"no"}}
			< 0 {"id":2,"result":{}}`, []string{"1 → 6, between 2? 4?", "2 → 4", "3 → 8", "5 → 7"}},
		{"progress and cancellation of interleaved requests", `
			> 0 {"id":1,"method":"a","params":{"_meta":{"progressToken":"p"}}}
			> 0 {"id":2,"method":"b","params":{"_meta":{"progressToken":2}}}
			< 0 {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}
			< 0 {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
			< 0 {"method":"notifications/progress","params":{"progressToken":"2","progress":1}}
			> 0 {"method":"notifications/cancelled","params":{"requestId":1}}
			< 0 {"id":2,"result":{}}`, []string{"1 → 0, between 3 6", "2 → 7, between 4", "0 → 0, between 5"}},
		{"duplicate and orphaned answers", `
			> 0 {"id":1,"method":"a"}
			< 0 {"id":8,"result":1}
			< 0 {"id":1,"result":1}
			< 0 {"id":1,"result":2}`, []string{"1 → 3, between 4", "0 → 0, between 2"}},
		{"an id used again", `
			> 0 {"id":1,"method":"a"}
			< 0 {"id":1,"result":1}
			> 0 {"id":1,"method":"a"}
			< 0 {"id":1,"result":2}`, []string{"1 → 2", "3 → 4"}},
		{"another request under an open id", `
			> 0 {"id":1,"method":"a"}
			> 0 {"id":1,"method":"b"}
			< 0 {"id":1,"result":1}`, []string{"1 → 0", "2 → 3"}},
		{"an error that names no request", `
			> 0 {"id":1,"method":"a"}
			< 0 {"id":null,"error":{"code":-32700,"message":"no"}}`, []string{"1 → 2"}},
		{"an error that names none of two", `
			> 0 {"id":1,"method":"a"}
			> 0 {"id":2,"method":"b"}
			< 0 {"error":{"code":-32700,"message":"no"}}`, []string{"1 → 0", "2 → 0", "0 → 0, between 3"}},
		{"an answer that breaks the rules", `
			> 0 {"id":1,"method":"a"}
			< 0 {"id":1,"result":1,"error":1}`, []string{"1 → 2"}},
		{"bytes that are no message, on a pipe", `
			> 0 {"id":1,"method":"a"}
			< 0 Listening`, []string{"1 → 0"}},
		{
			"HTTP", `
			> 1 head
			> 1 {"id":1,"method":"initialize"}
			< 1 head
			< 1 {"id":1,"result":{}}
			> 2 head
			> 2 {"method":"notifications/initialized"}
			< 2 head
			> 3 head
			> 3 {"id":2,"method":"a"}
			< 3 head
			< 3 event 1-0
			< 3 event 1-1 {"method":"notifications/message"}
			< 3 event 1-2 {"id":2,"result":{}}`,
			[]string{"2 → 4, between 6, heads 1 3, carriers 5 7", "9 → 13, between 12, heads 8 10"},
		},
		{
			"interleaved HTTP", `
			> 1 head
			> 1 {"id":1,"method":"a"}
			> 2 head
			> 2 {"id":2,"method":"b"}
			< 1 head
			< 1 event 1 {"method":"x"}
			< 2 head
			< 1 event 2 {"id":2,"method":"elicitation/create"}
			> 3 head
			> 3 {"id":2,"result":{}}
			< 3 head
			< 2 {"id":2,"result":{}}
			< 1 event 3 {"id":1,"result":{}}`,
			[]string{"2 → 13, between 6 8 10, heads 1 5, carriers 9 11", "4 → 12, heads 3 7", "8 → 10, carriers 9 11"},
		},
		{"an answer to an answer, with the id of what is open", `
			> 1 head
			> 1 {"id":1,"method":"a"}
			< 1 head
			< 1 event 1 {"id":1,"method":"ping"}
			> 2 head
			> 2 {"id":1,"result":{}}
			< 2 head
			< 2 {"id":1,"error":{"code":-32601,"message":"no"}}
			< 1 event 2 {"id":1,"result":{}}
			< 2 closed`, []string{"2 → 9, between 4 6 8, heads 1 3, carriers 5 7 10", "4 → 6, between 8, carriers 5 7 10"}},
		{"an answer to a notification", `
			> 1 {"id":1,"method":"a"}
			> 2 {"method":"notifications/cancelled","params":{"requestId":1}}
			< 2 {"id":null,"error":{"code":-32601,"message":"no"}}
			> 3 {"method":"notifications/roots/list_changed"}
			< 3 {"id":1,"result":{}}
			< 3 Accepted
			< 1 {"id":1,"result":{}}`, []string{"1 → 7, between 2 3", "0 → 0, between 4 5, carriers 6"}},
		{"a stream's number used again for a request", `
			> 1 {"id":1,"method":"a"}
			> 2 head
			> 2 {"method":"notifications/b"}
			> 2 head
			> 2 {"id":2,"method":"c"}
			< 2 {"id":2,"result":{}}`, []string{"1 → 0", "0 → 0, between 3, carriers 2", "5 → 6, heads 4"}},
		{"a batch of an answer and a request", `
			> 1 {"id":1,"method":"a"}
			< 1 event 1 {"id":7,"method":"ping"}
			> 2 head
			> 2 [{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","id":2,"method":"b"}]
			< 2 head
			< 2 {"id":2,"result":{}}`, []string{"1 → 0, between 2 4", "2 → 4", "4 → 6, heads 3 5"}},
		{"an error page", `
			> 1 head
			> 1 {"id":1,"method":"a"}
			< 1 head
			< 1 <html>`, []string{"2 → 0, between 4, heads 1 3"}},
		{"an HTTP error that names no request", `
			> 1 {"id":1,"method":"a"}
			> 2 {"id":2,"method":"b"}
			< 1 {"id":null,"error":{"code":-32700,"message":"no"}}`, []string{"1 → 3", "2 → 0"}},
		{"a retry", `
			> 1 head
			> 1 {"id":1,"method":"a"}
			< 1 head
			> 2 head
			> 2 {"id":1,"method":"a"}
			< 2 head
			< 2 {"id":1,"result":{}}`, []string{"2 → 7, between 5, heads 1 3 4 6"}},
		{"the same under another id", `
			> 1 {"id":1,"method":"a","params":{"x":1}}
			< 1 status 503
			> 2 {"id":2,"method":"a","params":{"x":1}}
			< 2 closed cut
			> 3 {"id":3,"method":"a","params":{"x":1}}
			< 3 {"id":3,"result":{}}`, []string{"1 → 0, heads 2", "3 → 0", "5 → 6"}},
		{"sent again by mcpc under another id", `
			> 1 {"id":1,"method":"a","params":{"x":1}}
			< 1 status 503
			> 2 again 1 {"id":2,"method":"a","params":{"x":2}}
			< 2 closed cut
			> 3 again 2 {"id":3,"method":"a","params":{"x":3}}
			< 3 {"id":3,"result":{}}
			> 4 again 3 {"id":4,"method":"a","params":{"x":3}}`, []string{"1 → 6, between 3 5, heads 2", "7 → 0"}},
		{
			"a resumed stream", `
			> 1 head
			> 1 {"id":1,"method":"a"}
			< 1 head
			< 1 event 1-0
			< 1 event 1-1 {"method":"notifications/progress"}
			< 1 closed
			> 2 head
			> 2 {"id":2,"method":"b"}
			< 2 head
			< 2 {"id":2,"result":{}}
			> 3 head 1-1
			< 3 head
			< 3 event 1-2 {"method":"notifications/progress"}
			> 4 head 1-2
			< 4 head
			< 4 event 1-3 {"id":1,"result":{}}`,
			[]string{"2 → 16, between 5 13, heads 1 3 11 12 14 15", "8 → 10, heads 7 9"},
		},
		{"a stream of its own", `
			> 1 head
			< 1 head
			< 1 event 0-1 {"method":"early"}
			> 2 head
			> 2 {"id":1,"method":"a"}
			< 2 head
			< 2 {"id":1,"result":{}}
			< 1 event 0-2 {"method":"late"}
			> 3 head 0-2
			< 3 head`, []string{"0 → 0, between 3 8, heads 1 2 9 10", "5 → 7, heads 4 6"}},
		{"a question on the GET stream while a call runs", `
			> 1 head
			< 1 head
			> 2 head
			> 2 {"id":1,"method":"tools/call"}
			< 1 event 0-1 {"id":1,"method":"roots/list"}
			> 3 head
			> 3 {"id":1,"result":{"roots":[]}}
			< 3 head
			< 2 head
			< 2 {"id":1,"result":{}}`, []string{"4 → 10, between 5? 7?, heads 3 9, carriers 6 8", "5 → 7, carriers 6 8"}},
		{"what comes on the GET stream behind an answered call", `
			> 1 {"id":1,"method":"tools/call"}
			< 1 {"id":1,"result":{}}
			< 2 event 0-1 {"id":1,"method":"roots/list"}
			< 2 event 0-2 {"method":"notifications/message"}
			> 3 {"id":1,"result":{"roots":[]}}`, []string{"1 → 2", "3 → 5", "0 → 0, between 4"}},
		{"the GET stream while two calls run", `
			> 1 {"id":1,"method":"a"}
			> 2 {"id":2,"method":"b"}
			< 3 event 0-1 {"method":"notifications/message"}
			< 3 event 0-2 {"id":1,"method":"roots/list"}
			< 1 {"id":1,"result":{}}
			< 3 event 0-3 {"method":"notifications/message"}`, []string{"1 → 5", "2 → 0, between 6?", "0 → 0, between 3 6", "4 → 0"}},
		{"a pipe while a subscription waits", `
			> 0 {"id":1,"method":"subscriptions/listen"}
			> 0 {"id":2,"method":"a"}
			< 0 {"method":"notifications/message"}`, []string{"1 → 0", "2 → 0, between 3?", "0 → 0, between 3"}},
		{
			"progress of what the server asked", `
			> 1 {"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
			> 2 {"id":2,"method":"b"}
			< 2 event 1 {"id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}
			> 3 {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< 2 event 2 {"method":"notifications/cancelled","params":{"requestId":1}}`,
			[]string{"1 → 0", "2 → 0, between 3 4 5", "3 → 0, between 4 5"},
		},
		{"a handshake over HTTP", `
			> 1 {"id":1,"method":"initialize"}
			< 1 {"id":1,"result":{}}
			> 2 {"id":2,"method":"a"}
			> 3 head
			> 3 {"method":"notifications/initialized"}`, []string{"1 → 2, between 5, carriers 4", "3 → 0"}},
		{"answers on another stream", `
			> 1 head
			< 1 head
			< 1 event 0 /messages?sessionId=1
			> 2 head
			> 2 {"id":1,"method":"a"}
			< 2 head
			< 1 event 1 {"id":1,"result":{}}`, []string{"5 → 7, heads 4 6"}},
		{"events that forget their bookmark", `
			> 1 {"id":1,"method":"a"}
			< 1 event 1 {"method":"x"}
			< 1 event  {"method":"y"}
			> 2 head
			< 2 head
			> 3 {"id":2,"method":"b"}
			< 2 {"method":"z"}`, []string{"1 → 0, between 2 3", "6 → 0", "0 → 0, between 7, heads 4 5"}},
		{"an orphan with the id of what the server asked", `
			> 0 {"id":1,"method":"a"}
			< 0 {"id":5,"method":"roots/list"}
			> 0 {"id":2,"method":"b"}
			< 0 {"id":5,"result":1}
			> 0 {"id":5,"result":{}}`, []string{"1 → 0, between 2? 5?", "2 → 5", "3 → 0", "0 → 0, between 4"}},
		{"a stream's number used again", `
			> 1 head
			> 1 {"id":1,"method":"a"}
			> 1 head
			< 1 head
			< 1 event 0 {"method":"x"}`, []string{"2 → 0, between 5?, heads 1", "0 → 0, between 5, heads 3 4"}},
		{
			"a batch", `
			> 1 head
			> 1 [{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"},{"jsonrpc":"2.0","method":"c"}]
			< 1 head
			< 1 [{"jsonrpc":"2.0","id":2,"result":2},{"jsonrpc":"2.0","id":1,"result":1}]`,
			[]string{"2 → 4, between 2, heads 1 3", "2 → 4"},
		},
		{
			"two rounds", `
			> 1 {"id":1,"method":"a","params":{"x":1}}
			< 1 {"id":1,"result":{"resultType":"input_required","requestState":"s"}}
			> 2 {"id":2,"method":"a","params":{"x":2}}
			< 2 {"id":2,"result":{"resultType":"input_required","requestState":"t"}}
			> 3 {"id":3,"method":"a","params":{"x":1,"requestState":"s","inputResponses":{}}}
			< 3 {"id":3,"result":{"resultType":"input_required"}}
			> 4 {"id":4,"method":"a","params":{"x":1,"inputResponses":{}}}
			< 4 {"id":4,"result":{"text":"input_required"}}
			> 5 {"id":5,"method":"a","params":{"inputResponses":{}}}
			> 6 {"id":6,"method":"b","params":{"requestState":"t"}}`,
			[]string{"1 → 8, between 2 5 6 7", "3 → 4", "9 → 0", "10 → 0"},
		},
		{
			"rounds of two calls with the same state", `
			> 1 {"id":1,"method":"a","params":{"name":"x"}}
			< 1 {"id":1,"result":{"resultType":"input_required","requestState":"s"}}
			> 2 {"id":2,"method":"a","params":{"name":"y"}}
			< 2 {"id":2,"result":{"resultType":"input_required","requestState":"s"}}
			> 3 {"id":3,"method":"b","params":{"uri":"u"}}
			< 3 {"id":3,"result":{"resultType":"input_required","requestState":"s"}}
			> 4 {"id":4,"method":"b","params":{"uri":"v","requestState":"s"}}
			> 5 {"id":5,"method":"a","params":{"name":"x","requestState":"s"}}
			> 6 {"id":6,"method":"b","params":{"requestState":"s","uri":"u"}}
			> 7 {"id":7,"method":"a","params":{"name":"x","requestState":"s"}}`,
			[]string{"1 → 0, between 2 8", "3 → 4", "5 → 0, between 6 9", "7 → 0", "10 → 0"},
		},
		{
			"the newest of two calls with the same state goes on", `
			> 1 {"id":1,"method":"a","params":{"name":"x"}}
			< 1 {"id":1,"result":{"resultType":"input_required","requestState":"s"}}
			> 2 {"id":2,"method":"a","params":{"name":"x"}}
			< 2 {"id":2,"result":{"resultType":"input_required","requestState":"s"}}
			> 3 {"id":3,"method":"a","params":{"name":"x","requestState":"s"}}`,
			[]string{"1 → 2", "3 → 0, between 4 5"},
		},
		{"null ids", `
			> 0 {"id":null,"method":"a"}
			< 0 {"id":null,"result":1}`, []string{"1 → 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, folded(GroupFrames(transcript(c.frames)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestsAreLinkedToFailedOnes sends one request three times, two of which fail, and then once
// more.
func TestRequestsAreLinkedToFailedOnes(t *testing.T) {
	var f Correlator
	var got []int
	for i, frame := range transcript(`
		> 1 {"id":1,"method":"a"}
		< 1 status 503
		> 2 {"id":2,"method":"a"}
		< 2 closed cut
		> 3 {"id":3,"method":"b"}
		> 4 {"id":4,"method":"a"}
		< 4 {"id":4,"result":{}}
		> 5 {"id":5,"method":"a"}`) {
		var traits Traits
		if frame.Kind == Body {
			traits = ParseMessage(frame.Raw).Traits()
		}
		for _, p := range f.Add(int64(i), &frame, &traits) {
			if p.Role == RoleRequest {
				got = append(got, p.FailedBefore)
			}
		}
	}
	if diff := cmp.Diff([]int{0, 1, 0, 2, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of a batch each exchange shows its own messages.
func TestFoldSplitsBatches(t *testing.T) {
	all := GroupFrames(transcript(`
		> 0 [{"id":1,"jsonrpc":"2.0","method":"a"}, {"id":2,"jsonrpc":"2.0","method":"b"}]
		< 0 [{"id":2,"jsonrpc":"2.0","result":"b"}, {"id":1,"jsonrpc":"2.0","result":"a"}]`))
	var got []string
	for _, e := range all {
		got = append(got, string(e.Request.Raw)+" "+string(e.Response.Raw))
	}
	want := []string{
		`{"id":1,"jsonrpc":"2.0","method":"a"} {"id":1,"jsonrpc":"2.0","result":"a"}`,
		`{"id":2,"jsonrpc":"2.0","method":"b"} {"id":2,"jsonrpc":"2.0","result":"b"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A head may lack its facts, and a fold over many open requests is not slow.
func TestFoldToleratesIncompleteFrames(t *testing.T) {
	frames := []Frame{{Kind: Head}, {Kind: Head, Dir: Received}, {Kind: Body}, {Kind: Event}, {Kind: Noise}, {Kind: Stderr}, {Kind: Closed}}
	if got := GroupFrames(frames); got != nil {
		t.Errorf("%d exchanges of nothing", len(got))
	}
	frames = nil
	for i := range 20_000 {
		frames = append(frames, Frame{Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"a"}`, i)})
	}
	for i := range 20_000 {
		frames = append(frames, Frame{Dir: Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":1}`, i)})
	}
	all := GroupFrames(frames)
	if len(all) != 20_000 || all[19_999].Response.Raw == nil {
		t.Errorf("%d exchanges", len(all))
	}
}
