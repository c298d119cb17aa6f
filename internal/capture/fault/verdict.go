package fault

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Verdict is what a client did after a fault.
type Verdict struct {
	Rule   string    `json:"rule"`
	Source string    `json:"source"`
	Line   int       `json:"line"`
	Action string    `json:"action"`
	Method string    `json:"method,omitempty"`
	Name   string    `json:"name,omitempty"`
	ID     string    `json:"id,omitempty"`
	Time   time.Time `json:"time"`
	Seed   uint64    `json:"seed"`
	// Did is one of the constants below, After the seconds from the fault to that.
	Did   string  `json:"did"`
	After float64 `json:"after,omitempty"`
	// Bad is set where a client should not do that.
	Bad bool `json:"bad,omitempty"`
	// Text says what happened, where that is not what the rule says.
	Text string `json:"text,omitempty"`
}

// What a client did next.
const (
	Repeated = "repeated" // sent a call again that may change something, and may have been executed
	Retried  = "retried"  // sent the same request again
	Resumed  = "resumed"  // took up the stream with Last-Event-ID
	Reopened = "reopened" // opened another session
	Fetched  = "fetched"  // read a list again
	Answered = "answered" // got the response
	GaveUp   = "gave up"  // cancelled, or disconnected
	Stopped  = "stopped"  // did not try again
	Hung     = "hung"     // still waited at the end
	Unjudged = "unjudged" // the fault was about no request
)

// WatchTime is how long a client is watched once its request has ended, and how long it may
// wait for nothing.
const WatchTime = time.Minute

// String is the verdict for a person.
func (v Verdict) String() string {
	after := " after " + (time.Duration(v.After * float64(time.Second))).Round(time.Millisecond).String()
	if v.Did == Answered && v.After == 0 {
		after = ""
	}
	switch v.Did {
	case Repeated:
		return "the client repeated a call that may change something, and may have been executed," + after
	case Retried:
		return "the client sent the request again" + after
	case Resumed:
		return "the client resumed the stream with Last-Event-ID" + after
	case Reopened:
		return "the client opened another session" + after
	case Fetched:
		return "the client read the list again" + after
	case Answered:
		return "the client took the response" + after
	case GaveUp:
		return "the client gave up" + after
	case Stopped:
		return "the client did not try again"
	case Hung:
		return "the client still waited" + after
	}
	return "not judged: the fault was about no request"
}

// A Judge watches the frames of a recording for what a client does after each fault.
type Judge struct {
	seed     maphash.Seed
	open     []*watch
	verdicts []Verdict
	// requests are the hashes of the client's requests, safe says of each tool that was listed
	// whether a call of it can be repeated.
	requests map[requestKey]*request
	safe     map[string]bool
	last     time.Time
}

// A request is one of the client's: its hash, and whether it was answered.
type request struct {
	sum      uint64
	answered bool
}

type requestKey struct {
	conn, stream int
	id           string
}

// A watch is a fault after which the client is watched.
type watch struct {
	v   Verdict
	key requestKey
	// sum is that of the request.
	sum uint64
	// ended is when the client got an end of the request, good or bad; zero before.
	ended time.Time
	// did is what it did so far: a retry may follow.
	did string
	at  time.Time
}

// mostWatched bounds what is remembered.
const mostWatched = 10_000

// Add reads the next frame.
func (j *Judge) Add(f wire.Frame) {
	if j.requests == nil {
		j.seed, j.requests, j.safe = maphash.MakeSeed(), map[requestKey]*request{}, map[string]bool{}
	}
	if f.Time.After(j.last) {
		j.last = f.Time
	}
	j.expire()
	switch {
	case f.Kind == wire.Fault && f.Fault != nil:
		j.begin(f)
	case f.Kind == wire.Head && f.Dir == wire.Sent && f.HTTP.Field("Last-Event-ID") != "":
		j.each(func(w *watch) bool { return w.key.conn == f.Conn && w.note(Resumed, f.Time) })
	case f.Kind == wire.Closed:
		j.closed(f)
	case f.Kind == wire.Body || f.Kind == wire.Event:
		j.message(f, wire.ParseMessage(f.Raw))
	}
}

// each looks at the open watches; those for which look is true are settled.
func (j *Judge) each(look func(w *watch) bool) {
	j.open = slices.DeleteFunc(j.open, func(w *watch) bool {
		if !look(w) {
			return false
		}
		j.settle(w)
		return true
	})
}

func (j *Judge) settle(w *watch) {
	w.v.Did = w.did
	w.v.After = w.at.Sub(w.v.Time).Seconds()
	w.v.Bad = w.did == Repeated || w.did == Hung && w.at.Sub(w.v.Time) > WatchTime
	if len(j.verdicts) < mostWatched {
		j.verdicts = append(j.verdicts, w.v)
	}
}

// note notes what the client did unless it did something before; it never settles.
func (w *watch) note(did string, at time.Time) bool {
	if w.did == "" {
		w.did, w.at = did, at
	}
	return false
}

// expire settles what has been watched for long enough.
func (j *Judge) expire() {
	j.each(func(w *watch) bool {
		over := cmp.Or(w.ended, w.at)
		if over.IsZero() || j.last.Sub(over) <= WatchTime {
			return false
		}
		w.note(Stopped, over)
		return true
	})
}

