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

// A library holds the recorded exchanges. It finds the exchange that a live request repeats.
type library struct {
	level match.Level
	tally *tally

	mu      sync.RWMutex // guards the fields below; learn adds to them
	all     []Recorded
	index   *match.Index
	methods map[string]bool
	// pages maps a page of a list to true if it was recorded, and to false if only its cursor was.
	pages map[listPage]bool
	// tasked reports for each exchange whether its request asked for a task, as in 2025-11-25.
	tasked []bool
}

// add appends one exchange. The caller is NewPlayer, or holds mu.
func (l *library) add(x Recorded, m *wire.Message) {
	params, asked := withoutTask(m.Method, m.Params)
	l.methods[m.Method] = true
	if cursor := jsonraw.First(params, "cursor"); cursor != nil && mcp.IsServerList(m.Method) {
		l.pages[listPage{m.Method, jsonraw.TextOrRaw(cursor)}] = true
	}
	l.all = append(l.all, x)
	l.tasked = append(l.tasked, asked)
	l.index.Add(match.Request{Revision: x.Revision, Method: m.Method, Params: params})
}

// learn appends the exchange of a live request and a real server's response, and returns its index.
func (l *library) learn(m, got *wire.Message, revision string) int {
	x := &wire.Exchange{
		Request:  wire.Frame{Raw: m.Raw, Dir: wire.Sent},
		Response: wire.Frame{Raw: got.Raw, Dir: wire.Received},
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.all)
	l.add(Recorded{
		Number:   fmt.Sprintf("passed-%d", n+1),
		Method:   m.Method,
		Name:     match.NameOf(m.Method, m.Params),
		Revision: revision,
		Answered: true,
		Run:      math.MaxInt,
		Request:  func() (*wire.Message, error) { return m, nil },
		Load:     func() (*wire.Exchange, error) { return x, nil },
	}, m)
	return n
}

// load returns recorded request n for the Index, which does not store requests. The caller holds
// mu.
func (l *library) load(n int) match.Request {
	x := l.all[n]
	m, err := x.Request()
	if err != nil {
		return match.Request{Revision: x.Revision, Method: x.Method}
	}
	params, _ := withoutTask(m.Method, m.Params)
	return match.Request{Revision: x.Revision, Method: m.Method, Params: params}
}

// exchange returns the exchange n.
func (l *library) exchange(n int) Recorded {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.all[n]
}

// knows reports whether a request of the method was recorded.
func (l *library) knows(method string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.methods[method]
}

// place returns how reports name exchange n: "#" and its number, or "the start" if n is negative.
func (l *library) place(n int) string {
	if n < 0 {
		return "the start"
	}
	return "#" + l.exchange(n).Number
}

// find returns the index of the exchange that answers a live request. If no exchange matches, it
// returns -1 and the nearest candidates.
func (l *library) find(revision string, m *wire.Message) (n int, near []match.Near) {
	params, asked := withoutTask(m.Method, m.Params)
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := l.index.Find(match.Request{Revision: revision, Method: m.Method, Params: params})
	hits := l.choose(m, found.Hits, asked)
	if len(hits) > 0 {
		n = l.tally.next(hits)
		if found.Report.HangsOnHidden() {
			l.tally.once("#" + l.all[n].Number + " " + shown(m.Method) + ": matched a hidden value of the recording")
		}
		return n, nil
	}
	if len(found.Hits) > 0 { // the requests differ in the cursor only
		first := match.Difference{
			Pointer: "/cursor",
			Was:     jsonraw.First(l.load(found.Hits[0]).Params, "cursor"),
			Is:      jsonraw.First(m.Params, "cursor"),
			How:     match.Changed,
		}
		return -1, []match.Near{{Candidate: found.Hits[0], Distance: 1, Differences: 1, First: first}}
	}
	opens := func(n match.Near) bool { return mcp.IsOpening(l.all[n.Candidate].Method) }
	return -1, slices.DeleteFunc(slices.Clone(found.Near), opens)
}

// choose reduces the exchanges that match a request to the best ones, in recorded order. For a
// list, it keeps the exchanges with the same cursor of the newest run that has them. It prefers
// exchanges with the same wish for a task, and exchanges that were answered.
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

// preferred returns the exchanges that satisfy ok, or all exchanges if no exchange satisfies it.
func preferred(all []int, ok func(int) bool) []int {
	selected := slices.DeleteFunc(slices.Clone(all), func(n int) bool { return !ok(n) })
	if len(selected) == 0 {
		return all
	}
	return selected
}

// sum returns a checksum of request n that is equal for two requests with the same meaning. The
// caller holds mu.
func (l *library) sum(n int) uint64 {
	r := l.load(n)
	return wire.ParseMessage(wire.ComposeRequest(json.RawMessage("0"), r.Method, r.Params)).Traits().ContentHash
}

// answeredRuns returns the runs of the exchanges with hits, by the checksums of their requests. The
// caller holds mu.
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

// compare compares a live request with recorded request n.
func (l *library) compare(live match.Request, n int) match.Report {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.index.Compare(live, n)
}

// nearest describes a candidate as JSON and as text.
func (l *library) nearest(n match.Near) (json.RawMessage, string) {
	x := l.exchange(n.Candidate)
	method := shown(x.Method)
	name := l.tally.text(x.Name)
	pointer := l.tally.text(n.First.Pointer)
	was := l.tally.value(n.First.Pointer, n.First.Was)
	is := l.tally.value(n.First.Pointer, n.First.Is)
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
		text += fmt.Sprintf(", %s: recorded %s, live %s",
			cmp.Or(pointer, "params"), cmp.Or(was, "nothing"), cmp.Or(is, "nothing"))
	}
	return b.Bytes(), text + ")"
}

// roundOf parses the requestState that askInRound wrote: the index of the exchange and its step. It
// reports false if state is invalid or names no exchange.
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
