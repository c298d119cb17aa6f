package mock

import (
	"fmt"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/sanitize"
	"mcpc/internal/wire"
)

// A tally counts what is played and reports differences from the recording.
type tally struct {
	repeat Repeat
	report func(line string)
	hide   func(text string) string

	mu sync.Mutex
	// repeats counts, by the first exchange of a repeated request, how often the request was
	// answered.
	repeats map[int]int
	// hits counts how often each exchange was played.
	hits   map[int]int
	misses int
	near   int
	// reported holds the lines that once has reported.
	reported map[string]bool
}

// maxReported limits the lines that once remembers.
const maxReported = 10_000

// next returns which of the exchanges of one repeated request is played next.
func (t *tally) next(hits []int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.repeats[hits[0]]
	t.repeats[hits[0]]++
	switch t.repeat {
	case Last:
		k = len(hits) - 1
	case Cycle:
		k %= len(hits)
	}
	return hits[min(k, len(hits)-1)]
}

// hit counts an exchange that is played.
func (t *tally) hit(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hits[n]++
}

// once reports a line unless it was reported before.
func (t *tally) once(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reported[line] || len(t.reported) >= maxReported {
		return
	}
	t.reported[line] = true
	t.report(t.hide(line))
}

// missed counts and reports a request that was not recorded.
func (t *tally) missed(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.misses++
	t.report(t.hide(line))
}

// differed counts and reports a near miss: a message that differs slightly from the recording.
func (t *tally) differed(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.near++
	t.report(t.hide("near miss: " + line))
}

// text returns the start of a value, without secrets and control characters.
func (t *tally) text(value string) string { return shown(t.hide(value)) }

// value returns the start of the JSON value at a pointer, without secrets and control characters.
// The last name in the pointer may mark the value as secret.
func (t *tally) value(pointer string, raw []byte) string {
	if raw == nil {
		return ""
	}
	named := string(jsonraw.Quote(pointer[strings.LastIndexByte(pointer, '/')+1:])) + ":"
	return shown(strings.TrimPrefix(t.hide(named+string(raw)), named))
}

// learn passes a message to Hide, which remembers the secrets that it names. A later report may
// contain them without their name.
func (t *tally) learn(raw []byte) { _ = t.hide(string(raw)) }

// compareAnswer reports an answer of the client that differs from the recorded one, if one was
// recorded.
func (t *tally) compareAnswer(where string, a *ask, got *wire.Message) {
	if a.result == nil && a.failed == nil {
		return
	}
	part := match.Result
	was := a.result
	is := got.Result
	if was == nil && is == nil && got.Error != nil {
		part = match.Error
		was = a.failed
		is = got.Error.Raw
	}
	line := where + ": the answer to " + shown(a.method) + " differs"
	if was == nil || is == nil {
		t.differed(line + ": only one of the recorded and the live one is a result")
		return
	}
	t.learn(is)
	r := match.Compare(was, is, match.Comparison{Part: part, Method: a.method, HiddenUnknown: true})
	if r.Same() {
		return
	}
	d := r.Differences[0]
	t.differed(fmt.Sprintf("%s at %s: recorded %s, live %s",
		line, t.text(d.Pointer), t.value(d.Pointer, d.Was), t.value(d.Pointer, d.Is)))
}

// Coverage describes how much of the recording was played.
type Coverage struct {
	Exchanges   []Covered `json:"exchanges"`
	Played      int       `json:"played"`
	NeverPlayed int       `json:"neverPlayed"`
	Misses      int       `json:"misses"`
	NearMisses  int       `json:"nearMisses"`
}

// Covered describes how often one recorded exchange was played. An exchange also counts as played
// if the same request of a different run was answered in its place.
type Covered struct {
	Number string `json:"exchange"`
	Method string `json:"method"`
	Name   string `json:"name,omitempty"`
	Played bool   `json:"played"`
	Hits   int    `json:"hits"`
}

// Coverage returns the counts so far, without secrets and control characters.
func (p *Player) Coverage() Coverage {
	p.library.mu.RLock()
	defer p.library.mu.RUnlock()
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	c := Coverage{Exchanges: []Covered{}, Misses: p.tally.misses, NearMisses: p.tally.near}
	answered := p.library.answeredRuns(p.tally.hits)
	for i, x := range p.library.all {
		hits := p.tally.hits[i]
		runs := answered[p.library.sum(i)]
		played := hits > 0 || len(runs) > 1 || len(runs) == 1 && !runs[x.Run]
		c.Exchanges = append(c.Exchanges, Covered{x.Number, shown(x.Method), p.tally.text(x.Name), played, hits})
		if played {
			c.Played++
		} else {
			c.NeverPlayed++
		}
	}
	return c
}

// The maximum bytes of a value in a report, and of the line of a miss.
const (
	maxShown = 200
	maxLine  = 160
)

// shown returns the start of a value as text without control characters.
func shown(text string) string {
	return sanitize.Line(jsonraw.Excerpt([]byte(text), maxShown), sanitize.Signs)
}
