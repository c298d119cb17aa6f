package proxy

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/recent"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Verdict is what a client did after a fault.
type Verdict struct {
	wire.FaultFacts
	Time time.Time `json:"time"`
	// Did is one of the constants below, After the seconds from the fault to that.
	Did   string  `json:"did"`
	After float64 `json:"after,omitempty"`
	// Bad is set where a client should not do that.
	Bad bool `json:"bad,omitempty"`
}

// What a client did next.
const (
	Repeated   = "repeated"    // sent a call again that may change something, and may have been executed
	Retried    = "retried"     // sent the same request again
	Resumed    = "resumed"     // took up the stream with Last-Event-ID
	CalledAnew = "called anew" // made the same request in a new conversation, or another client did
	Reopened   = "reopened"    // opened another session
	Fetched    = "fetched"     // read a list again
	Took       = "answered"    // got the response
	Got        = "got"         // got a response that the fault changed: whether it took it, no frame says
	Ignored    = "ignored"     // did not read a list again of which it was told that it has changed
	GaveUp     = "gave up"     // cancelled, or disconnected
	Stopped    = "stopped"     // did not try again
	Hung       = "hung"        // still waited at the end
	Unjudged   = "unjudged"    // the fault was about no request
)

// WatchTime is how long a client is watched once its request has ended, and how long it may
// wait for nothing.
const WatchTime = time.Minute

var sentences = map[string]string{
	Repeated:   "the client repeated a call that may change something, and may have been executed,",
	Retried:    "the client sent the request again",
	Resumed:    "the client resumed the stream with Last-Event-ID",
	CalledAnew: "the same request came in a new conversation, perhaps of another client,",
	Reopened:   "the client opened another session",
	Fetched:    "the client read the list again",
	Took:       "the client took the response",
	Got:        "the client got the changed response, and did not ask again",
	Ignored:    "the client did not read the list again",
	GaveUp:     "the client gave up",
	Stopped:    "the client did not try again",
	Hung:       "the client still waited",
	Unjudged:   "not judged: the fault was about no request",
}

// String is the verdict for a person.
func (v Verdict) String() string {
	if v.After == 0 && v.Did == Took || slices.Contains([]string{Got, Ignored, Stopped, Unjudged}, v.Did) {
		return sentences[v.Did]
	}
	return sentences[v.Did] + " after " + time.Duration(v.After*float64(time.Second)).Round(time.Millisecond).String()
}

// Where names the fault for a person: what was done to what, and by which rule.
func (v Verdict) Where() string {
	text := fmt.Sprintf("%s, line %d: %s: %s", v.Source, v.Line, v.Action,
		strings.TrimSpace(cmp.Or(v.Method, "a message")+" "+v.Name))
	if v.Text != "" {
		text += " (" + v.Text + ")"
	}
	return text
}

