package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A playback is the playing of one exchange for a live request.
type playback struct {
	player *Player
	caller mcpserver.Caller
	live   *wire.Message
	// index is the index of the exchange.
	index    int
	recorded Recorded
	steps    []step
	// after are the messages that followed the response.
	after []Unrequested
	// task is the live task that the request is about or makes, or nil.
	task *task
	// send sends a message before the response.
	send func(raw []byte)
}

// newPlayback loads exchange n for a live request. It returns the error of reading the recording. The
// playback has no steps if the recording has no messages of the exchange.
func (p *Player) newPlayback(n int, c mcpserver.Caller, m *wire.Message) (*playback, error) {
	x := p.library.exchange(n)
	e, err := x.Load()
	if err != nil {
		return nil, err
	}
	playback := &playback{player: p, caller: c, live: m, index: n, recorded: x}
	if e != nil {
		playback.steps, playback.after = insertUnrequested(stepsOf(e), p.after[n])
	}
	return playback, nil
}

// isRecordedModern reports whether the exchange was recorded in the modern era.
func (pb *playback) isRecordedModern() bool { return bridge.IsStateless(pb.recorded.Revision) }

// takesTime reports whether playing takes time: for pauses, notifications or answers of the client.
func (pb *playback) takesTime() bool {
	if pb.player.options.Pace.HasPauses() || pb.recorded.Cancelled {
		return true
	}
	for _, s := range pb.steps {
		if s.notification != nil || s.requests != nil && !pb.caller.Stateless {
			return true
		}
	}
	return false
}

// minNotificationGap is the longest time that a client gets to process a notification before the
// next message, at any pace. The TypeScript SDKs lose progress that they read at once with the
// response.
const minNotificationGap = 10 * time.Millisecond

// pauseBefore returns the pause before step i: the pace's, but after a notification at least the
// recorded time, up to minNotificationGap.
func (pb *playback) pauseBefore(i int) time.Duration {
	s := pb.steps[i]
	wait := pb.player.options.Pace.PauseBefore(s.wait, s.response != nil)
	if i > 0 && pb.steps[i-1].notification != nil {
		wait = max(wait, min(s.wait, minNotificationGap))
	}
	return wait
}

// run plays the steps from an index on and returns the response. It returns nil if the live client
// cancelled the request, or if the recorded client did.
func (pb *playback) run(ctx context.Context, first int, send func([]byte)) []byte {
	pb.send = send
	for i := first; i < len(pb.steps); i++ {
		s := pb.steps[i]
		if pause.For(ctx, pb.pauseBefore(i)) != nil {
			return nil
		}
		switch {
		case s.notification != nil:
			pb.notify(s)
		case s.unrequested != nil:
			pb.player.sendUnrequested([]Unrequested{*s.unrequested}, pb.caller)
		case s.requests != nil:
			if reply, stop := pb.ask(ctx, s, i); stop {
				return reply
			}
		case s.response != nil:
			return pb.composeResponse(s.response)
		}
	}
	if pb.recorded.Cancelled { // the recorded server did not respond: wait for the live client
		select {
		case <-ctx.Done():
		case <-pb.caller.Over:
		}
		return nil
	}
	pb.report(" " + pb.player.tally.describeRequest(pb.live) + " was not answered in the recording")
	return pb.composeError(-32603, "not answered in the recording", nil)
}

// report reports a remark about the recorded exchange once. The remark follows its number.
func (pb *playback) report(remark string) {
	pb.player.tally.reportOnce("#" + pb.recorded.Number + remark)
}

// wantsLog reports whether the client gets a log message. A stateless client without a level wants
// no messages; without a level, a client in a session wants all.
func (pb *playback) wantsLog(params json.RawMessage) bool {
	if pb.caller.Level == "" {
		return !pb.caller.Stateless
	}
	return bridge.IsLoudEnough(params, pb.caller.Level)
}

// composeError returns an error response.
func (pb *playback) composeError(code int64, text string, data json.RawMessage) []byte {
	return mcpserver.ComposeError(pb.live.ID, mcpserver.Failure(code, text, data))
}

