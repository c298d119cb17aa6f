// Package replay compares a recorded exchange with the same request issued again: how it
// ended, what was answered, what the server notified and requested on the way, and how long it
// took. It sends nothing and reads no file.
package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/wire"
)

// A Verdict says what became of a recorded exchange.
type Verdict string

// The verdicts. Worse ended well when it was recorded and does not any more, Better the other
// way; New has an answer only now, Missing had one; Unmatched failed with a handle of the
// recording that the present server gave nowhere; Skipped was not sent, nor was NotRun, because
// the server was gone.
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

// Verdicts are all of them, in the order of a summary.
var Verdicts = []Verdict{Same, Differs, Worse, Missing, Unmatched, Better, New, Skipped, NotRun}

// Fails reports a verdict that makes the judgement no.
func (v Verdict) Fails() bool {
	return v == Differs || v == Worse || v == Missing || v == Unmatched
}

// IsSent reports a verdict of a request that was sent.
func (v Verdict) IsSent() bool { return v != Skipped && v != NotRun }

// A Side is an exchange as it was recorded, or as it is now.
type Side struct {
	Exchange *wire.Exchange
	// Result replaces that of the response, where handles were put into it; nil does not.
	Result   json.RawMessage
	Revision string
	// Failed is how it ended where there is no response; InputRequired counts beside one too:
	// a request of the server was not answered.
	Failed wire.Kind
	// Took is from the request to the response; 0 where it is not known.
	Took time.Duration
}

// A Level says how much of an answer is compared.
type Level string

// The levels: the whole result; only its members and their types; only how it ended.
const (
	Result Level = "result"
	Schema Level = "schema"
	Status Level = "status"
)

// Levels are all of them.
var Levels = []string{string(Result), string(Schema), string(Status)}

// Notifications say how what the server sent before its answer is compared.
type Notifications int

// Kinds compares which notifications there were, and the first and the last progress; InOrder
// all of them in their order. Ignored compares neither them nor the server's requests: where
// several requests are under way nothing may say to which they belong.
const (
	Kinds Notifications = iota
	InOrder
	Ignored
)

// Options say how two sides are compared. The zero value compares whole results.
type Options struct {
	Rules         *match.Rules
	Bytes         bool // of the results
	Level         Level
	Notifications Notifications
	// MaxSlowdown is how many times as long as recorded it may take; 0 is no limit.
	MaxSlowdown float64
}

// A Report is what a comparison found. Of a Difference that is not in the result, Path begins
// with a word: "outcome", "error", "notifications", "duration", or the method of a server's
// request.
type Report struct {
	Verdict     Verdict
	Differences []match.Difference
	// More is how many differences are not listed.
	More   int
	Counts match.Counts
	// Met are the rules that a value was found for.
	Met map[*match.Rule]bool
}

// Compare compares a recorded exchange with the present one.
func Compare(was, is Side, o Options) Report {
	a := answerOf(was)
	b := answerOf(is)
	r := Report{Verdict: Same, Counts: match.Counts{}, Met: map[*match.Rule]bool{}}
	switch {
	case a.ending == "" && b.ending == "":
		return r
	case a.ending == "":
		r.Verdict = New
		return r
	case !b.came && a.came:
		r.Verdict = Missing
	case a.ending == okEnding && b.ending != okEnding:
		r.Verdict = Worse
	case a.ending != okEnding && b.ending == okEnding:
		r.Verdict = Better
	case a.ending != b.ending:
		r.Verdict = Differs
	}
	if r.Verdict != Same {
		r.Differences = []match.Difference{
			{Path: "outcome", Was: jsonraw.Quote(a.text()), Is: jsonraw.Quote(b.text()), How: match.Changed},
		}
		return r
	}
	c := match.Comparison{Rules: o.Rules, WasRevision: was.Revision, IsRevision: is.Revision, Bytes: o.Bytes}
	request := wire.ParseMessage(was.Exchange.Request.Raw)
	c.Method, c.Name = request.Method, match.NameOf(request.Method, request.Params)
	r.answers(a, b, c, o.Level)
	if o.Level != Status && o.Notifications != Ignored {
		r.requests(was, is, c, o.Level)
		r.notifications(was.Exchange, is.Exchange, o.Notifications)
	}
	r.duration(was.Took, is.Took, o.MaxSlowdown)
	if len(r.Differences) > 0 {
		r.Verdict = Differs
	}
	return r
}