func (j *Judge) begin(f wire.Frame) {
	w := &watch{key: keyOf(f, f.Fault.ID), v: Verdict{Rule: f.Fault.Rule, Source: f.Fault.Source, Line: f.Fault.Line, Action: f.Fault.Action,
		Method: f.Fault.Method, Name: f.Fault.Name, ID: f.Fault.ID, Time: f.Time, Seed: f.Fault.Seed, Text: f.Fault.Text}}
	r := cmp.Or(j.requests[w.key], &request{})
	w.sum = r.sum
	switch name, _, _ := strings.Cut(f.Fault.Action, " "); {
	case f.Fault.ID == "" && f.Stream == 0 || f.Fault.Action == "drop notification":
		w.did, w.at = Unjudged, f.Time
		j.settle(w)
		return
	case r.answered:
		w.did, w.at = Answered, f.Time
		j.settle(w)
		return
	case slices.Contains([]string{"status", "401", "expire-session", "rpc", "tool-error"}, name):
		w.ended = f.Time
	}
	if len(j.open) < mostWatched {
		j.open = append(j.open, w)
	}
}

func keyOf(f wire.Frame, id string) requestKey {
	if f.Stream > 0 {
		return requestKey{f.Conn, f.Stream, ""}
	}
	return requestKey{f.Conn, 0, id}
}

func (j *Judge) closed(f wire.Frame) {
	j.each(func(w *watch) bool {
		switch {
		case w.key.conn != f.Conn || w.key.stream != f.Stream || !w.ended.IsZero():
		case f.Dir == wire.Sent:
			w.note(GaveUp, f.Time)
		default:
			w.ended = f.Time
		}
		return false
	})
}

// message looks at a message for what ends a request, or begins it anew.
func (j *Judge) message(f wire.Frame, m *wire.Message) {
	if f.Dir == wire.Received {
		j.learn(m)
		if r := j.requests[keyOf(f, string(m.ID))]; r != nil && m.Method == "" && m.ID != nil {
			r.answered = true
		}
		j.each(func(w *watch) bool {
			if w.key.conn != f.Conn || f.Stream > 0 && w.key.stream != f.Stream || m.Method != "" || w.v.ID == "" || !m.Answers([]byte(w.v.ID)) {
				return false
			}
			w.ended = f.Time
			return w.healthy() && (w.note(Answered, f.Time) || w.did == Answered)
		})
		return
	}
	t := m.Traits()
	if t.Cancels != "" {
		j.each(func(w *watch) bool {
			return w.v.ID != "" && w.key.conn == f.Conn && t.Cancels == (&wire.Message{Kind: wire.Notification, ID: []byte(w.v.ID)}).Traits().ID && w.note(GaveUp, f.Time)
		})
	}
	if m.Kind != wire.Request {
		return
	}
	sum := j.sum(m)
	if len(j.requests) > mostWatched {
		clear(j.requests)
	}
	j.requests[keyOf(f, string(m.ID))] = &request{sum: sum}
	taken := false // one request is the retry of one fault
	j.each(func(w *watch) bool {
		name, _, _ := strings.Cut(w.v.Action, " ")
		switch {
		case taken:
		case w.sum == sum && w.sum != 0:
			taken = true
			w.did, w.at = Retried, f.Time
			if j.mayHaveChanged(w) {
				w.did = Repeated
			}
			return true
		case name == "list-changed" && strings.HasSuffix(m.Method, "/list"):
			w.did, w.at = Fetched, f.Time
			return true
		case name == "expire-session" && m.Method == "initialize":
			w.note(Reopened, f.Time)
		}
		return false
	})
}

// healthy reports a fault after which the response is still a good one.
func (w *watch) healthy() bool {
	name, _, _ := strings.Cut(w.v.Action, " ")
	return slices.Contains([]string{"delay", "throttle", "stall", "slow-loris", "duplicate", "reorder", "ttl", "banner", "header"}, name)
}

// mayHaveChanged reports a call that the server may have executed, of a tool that does not say
// that it can be called twice. What is refused, or answered with an error, is not repeated.
func (j *Judge) mayHaveChanged(w *watch) bool {
	refused := strings.HasPrefix(w.v.Action, "status 4") || slices.Contains([]string{"401", "expire-session", "rpc", "tool-error"}, w.v.Action)
	return w.v.Method == "tools/call" && !refused && !j.safe[w.v.Name]
}

// sum is the same for requests that ask the same, whatever their ids and their _meta.
func (j *Judge) sum(m *wire.Message) uint64 {
	return maphash.Bytes(j.seed, slices.Concat([]byte(m.Method+"\n"), jsonraw.Without(m.Params, "_meta"))) | 1
}

// learn notes which of the tools that are listed can be called twice.
func (j *Judge) learn(m *wire.Message) {
	if m.Result == nil {
		return
	}
	tools, _ := m.ResultItems("tools")
	for _, tool := range tools {
		members, _ := jsonraw.Object(tool)
		annotations, _ := members.Get("annotations")
		says := func(name string) bool { return string(jsonraw.First(annotations, name)) == "true" }
		if len(j.safe) < mostWatched {
			j.safe[members.Text("name")] = says("readOnlyHint") || says("idempotentHint")
		}
	}
}

// Until says that nothing more came until a time.
func (j *Judge) Until(now time.Time) {
	if now.After(j.last) {
		j.last = now
	}
}

// Verdicts are those of all faults so far, in their order: what has not settled by then is judged
// as it stands.
func (j *Judge) Verdicts() []Verdict {
	j.each(func(w *watch) bool {
		if w.ended.IsZero() {
			w.note(Hung, j.last)
		} else {
			w.note(Stopped, w.ended)
		}
		return true
	})
	slices.SortStableFunc(j.verdicts, func(a, b Verdict) int { return a.Time.Compare(b.Time) })
	return j.verdicts
}

// Where names the fault for a person: what was done to what, and by which rule.
func (v Verdict) Where() string {
	what := strings.TrimSpace(cmp.Or(v.Method, "a message") + " " + v.Name)
	text := fmt.Sprintf("%s, line %d: %s: %s", v.Source, v.Line, v.Action, what)
	if v.Text != "" {
		text += " (" + v.Text + ")"
	}
	return text
}