// notify sends a notification of the recording, with the progress token of the live request. It
// drops notifications that the client did not ask for.
func (pb *playback) notify(s step) {
	m := s.notification
	params := m.Params
	switch {
	case m.Method == "notifications/progress":
		token := jsonraw.First(jsonraw.First(pb.live.Params, "_meta"), "progressToken")
		if token == nil {
			return
		}
		params = jsonraw.With(params, "progressToken", token)
	case m.Method == "notifications/message":
		if !pb.wantsLog(params) {
			return
		}
	case pb.caller.Stateless && concernsServer(m.Method):
		pb.player.hub.Publish(m)
		return
	case pb.caller.Stateless:
		return
	case s.isGuessed && pb.caller.Session != nil && concernsServer(m.Method):
		// It came on the recorded client's separate stream.
		if pb.caller.Session.Wants(m) {
			pb.caller.Session.Push(pb.bindTaskID(wire.ComposeNotification(m.Method, params)))
		}
		return
	}
	pb.send(pb.bindTaskID(wire.ComposeNotification(m.Method, params)))
}

// bindTaskID returns a notification with the recorded task's id replaced by the live id. It returns raw
// itself if the request is about no task, or if the notification does not name the task.
func (pb *playback) bindTaskID(raw []byte) []byte {
	if pb.task == nil {
		return raw
	}
	m := wire.ParseMessage(raw)
	params, n := pb.task.binder.ToIs(
		match.Comparison{Part: match.Params, Method: m.Method, RecordedRevision: pb.recorded.Revision}, m.Params)
	if n == 0 {
		return raw
	}
	return wire.ComposeNotification(m.Method, params)
}

// ask sends the requests of a step and waits for the answers. If that ends the request, it returns
// true and the response: a round for a stateless client, or an error for a client that cannot
// answer. A nil response means that the client cancelled the request.
func (pb *playback) ask(ctx context.Context, s step, index int) (reply []byte, stop bool) {
	requests := pb.playableRequests(s)
	for _, a := range requests { // before any is sent
		if name := bridge.ClientCapability(a.method); !pb.caller.Declares(name) {
			return pb.refuseToAsk(a, name), true
		}
	}
	if len(requests) == 0 {
		return nil, false
	}
	s.requests = requests
	if pb.caller.Stateless {
		return pb.composeRound(s, index)
	}
	answers := make([]chan *wire.Message, len(s.requests))
	for i, a := range s.requests {
		var raw []byte
		const toModern = false
		raw, answers[i] = pb.caller.Session.Ask(a.method, bridge.ConvertQuestion(toModern, a.method, a.params, "mock"))
		pb.send(raw)
	}
	for i, a := range s.requests {
		if a.isLate { // the recorded server did not wait for it either
			go pb.player.compareLater(pb.caller, "#"+pb.recorded.Number, a, answers[i])
			continue
		}
		select {
		case got := <-answers[i]:
			pb.player.tally.compareAnswer("#"+pb.recorded.Number, a, got)
		case <-ctx.Done():
			return nil, true
		case <-pb.caller.Over:
			return nil, true
		}
	}
	return nil, false
}

// playableRequests returns the requests of a step that the client must get. It skips requests without a
// counterpart in the client's era and requests that the response did not wait for. It also skips
// roots/list if it only seems to belong to the request: servers send it once a session, during any
// request.
func (pb *playback) playableRequests(s step) []*serverRequest {
	var requests []*serverRequest
	for _, a := range s.requests {
		name := bridge.ClientCapability(a.method)
		isSessionWide := name == "roots" && a.isGuessed
		isUndeclared := isSessionWide && !pb.caller.Declares(name)
		hasNoRound := pb.caller.Stateless && (name == "" || a.isLate || isSessionWide)
		if (isUndeclared || hasNoRound) && s.round == nil {
			pb.report(": " + showStart(a.method) +
				" of the recording is not played: it has no counterpart for this client")
			continue
		}
		requests = append(requests, a)
	}
	return requests
}

// refuseToAsk returns the error for a client that cannot answer a recorded request of the server.
func (pb *playback) refuseToAsk(a *serverRequest, capability string) []byte {
	pb.report(": " + showStart(a.method) + " of the recording has no counterpart for this client")
	if capability == "" || !pb.caller.Stateless {
		return pb.composeError(-32603,
			"the recorded server sent "+showStart(a.method)+", which this client cannot answer", nil)
	}
	required := jsonraw.With(nil, "requiredCapabilities", jsonraw.With(nil, capability, json.RawMessage("{}")))
	return pb.composeError(-32021, "the recorded server sent "+a.method, required)
}

