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
	// Did is a constant below. After is the time since the fault in seconds.
	Did   string  `json:"did"`
	After float64 `json:"after,omitempty"`
	// Bad is set if a client should not behave like that.
	Bad bool `json:"bad,omitempty"`
}

// What a client did next.
const (
	Repeated           = "repeated"    // sent a call again that may change something, and may have been executed
	Retried            = "retried"     // sent the same request again
	Resumed            = "resumed"     // took up the stream with Last-Event-ID
	CalledAnew         = "called anew" // made the same request in a new conversation, or another client did
	Reopened           = "reopened"    // opened another session
	ReadListAgain      = "fetched"     // read a list again
	TookResponse       = "answered"    // received the response
	GotChangedResponse = "got"         // received a response that the fault changed; no frame says whether it accepted it
	IgnoredChange      = "ignored"     // did not read a changed list again
	GaveUp             = "gave up"     // cancelled, or disconnected
	Stopped            = "stopped"     // did not try again
	StillWaited        = "hung"        // still waited at the end
	Unjudged           = "unjudged"    // the fault was about no request
)

// WatchTime is how long a client is watched after its request has ended, and how long it may wait
// for a response that will not come.
const WatchTime = time.Minute

var sentences = map[string]string{
	Repeated:           "the client repeated a call that may change something, and may have been executed,",
	Retried:            "the client sent the request again",
	Resumed:            "the client resumed the stream with Last-Event-ID",
	CalledAnew:         "the same request was sent in a new conversation, perhaps by another client,",
	Reopened:           "the client opened another session",
	ReadListAgain:      "the client read the list again",
	TookResponse:       "the client accepted the response",
	GotChangedResponse: "the client got the changed response, and did not ask again",
	IgnoredChange:      "the client did not read the list again",
	GaveUp:             "the client gave up",
	Stopped:            "the client did not try again",
	StillWaited:        "the client still waited",
	Unjudged:           "not judged: the fault did not affect a request",
}

// String returns the sentence that describes to a user what the client did.
func (v Verdict) String() string {
	hasNoTime := slices.Contains([]string{GotChangedResponse, IgnoredChange, Stopped, Unjudged}, v.Did)
	if hasNoTime || v.Did == TookResponse && v.After == 0 {
		return sentences[v.Did]
	}
	return sentences[v.Did] + " after " + time.Duration(v.After*float64(time.Second)).Round(time.Millisecond).String()
}

// DescribeFault describes the fault to a user: the rule's place, the action and the request.
func (v Verdict) DescribeFault() string {
	text := fmt.Sprintf("%s, line %d: %s: %s", v.Source, v.Line, v.Action,
		strings.TrimSpace(cmp.Or(v.Method, "a message")+" "+v.Name))
	if v.Text != "" {
		text += " (" + v.Text + ")"
	}
	return text
}

// A Judge reads the frames of a recording and finds out what a client does after each fault.
type Judge struct {
	seed       maphash.Seed
	watches    []*watch
	verdicts   []Verdict
	requests   recent.Map[requestKey, *request]
	repeatable map[string]bool // whether a call of the listed tool can be repeated, by name
	lastTime   time.Time       // of the last frame
}

// A request is a request of the client. The hash sum identifies its method and params.
type request struct {
	sum      uint64
	answered bool // a response was received
}

type requestKey struct {
	conn, stream int
	id           string
}

// A watch observes a client after a fault. Did is what the client did so far, "" if it did nothing;
// a retry may follow.
type watch struct {
	Verdict
	key requestKey
	sum uint64 // the hash of the request
	// didAt is when the client did what Did says, endedAt is when the request ended for the client, with
	// or without success. They are zero before.
	didAt, endedAt time.Time
	// opened is set once a client has opened another conversation after the fault.
	opened bool
}

// maxWatched limits the watches, the verdicts and the remembered tools.
const maxWatched = 10_000

var (
	// refusingActions end a request without asking the server.
	refusingActions = []ActionName{actionStatus, actionUnauthorized, actionExpireSession, actionRPCError, actionToolError}
	// passingActions leave the client a usable response.
	passingActions = []ActionName{
		actionDelay, actionThrottle, actionStall, actionSlowLoris, actionDuplicate, actionReorder, actionTTL,
		actionBanner, actionHeader,
	}
)

// hasAction reports whether the fault has any of these actions.
func (w *watch) hasAction(actions ...ActionName) bool {
	name := ActionName(w.Action)
	if strings.HasPrefix(w.Action, statusPrefix) {
		name = actionStatus
	}
	return slices.Contains(actions, name)
}

// record records what the client did, unless it did something before.
func (w *watch) record(did string, at time.Time) {
	if w.Did == "" {
		w.Did = did
		w.didAt = at
	}
}

