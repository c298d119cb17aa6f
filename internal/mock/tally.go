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

// A tally counts what is played, and reports what differs from the recording.
type tally struct {
	repeat Repeat
	report func(line string)
	hide   func(text string) string

	mu      sync.Mutex
	repeats map[int]int
	hits    map[int]int
	misses  int
	near    int
	told    map[string]bool
}

// mostTold is how many different lines are remembered, so that they are not reported again.
const mostTold = 10_000

// turn says which of the exchanges of one request is next.
func (t *tally) turn(hits []int) int {
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

// once reports something that is not reported again.
func (t *tally) once(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told[line] || len(t.told) >= mostTold {
		return
	}
	t.told[line] = true
	t.report(t.hide(line))
}

// missed counts and reports a request that was not recorded.
func (t *tally) missed(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.misses++
	t.report(t.hide(line))
}

// differed counts and reports what is near the recording and not the same.
func (t *tally) differed(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.near++
	t.report(t.hide("near miss: " + line))
}

// text is the start of a value without secrets and control characters.
func (t *tally) text(value string) string { return shown(t.hide(value)) }

// value is text for what stands at a JSON pointer, whose name may say that it is a secret.
func (t *tally) value(pointer string, raw []byte) string {
	if raw == nil {
		return ""
	}
	named := string(jsonraw.Quote(pointer[strings.LastIndexByte(pointer, '/')+1:])) + ":"
	return shown(strings.TrimPrefix(t.hide(named+string(raw)), named))
}

// learn takes in what a message names as a secret, which a report may have without its name.
func (t *tally) learn(raw []byte) { _ = t.hide(string(raw)) }

// compareAnswer reports an answer of the client that is not the recorded one. Where none was recorded there
// is nothing to compare.
func (t *tally) compareAnswer(where string, a *ask, got *wire.Message) {
	if a.result == nil && a.failed == nil {
		return
	}
	part, was, is := match.Result, a.result, got.Result
	if was == nil && is == nil && got.Error != nil {
		part, was, is = match.Error, a.failed, got.Error.Raw
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
	t.differed(fmt.Sprintf("%s at %s: recorded %s, live %s", line, t.text(d.Pointer), t.value(d.Pointer, d.Was), t.value(d.Pointer, d.Is)))
}

// Coverage says what of the recording was played.
type Coverage struct {
	Exchanges   []Covered `json:"exchanges"`
	Played      int       `json:"played"`
	NeverPlayed int       `json:"neverPlayed"`
	Misses      int       `json:"misses"`
	NearMisses  int       `json:"nearMisses"`
}

// Covered is one recorded exchange, and how often it was played. It counts as played also where the same
// request of another run was answered in its place.
type Covered struct {
	Number string `json:"exchange"`
	Method string `json:"method"`
	Name   string `json:"name,omitempty"`
	Played bool   `json:"played"`
	Hits   int    `json:"hits"`
}

// Coverage gives the counts so far, without secrets and control characters.
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

// The bytes that a report has of a value, and the line of a miss in all.
const (
	mostShown  = 200
	mostOfLine = 160
)

// shown is the start of a value as text without control characters.
func shown(text string) string {
	return sanitize.Line(jsonraw.Excerpt([]byte(text), mostShown), sanitize.Signs)
}
