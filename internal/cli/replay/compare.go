package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/wire"
)

// A Verdict classifies an exchange after its request was sent again.
type Verdict string

// The verdicts. Worse: the request succeeded when it was recorded and fails now. Better: the
// reverse. New: only the present request has a response. Missing: only the recorded one has.
// Unmatched: the request failed with a recorded handle that the present server never issued.
// Skipped: the request was not sent. NotRun: the request was not sent because the server was not
// available.
const (
	Same      Verdict = "same"
	Differs   Verdict = "differs"
	Worse     Verdict = "worse"
	Better    Verdict = "better"
	New       Verdict = "new"
	Missing   Verdict = "missing"
	Unmatched Verdict = "unmatched"
	Skipped   Verdict = "skipped"
	NotRun    Verdict = "not run"
)

// Verdicts are all verdicts in the order of a summary.
var Verdicts = []Verdict{Same, Differs, Worse, Missing, Unmatched, Better, New, Skipped, NotRun}

// Fails reports whether an exchange with the verdict makes the replay fail.
func (v Verdict) Fails() bool {
	return v == Differs || v == Worse || v == Missing || v == Unmatched
}

// IsSent reports whether the request was sent.
func (v Verdict) IsSent() bool { return v != Skipped && v != NotRun }

// A Side is the recorded or the present exchange.
type Side struct {
	Exchange *wire.Exchange
	// Result replaces the result of the response if handles were substituted in it; nil means the
	// result as it is.
	Result   json.RawMessage
	Revision string
	// Failed is the kind of the outcome if there is no response. InputRequired also counts with a
	// response: a request of the server was not answered.
	Failed wire.Kind
	// Took is the time from the request to the response, 0 if unknown.
	Took time.Duration
}

// A Level says how much of a response is compared.
type Level string

// The levels: the whole result; only its members and their types; only the outcome.
const (
	Result Level = "result"
	Schema Level = "schema"
	Status Level = "status"
)

// Levels are all levels.
var Levels = []string{string(Result), string(Schema), string(Status)}

// Notifications say how the notifications before the response are compared.
type Notifications int

// Kinds compares the set of notifications, and the first and the last progress. InOrder compares
// all of them in order. Ignored compares neither notifications nor the server's requests: with
// concurrent requests, they may belong to any of the requests.
const (
	Kinds Notifications = iota
	InOrder
	Ignored
)

// Options configure Compare. The zero value compares whole results.
type Options struct {
	Rules         *match.Rules
	Bytes         bool // of the results
	Level         Level
	Notifications Notifications
	// MaxSlowdown limits the time as a multiple of the recorded time; 0 means no limit.
	MaxSlowdown float64
}

// A Report is the result of a comparison. The Path of a difference outside of the result begins
// with a word: "outcome", "error", "notifications", "duration", or the method of a server's
// request.
type Report struct {
	Verdict     Verdict
	Differences []match.Difference
	// More is the number of differences that are not listed.
	More   int
	Counts match.Counts
	// Met contains the rules that matched a value.
	Met map[*match.Rule]bool
}

// Compare compares a recorded exchange with the present one. If their outcomes are of different kinds,
// that is the only difference.
func Compare(recorded, current Side, o Options) Report {
	recordedOutcome := outcomeOf(recorded)
	currentOutcome := outcomeOf(current)
	r := Report{Verdict: Same, Counts: match.Counts{}, Met: map[*match.Rule]bool{}}
	switch {
	case recordedOutcome.kind == "" && currentOutcome.kind == "": // neither has a response
		return r
	case recordedOutcome.kind == "":
		r.Verdict = New
		return r
	case !currentOutcome.hasResponse && recordedOutcome.hasResponse:
		r.Verdict = Missing
	case recordedOutcome.kind == okKind && currentOutcome.kind != okKind:
		r.Verdict = Worse
	case recordedOutcome.kind != okKind && currentOutcome.kind == okKind:
		r.Verdict = Better
	case recordedOutcome.kind != currentOutcome.kind:
		r.Verdict = Differs
	}
	if r.Verdict != Same {
		r.Differences = []match.Difference{
			{
				Path: "outcome", How: match.Changed,
				Was: jsonraw.Quote(recordedOutcome.describe()), Is: jsonraw.Quote(currentOutcome.describe()),
			},
		}
		return r
	}
	c := match.Comparison{
		Rules:            o.Rules,
		RecordedRevision: recorded.Revision,
		CurrentRevision:  current.Revision,
		Bytes:            o.Bytes,
	}
	request := wire.ParseMessage(recorded.Exchange.Request.Raw)
	c.Method, c.Name = request.Method, match.NameOf(request.Method, request.Params)
	r.compareResponses(recordedOutcome, currentOutcome, c, o.Level)
	if o.Level != Status && o.Notifications != Ignored {
		r.compareServerRequests(recorded, current, c, o.Level)
		r.compareNotifications(recorded.Exchange, current.Exchange, o.Notifications)
	}
	r.compareDuration(recorded.Took, current.Took, o.MaxSlowdown)
	if len(r.Differences) > 0 {
		r.Verdict = Differs
	}
	return r
}

// okKind is the kind of a successful response.
const okKind = "ok"

