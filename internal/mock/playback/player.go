package playback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/wire"
)

// Recorded is one recorded request of a client with what came back for it.
type Recorded struct {
	// Number is how a person names the exchange; Name is that of the tool, prompt, URI, task or cursor.
	Number, Method, Name string
	// Revision is that of its connection, "" where it is not known.
	Revision string
	// Run tells the runs of a recording apart; a larger one is newer.
	Run  int
	Time time.Time
	// Cancelled is set where the response was no longer awaited, Answered where one came.
	Cancelled, Answered bool
	// Request gives the message of the request, Load all of the exchange.
	Request func() (*wire.Message, error)
	Load    func() (*wire.Exchange, error)
}

// Unrequested is a message of the server that belongs to no request of the client.
type Unrequested struct {
	// After is the index of the exchange that it followed, -1 where it preceded all of them.
	After   int
	Message *wire.Message
	// Answer is the client's to a request of the server; nil elsewhere.
	Answer *wire.Message
}

// A Recording is what a Player plays, in recorded order.
type Recording struct {
	Exchanges   []Recorded
	Unrequested []Unrequested
}

// Repeat says which answer a request gets that was recorded several times.
type Repeat string

// The ways to repeat: each in its order and then the last one for ever, the last one only, round and round.
const (
	InOrder Repeat = "in-order"
	Last    Repeat = "last"
	Cycle   Repeat = "cycle"
)

// Options say how a Player plays.
type Options struct {
	Eras   Eras
	Level  match.Level
	Repeat Repeat
	// Nearest answers a request that was not recorded with the nearest one of its method.
	Nearest bool
	// Pass answers a request that was not recorded: it gives the response of a real server, whose id
	// does not count. It may be nil.
	Pass func(ctx context.Context, method string, params json.RawMessage) (*wire.Message, error)
	Pace Pace
	// Report is told each miss, near miss and request without a counterpart, as one line without
	// control characters. Calls do not overlap.
	Report func(line string)
	// Hide takes the secrets out of a text.
	Hide func(text string) string
	// Now is the clock, SessionID makes a new one.
	Now       func() time.Time
	SessionID func() string
}

// A Player plays a recording. All methods may be called from several goroutines.
type Player struct {
	o         Options
	handshake handshake
	after     map[int][]Unrequested
	tasks     tasks
	hub       hub

	mu    sync.RWMutex // of what follows, where it grows with Pass
	all   []Recorded
	index *match.Index
	calls []bool // the recorded request asked for a task (2025-11-25)

	counting sync.Mutex
	repeats  map[int]int
	hits     []int
	misses   int
	near     int
	told     map[string]bool
}

// New reads through a recording once. The error is that of its file.
func New(r Recording, o Options) (*Player, error) {
	p := &Player{o: o, after: map[int][]Unrequested{}, repeats: map[int]int{}, told: map[string]bool{}}
	p.index = match.NewIndex(match.Options{Level: o.Level, Load: p.load})
	p.tasks = newTasks()
	for _, u := range r.Unrequested {
		p.after[u.After] = append(p.after[u.After], u)
	}
	for _, x := range r.Exchanges {
		m, err := x.Request()
		if err != nil {
			return nil, err
		}
		p.add(x, m)
	}
	for i := range p.all {
		if err := p.handshake.learn(p.all[i], i); err != nil {
			return nil, err
		}
	}
	p.handshake.complete(p)
	return p, nil
}

// add takes in one exchange.
func (p *Player) add(x Recorded, m *wire.Message) {
	n := len(p.all)
	p.all, p.hits = append(p.all, x), append(p.hits, 0)
	params, asked := withoutTask(m.Method, m.Params)
	p.calls = append(p.calls, asked)
	p.index.Add(match.Request{Revision: x.Revision, Method: m.Method, Params: params})
	if id := taskOf(m); id != "" {
		p.tasks.recorded[id] = append(p.tasks.recorded[id], n)
	}
}