// composeRound returns the result that asks a stateless client. It reports false if the method allows
// no round.
func (pb *playback) composeRound(s step, index int) ([]byte, bool) {
	if !mcp.MayRequireInput(pb.live.Method) {
		pb.player.tally.reportOnce(fmt.Sprintf("#%s: a request of the server within %s has no counterpart in %s",
			pb.recorded.Number, pb.player.tally.describeRequest(pb.live), bridge.ModernRevision))
		return nil, false
	}
	// The state has all that the next round needs, so that a restarted mock can continue.
	state := jsonraw.Quote(fmt.Sprintf("mcpc-mock:%d:%d", pb.index, index+1))
	if s.round != nil { // the recorded server asked in a round, too
		return wire.ComposeResult(pb.live.ID, jsonraw.With(s.round, "requestState", state)), true
	}
	var requests jsonraw.Builder
	for _, a := range s.requests {
		var one jsonraw.Builder
		one.Text("method", a.method)
		const toModern = true
		one.Raw("params", bridge.ConvertQuestion(toModern, a.method, a.params, "mock"))
		requests.Raw(a.key, one.Bytes())
	}
	var b jsonraw.Builder
	b.Text("resultType", "input_required")
	b.Raw("inputRequests", requests.Bytes())
	b.Raw("requestState", state)
	return wire.ComposeResult(pb.live.ID, b.Bytes()), true
}

// resume compares the client's answers in a new round with the recorded ones. step is the index of the
// step to play next; the step before it has asked. It reports false if that step does not ask, or the
// method differs: the state is not from this exchange then.
func (pb *playback) resume(step int) bool {
	if step > len(pb.steps) || pb.steps[step-1].requests == nil || pb.recorded.Method != pb.live.Method {
		return false
	}
	answers, _ := jsonraw.Object(jsonraw.First(pb.live.Params, "inputResponses"))
	for _, a := range pb.playableRequests(pb.steps[step-1]) {
		pb.player.tally.compareAnswer("#"+pb.recorded.Number, a, &wire.Message{Result: answers.Value(a.key)})
	}
	return true
}

// composeResponse returns the response m for the live request. If the recorded server made a task, it begins a
// live one, or returns the task's result to a client without tasks.
func (pb *playback) composeResponse(m *wire.Message) []byte {
	if recordedTask := createdTask(m.Result); recordedTask != "" && pb.live.Method == "tools/call" {
		if !pb.supportsTasks() {
			final, n := pb.player.tasks.finalResponse(recordedTask)
			if final == nil {
				pb.report(": the end of task " + showStart(recordedTask) + " is not in the recording")
				return pb.composeError(-32603, "the end of this task is not in the recording", nil)
			}
			pb.player.tally.countHit(n)
			m = final
		} else {
			pb.task = pb.player.tasks.start(recordedTask, pb.recorded.Time)
		}
	}
	if m.Error != nil {
		converted := bridge.ConvertError(pb.caller.Stateless, pb.isRecordedModern(), pb.live.Method, m.Error.Raw)
		return mcpserver.ComposeError(pb.live.ID, converted)
	}
	pb.rememberLastPage(m.Result)
	result := bridge.ConvertResult(pb.caller.Stateless, pb.isRecordedModern(), pb.live.Method, m.Result)
	if pb.task != nil {
		result, _ = pb.task.binder.ToIs(match.Comparison{
			Part:             match.Result,
			Method:           pb.live.Method,
			RecordedRevision: pb.recorded.Revision,
			CurrentRevision:  pb.caller.Revision,
		}, result)
	}
	return wire.ComposeResult(pb.live.ID, result)
}

// supportsTasks reports whether the client supports tasks as the recorded server made them: the tasks of
// the two eras have different protocols.
func (pb *playback) supportsTasks() bool {
	if pb.caller.Stateless {
		return pb.isRecordedModern() && pb.caller.Declares("extensions", mcp.TasksExtension)
	}
	return !pb.isRecordedModern() && jsonraw.First(pb.live.Params, "task") != nil
}
