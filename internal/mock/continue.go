package mock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// A Continuation is a real server that answers once the client has repeated the beginning of the
// recording.
type Continuation struct {
	// Until is the index of the first exchange that the server answers.
	Until int
	// Before has the indexes of the exchanges that precede it. The value is true for an exchange that
	// changed something: the client must repeat it.
	Before map[int]bool
	// Server answers the requests. Adopt prepares it for a client that it has not seen before: it is
	// called once for each session, once for all stateless requests, and for each subscription of a stateless
	// client that opens later. It may wait.
	Server mcpserver.Handler
	Adopt  func(c mcpserver.Caller)
	// Hub has the subscriptions of stateless clients. The server publishes to it, too.
	Hub *mcpserver.Hub
	// Binder has the recorded handles and the server's.
	Binder *match.Binder
}

// A continuation is the state of a Continuation.
type continuation struct {
	Continuation
	player *Player
	// hasBegun is set by begins once the server answers.
	hasBegun atomic.Bool

	mu sync.Mutex
	// pending are the exchanges of Before that were not played yet.
	pending map[int]bool
	// playedOthers are the exchanges of other clients before Until that were played.
	playedOthers map[int]bool
	// cursors are the next pages in the results of the real server.
	cursors map[listPage]bool
	// adopted maps the known sessions to their adoption. The key nil is for stateless requests.
	adopted map[*mcpserver.Session]*sync.Once
	report  Continued
}

// Continued describes what the real server answered.
type Continued struct {
	// Requests is the number of the requests, Bound the number of the handles that were replaced in them.
	Requests int `json:"requests"`
	Bound    int `json:"bound"`
	// Same and Different are the numbers of the responses that are as recorded, and that are not.
	// Differences describes the first ones.
	Same        int      `json:"same"`
	Different   int      `json:"different"`
	Differences []string `json:"differences"`
}

// maxDifferences limits the described differences.
const maxDifferences = 100

// newContinuation returns the state of a Continuation.
func newContinuation(p *Player, o Continuation) *continuation {
	k := &continuation{
		Continuation: o, player: p, pending: map[int]bool{}, adopted: map[*mcpserver.Session]*sync.Once{},
		report: Continued{Differences: []string{}}, playedOthers: map[int]bool{}, cursors: map[listPage]bool{},
	}
	for n := range o.Before {
		k.pending[n] = true
	}
	return k
}

// continued returns what the real server has answered so far, without secrets and control characters. It
// returns nil without a Continuation.
func (p *Player) continued() *Continued {
	if p.next == nil {
		return nil
	}
	p.next.mu.Lock()
	defer p.next.mu.Unlock()
	report := p.next.report
	report.Differences = slices.Clone(report.Differences)
	return &report
}

// answers reports whether the real server answers a request. It returns false before it has begun, and
// for requests about something that the recording began: a round, a task, or the next page of a list.
// k may be nil.
func (k *continuation) answers(m *wire.Message) bool {
	if k == nil || !k.hasBegun.Load() {
		return false
	}
	p := k.player
	if _, _, isRound := p.library.parseRoundState(jsonraw.TextOrRaw(jsonraw.First(m.Params, "requestState"))); isRound {
		return false
	}
	if id := requestedTask(m); id != "" {
		p.tasks.mu.Lock()
		defer p.tasks.mu.Unlock()
		return p.tasks.live[id] == nil
	}
	k.mu.Lock()
	isOfServer := k.cursors[listPage{m.Method, jsonraw.TextOrRaw(jsonraw.First(m.Params, "cursor"))}]
	k.mu.Unlock()
	return isOfServer || !p.library.isLaterPage(m)
}

// isPreferred reports whether a request is compared with exchange n rather than with other exchanges
// that have the same request: before the real server answers, with the exchanges of Before, then with the
// later ones.
func (k *continuation) isPreferred(n int) bool {
	if k.hasBegun.Load() {
		return n >= k.Until
	}
	_, isBefore := k.Before[n]
	return isBefore
}

// begins reports whether the real server answers from this request on. n is the exchange that the
// request repeats, or -1. It reports a client that does not follow the recording. k may be nil.
func (k *continuation) begins(n int, m *wire.Message) bool {
	if k == nil || k.hasBegun.Load() || n < 0 && k.player.library.isLaterPage(m) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, isBefore := k.Before[n]
	isOfOther := n >= 0 && n < k.Until && !isBefore
	if isOfOther && !k.playedOthers[n] || isBefore && len(k.pending) > 0 {
		k.playedOthers[n] = true
		delete(k.pending, n)
		return false
	}
	if len(k.pending) > 0 && n < 0 && !mcp.MayRequireInput(m.Method) { // such as a list that was not recorded
		return false
	}
	expected := -1
	for _, pending := range slices.Sorted(maps.Keys(k.pending)) {
		isNeeded := k.Before[pending]
		if n < 0 { // the client does something else than recorded
			isNeeded = mcp.MayRequireInput(k.player.library.exchange(pending).Method)
		}
		if isNeeded && expected < 0 {
			expected = pending
		}
	}
	tally := k.player.tally
	if expected >= 0 {
		tally.reportOnce(fmt.Sprintf("the client does not follow the recording before #%s: expected #%s, received %s",
			k.player.library.exchange(k.Until).Number, k.describe(expected), tally.describeRequest(m)))
		return false
	}
	line := "the real server answers from here on: " + tally.describeRequest(m)
	if skipped := len(k.pending); skipped > 0 {
		line += "; the client did not repeat " + english.Plural(skipped, "earlier request")
	}
	tally.reportOnce(line)
	tally.forgetRepeats()
	k.hasBegun.Store(true)
	return true
}

