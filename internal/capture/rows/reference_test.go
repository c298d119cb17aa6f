package rows

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// A reference assigns each message to its row, by ids and streams alone: it uses neither the code
// under test nor times. It serves one conversation.
type reference struct {
	// The rows by their keys: requests of the client by id, stream, token and the state of a round,
	// requests of the server by id and token.
	requests, tokens, states map[string]string
	about                    map[string]string // of a row, what its request is about
	questions, askedTokens   map[string]string
	streams, carriers        map[int]string
	idOn                     map[int]string
	opening                  string
	// waits are the requests without a response, accepted the POSTs that got a 202, refused
	// the GETs that got a 405.
	waits             map[string]bool
	accepted, refused map[int]bool
	sse               int
}

func newReference() *reference {
	return &reference{
		map[string]string{},
		map[string]string{},
		map[string]string{},
		map[string]string{},
		map[string]string{},
		map[string]string{},
		map[int]string{},
		map[int]string{},
		map[int]string{},
		"",
		map[string]bool{},
		map[int]bool{},
		map[int]bool{},
		0,
	}
}

// A plain message is what a reader of the specification looks at.
type plainMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta struct {
			Token        json.RawMessage `json:"progressToken"`
			Subscription json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
		Token     json.RawMessage `json:"progressToken"`
		RequestID json.RawMessage
		Name, URI string
		State     string `json:"requestState"`
	}
	Result *struct {
		Type  string `json:"resultType"`
		State string `json:"requestState"`
	}
	Error json.RawMessage
}

// row returns the name of the row of a frame, or "" if it is not a message, and the row that it may
// belong to.
func (r *reference) row(f wire.Frame) (row, guess string) {
	if f.SSE != nil && f.SSE.Event == "endpoint" {
		r.sse = f.Stream
	}
	var m plainMessage
	switch {
	case f.Kind == wire.Head && f.Dir == wire.Received:
		r.accepted[f.Stream] = f.HTTP.Status == 202
		r.refused[f.Stream] = f.HTTP.Status == 405 && r.streams[f.Stream] == ""
		return "", ""
	case f.Kind == wire.Closed:
		r.closed(f)
		return "", ""
	case f.Kind != wire.Body && f.Kind != wire.Event || f.SSE != nil && f.SSE.Event != "" && f.SSE.Event != "message":
		return "", ""
	case json.Unmarshal(f.Raw, &m) != nil || m.Method == "" && m.Result == nil && m.Error == nil:
		return "", ""
	}
	if f.Dir == wire.Received && r.accepted[f.Stream] && r.sse > 0 && f.Stream != r.sse {
		return "", "" // the body of a 202
	}
	if f.Dir == wire.Received && r.refused[f.Stream] {
		return "", "" // the server has no such stream
	}
	if row = r.named(f, m); row == "" {
		row = r.unnamed(f)
		apart := row == "conversation" || row == fmt.Sprint("stream ", f.Stream)
		if f.Dir == wire.Received && m.Method != "" && apart && m.names() == "" && !m.ofSession() {
			guess = r.only()
		}
	}
	if f.Dir == wire.Sent && f.Stream > 0 && r.streams[f.Stream] == "" {
		r.carriers[f.Stream] = row
	}
	return row, guess
}

// ofSession reports what is about the offers of the server, and of no request.
func (m plainMessage) ofSession() bool {
	return slices.Contains([]string{
		"notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated",
	}, m.Method)
}

func (m plainMessage) names() string {
	return string(m.Params.Token) + string(m.Params.RequestID) + string(m.Params.Meta.Subscription)
}

// named is the row that a message names.
func (r *reference) named(f wire.Frame, m plainMessage) string {
	sent, id := f.Dir == wire.Sent, string(m.ID)
	switch {
	case m.Method != "" && id != "" && sent:
		return r.request(f, m)
	case m.Method != "" && id != "":
		r.questions[id] = fmt.Sprint("question ", f.Seq)
		r.askedTokens[string(m.Params.Meta.Token)] = r.questions[id]
		return r.questions[id]
	case m.Method == "" && sent:
		return r.questions[id]
	case m.Method == "":
		return r.answer(f, m)
	case m.Method == "notifications/progress" && sent:
		return r.askedTokens[string(m.Params.Token)]
	case m.Method == "notifications/progress":
		return r.tokens[string(m.Params.Token)]
	case m.Method == "notifications/cancelled" && sent:
		delete(r.waits, r.requests[string(m.Params.RequestID)])
		return r.requests[string(m.Params.RequestID)]
	case m.Method == "notifications/cancelled":
		return r.questions[string(m.Params.RequestID)]
	case m.Method == "notifications/initialized" && sent:
		return r.opening
	}
	return r.requests[string(m.Params.Meta.Subscription)]
}