// A Judge watches the frames of a recording for what a client does after each fault.
type Judge struct {
	seed     maphash.Seed
	watches  []*watch
	verdicts []Verdict
	// requests are the hashes of the client's requests, safe says of each tool that was listed
	// whether a call of it can be repeated.
	requests   recent.Map[requestKey, *request]
	repeatable map[string]bool
	last       time.Time
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

// A watch is a fault after which the client is watched. Did is what it did so far: a retry may
// follow.
type watch struct {
	Verdict
	key requestKey
	// sum is that of the request.
	sum uint64
	// at is when the client did it, ended when it got an end of the request, good or bad; zero
	// before.
	didAt, ended time.Time
	// opened is set once a client opened a conversation after the fault.
	opened bool
}

// mostWatched bounds what is remembered.
const maxWatched = 10_000

var (
	// refusing are the actions that end a request without the server.
	refusingActions = []string{"status", "401", "expire-session", "rpc", "tool-error"}
	// healthy are those after which the response is still a good one.
	passingActions = []string{"delay", "throttle", "stall", "slow-loris", "duplicate", "reorder", "ttl", "banner", "header"}
)

// is reports whether the action is one of these.
func (w *watch) hasAction(actions ...string) bool {
	name, _, _ := strings.Cut(w.Action, " ")
	return slices.Contains(actions, name)
}

// note notes what the client did unless it did something before; it never settles.
func (w *watch) record(did string, at time.Time) bool {
	if w.Did == "" {
		w.Did = did
		w.didAt = at
	}
	return false
}

// stop notes that the client did nothing before.
func (w *watch) stop(at time.Time) {
	if w.hasAction("list-changed") {
		w.record(Ignored, at)
	}
	w.record(Stopped, at)
}

// Add reads the next frame.
func (j *Judge) Add(f wire.Frame) {
	if j.repeatable == nil {
		j.seed = maphash.MakeSeed()
		j.repeatable = map[string]bool{}
	}
	j.Until(f.Time)
	j.closeIf(func(w *watch) bool {
		quietSince := cmp.Or(w.ended, w.didAt)
		if quietSince.IsZero() || j.last.Sub(quietSince) <= WatchTime {
			return false
		}
		w.stop(quietSince)
		return true
	})
	switch m := wire.ParseMessage(f.Raw); {
	case f.Fault != nil:
		j.startWatch(f)
	case f.Kind == wire.Head && f.Dir == wire.Sent && f.HTTP.Field("Last-Event-ID") != "":
		j.closeIf(func(w *watch) bool { return w.key.conn == f.Conn && w.record(Resumed, f.Time) })
	case f.Kind == wire.Closed:
		j.handleClosed(f)
	case f.Dir == wire.Received && m.Kind == wire.Invalid && !utf8.Valid(f.Raw):
		j.handleResponse(f, wire.ParseMessage(bytes.ToValidUTF8(f.Raw, []byte("?"))))
	case f.Kind != wire.Body && f.Kind != wire.Event:
	case f.Dir == wire.Received:
		j.handleResponse(f, m)
	case m.Kind == wire.Request:
		j.handleRequest(f, m)
	case m.Method == "notifications/cancelled":
		id := string(jsonraw.First(m.Params, "requestId"))
		j.closeIf(func(w *watch) bool { return w.key.conn == f.Conn && w.ID == id && id != "" && w.record(GaveUp, f.Time) })
	}
}

// each looks at the open watches; those for which look is true are settled.
func (j *Judge) closeIf(isDone func(w *watch) bool) {
	j.watches = slices.DeleteFunc(j.watches, func(w *watch) bool {
		done := isDone(w)
		if done {
			j.finish(w)
		}
		return done
	})
}

func (j *Judge) finish(w *watch) {
	w.After = w.didAt.Sub(w.Time).Seconds()
	w.Bad = w.Did == Repeated || w.Did == Hung && w.didAt.Sub(w.Time) > WatchTime
	if len(j.verdicts) < maxWatched {
		j.verdicts = append(j.verdicts, w.Verdict)
	}
}

func (j *Judge) startWatch(f wire.Frame) {
	w := &watch{Verdict: Verdict{FaultFacts: *f.Fault, Time: f.Time}, key: keyOf(f, f.Fault.ID)}
	r := cmp.Or(j.requests.Get(w.key), &request{})
	w.sum = r.sum
	switch {
	case w.ID == "" && f.Stream == 0 || w.Action == "drop notification":
		w.record(Unjudged, f.Time)
	case r.answered:
		w.record(Took, f.Time)
	case w.hasAction(refusingActions...):
		w.ended = f.Time
	}
	if w.Did != "" {
		j.finish(w)
	} else if len(j.watches) < maxWatched {
		j.watches = append(j.watches, w)
	}
}

func keyOf(f wire.Frame, id string) requestKey {
	if f.Stream > 0 {
		id = ""
	}
	return requestKey{f.Conn, f.Stream, id}
}

func (j *Judge) handleClosed(f wire.Frame) {
	j.closeIf(func(w *watch) bool {
		switch {
		case w.key.conn != f.Conn || w.key.stream != f.Stream || !w.ended.IsZero():
		case f.Dir == wire.Sent && !w.hasAction("list-changed"): // with its stream the client gives nothing up
			w.record(GaveUp, f.Time)
		default:
			w.ended = f.Time
		}
		return false
	})
}

// received looks at a message for the client: the response to a request.
func (j *Judge) handleResponse(f wire.Frame, m *wire.Message) {
	if m.Method != "" || m.ID == nil {
		return
	}
	j.learnTools(m)
	if r := j.requests.Get(keyOf(f, string(m.ID))); r != nil {
		r.answered = true
	}
	j.closeIf(func(w *watch) bool {
		if w.key.conn != f.Conn || f.Stream > 0 && w.key.stream != f.Stream || w.ID == "" || !m.Answers([]byte(w.ID)) {
			return false
		}
		w.ended = f.Time
		if w.hasAction(passingActions...) {
			w.record(Took, f.Time)
			return w.Did == Took
		}
		if w.hasAction("replace") {
			w.record(Got, f.Time)
			return w.Did == Got
		}
		if w.hasAction("bad-utf8") { // the client may ask again
			w.record(Got, f.Time)
		}
		return false
	})
}

// asked looks at a request: it may be one that a fault was about, once more. One request is the
// retry of one fault.
func (j *Judge) handleRequest(f wire.Frame, m *wire.Message) {
	// The sum is the same for requests that ask the same, whatever their ids and their _meta.
	sum := maphash.Bytes(j.seed, slices.Concat([]byte(m.Method+"\n"), jsonraw.Without(m.Params, "_meta"))) | 1
	j.requests.Put(keyOf(f, string(m.ID)), &request{sum: sum})
	taken := false
	opens := mcp.IsOpening(m.Method)
	j.closeIf(func(w *watch) bool {
		did := ""
		w.opened = w.opened || opens && w.sum != sum && !w.hasAction("expire-session")
		switch {
		case taken:
		case w.hasAction("list-changed"): // the request itself was answered
			if strings.HasSuffix(m.Method, "/list") {
				did = Fetched
			}
		case w.sum == sum && w.opened:
			did = CalledAnew
		case w.sum == sum && j.mayHaveChanged(w):
			did = Repeated
		case w.sum == sum:
			did = Retried
		case w.hasAction("expire-session") && m.Method == "initialize":
			w.record(Reopened, f.Time)
		}
		if did == "" {
			return false
		}
		taken = w.sum == sum && did != Fetched
		w.Did = did
		w.didAt = f.Time
		return true
	})
}

// mayHaveChanged reports a call that the server may have executed, of a tool that does not say
// that it can be called twice. What is refused, or answered with an error, is not repeated.
func (j *Judge) mayHaveChanged(w *watch) bool {
	refused := w.hasAction(refusingActions...) && (!w.hasAction("status") || strings.HasPrefix(w.Action, "status 4"))
	return w.Method == "tools/call" && !refused && !j.repeatable[w.Name]
}

// learn notes which of the tools that are listed can be called twice.
func (j *Judge) learnTools(m *wire.Message) {
	tools, _ := m.ResultItems("tools")
	for _, tool := range tools {
		if len(j.repeatable) < maxWatched {
			name, _ := jsonraw.Text(jsonraw.First(tool, "name"))
			j.repeatable[name] = mcp.ToolHints(tool).MayBeRepeated()
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
	j.closeIf(func(w *watch) bool {
		if w.ended.IsZero() && !w.hasAction("list-changed") {
			w.record(Hung, j.last)
		} else {
			w.stop(cmp.Or(w.ended, j.last))
		}
		return true
	})
	sliceutil.Sort(j.verdicts, func(a, b Verdict) int { return a.Time.Compare(b.Time) })
	return j.verdicts
}
