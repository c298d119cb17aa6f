package mock

import (
	"context"
	"encoding/json"
	"fmt"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// Prepare selects the response to a request. Requests get the recorded responses in the order in
// which they are prepared, whatever the order in which their jobs run.
func (p *Player) Prepare(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	switch m.Method {
	case "initialize":
		revision, refused := p.server.Opens(c, m)
		if refused != nil {
			return mcpserver.Replying(refused)
		}
		return mcpserver.Replying(wire.ComposeResult(m.ID, p.openLegacy(revision)))
	case "server/discover":
		if c.Stateless && p.o.Eras.Stateless() {
			return mcpserver.Replying(wire.ComposeResult(m.ID, p.openModern()))
		}
		return mcpserver.Replying(wire.ComposeError(m.ID, -32601, "Method not found"))
	case "subscriptions/listen":
		if c.Stateless {
			return mcpserver.Job{Waits: true, Run: func(ctx context.Context, send func([]byte)) []byte {
				return p.hub.Listen(ctx, c, m, send, p.handshake.declares, func() { p.sendApart(p.after[-1], c) })
			}}
		}
	}
	state := jsonraw.First(m.Params, "requestState")
	resumes := state != nil || jsonraw.First(m.Params, "inputResponses") != nil
	if c.Stateless && resumes && taskOf(m) == "" {
		number, step, ok := p.library.roundOf(jsonraw.TextOrRaw(state))
		if !ok {
			return mcpserver.Replying(mcpserver.ComposeError(m.ID, mcpserver.Failure(-32602, "unknown requestState", nil)))
		}
		return p.playing(number, c, m, step, nil)
	}
	if id := taskOf(m); id != "" {
		return p.taskRequest(c, m, id)
	}
	n, near := p.library.find(c.Revision, m)
	if n < 0 {
		return p.unrecorded(c, m, near)
	}
	p.applySettings(c, m)
	return p.playing(n, c, m, 0, nil)
}

// Notified sends the messages that the recorded server sent before the first request, once the
// client is initialized.
func (p *Player) Notified(c mcpserver.Caller, m *wire.Message) {
	if m.Method == "notifications/initialized" {
		p.sendApart(p.after[-1], c)
	}
}

// playing returns the job that plays exchange n from a step. about is the task of the request, or
// nil.
func (p *Player) playing(n int, c mcpserver.Caller, m *wire.Message, from int, about *task) mcpserver.Job {
	y, err := p.open(n, c, m)
	if err != nil {
		p.tally.once("the recording cannot be read any more: " + err.Error())
		return mcpserver.Replying(
			mcpserver.ComposeError(m.ID, mcpserver.Failure(-32603, "the recording cannot be read", nil)),
		)
	}
	if from > 0 && !y.resumed(from) {
		return p.unrecorded(c, m, nil)
	}
	if from == 0 {
		p.tally.hit(n)
	}
	y.task = about
	return mcpserver.Job{
		Run:   func(ctx context.Context, send func([]byte)) []byte { return y.run(ctx, from, send) },
		Waits: y.waits(),
		After: func() { p.sendApart(y.after, c) },
	}
}

// taskRequest returns the job for a request about a task.
func (p *Player) taskRequest(c mcpserver.Caller, m *wire.Message, id string) mcpserver.Job {
	t := p.tasks.task(id)
	n := -1
	if t != nil {
		n = p.tasks.exchangeFor(t, m.Method)
	}
	if n < 0 || bridge.StandsAlone(p.library.exchange(n).Revision) != c.Stateless {
		return mcpserver.Replying(p.miss(m, nil))
	}
	x := p.library.exchange(n)
	p.tally.learn(m.Raw)
	r := p.library.compare(match.Request{Revision: c.Revision, Method: m.Method, Params: m.Params}, n)
	if !r.Same() {
		d := r.Differences[0]
		p.tally.differed(fmt.Sprintf("#%s %s at %s: recorded %s, live %s",
			x.Number, p.tally.what(m), shown(d.Pointer),
			p.tally.value(d.Pointer, d.Was), p.tally.value(d.Pointer, d.Is)))
	}
	return p.playing(n, c, m, 0, t)
}

// applySettings stores the log level or subscription that a request sets in the client's session.
func (p *Player) applySettings(c mcpserver.Caller, m *wire.Message) {
	if c.Session == nil {
		return
	}
	switch m.Method {
	case "logging/setLevel":
		c.Session.SetLevel(jsonraw.TextOrRaw(jsonraw.First(m.Params, "level")))
	case "resources/subscribe", "resources/unsubscribe":
		c.Session.Subscribe(jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri")), m.Method == "resources/subscribe")
	}
}

// unrecorded returns the job for a request that was not recorded. It answers requests with an
// obvious response itself; then the nearest request, a real server or a derived list may answer, if
// enabled.
func (p *Player) unrecorded(c mcpserver.Caller, m *wire.Message, near []match.Near) mcpserver.Job {
	if !c.Stateless && p.answersEmpty(m.Method) {
		p.applySettings(c, m)
		return mcpserver.Replying(wire.ComposeResult(m.ID, json.RawMessage("{}")))
	}
	p.tally.learn(m.Raw)
	if p.o.Nearest && len(near) > 0 && near[0].Distance < 2 {
		_, text := p.library.nearest(near[0])
		p.tally.differed(p.tally.what(m) + " is answered as the nearest: " + text)
		return p.playing(near[0].Candidate, c, m, 0, nil)
	}
	if p.o.Pass != nil {
		return p.passing(c, m, near)
	}
	if list := p.endOfList(c, m); list != nil {
		return mcpserver.Replying(list)
	}
	if list := p.listOfSeen(c, m); list != nil {
		return mcpserver.Replying(list)
	}
	return mcpserver.Replying(p.miss(m, near))
}

// answersEmpty reports whether the recorded server would answer the method with an empty result.
func (p *Player) answersEmpty(method string) bool {
	switch method {
	case "ping":
		return true
	case "logging/setLevel":
		return p.handshake.declares("logging")
	case "resources/subscribe", "resources/unsubscribe":
		return p.handshake.declares("resources", "subscribe")
	}
	return false
}

// passing returns a job that asks a real server and adds its response to the library, so that the
// next such request finds it.
func (p *Player) passing(c mcpserver.Caller, m *wire.Message, near []match.Near) mcpserver.Job {
	return mcpserver.Job{Waits: true, Run: func(ctx context.Context, send func([]byte)) []byte {
		got, revision, err := p.o.Pass(ctx, m.Method, bridge.Plain(m.Params))
		if err != nil {
			p.tally.once("not passed on: " + p.tally.text(err.Error()))
			return p.miss(m, near)
		}
		p.tally.missed("passed on: " + p.tally.what(m))
		n := p.library.learn(m, got, revision)
		return p.playing(n, c, m, 0, nil).Run(ctx, send)
	}}
}
