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
	// isPreferred reports whether exchange n is played rather than others with the same request. It may
	// be nil.
	isPreferred func(n int) bool

	mu        sync.RWMutex // guards the fields below; learn adds to them
	exchanges []Recorded
	index     *match.Index
	methods   map[string]bool
	// pages maps a page of a list to true if it was recorded, and to false if only its cursor was.
	pages map[listPage]bool
	// asksForTask reports for each exchange whether its request asked for a task, as in 2025-11-25.
	asksForTask []bool
}

// add appends one exchange. The caller is NewPlayer, or holds mu.
func (l *library) add(x Recorded, m *wire.Message) {
	params, wantsTask := withoutTask(m.Method, m.Params)
	l.methods[m.Method] = true
	if cursor := jsonraw.First(params, "cursor"); cursor != nil && mcp.IsServerList(m.Method) {
		l.pages[listPage{m.Method, jsonraw.TextOrRaw(cursor)}] = true
	}
	l.exchanges = append(l.exchanges, x)
	l.asksForTask = append(l.asksForTask, wantsTask)
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
	n := len(l.exchanges)
	l.add(Recorded{
		Number:   fmt.Sprintf("passed-%d", n+1),
		Method:   m.Method,
		Name:     match.NameOf(m.Method, m.Params),
		Revision: revision,
		Answered: true,
		Run:      math.MaxInt, // newer than all recorded runs
		Request:  func() (*wire.Message, error) { return m, nil },
		Load:     func() (*wire.Exchange, error) { return x, nil },
	}, m)
	return n
}

// loadRequest returns recorded request n for the Index, which does not store requests. The caller holds
// mu.
func (l *library) loadRequest(n int) match.Request {
	x := l.exchanges[n]
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
	return l.exchanges[n]
}

// hasMethod reports whether a request of the method was recorded.
func (l *library) hasMethod(method string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.methods[method]
}

// describePlace returns how reports name exchange n: "#" and its number, or "the start" if n is negative.
func (l *library) describePlace(n int) string {
	if n < 0 {
		return "the start"
	}
	return "#" + l.exchange(n).Number
}

// find returns the index of the exchange that answers a live request, and counts that the request was
// answered. If no exchange matches, it returns -1 and the nearest candidates.
func (l *library) find(revision string, m *wire.Message) (n int, near []match.Near) {
	params, wantsTask := withoutTask(m.Method, m.Params)
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := l.index.Find(match.Request{Revision: revision, Method: m.Method, Params: params})
	hits := l.choose(m, found.Hits, wantsTask)
	if len(hits) > 0 {
		n = l.tally.nextOf(hits)
		if found.Report.HangsOnHidden() {
			l.tally.reportOnce("#" + l.exchanges[n].Number + " " + showStart(m.Method) +
				": matched a hidden value of the recording")
		}
		return n, nil
	}
	if len(found.Hits) > 0 { // the requests differ in the cursor only
		first := match.Difference{
			Pointer: "/cursor",
			Was:     jsonraw.First(l.loadRequest(found.Hits[0]).Params, "cursor"),
			Is:      jsonraw.First(m.Params, "cursor"),
			How:     match.Changed,
		}
		return -1, []match.Near{{Candidate: found.Hits[0], Distance: 1, Differences: 1, First: first}}
	}
	// Prepare answers handshakes itself.
	isHandshake := func(n match.Near) bool { return mcp.IsOpening(l.exchanges[n.Candidate].Method) }
	return -1, slices.DeleteFunc(slices.Clone(found.Near), isHandshake)
}

// choose reduces the exchanges that match a request to the best ones, in recorded order. For a
// list, it keeps the exchanges with the same cursor of the newest run that has them. It prefers
// exchanges with the same wish for a task, and exchanges that were answered.
func (l *library) choose(m *wire.Message, hits []int, wantsTask bool) []int {
	hits = slices.Clone(hits)
	if l.level == match.Loose && len(hits) > 0 { // the hits may differ; only hits that equal the first are repeats
		first := l.checksum(hits[0])
		hits = slices.DeleteFunc(hits, func(n int) bool { return l.checksum(n) != first })
	}
	if mcp.IsServerList(m.Method) {
		cursor := jsonraw.First(m.Params, "cursor")
		newest := -1
		hits = slices.DeleteFunc(hits, func(n int) bool {
			isOtherPage := jsonraw.TextOrRaw(jsonraw.First(l.loadRequest(n).Params, "cursor")) != jsonraw.TextOrRaw(cursor)
			if !isOtherPage {
				newest = max(newest, l.exchanges[n].Run)
			}
			return isOtherPage
		})
		hits = slices.DeleteFunc(hits, func(n int) bool { return l.exchanges[n].Run != newest })
	}
	if l.isPreferred != nil {
		hits = preferred(hits, l.isPreferred)
	}
	hits = preferred(hits, func(n int) bool { return l.asksForTask[n] == wantsTask })
	hits = preferred(hits, func(n int) bool { return l.exchanges[n].Answered || l.exchanges[n].Cancelled })
	slices.Sort(hits)
	return hits
}

// preferred returns the exchanges that isPreferred accepts, or all exchanges if it accepts no
// exchange.
func preferred(all []int, isPreferred func(int) bool) []int {
	selected := slices.DeleteFunc(slices.Clone(all), func(n int) bool { return !isPreferred(n) })
	if len(selected) == 0 {
		return all
	}
	return selected
}

// checksum returns a checksum of request n that is equal for two requests with the same meaning. The
// caller holds mu.
func (l *library) checksum(n int) uint64 {
	r := l.loadRequest(n)
	anyID := json.RawMessage("0") // the hash leaves the id out
	return wire.ParseMessage(wire.ComposeRequest(anyID, r.Method, r.Params)).Traits().ContentHash
}

// answeredRuns returns the runs of the exchanges with hits, by the checksums of their requests. hits has
// the number of hits by the index of the exchange. The caller holds mu.
func (l *library) answeredRuns(hits map[int]int) map[uint64]map[int]bool {
	all := map[uint64]map[int]bool{}
	for n := range hits {
		sum := l.checksum(n)
		if all[sum] == nil {
			all[sum] = map[int]bool{}
		}
		all[sum][l.exchanges[n].Run] = true
	}
	return all
}

// compare compares a live request with recorded request n.
func (l *library) compare(live match.Request, n int) match.Report {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.index.Compare(live, n)
}

// describeNear returns a candidate, with its first difference from the live request, as JSON and as text.
// Neither contains secrets.
func (l *library) describeNear(n match.Near) (json.RawMessage, string) {
	x := l.exchange(n.Candidate)
	method := showStart(x.Method)
	name := l.tally.showText(x.Name)
	pointer := l.tally.showText(n.First.Pointer)
	was := l.tally.showValue(n.First.Pointer, n.First.Was)
	is := l.tally.showValue(n.First.Pointer, n.First.Is)
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

// parseRoundState parses the requestState that composeRound wrote: the index of the exchange and its step. It
// reports false if state is invalid or names no exchange.
func (l *library) parseRoundState(state string) (number, step int, ok bool) {
	parts := strings.Split(state, ":")
	if len(parts) != 3 || parts[0] != "mcpc-mock" {
		return 0, 0, false
	}
	number, numberErr := strconv.Atoi(parts[1])
	step, stepErr := strconv.Atoi(parts[2])
	l.mu.RLock()
	defer l.mu.RUnlock()
	isExchange := numberErr == nil && number >= 0 && number < len(l.exchanges)
	return number, step, isExchange && stepErr == nil && step > 0
}
