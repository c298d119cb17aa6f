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
	hits       map[int]int
	misses     int
	nearMisses int
	// reported holds the lines that reportOnce has reported.
	reported map[string]bool
}

// maxReported limits the lines that reportOnce remembers.
const maxReported = 10_000

// nextOf returns which of the exchanges of one repeated request is played next, and counts it. hits has
// at least one exchange. After the last exchange it is repeated, unless Repeat is Cycle.
func (t *tally) nextOf(hits []int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	position := t.repeats[hits[0]]
	t.repeats[hits[0]]++
	switch t.repeat {
	case Last:
		position = len(hits) - 1
	case Cycle:
		position %= len(hits)
	}
	return hits[min(position, len(hits)-1)]
}

// forgetRepeats lets nextOf begin with the first exchange of each request again.
func (t *tally) forgetRepeats() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.repeats)
}

// countHit counts an exchange that is played.
func (t *tally) countHit(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hits[n]++
}

// reportOnce reports a line unless it was reported before. After maxReported lines it reports nothing.
func (t *tally) reportOnce(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reported[line] || len(t.reported) >= maxReported {
		return
	}
	t.reported[line] = true
	t.report(t.hide(line))
}

// reportMiss counts and reports a request that was not recorded.
func (t *tally) reportMiss(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.misses++
	t.report(t.hide(line))
}

// reportNearMiss counts and reports a near miss: a message that differs slightly from the recording.
func (t *tally) reportNearMiss(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nearMisses++
	t.report(t.hide("near miss: " + line))
}

// showText returns the start of a value, without secrets and control characters.
func (t *tally) showText(value string) string { return showStart(t.hide(value)) }

// showValue returns the start of the JSON value at a pointer, without secrets and control characters.
// The last name in the pointer may mark the value as secret.
func (t *tally) showValue(pointer string, raw []byte) string {
	if raw == nil {
		return ""
	}
	// Hide sees the value as a member, as in the message.
	named := string(jsonraw.Quote(pointer[strings.LastIndexByte(pointer, '/')+1:])) + ":"
	return showStart(strings.TrimPrefix(t.hide(named+string(raw)), named))
}

// learnSecrets passes a message to Hide, which remembers the secrets that it names. A later report may
// contain them without their name.
func (t *tally) learnSecrets(raw []byte) { _ = t.hide(string(raw)) }

// compareAnswer reports an answer of the client that differs from the recorded one, if one was
// recorded.
func (t *tally) compareAnswer(where string, a *serverRequest, got *wire.Message) {
	if a.result == nil && a.errorObject == nil {
		return
	}
	part := match.Result
	recorded := a.result
	live := got.Result
	if recorded == nil && live == nil && got.Error != nil {
		part = match.Error
		recorded = a.errorObject
		live = got.Error.Raw
	}
	line := where + ": the answer to " + showStart(a.method) + " differs"
	if recorded == nil || live == nil {
		t.reportNearMiss(line + ": only one of the recorded and the live answer is a result")
		return
	}
	t.learnSecrets(live)
	r := match.Compare(recorded, live, match.Comparison{Part: part, Method: a.method, HiddenUnknown: true})
	if r.Same() {
		return
	}
	first := r.Differences[0]
	t.reportNearMiss(fmt.Sprintf("%s at %s: recorded %s, live %s", line, t.showText(first.Pointer),
		t.showValue(first.Pointer, first.Was), t.showValue(first.Pointer, first.Is)))
}

// Coverage describes how much of the recording was played.
type Coverage struct {
	Exchanges   []Covered `json:"exchanges"`
	Played      int       `json:"played"`
	NeverPlayed int       `json:"neverPlayed"`
	Misses      int       `json:"misses"`
	NearMisses  int       `json:"nearMisses"`
	// Continued is nil without a Continuation.
	Continued *Continued `json:"continued,omitempty"`
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
	continued := p.continued()
	p.library.mu.RLock()
	defer p.library.mu.RUnlock()
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	c := Coverage{Exchanges: []Covered{}, Misses: p.tally.misses, NearMisses: p.tally.nearMisses, Continued: continued}
	answered := p.library.answeredRuns(p.tally.hits)
	for i, x := range p.library.exchanges {
		hits := p.tally.hits[i]
		runs := answered[p.library.checksum(i)]
		isAnsweredByOtherRun := len(runs) > 1 || len(runs) == 1 && !runs[x.Run]
		isPlayed := hits > 0 || isAnsweredByOtherRun
		c.Exchanges = append(c.Exchanges, Covered{x.Number, showStart(x.Method), p.tally.showText(x.Name), isPlayed, hits})
		if isPlayed {
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

// showStart returns the start of a value as text without control characters.
func showStart(text string) string {
	return sanitize.Line(jsonraw.Excerpt([]byte(text), maxShown), sanitize.Signs)
}
