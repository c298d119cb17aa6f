package playback

import (
	"context"
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mock/playback/bridge"
	"mcpc/internal/wire"
)

// A job is how one request is answered.
type job struct {
	// run gives the response, nil where none is to be sent; send sends what comes before it.
	run func(ctx context.Context, send func([]byte)) []byte
	// waits is set where run takes time or needs the client.
	waits bool
	// after is what is done when the response was sent; it may be nil.
	after func()
}

func replying(raw []byte) job {
	return job{run: func(context.Context, func([]byte)) []byte { return raw }}
}

// prepare decides how a request is answered. Requests that are prepared in order get recorded answers in
// order, whatever the order in which they run.
func (p *Player) prepare(c client, m *wire.Message) job {
	switch m.Method {
	case "initialize":
		return p.initialize(c, m)
	case "server/discover":
		if c.stateless && p.o.Eras.Stateless() {
			return replying(wire.ComposeResult(m.ID, p.openModern()))
		}
		return replying(wire.ComposeError(m.ID, -32601, "Method not found"))
	case "subscriptions/listen":
		if c.stateless {
			return job{waits: true, run: func(ctx context.Context, send func([]byte)) []byte {
				return p.listen(ctx, c, m, send)
			}}
		}
	}
	if state := jsonraw.First(m.Params, "requestState"); c.stateless && (state != nil || jsonraw.First(m.Params, "inputResponses") != nil) && taskOf(m) == "" {
		return p.nextRound(c, m, jsonraw.TextOrRaw(state))
	}
	if id := taskOf(m); id != "" {
		return p.taskRequest(c, m, id)
	}
	n, near := p.library.find(c.revision, m)
	if n < 0 {
		return p.unrecorded(c, m, near)
	}
	p.noted(c, m)
	return p.playing(n, c, m, 0, nil)
}

// initialize opens the conversation, or refuses to.
func (p *Player) initialize(c client, m *wire.Message) job {
	asked := jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion"))
	if c.session == nil {
		return replying(composeError(m.ID, p.otherVersion(asked)))
	}
	revision := bridge.Negotiated(asked)
	c.session.opened(revision, m.Params)
	return replying(wire.ComposeResult(m.ID, p.openLegacy(revision)))
}

// otherVersion is the error for a revision that is not served.
func (p *Player) otherVersion(asked string) json.RawMessage {
	supported := jsonraw.ListOf(p.o.Eras.Revisions(), func(v string) []byte { return jsonraw.Quote(v) })
	data := jsonraw.With(jsonraw.With(nil, "supported", supported), "requested", jsonraw.Quote(asked))
	return failure(-32022, "Unsupported protocol version", data)
}

// playing plays an exchange from a step on.
func (p *Player) playing(n int, c client, m *wire.Message, from int, about *task) job {
	y, err := p.open(n, c, m)
	if err != nil {
		p.tally.once("the recording cannot be read any more: " + err.Error())
		return replying(composeError(m.ID, failure(-32603, "the recording cannot be read", nil)))
	}
	if from > 0 && !y.resumed(from) {
		return p.unrecorded(c, m, nil)
	}
	if from == 0 {
		p.tally.hit(n)
	}
	y.task = about
	return job{waits: y.waits(), after: func() { p.sendApart(y.after, c) },
		run: func(ctx context.Context, send func([]byte)) []byte { return y.run(ctx, from, send) }}
}

// nextRound goes on with a request whose last response asked for input.
func (p *Player) nextRound(c client, m *wire.Message, state string) job {
	number, step, ok := p.library.roundOf(state)
	if !ok {
		return replying(composeError(m.ID, failure(-32602, "unknown requestState", nil)))
	}
	return p.playing(number, c, m, step, nil)
}

// taskRequest answers a request about a task.
func (p *Player) taskRequest(c client, m *wire.Message, id string) job {
	t := p.tasks.task(id)
	n := -1
	if t != nil {
		n = p.tasks.exchangeFor(t, m.Method)
	}
	if n < 0 || bridge.StandsAlone(p.library.exchange(n).Revision) != c.stateless {
		return replying(p.miss(m, nil))
	}
	x := p.library.exchange(n)
	p.tally.learn(m.Raw)
	if r := p.library.compare(match.Request{Revision: c.revision, Method: m.Method, Params: m.Params}, n); !r.Same() {
		d := r.Differences[0]
		p.tally.differed("#" + x.Number + " " + p.tally.what(m) + " at " + shown([]byte(d.Pointer)) + ": recorded " + p.tally.value(d.Pointer, d.Was) + ", live " + p.tally.value(d.Pointer, d.Is))
	}
	return p.playing(n, c, m, 0, t)
}

// noted keeps what the client sets for its session.
func (p *Player) noted(c client, m *wire.Message) {
	if c.session == nil {
		return
	}
	switch m.Method {
	case "logging/setLevel":
		c.session.setLevel(jsonraw.TextOrRaw(jsonraw.First(m.Params, "level")))
	case "resources/subscribe", "resources/unsubscribe":
		c.session.subscribe(jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri")), m.Method == "resources/subscribe")
	}
}

// unrecorded answers a request that the recording does not have: what has an obvious answer gets it.
func (p *Player) unrecorded(c client, m *wire.Message, near []match.Near) job {
	obvious := m.Method == "ping" || m.Method == "logging/setLevel" && p.handshake.declares("logging") ||
		(m.Method == "resources/subscribe" || m.Method == "resources/unsubscribe") && p.handshake.declares("resources", "subscribe")
	if obvious && !c.stateless {
		p.noted(c, m)
		return replying(wire.ComposeResult(m.ID, json.RawMessage("{}")))
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
	for _, complete := range []func(client, *wire.Message) []byte{p.endOfList, p.listOfSeen} {
		if list := complete(c, m); list != nil {
			return replying(list)
		}
	}
	return replying(p.miss(m, near))
}

// passing asks a real server, and takes its answer in, so that the next time the request hits.
func (p *Player) passing(c client, m *wire.Message, near []match.Near) job {
	return job{waits: true, run: func(ctx context.Context, send func([]byte)) []byte {
		got, revision, err := p.o.Pass(ctx, m.Method, plainParams(m.Params))
		if err != nil {
			p.tally.once("not passed on: " + p.tally.text([]byte(err.Error())))
			return p.miss(m, near)
		}
		p.tally.missed("passed on: " + p.tally.what(m))
		n := p.library.learn(m, got, revision)
		return p.playing(n, c, m, 0, nil).run(ctx, send)
	}}
}

// plainParams are params without what belongs to one request of one client.
func plainParams(params json.RawMessage) json.RawMessage {
	for _, name := range []string{bridge.MetaVersion, bridge.MetaCapabilities, bridge.MetaClient, bridge.MetaLogLevel, "progressToken"} {
		params = bridge.WithoutMeta(params, name)
	}
	return params
}