// recordInaction records that the client did nothing, unless it did something before.
func (w *watch) recordInaction(at time.Time) {
	if w.hasAction(actionListChanged) {
		w.record(IgnoredChange, at)
	}
	w.record(Stopped, at)
}

// Add reads the next frame.
func (j *Judge) Add(f wire.Frame) {
	if j.repeatable == nil {
		j.seed = maphash.MakeSeed()
		j.repeatable = map[string]bool{}
	}
	// Watches that are over end before the frame, which they must not see.
	j.AdvanceTo(f.Time)
	j.finishIf(func(w *watch) bool {
		quietSince := w.endedAt
		if quietSince.IsZero() {
			quietSince = w.didAt
		}
		if quietSince.IsZero() || j.lastTime.Sub(quietSince) <= WatchTime {
			return false
		}
		w.recordInaction(quietSince)
		return true
	})
	m := wire.ParseMessage(f.Raw)
	switch {
	case f.Fault != nil:
		j.startWatch(f)
	case f.Kind == wire.Head && f.Dir == wire.Sent && f.HTTP.Field("Last-Event-ID") != "":
		j.recordIf(Resumed, f, func(*watch) bool { return true })
	case f.Kind == wire.Closed:
		j.handleClosed(f)
	// A response with a bad-utf8 fault is still the response to its request.
	case f.Dir == wire.Received && m.Kind == wire.Invalid && !utf8.Valid(f.Raw):
		j.handleResponse(f, wire.ParseMessage(bytes.ToValidUTF8(f.Raw, []byte("?"))))
	case f.Kind != wire.Body && f.Kind != wire.Event:
		// Other frames say nothing about the client.
	case f.Dir == wire.Received:
		j.handleResponse(f, m)
	case m.Kind == wire.Request:
		j.handleRequest(f, m)
	case m.Method == "notifications/cancelled":
		id := string(jsonraw.First(m.Params, "requestId"))
		j.recordIf(GaveUp, f, func(w *watch) bool { return w.ID == id && id != "" })
	}
}

// recordIf records what the client did for the watches on the frame's connection that matches selects.
func (j *Judge) recordIf(did string, f wire.Frame, matches func(w *watch) bool) {
	for _, w := range j.watches {
		if w.key.conn == f.Conn && matches(w) {
			w.record(did, f.Time)
		}
	}
}

// finishIf ends the watches that isDone accepts.
func (j *Judge) finishIf(isDone func(w *watch) bool) {
	j.watches = slices.DeleteFunc(j.watches, func(w *watch) bool {
		done := isDone(w)
		if done {
			j.finish(w)
		}
		return done
	})
}

// finish adds the verdict of a watch.
func (j *Judge) finish(w *watch) {
	w.After = w.didAt.Sub(w.Time).Seconds()
	w.Bad = w.Did == Repeated || w.Did == StillWaited && w.didAt.Sub(w.Time) > WatchTime
	if len(j.verdicts) < maxWatched {
		j.verdicts = append(j.verdicts, w.Verdict)
	}
}

// startWatch begins to watch the client after a fault, unless the verdict is certain at once.
func (j *Judge) startWatch(f wire.Frame) {
	w := &watch{Verdict: Verdict{FaultFacts: *f.Fault, Time: f.Time}, key: keyOf(f, f.Fault.ID)}
	r := j.requests.Get(w.key)
	if r == nil { // the recording does not have the request
		r = &request{}
	}
	w.sum = r.sum
	switch {
	case w.ID == "" && f.Stream == 0 || w.hasAction(actionDropNotification):
		w.record(Unjudged, f.Time)
	case r.answered:
		w.record(TookResponse, f.Time)
	case w.hasAction(refusingActions...):
		w.endedAt = f.Time // the client has the refusal
	}
	if w.Did != "" {
		j.finish(w)
	} else if len(j.watches) < maxWatched {
		j.watches = append(j.watches, w)
	}
}

// keyOf returns the key of a request: its stream over HTTP, its id over stdio.
func keyOf(f wire.Frame, id string) requestKey {
	if f.Stream > 0 {
		id = ""
	}
	return requestKey{f.Conn, f.Stream, id}
}

// handleClosed handles the end of a stream.
func (j *Judge) handleClosed(f wire.Frame) {
	for _, w := range j.watches {
		if w.key.conn != f.Conn || w.key.stream != f.Stream || !w.endedAt.IsZero() {
			continue
		}
		// A client may close the stream of list-changed without giving up.
		if f.Dir == wire.Sent && !w.hasAction(actionListChanged) {
			w.record(GaveUp, f.Time)
		} else {
			w.endedAt = f.Time
		}
	}
}

