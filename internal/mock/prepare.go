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

// Prepare selects the response to a request. Requests get the recorded responses in the order they
// are prepared in, whatever the order of their jobs.
func (p *Player) Prepare(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	if p.next.answers(m) {
		return p.next.job(c, m)
	}
	switch m.Method {
	case "initialize":
		revision, refused := p.server.OpenSession(c, m)
		if refused != nil {
			return mcpserver.Replying(refused)
		}
		return mcpserver.Replying(wire.ComposeResult(m.ID, p.initializeResult(revision)))
	case "server/discover":
		if c.Stateless && p.options.Eras.HasStateless() {
			return mcpserver.Replying(wire.ComposeResult(m.ID, p.discoverResult()))
		}
		return mcpserver.Replying(wire.ComposeError(m.ID, -32601, "Method not found"))
	case "subscriptions/listen":
		if c.Stateless {
			return mcpserver.Job{MayWait: true, Run: func(ctx context.Context, send func([]byte)) []byte {
				return p.hub.Listen(ctx, c, m, send, p.handshake.declares, func() {
					p.sendUnrequested(p.after[-1], c)
					p.next.adoptLate(c)
				})
			}}
		}
	}
	// A request with either member continues a round; tasks/update has inputResponses, too.
	state := jsonraw.First(m.Params, "requestState")
	isNextRound := state != nil || jsonraw.First(m.Params, "inputResponses") != nil
	if c.Stateless && isNextRound && requestedTask(m) == "" {
		number, step, ok := p.library.parseRoundState(jsonraw.TextOrRaw(state))
		if !ok {
			return mcpserver.Replying(mcpserver.ComposeError(m.ID, mcpserver.Failure(-32602, "unknown requestState", nil)))
		}
		return p.playJob(number, c, m, step, noTask)
	}
	if id := requestedTask(m); id != "" {
		return p.taskJob(c, m, id)
	}
	n, near := p.library.find(c.Revision, m)
	if p.next.begins(n, m) {
		return p.next.job(c, m)
	}
	if n < 0 {
		return p.unrecordedJob(c, m, near)
	}
	p.applySettings(c, m)
	return p.playJob(n, c, m, firstStep, noTask)
}

// firstStep is the index of the step that playing an exchange begins with.
const firstStep = 0

// noTask is the task of a request that is about no task.
var noTask *task

// Notified sends the messages that the recorded server sent before the first request, once the
// client is initialized.
func (p *Player) Notified(c mcpserver.Caller, m *wire.Message) {
	if m.Method == "notifications/initialized" {
		p.sendUnrequested(p.after[-1], c)
	}
	if p.next.answers(m) {
		p.next.Server.Notified(c, m)
	}
}

// playJob returns the job that plays exchange n from the step first on. about is the task of the request,
// or noTask. The job answers with an error if the recording cannot be read any more.
func (p *Player) playJob(n int, c mcpserver.Caller, m *wire.Message, first int, about *task) mcpserver.Job {
	pb, err := p.newPlayback(n, c, m)
	if err != nil {
		p.tally.reportOnce("the recording cannot be read any more: " + err.Error())
		return mcpserver.Replying(
			mcpserver.ComposeError(m.ID, mcpserver.Failure(-32603, "the recording cannot be read", nil)),
		)
	}
	if first > firstStep && !pb.resume(first) {
		return p.unrecordedJob(c, m, nil)
	}
	if first == firstStep { // rounds of one exchange are one hit
		p.tally.countHit(n)
	}
	pb.task = about
	return mcpserver.Job{
		Run:     func(ctx context.Context, send func([]byte)) []byte { return pb.run(ctx, first, send) },
		MayWait: pb.takesTime(),
		After:   func() { p.sendUnrequested(pb.after, c) },
	}
}

// taskJob returns the job for a request about the task with an id: it plays the next recorded exchange
// about that task, and reports a request that differs from the recorded one. The request is a miss if the
// task is unknown or was recorded in the other era.
func (p *Player) taskJob(c mcpserver.Caller, m *wire.Message, id string) mcpserver.Job {
	t := p.tasks.find(id)
	n := -1
	if t != nil {
		n = p.tasks.nextExchange(t, m.Method)
	}
	if n < 0 || bridge.IsStateless(p.library.exchange(n).Revision) != c.Stateless {
		return mcpserver.Replying(p.replyMiss(m, nil))
	}
	x := p.library.exchange(n)
	p.tally.learnSecrets(m.Raw)
	r := p.library.compare(match.Request{Revision: c.Revision, Method: m.Method, Params: m.Params}, n)
	if !r.Same() {
		first := r.Differences[0]
		p.tally.reportNearMiss(fmt.Sprintf("#%s %s at %s: recorded %s, live %s",
			x.Number, p.tally.describeRequest(m), showStart(first.Pointer),
			p.tally.showValue(first.Pointer, first.Was), p.tally.showValue(first.Pointer, first.Is)))
	}
	return p.playJob(n, c, m, firstStep, t)
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

// unrecordedJob returns the job for a request that was not recorded. It answers requests with an
// obvious response itself; then the nearest request, a real server or a derived list may answer, if
// enabled.
func (p *Player) unrecordedJob(c mcpserver.Caller, m *wire.Message, near []match.Near) mcpserver.Job {
	if !c.Stateless && p.hasEmptyAnswer(m.Method) {
		p.applySettings(c, m)
		return mcpserver.Replying(wire.ComposeResult(m.ID, json.RawMessage("{}")))
	}
	p.tally.learnSecrets(m.Raw)                                     // before the reports below
	if p.options.Nearest && len(near) > 0 && near[0].Distance < 2 { // 2: another method
		_, text := p.library.describeNear(near[0])
		p.tally.reportNearMiss(p.tally.describeRequest(m) + " gets the response of the most similar one: " + text)
		return p.playJob(near[0].Candidate, c, m, firstStep, noTask)
	}
	if p.options.Pass != nil {
		return p.passJob(c, m, near)
	}
	if list := p.answerPageAfterLast(c, m); list != nil {
		return mcpserver.Replying(list)
	}
	if list := p.answerListFromRequests(c, m); list != nil {
		return mcpserver.Replying(list)
	}
	return mcpserver.Replying(p.replyMiss(m, near))
}

// hasEmptyAnswer reports whether the recorded server would answer the method with an empty result.
func (p *Player) hasEmptyAnswer(method string) bool {
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

// passJob returns a job that asks a real server and adds its response to the library, so that the next
// such request finds it. If that fails, the request is a miss; near are its nearest candidates.
func (p *Player) passJob(c mcpserver.Caller, m *wire.Message, near []match.Near) mcpserver.Job {
	return mcpserver.Job{MayWait: true, Run: func(ctx context.Context, send func([]byte)) []byte {
		got, revision, err := p.options.Pass(ctx, m.Method, bridge.WithoutRequestMeta(m.Params))
		if err != nil {
			p.tally.reportOnce("not passed on: " + p.tally.showText(err.Error()))
			return p.replyMiss(m, near)
		}
		p.tally.reportMiss("passed on: " + p.tally.describeRequest(m))
		n := p.library.learn(m, got, revision)
		return p.playJob(n, c, m, firstStep, noTask).Run(ctx, send)
	}}
}
