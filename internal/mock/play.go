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

// A play is the playing of one exchange for a live request.
type play struct {
	p    *Player
	c    mcpserver.Caller
	live *wire.Message
	// number is the index of the exchange.
	number int
	x      Recorded
	steps  []step
	// after are the messages that followed the response.
	after []Unrequested
	// task is the live task that the request is about or makes, or nil.
	task *task
	// send sends a message before the response.
	send func(raw []byte)
}

// open loads exchange n for a live request.
func (p *Player) open(n int, c mcpserver.Caller, m *wire.Message) (*play, error) {
	x := p.library.exchange(n)
	e, err := x.Load()
	if err != nil {
		return nil, err
	}
	one := &play{p: p, c: c, live: m, number: n, x: x}
	if e != nil {
		one.steps, one.after = withApart(stepsOf(e), p.after[n])
	}
	return one, nil
}

// recordedModern reports whether the exchange was recorded in the modern era.
func (y *play) recordedModern() bool { return bridge.StandsAlone(y.x.Revision) }

// waits reports whether playing takes time: for pauses, notifications or answers of the client.
func (y *play) waits() bool {
	if y.p.o.Pace.Waits() || y.x.Cancelled {
		return true
	}
	for _, s := range y.steps {
		if s.note != nil || s.asks != nil && !y.c.Stateless {
			return true
		}
	}
	return false
}

// noteGap is the longest time that a client gets to process a notification before the next message,
// at any pace. The TypeScript SDKs lose progress that they read together with the response.
const noteGap = 10 * time.Millisecond

// gap returns the pause before step i.
func (y *play) gap(i int) time.Duration {
	s := y.steps[i]
	d := y.p.o.Pace.Of(s.wait, s.end != nil)
	if i > 0 && y.steps[i-1].note != nil {
		d = max(d, min(s.wait, noteGap))
	}
	return d
}

// run plays the steps from an index on and returns the response. It returns nil if the live client
// cancelled the request, or if the recorded client did.
func (y *play) run(ctx context.Context, from int, send func([]byte)) []byte {
	y.send = send
	for i := from; i < len(y.steps); i++ {
		s := y.steps[i]
		if pause.For(ctx, y.gap(i)) != nil {
			return nil
		}
		switch {
		case s.note != nil:
			y.notify(s)
		case s.apart != nil:
			y.p.sendApart([]Unrequested{*s.apart}, y.c)
		case s.asks != nil:
			if reply, stop := y.ask(ctx, s, i); stop {
				return reply
			}
		case s.end != nil:
			return y.end(s.end)
		}
	}
	if y.x.Cancelled {
		select {
		case <-ctx.Done():
		case <-y.c.Over:
		}
		return nil
	}
	y.p.tally.once("#" + y.x.Number + " " + y.p.tally.what(y.live) + " was not answered in the recording")
	return y.fail(-32603, "not answered in the recording", nil)
}

// fail returns an error response.
func (y *play) fail(code int64, text string, data json.RawMessage) []byte {
	return mcpserver.ComposeError(y.live.ID, mcpserver.Failure(code, text, data))
}

// notify sends a notification of the recording, with the progress token of the live request. It
// drops notifications that the client did not ask for.
func (y *play) notify(s step) {
	m := s.note
	params := m.Params
	switch {
	case m.Method == "notifications/progress":
		token := jsonraw.First(jsonraw.First(y.live.Params, "_meta"), "progressToken")
		if token == nil {
			return
		}
		params = jsonraw.With(params, "progressToken", token)
	case m.Method == "notifications/message":
		if y.c.Level == "" && y.c.Stateless || y.c.Level != "" && !bridge.Loud(params, y.c.Level) {
			return
		}
	case y.c.Stateless && aboutServer(m.Method):
		y.p.hub.Publish(m)
		return
	case y.c.Stateless:
		return
	case s.guessed && y.c.Session != nil && aboutServer(m.Method):
		if y.c.Session.Wants(m) {
			y.c.Session.Push(y.bound(wire.ComposeNotification(m.Method, params)))
		}
		return
	}
	y.send(y.bound(wire.ComposeNotification(m.Method, params)))
}

// bound replaces the recorded task's id in a notification by the live id.
func (y *play) bound(raw []byte) []byte {
	if y.task == nil {
		return raw
	}
	m := wire.ParseMessage(raw)
	params, n := y.task.binder.ToIs(
		match.Comparison{Part: match.Params, Method: m.Method, WasRevision: y.x.Revision}, m.Params)
	if n == 0 {
		return raw
	}
	return wire.ComposeNotification(m.Method, params)
}

// ask sends the requests of a step and waits for the answers. If that ends the request, it returns
// true and the response: a round for a stateless client, or an error for a client that cannot
// answer. A nil response means that the client cancelled the request.
func (y *play) ask(ctx context.Context, s step, at int) (reply []byte, stop bool) {
	asks := y.askable(s)
	for _, a := range asks {
		if name := bridge.ClientCapability(a.method); !y.c.Declares(name) {
			return y.unasked(a, name), true
		}
	}
	if len(asks) == 0 {
		return nil, false
	}
	s.asks = asks
	if y.c.Stateless {
		return y.askInRound(s, at)
	}
	waiting := make([]chan *wire.Message, len(s.asks))
	for i, a := range s.asks {
		var raw []byte
		raw, waiting[i] = y.c.Session.Ask(a.method, bridge.Question(false, a.method, a.params, "mock"))
		y.send(raw)
	}
	for i, a := range s.asks {
		if a.late {
			go y.p.compareLater(y.c, "#"+y.x.Number, a, waiting[i])
			continue
		}
		select {
		case got := <-waiting[i]:
			y.p.tally.compareAnswer("#"+y.x.Number, a, got)
		case <-ctx.Done():
			return nil, true
		case <-y.c.Over:
			return nil, true
		}
	}
	return nil, false
}