// okEnding is the ending of a good answer.
const okEnding = "ok"

// An answer is how one side ended.
type answer struct {
	// ending is okEnding, the name of a wire.Kind, or "" where no answer came.
	ending string
	// came is set where there is a response.
	came   bool
	result json.RawMessage
	err    *wire.RPCError
}

// answerOf reads a response: the command that recorded it may have judged more.
func answerOf(s Side) answer {
	if s.Exchange == nil || s.Exchange.Response.Raw == nil {
		return answer{ending: string(s.Failed)}
	}
	m := wire.ParseMessage(s.Exchange.Response.Raw)
	a := answer{ending: okEnding, came: true, result: m.Result, err: m.Error}
	if s.Result != nil {
		a.result = s.Result
	}
	asks := wire.AsksForInput(m.Result)
	switch {
	case s.Failed == wire.InputRequired && !asks:
		a.ending = string(wire.InputRequired)
	case m.Error != nil:
		a.ending = string(wire.RPCFailed)
	case m.Kind != wire.Response:
		a.ending = string(wire.BadResponse)
	case wire.IsToolError(m.Result):
		a.ending = string(wire.ToolError)
	case asks:
		a.ending = string(wire.InputRequired)
	}
	return a
}

// text says how a side ended.
func (a answer) text() string {
	switch {
	case a.err != nil:
		return fmt.Sprintf("%s %d: %s", a.ending, a.err.Code, a.err.Message)
	case a.ending == string(wire.ToolError):
		first := ""
		if blocks, err := jsonraw.Array(jsonraw.First(a.result, "content")); err == nil && len(blocks) > 0 {
			first, _ = jsonraw.Text(jsonraw.First(blocks[0], "text"))
		}
		if first != "" {
			return a.ending + ": " + first
		}
	case a.ending == "":
		return "no answer"
	}
	return a.ending
}

// answers compares two results, or two errors.
func (r *Report) answers(a, b answer, c match.Comparison, level Level) {
	switch {
	case a.err != nil && b.err != nil && level == Status:
		r.add("error", match.Compare(number(a.err.Code), number(b.err.Code), match.Comparison{}), level)
	case level == Status || a.ending == string(wire.InputRequired): // what the server requests is compared on its own
	case a.err != nil && b.err != nil:
		c.Part = match.Error
		c.HiddenUnknown = true
		r.add("error", match.Compare(a.err.Raw, b.err.Raw, c), level)
	default:
		c.Part = match.Result
		c.HiddenUnknown = true
		r.add("", match.Compare(a.result, b.result, c), level)
	}
}

func number(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

// add takes over what a comparison of one part found.
func (r *Report) add(part string, found match.Report, level Level) {
	r.Counts.Add(found.Counts)
	maps.Copy(r.Met, found.Met)
	r.More += found.More
	for _, d := range found.Differences {
		if level == Schema && sameShape(d) {
			r.Counts[match.Type]++
			continue
		}
		if part != "" {
			d.Path, d.Pointer = part+pathBehind(d.Path), jsonraw.Pointer("", part)+d.Pointer
		}
		r.Differences = append(r.Differences, d)
	}
}

// pathBehind is a path that follows a word.
func pathBehind(path string) string {
	if path == "." {
		return ""
	}
	return path
}

// sameShape reports a difference that is none of the members and their types: another value of
// the same type, or another number of items.
func sameShape(d match.Difference) bool {
	switch d.How {
	case match.Changed, match.HiddenOther, match.Spelled:
		return true
	case match.Added, match.Removed:
		return len(d.Path) > 0 && d.Path[len(d.Path)-1] == ']' && len(d.Path) > 1 && d.Path[len(d.Path)-2] != '"'
	}
	return false
}

// leastSlower is what an exchange has to take longer before that can be judged: below it a
// machine's own delays decide.
const leastSlower = 50 * time.Millisecond

// duration compares how long both took.
func (r *Report) duration(was, is time.Duration, most float64) {
	if most <= 0 || was <= 0 || is-was < leastSlower || float64(is) <= most*float64(was) {
		return
	}
	r.Differences = append(r.Differences, match.Difference{
		Path: "duration", How: match.Changed,
		Was: jsonraw.Quote(was.String()), Is: jsonraw.Quote(is.String()),
	})
}