// load gives a recorded request to the Index, which does not keep it.
func (p *Player) load(n int) match.Request {
	x := p.all[n]
	m, err := x.Request()
	if err != nil {
		return match.Request{Revision: x.Revision, Method: x.Method}
	}
	params, _ := withoutTask(m.Method, m.Params)
	return match.Request{Revision: x.Revision, Method: m.Method, Params: params}
}

func (p *Player) exchange(n int) Recorded {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.all[n]
}

// find gives the exchange that answers a live request, or what is near.
func (p *Player) find(revision string, m *wire.Message) (n int, near []match.Near) {
	params, asked := withoutTask(m.Method, m.Params)
	p.mu.RLock()
	defer p.mu.RUnlock()
	found := p.index.Find(match.Request{Revision: revision, Method: m.Method, Params: params})
	hits := p.choose(m, found.Hits, asked)
	if len(hits) == 0 {
		near = p.describable(found.Near)
		if len(found.Hits) > 0 { // the same request but for a cursor
			near = nil
		}
		return -1, near
	}
	return p.turn(hits), nil
}

// choose keeps those of some exchanges that a request can mean, in recorded order: with the same cursor,
// of a list those of the newest run that has it, and those that were answered where some were.
func (p *Player) choose(m *wire.Message, hits []int, asked bool) []int {
	if p.o.Level == match.Loose && len(hits) > 0 {
		first := p.sum(hits[0])
		hits = slices.DeleteFunc(slices.Clone(hits), func(n int) bool { return p.sum(n) != first })
	}
	if isList(m.Method) {
		cursor := jsonraw.First(m.Params, "cursor")
		hits = slices.DeleteFunc(slices.Clone(hits), func(n int) bool {
			return jsonraw.TextOrRaw(jsonraw.First(p.load(n).Params, "cursor")) != jsonraw.TextOrRaw(cursor)
		})
		newest := -1
		for _, n := range hits {
			newest = max(newest, p.all[n].Run)
		}
		hits = slices.DeleteFunc(hits, func(n int) bool { return p.all[n].Run != newest })
	}
	hits = preferred(hits, func(n int) bool { return p.calls[n] == asked })
	hits = preferred(hits, func(n int) bool { return p.all[n].Answered || p.all[n].Cancelled })
	hits = slices.Clone(hits)
	slices.Sort(hits)
	return hits
}

// preferred gives those that are good, or all where none is.
func preferred(all []int, good func(int) bool) []int {
	some := slices.DeleteFunc(slices.Clone(all), func(n int) bool { return !good(n) })
	if len(some) == 0 {
		return all
	}
	return some
}

// sum is the same for two recorded requests that ask the same.
func (p *Player) sum(n int) uint64 {
	r := p.load(n)
	return wire.ParseMessage(wire.ComposeRequest(json.RawMessage("0"), r.Method, r.Params)).Traits().Asks
}

// turn says which of the exchanges of one request is next.
func (p *Player) turn(hits []int) int {
	p.counting.Lock()
	defer p.counting.Unlock()
	k := p.repeats[hits[0]]
	p.repeats[hits[0]]++
	switch p.o.Repeat {
	case Last:
		k = len(hits) - 1
	case Cycle:
		k %= len(hits)
	}
	return hits[min(k, len(hits)-1)]
}

// describable leaves out candidates that no client asks twice for: openings.
func (p *Player) describable(near []match.Near) []match.Near {
	return slices.DeleteFunc(slices.Clone(near), func(n match.Near) bool { return isOpening(p.all[n.Candidate].Method) })
}

// hit counts an exchange that was played.
func (p *Player) hit(n int) {
	p.counting.Lock()
	defer p.counting.Unlock()
	p.hits[n]++
}

// once reports something that is not said again.
func (p *Player) once(line string) {
	p.counting.Lock()
	defer p.counting.Unlock()
	if !p.told[line] {
		p.told[line] = true
		p.say(line)
	}
}