// askable returns the requests of a step that the client must get. It skips requests without a
// counterpart in the client's era and requests that the response did not wait for. It also skips
// roots/list if it only seems to belong to the request: servers send it once a session, during any
// request.
func (y *play) askable(s step) []*ask {
	var all []*ask
	for _, a := range s.asks {
		name := bridge.ClientCapability(a.method)
		apart := name == "roots" && a.guessed
		unable := apart && !y.c.Declares(name) || y.c.Stateless && (name == "" || a.late || apart)
		if unable && s.round == nil {
			y.p.tally.once(fmt.Sprintf("#%s: %s of the recording is not played: it has no counterpart for this client",
				y.x.Number, shown(a.method)))
			continue
		}
		all = append(all, a)
	}
	return all
}

// unasked returns the error for a client that cannot answer a recorded request of the server.
func (y *play) unasked(a *ask, capability string) []byte {
	y.p.tally.once("#" + y.x.Number + ": " + shown(a.method) + " of the recording has no counterpart for this client")
	if capability == "" || !y.c.Stateless {
		return y.fail(-32603, "the recorded server sent "+shown(a.method)+", which this client cannot answer", nil)
	}
	required := jsonraw.With(nil, "requiredCapabilities", jsonraw.With(nil, capability, json.RawMessage("{}")))
	return y.fail(-32021, "the recorded server sent "+a.method, required)
}

// askInRound returns the result that asks a stateless client. It reports false if the method allows
// no round.
func (y *play) askInRound(s step, at int) ([]byte, bool) {
	if !mcp.MayRequireInput(y.live.Method) {
		y.p.tally.once(fmt.Sprintf("#%s: a request of the server within %s has no counterpart in %s",
			y.x.Number, y.p.tally.what(y.live), bridge.ModernRevision))
		return nil, false
	}
	// The state has all that the next round needs, so that a restarted mock can continue.
	state := jsonraw.Quote(fmt.Sprintf("mcpc-mock:%d:%d", y.number, at+1))
	if s.round != nil {
		return wire.ComposeResult(y.live.ID, jsonraw.With(s.round, "requestState", state)), true
	}
	var requests jsonraw.Builder
	for _, a := range s.asks {
		var one jsonraw.Builder
		one.Text("method", a.method)
		one.Raw("params", bridge.Question(true, a.method, a.params, "mock"))
		requests.Raw(a.key, one.Bytes())
	}
	var b jsonraw.Builder
	b.Text("resultType", "input_required")
	b.Raw("inputRequests", requests.Bytes())
	b.Raw("requestState", state)
	return wire.ComposeResult(y.live.ID, b.Bytes()), true
}

// resumed compares the client's answers in a new round with the recorded ones. It reports false if
// the step does not ask, or the method differs.
func (y *play) resumed(step int) bool {
	if step > len(y.steps) || y.steps[step-1].asks == nil || y.x.Method != y.live.Method {
		return false
	}
	given, _ := jsonraw.Object(jsonraw.First(y.live.Params, "inputResponses"))
	for _, a := range y.askable(y.steps[step-1]) {
		y.p.tally.compareAnswer("#"+y.x.Number, a, &wire.Message{Result: given.Value(a.key)})
	}
	return true
}

// end returns the response m for the live request. If the recorded server made a task, it begins a
// live one, or returns the task's result to a client without tasks.
func (y *play) end(m *wire.Message) []byte {
	if was := madeIn(m.Result); was != "" && y.live.Method == "tools/call" {
		if !y.takesTasks() {
			got, n := y.p.tasks.endOf(was)
			if got == nil {
				y.p.tally.once("#" + y.x.Number + ": the end of task " + shown(was) + " is not in the recording")
				return y.fail(-32603, "the end of this task is not in the recording", nil)
			}
			y.p.tally.hit(n)
			m = got
		} else {
			y.task = y.p.tasks.begin(was, y.x.Time)
		}
	}
	if m.Error != nil {
		return mcpserver.ComposeError(y.live.ID, bridge.Error(y.c.Stateless, y.recordedModern(), y.live.Method, m.Error.Raw))
	}
	y.noteLastPage(m.Result)
	result := bridge.Result(y.c.Stateless, y.recordedModern(), y.live.Method, m.Result)
	if y.task != nil {
		result, _ = y.task.binder.ToIs(match.Comparison{
			Part:        match.Result,
			Method:      y.live.Method,
			WasRevision: y.x.Revision,
			IsRevision:  y.c.Revision,
		}, result)
	}
	return wire.ComposeResult(y.live.ID, result)
}

// takesTasks reports whether the client supports tasks as the recorded server made them.
func (y *play) takesTasks() bool {
	if y.c.Stateless {
		return y.recordedModern() && y.c.Declares("extensions", mcp.TasksExtension)
	}
	return !y.recordedModern() && jsonraw.First(y.live.Params, "task") != nil
}