func (r *reference) request(f wire.Frame, m plainMessage) string {
	row, about := fmt.Sprint("request ", f.Seq), fmt.Sprint(m.Method, " ", m.Params.Name, m.Params.URI, " ")
	if before := r.states[about+m.Params.State]; m.Params.State != "" && before != "" {
		row = before
	}
	r.about[row] = about
	r.requests[string(m.ID)], r.waits[row] = row, m.Method != "subscriptions/listen"
	if m.Method == "initialize" {
		r.opening = row
	}
	if m.Params.Meta.Token != nil {
		r.tokens[string(m.Params.Meta.Token)] = row
	}
	if f.Stream > 0 {
		r.streams[f.Stream], r.idOn[f.Stream] = row, string(m.ID)
	}
	return row
}

func (r *reference) answer(f wire.Frame, m plainMessage) string {
	row := r.requests[string(m.ID)]
	switch {
	case r.carriers[f.Stream] != "":
		return "" // it came for no request
	case r.idOn[f.Stream] == string(m.ID) && f.Stream > 0:
		row = r.streams[f.Stream]
	}
	delete(r.waits, row)
	if m.Result != nil && m.Result.Type == "input_required" {
		r.states[r.about[row]+m.Result.State] = row
	}
	return row
}

// unnamed is the row of the stream, or a name in its place.
func (r *reference) unnamed(f wire.Frame) string {
	switch {
	case r.streams[f.Stream] != "":
		return r.streams[f.Stream]
	case r.carriers[f.Stream] != "":
		return r.carriers[f.Stream]
	case f.Stream > 0 && f.Dir == wire.Received:
		return fmt.Sprint("stream ", f.Stream)
	}
	return "conversation"
}

func (r *reference) closed(f wire.Frame) {
	if !r.accepted[f.Stream] {
		delete(r.waits, r.streams[f.Stream])
	}
	if f.Stream == 0 || f.Stream == r.sse {
		clear(r.waits)
	}
}

// only is the request that alone waits.
func (r *reference) only() string {
	waiting := slices.DeleteFunc(slices.Collect(maps.Keys(r.waits)), func(row string) bool { return !r.waits[row] })
	if len(waiting) == 1 {
		return waiting[0]
	}
	return ""
}

// assertRows compares the rows of frames with the reference, and returns the file with the frames.
func assertRows(t *testing.T, frames []wire.Frame) (path string) {
	t.Helper()
	b, at := capture.AppendHead(nil, capture.Head{Started: noon, Target: "t", By: capture.ByProxy}), map[int64]wire.Frame{}
	want, guesses, refs := map[uint64]string{}, map[uint64]string{}, map[int]*reference{}
	for _, f := range frames {
		at[int64(len(b))] = f
		b = capture.AppendFrame(b, f)
		if refs[f.Conn] == nil {
			refs[f.Conn] = newReference()
		}
		if row, guess := refs[f.Conn].row(f); row != "" {
			want[f.Seq] = fmt.Sprint(row, " of ", f.Conn)
			if guess != "" {
				guesses[f.Seq] = fmt.Sprint(guess, " of ", f.Conn)
			}
		}
	}
	path = filepath.Join(t.TempDir(), "frames.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, guessed := map[uint64]string{}, map[uint64]string{}
	for _, row := range c.Rows() {
		key := rowKey(t, row)
		for l := range row.lines.all() {
			f, place := at[l.offset], l.place()
			switch {
			case place.Role == wire.RoleRelated && place.IsGuess && row.Dir == wire.Sent && want[f.Seq] != "" && want[f.Seq][0] != 'q':
				guessed[f.Seq] = key
			case place.Role <= wire.RoleOtherMessage || place.Role == wire.RoleCancellation:
				if got[f.Seq] != "" {
					t.Errorf("frame %d is on %s and on %s", f.Seq, got[f.Seq], key)
				}
				got[f.Seq] = key
			}
		}
	}
	for _, f := range frames {
		if got[f.Seq] != want[f.Seq] || guessed[f.Seq] != guesses[f.Seq] {
			t.Errorf("frame %d (%v on stream %d of %d: %.200s) is on %q (guess %q), want %q (guess %q)", f.Seq, f.Dir, f.Stream, f.Conn, f.Raw,
				got[f.Seq], guessed[f.Seq], want[f.Seq], guesses[f.Seq])
		}
	}
	return path
}

// rowKey names a row as the reference does.
func rowKey(t *testing.T, row *Row) string {
	t.Helper()
	x, err := row.Exchange()
	switch {
	case err != nil || x == nil:
		t.Fatalf("%s: %v", row.Method, err)
	case row.IsSeparate && row.Method == MethodPipe:
		return fmt.Sprint("conversation of ", row.Conn)
	case row.IsSeparate:
		return fmt.Sprint("stream ", x.OtherMessages[0].Stream, " of ", row.Conn)
	case row.Dir == wire.Received:
		return fmt.Sprint("question ", x.Request.Seq, " of ", row.Conn)
	}
	return fmt.Sprint("request ", x.Request.Seq, " of ", row.Conn)
}