// handleResponse handles a response for the client.
func (j *Judge) handleResponse(f wire.Frame, m *wire.Message) {
	if m.Method != "" || m.ID == nil {
		return
	}
	j.learnTools(m)
	if r := j.requests.Get(keyOf(f, string(m.ID))); r != nil {
		r.answered = true
	}
	// A watch goes on if the client may still repeat the request.
	j.finishIf(func(w *watch) bool {
		// On stdio (stream 0) the id identifies the request.
		sameStream := w.key.conn == f.Conn && (f.Stream == 0 || w.key.stream == f.Stream)
		if !sameStream || w.ID == "" || !m.IsResponseTo([]byte(w.ID)) {
			return false
		}
		w.endedAt = f.Time
		if w.hasAction(passingActions...) {
			w.record(TookResponse, f.Time)
			return w.Did == TookResponse
		}
		if w.hasAction(actionReplace) {
			w.record(GotChangedResponse, f.Time)
			return w.Did == GotChangedResponse
		}
		if w.hasAction(actionBadUTF8) { // the client may ask again
			w.record(GotChangedResponse, f.Time)
		}
		return false
	})
}

// handleRequest handles a request of the client. It is the retry of at most one request that a
// fault hit.
func (j *Judge) handleRequest(f wire.Frame, m *wire.Message) {
	// The hash ignores the id and _meta: a retry may have others.
	// It is never 0, the sum of a request that the recording does not have.
	sum := maphash.Bytes(j.seed, slices.Concat([]byte(m.Method+"\n"), jsonraw.Without(m.Params, "_meta"))) | 1
	j.requests.Put(keyOf(f, string(m.ID)), &request{sum: sum})
	isAssigned := false // the request is the retry that an earlier watch was waiting for
	j.finishIf(func(w *watch) bool {
		isSame := w.sum == sum
		// After expire-session a new session is what a client should open.
		if mcp.IsOpening(m.Method) && !isSame && !w.hasAction(actionExpireSession) {
			w.opened = true
		}
		if isAssigned {
			return false
		}
		if !isSame && w.hasAction(actionExpireSession) && m.Method == "initialize" {
			w.record(Reopened, f.Time)
			return false
		}
		did := j.classifyRequest(w, m, isSame)
		if did == "" {
			return false
		}
		isAssigned = isSame && did != ReadListAgain
		w.Did = did
		w.didAt = f.Time
		return true
	})
}

// classifyRequest returns what the client does with a request, or "" if the request has nothing to do with
// the fault. With isSame set, it is the request that the fault hit, sent again.
func (j *Judge) classifyRequest(w *watch, m *wire.Message, isSame bool) string {
	if w.hasAction(actionListChanged) {
		if strings.HasSuffix(m.Method, "/list") {
			return ReadListAgain
		}
		return ""
	}
	if !isSame {
		return ""
	}
	if w.opened {
		return CalledAnew
	}
	if j.mayHaveChanged(w) {
		return Repeated
	}
	return Retried
}

// mayHaveChanged reports whether the server may have executed the call, of a tool that is not
// marked as repeatable.
func (j *Judge) mayHaveChanged(w *watch) bool {
	isRefused := w.hasAction(refusingActions...)
	if w.hasAction(actionStatus) { // after 5xx a client cannot know whether the call was executed
		isRefused = strings.HasPrefix(w.Action, statusPrefix+"4")
	}
	return w.Method == "tools/call" && !isRefused && !j.repeatable[w.Name]
}

// learnTools remembers which listed tools can be called twice.
func (j *Judge) learnTools(m *wire.Message) {
	tools, _ := m.ResultItems("tools")
	for _, tool := range tools {
		if len(j.repeatable) < maxWatched {
			name, _ := jsonraw.Text(jsonraw.First(tool, "name"))
			j.repeatable[name] = mcp.ToolHints(tool).MayBeRepeated()
		}
	}
}

// AdvanceTo moves the Judge's time to now: the recording has no further frame before now.
func (j *Judge) AdvanceTo(now time.Time) {
	if now.After(j.lastTime) {
		j.lastTime = now
	}
}

// Verdicts ends all watches and returns the verdicts in the order of the faults. A client that has
// neither a response nor given up still waited.
func (j *Judge) Verdicts() []Verdict {
	j.finishIf(func(w *watch) bool {
		if w.endedAt.IsZero() && !w.hasAction(actionListChanged) {
			w.record(StillWaited, j.lastTime)
		} else {
			w.recordInaction(cmp.Or(w.endedAt, j.lastTime))
		}
		return true
	})
	sliceutil.Sort(j.verdicts, func(a, b Verdict) int { return a.Time.Compare(b.Time) })
	return j.verdicts
}