// A sideOutcome is the outcome of one side.
type sideOutcome struct {
	// kind is okKind, the name of a wire.Kind, or "" if there is no outcome.
	kind string
	// hasResponse is set if there is a response.
	hasResponse bool
	result      json.RawMessage
	err         *wire.RPCError
}

// outcomeOf derives the outcome from the response alone: the command that recorded it may have
// checked more, and its outcome may be a failure for that. Without a response, the outcome is that of
// the client.
func outcomeOf(s Side) sideOutcome {
	if s.Exchange == nil || s.Exchange.Response.Raw == nil {
		return sideOutcome{kind: string(s.Failed)}
	}
	m := wire.ParseMessage(s.Exchange.Response.Raw)
	a := sideOutcome{kind: okKind, hasResponse: true, result: m.Result, err: m.Error}
	if s.Result != nil {
		a.result = s.Result
	}
	asks := wire.RequiresInput(m.Result)
	switch {
	case s.Failed == wire.InputRequired && !asks: // a request of the server was not answered
		a.kind = string(wire.InputRequired)
	case m.Error != nil:
		a.kind = string(wire.RPCFailed)
	case m.Kind != wire.Response:
		a.kind = string(wire.BadResponse)
	case wire.IsToolError(m.Result):
		a.kind = string(wire.ToolError)
	case asks:
		a.kind = string(wire.InputRequired)
	}
	return a
}

// describe returns the outcome for people.
func (a sideOutcome) describe() string {
	switch {
	case a.err != nil:
		return fmt.Sprintf("%s %d: %s", a.kind, a.err.Code, a.err.Message)
	case a.kind == string(wire.ToolError):
		first := ""
		if blocks, err := jsonraw.Array(jsonraw.First(a.result, "content")); err == nil && len(blocks) > 0 {
			first, _ = jsonraw.Text(jsonraw.First(blocks[0], "text"))
		}
		if first != "" {
			return a.kind + ": " + first
		}
	case a.kind == "":
		return "no answer"
	}
	return a.kind
}

// compareResponses adds the differences between two results, or two errors. At the level Status only
// the codes of errors are compared.
func (r *Report) compareResponses(recorded, current sideOutcome, c match.Comparison, level Level) {
	switch {
	case recorded.err != nil && current.err != nil && level == Status:
		codes := match.Compare(numberJSON(recorded.err.Code), numberJSON(current.err.Code), match.Comparison{})
		r.mergePart("error", codes, level)
	case level == Status || recorded.kind == string(wire.InputRequired): // compareServerRequests compares them
	case recorded.err != nil && current.err != nil:
		c.Part = match.Error
		c.HiddenUnknown = true
		r.mergePart("error", match.Compare(recorded.err.Raw, current.err.Raw, c), level)
	default:
		c.Part = match.Result
		c.HiddenUnknown = true
		r.mergePart("", match.Compare(recorded.result, current.result, c), level)
	}
}

// numberJSON returns n as JSON.
func numberJSON(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

// mergePart adds the report of one part to r. The paths of the part "error" begin with it; the part
// of the result is "". At the level Schema, a difference that leaves the types the same only counts
// as accepted.
func (r *Report) mergePart(part string, report match.Report, level Level) {
	r.Counts.Add(report.Counts)
	maps.Copy(r.Met, report.Met)
	r.More += report.More
	for _, d := range report.Differences {
		if level == Schema && keepsShape(d) {
			r.Counts[match.Type]++
			continue
		}
		if part != "" {
			d.Path, d.Pointer = part+pathSuffix(d.Path), jsonraw.Pointer("", part)+d.Pointer
		}
		r.Differences = append(r.Differences, d)
	}
}

// pathSuffix returns a path in the form that follows a word: "" for the root.
func pathSuffix(path string) string {
	if path == "." {
		return ""
	}
	return path
}

// keepsShape reports whether a difference leaves the members and their types the same: it concerns a
// value of the same type, or the number of items.
func keepsShape(d match.Difference) bool {
	switch d.How {
	case match.Changed, match.HiddenOther, match.Spelled:
		return true
	case match.Added, match.Removed:
		// The path of an item ends in [0]; ["a b"] is the quoted name of a member.
		isIndexed := strings.HasSuffix(d.Path, "]")
		isQuotedName := strings.HasSuffix(d.Path, `"]`)
		return isIndexed && !isQuotedName && len(d.Path) > 1
	}
	return false
}

// minSlowdown is the smallest additional time that counts as slower. Below it, noise of the
// machine decides.
const minSlowdown = 50 * time.Millisecond

// compareDuration adds a difference if the present exchange took more than maxSlowdown times the
// recorded time, and at least minSlowdown longer.
func (r *Report) compareDuration(recorded, current time.Duration, maxSlowdown float64) {
	if maxSlowdown <= 0 || recorded <= 0 {
		return // no limit, or nothing to compare with
	}
	isSlower := current-recorded >= minSlowdown && float64(current) > maxSlowdown*float64(recorded)
	if !isSlower {
		return
	}
	r.Differences = append(r.Differences, match.Difference{
		Path: "duration", How: match.Changed,
		Was: jsonraw.Quote(recorded.String()), Is: jsonraw.Quote(current.String()),
	})
}