// describe returns the number, the method and the name of an exchange for reports.
func (k *continuation) describe(n int) string {
	x := k.player.library.exchange(n)
	return strings.TrimSpace(x.Number + " " + showStart(x.Method) + " " + k.player.tally.showText(x.Name))
}

// job returns the job that lets the real server answer a request, with its handles in place of the
// recorded ones. The client gets the server's response as it is: it can use the server's handles, too.
func (k *continuation) job(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	if mcp.IsOpening(m.Method) { // the server opens the session itself
		k.adoption(c).Do(func() {})
		return k.Server.Prepare(c, m)
	}
	params, replaced := k.Binder.ToIs(k.comparison(c, m, match.Params), m.Params)
	sent := *m
	if replaced > 0 {
		sent.Params = params
		sent.Raw = jsonraw.With(m.Raw, "params", params)
	}
	k.mu.Lock()
	k.report.Requests++
	k.report.Bound += replaced
	k.mu.Unlock()
	return mcpserver.Job{MayWait: true, Run: func(ctx context.Context, send func([]byte)) []byte {
		k.adoption(c).Do(func() { k.Adopt(c) })
		reply := k.Server.Prepare(c, &sent).Run(ctx, send)
		if reply == nil {
			return nil
		}
		got := wire.ParseMessage(reply)
		k.rememberCursor(m, got)
		k.compare(c, m, got)
		return reply
	}}
}

// maxCursors limits the cursors that are remembered.
const maxCursors = 10_000

// rememberCursor remembers the cursor in a page of a list: the recording may have the same one.
func (k *continuation) rememberCursor(m, got *wire.Message) {
	cursor := jsonraw.First(got.Result, "nextCursor")
	k.mu.Lock()
	defer k.mu.Unlock()
	if cursor != nil && len(k.cursors) < maxCursors {
		k.cursors[listPage{m.Method, jsonraw.TextOrRaw(cursor)}] = true
	}
}

// comparison returns how a part of a live exchange is compared and bound.
func (k *continuation) comparison(c mcpserver.Caller, m *wire.Message, part match.Part) match.Comparison {
	recorded := k.player.library.exchange(k.Until).Revision
	return match.Comparison{Part: part, Method: m.Method, RecordedRevision: recorded, CurrentRevision: c.Revision}
}

// adoption returns the adoption of the caller's session, or that of all stateless requests. It forgets
// the session when it ends.
func (k *continuation) adoption(c mcpserver.Caller) *sync.Once {
	k.mu.Lock()
	defer k.mu.Unlock()
	session := c.Session
	if c.Stateless {
		session = nil
	}
	if k.adopted[session] == nil {
		k.adopted[session] = &sync.Once{}
		if session != nil {
			session.OnEnd(func() {
				k.mu.Lock()
				defer k.mu.Unlock()
				delete(k.adopted, session)
			})
		}
	}
	return k.adopted[session]
}

// adoptLate adopts a stateless client again if the real server answers already: a subscription that was
// requested before the switch may open after it. k may be nil.
func (k *continuation) adoptLate(c mcpserver.Caller) {
	if k != nil && k.hasBegun.Load() {
		k.Adopt(c)
	}
}

// compare counts a response of the real server as the same as recorded or as different. It ignores a
// request that was not recorded, a page of a list, because the server may divide it in another way, and a
// question to the client.
func (k *continuation) compare(c mcpserver.Caller, m, got *wire.Message) {
	n, _ := k.player.library.find(c.Revision, m)
	if n < k.Until || wire.RequiresInput(got.Result) {
		return
	}
	e, err := k.player.library.exchange(n).Load()
	if err != nil || e == nil || e.Response.Raw == nil {
		return
	}
	recorded := wire.ParseMessage(e.Response.Raw)
	isPage := jsonraw.First(recorded.Result, "nextCursor") != nil || jsonraw.First(m.Params, "cursor") != nil
	if isPage && mcp.IsServerList(m.Method) {
		return
	}
	difference := k.difference(c, m, recorded, got)
	k.mu.Lock()
	defer k.mu.Unlock()
	if difference == "" {
		k.report.Same++
		return
	}
	k.report.Different++
	text := "#" + k.describe(n) + ": " + difference
	if len(k.report.Differences) < maxDifferences && !slices.Contains(k.report.Differences, text) {
		k.report.Differences = append(k.report.Differences, text)
	}
}

// difference returns the first difference between a recorded and a live response as text, or "".
func (k *continuation) difference(c mcpserver.Caller, m, recorded, live *wire.Message) string {
	tally := k.player.tally
	tally.learnSecrets(live.Raw)
	describe := func(response *wire.Message) string {
		if response.Error != nil {
			return "error " + fmt.Sprint(response.Error.Code) + ": " + tally.showText(response.Error.Message)
		}
		if wire.IsToolError(response.Result) {
			return "a tool error"
		}
		return "a result"
	}
	if describe(recorded) != describe(live) {
		return "recorded " + describe(recorded) + ", now " + describe(live)
	}
	comparison := k.comparison(c, m, match.Result)
	comparison.HiddenUnknown = true
	was := recorded.Result
	is, _ := k.Binder.ToRecorded(comparison, recorded.Result, live.Result)
	if recorded.Error != nil {
		comparison.Part = match.Error
		was = recorded.Error.Raw
		is = live.Error.Raw
	}
	r := match.Compare(was, is, comparison)
	if r.Same() {
		return ""
	}
	first := r.Differences[0]
	text := "differs at " + tally.showText(first.Pointer) + ": recorded " + tally.showValue(first.Pointer, first.Was) +
		", now " + tally.showValue(first.Pointer, first.Is)
	if more := len(r.Differences) + r.More - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
