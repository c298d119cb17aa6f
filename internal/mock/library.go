package mock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// A library finds the recorded exchange that a live request repeats.
type library struct {
	level match.Level
	tally *tally

	mu      sync.RWMutex // of what follows, which grows with learn
	all     []Recorded
	index   *match.Index
	methods map[string]bool
	// pages are true for those that were recorded, and false where only a cursor leads to one.
	pages map[pageAt]bool
	// tasked says of each whether the recorded request asked for a task, as clients do up to 2025-11-25.
	tasked []bool
}

// add takes in one exchange. The caller holds mu, or is New.
func (l *library) add(x Recorded, m *wire.Message) {
	params, asked := withoutTask(m.Method, m.Params)
	l.methods[m.Method] = true
	if cursor := jsonraw.First(params, "cursor"); cursor != nil && mcp.IsServerList(m.Method) {
		l.pages[pageAt{m.Method, jsonraw.TextOrRaw(cursor)}] = true
	}
	l.all, l.tasked = append(l.all, x), append(l.tasked, asked)
	l.index.Add(match.Request{Revision: x.Revision, Method: m.Method, Params: params})
}

// learn takes in what a real server answered, and gives its number.
func (l *library) learn(m, got *wire.Message, revision string) int {
	x := &wire.Exchange{Request: wire.Frame{Raw: m.Raw, Dir: wire.Sent}, Response: wire.Frame{Raw: got.Raw, Dir: wire.Received}}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.all)
	l.add(Recorded{
		Number: fmt.Sprintf("passed-%d", n+1), Method: m.Method, Name: match.NameOf(m.Method, m.Params), Revision: revision, Answered: true,
		Run: math.MaxInt, Request: func() (*wire.Message, error) { return m, nil }, Load: func() (*wire.Exchange, error) { return x, nil },
	}, m)
	return n
}

// load gives a recorded request to the Index, which does not keep it. The caller holds mu.
func (l *library) load(n int) match.Request {
	x := l.all[n]
	m, err := x.Request()
	if err != nil {
		return match.Request{Revision: x.Revision, Method: x.Method}
	}
	params, _ := withoutTask(m.Method, m.Params)
	return match.Request{Revision: x.Revision, Method: m.Method, Params: params}
}

func (l *library) exchange(n int) Recorded {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.all[n]
}

// knows reports whether a method was recorded.
func (l *library) knows(method string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.methods[method]
}

// place names an exchange.
func (l *library) place(n int) string {
	if n < 0 {
		return "the start"
	}
	return "#" + l.exchange(n).Number
}

// find gives the exchange that answers a live request, or what is near; -1 is no exchange.
func (l *library) find(revision string, m *wire.Message) (n int, near []match.Near) {
	params, asked := withoutTask(m.Method, m.Params)
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := l.index.Find(match.Request{Revision: revision, Method: m.Method, Params: params})
	hits := l.choose(m, found.Hits, asked)
	switch {
	case len(hits) > 0:
		n = l.tally.turn(hits)
		if found.Report.HangsOnHidden() {
			l.tally.once("#" + l.all[n].Number + " " + shown(m.Method) + ": matched a hidden value of the recording")
		}
		return n, nil
	case len(found.Hits) > 0: // the same request but for a cursor
		was := jsonraw.First(l.load(found.Hits[0]).Params, "cursor")
		return -1, []match.Near{{
			Candidate: found.Hits[0], Distance: 1, Differences: 1,
			First: match.Difference{Pointer: "/cursor", Was: was, Is: jsonraw.First(m.Params, "cursor"), How: match.Changed},
		}}
	}
	return -1, slices.DeleteFunc(slices.Clone(found.Near), func(n match.Near) bool { return mcp.IsOpening(l.all[n.Candidate].Method) })
}

// choose keeps those of some exchanges that a request can mean, in recorded order: with the same cursor,
// of a list those of the newest run that has it, and those that were answered where some were.
func (l *library) choose(m *wire.Message, hits []int, asked bool) []int {
	hits = slices.Clone(hits)
	if l.level == match.Loose && len(hits) > 0 {
		first := l.sum(hits[0])
		hits = slices.DeleteFunc(hits, func(n int) bool { return l.sum(n) != first })
	}
	if mcp.IsServerList(m.Method) {
		cursor := jsonraw.First(m.Params, "cursor")
		newest := -1
		hits = slices.DeleteFunc(hits, func(n int) bool {
			other := jsonraw.TextOrRaw(jsonraw.First(l.load(n).Params, "cursor")) != jsonraw.TextOrRaw(cursor)
			if !other {
				newest = max(newest, l.all[n].Run)
			}
			return other
		})
		hits = slices.DeleteFunc(hits, func(n int) bool { return l.all[n].Run != newest })
	}
	hits = preferred(hits, func(n int) bool { return l.tasked[n] == asked })
	hits = preferred(hits, func(n int) bool { return l.all[n].Answered || l.all[n].Cancelled })
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

// sum is the same for two recorded requests that ask the same. The caller holds mu.
func (l *library) sum(n int) uint64 {
	r := l.load(n)
	return wire.ParseMessage(wire.ComposeRequest(json.RawMessage("0"), r.Method, r.Params)).Traits().Asks
}

// answeredRuns are the runs of the exchanges with hits, by the sums of their requests. The caller holds mu.
func (l *library) answeredRuns(hits map[int]int) map[uint64]map[int]bool {
	all := map[uint64]map[int]bool{}
	for n := range hits {
		sum := l.sum(n)
		if all[sum] == nil {
			all[sum] = map[int]bool{}
		}
		all[sum][l.all[n].Run] = true
	}
	return all
}

// compare compares a live request with a recorded one.
func (l *library) compare(live match.Request, n int) match.Report {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.index.Compare(live, n)
}

// nearest describes a candidate, as JSON and as text.
func (l *library) nearest(n match.Near) (json.RawMessage, string) {
	x := l.exchange(n.Candidate)
	method, name, pointer := shown(x.Method), l.tally.text(x.Name), l.tally.text(n.First.Pointer)
	was, is := l.tally.value(n.First.Pointer, n.First.Was), l.tally.value(n.First.Pointer, n.First.Is)
	var b jsonraw.Builder
	b.Text("exchange", x.Number)
	b.Text("method", method)
	b.TextIfAny("name", name)
	b.Raw("distance", json.RawMessage(fmt.Sprintf("%.3f", n.Distance)))
	b.Text("pointer", pointer)
	b.Text("recorded", was)
	b.Text("live", is)
	text := fmt.Sprintf("#%s %s (distance %.3f", x.Number, strings.TrimSpace(method+" "+name), n.Distance)
	if was != is {
		text += fmt.Sprintf(", %s: recorded %s, live %s", cmp.Or(pointer, "params"), cmp.Or(was, "nothing"), cmp.Or(is, "nothing"))
	}
	return b.Bytes(), text + ")"
}

// roundOf reads the requestState of askInRound.
func (l *library) roundOf(state string) (number, step int, ok bool) {
	parts := strings.Split(state, ":")
	if len(parts) != 3 || parts[0] != "mcpc-mock" {
		return 0, 0, false
	}
	number, err1 := strconv.Atoi(parts[1])
	step, err2 := strconv.Atoi(parts[2])
	l.mu.RLock()
	defer l.mu.RUnlock()
	return number, step, err1 == nil && err2 == nil && number >= 0 && number < len(l.all) && step > 0
}