// say reports a line; counting is locked.
func (p *Player) say(line string) { p.o.Report(p.o.Hide(line)) }

// differed counts and reports what is near the recording and not the same.
func (p *Player) differed(line string) {
	p.counting.Lock()
	defer p.counting.Unlock()
	p.near++
	p.say("near miss: " + line)
}

// what names a request in reports.
func what(m *wire.Message) string {
	name := match.NameOf(m.Method, m.Params)
	if name == "" {
		return shown([]byte(m.Method))
	}
	return shown([]byte(m.Method)) + " " + shown([]byte(name))
}

// miss counts and reports a request that was not recorded, and gives its error.
func (p *Player) miss(m *wire.Message, near []match.Near) []byte {
	items := make([]json.RawMessage, 0, len(near))
	line := "miss: " + what(m)
	p.mu.RLock()
	for i, n := range near {
		item, text := p.nearest(n)
		items = append(items, item)
		if i == 0 {
			text = "nearest: " + text
		}
		line += "; " + text
	}
	p.mu.RUnlock()
	p.counting.Lock()
	p.misses++
	p.say(line)
	p.counting.Unlock()
	code, text := int64(-32602), "the recording has no such request"
	if capability := capabilityOf(m.Method); capability == "" || !p.handshake.declares(capability) {
		code, text = -32601, "Method not found"
	}
	data := jsonraw.With(nil, "nearest", jsonraw.List(items))
	return composeError(m.ID, failure(code, text, data))
}

// nearest describes a candidate, as JSON and as text.
func (p *Player) nearest(n match.Near) (json.RawMessage, string) {
	x := p.all[n.Candidate]
	was, is := p.text(n.First.Was), p.text(n.First.Is)
	var b jsonraw.Builder
	b.Text("exchange", x.Number)
	b.Text("method", shown([]byte(x.Method)))
	b.TextIfAny("name", p.text([]byte(x.Name)))
	b.Raw("distance", json.RawMessage(fmt.Sprintf("%.3f", n.Distance)))
	b.Text("pointer", shown([]byte(n.First.Pointer)))
	b.Text("recorded", was)
	b.Text("live", is)
	text := fmt.Sprintf("#%s %s (distance %.3f", x.Number, joined(shown([]byte(x.Method)), p.text([]byte(x.Name))), n.Distance)
	if n.First.Pointer != "" || was != is {
		text += fmt.Sprintf(", %s: recorded %s, live %s", cmp.Or(shown([]byte(n.First.Pointer)), "params"), cmp.Or(was, "nothing"), cmp.Or(is, "nothing"))
	}
	return b.Bytes(), text + ")"
}

func joined(method, name string) string {
	if name == "" {
		return method
	}
	return method + " " + name
}

// Coverage says what of the recording was played.
type Coverage struct {
	Exchanges   []Covered `json:"exchanges"`
	Played      int       `json:"played"`
	NeverPlayed int       `json:"neverPlayed"`
	Misses      int       `json:"misses"`
	NearMisses  int       `json:"nearMisses"`
}

// Covered is one recorded exchange, and how often it was played.
type Covered struct {
	Number string `json:"exchange"`
	Method string `json:"method"`
	Name   string `json:"name,omitempty"`
	Hits   int    `json:"hits"`
}

// Coverage gives the counts so far, without secrets.
func (p *Player) Coverage() Coverage {
	p.mu.RLock()
	defer p.mu.RUnlock()
	p.counting.Lock()
	defer p.counting.Unlock()
	c := Coverage{Exchanges: []Covered{}, Misses: p.misses, NearMisses: p.near}
	for i, x := range p.all {
		c.Exchanges = append(c.Exchanges, Covered{x.Number, shown([]byte(x.Method)), p.text([]byte(x.Name)), p.hits[i]})
		if p.hits[i] > 0 {
			c.Played++
		} else {
			c.NeverPlayed++
		}
	}
	return c
}
