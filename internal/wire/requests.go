package wire

import (
	"cmp"
	"maps"
	"slices"

	"mcpc/internal/recent"
)

// requests are those of one side, answered or not, by id and by progress token.
type requests struct{ byID, byToken recent.Map[string, *thread] }

// put remembers a request by what m, its message, says.
func (r *requests) put(t *thread, m *Traits) {
	r.byID.Put(m.ID, t)
	t.token = m.Token
	if m.Token != "" {
		r.byToken.Put(m.Token, t)
	}
}

// Sent is the exchange of the last request that the client sent with this id. The first call looks
// through all conversations, where the exchange that began last counts.
func (f *Correlator) Sent(id []byte) (exchange int, known bool) {
	if f.sent == nil {
		numbers := map[string]int{}
		for _, c := range f.conns.All() {
			for id, t := range c.sent.byID.All() {
				numbers[id] = max(numbers[id], t.number)
			}
		}
		f.sent = &recent.Map[string, int]{}
		byNumber := func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) }
		for _, id := range slices.SortedFunc(maps.Keys(numbers), byNumber) {
			f.sent.Put(id, numbers[id]+1)
		}
	}
	number := f.sent.Get(idKey(id))
	return number - 1, number > 0
}

// noteSent notes the requests of a frame for Sent: their numbers from 1.
func (f *Correlator) noteSent(t *Traits, places []Place) {
	for _, p := range places {
		switch {
		case p.Role > Continues:
		case p.Item < 0:
			f.sent.Put(t.ID, p.Exchange+1)
		default:
			f.sent.Put(t.Items[p.Item].ID, p.Exchange+1)
		}
	}
}

// unanswered are the requests of the client that wait for their response.
type unanswered struct {
	all map[*thread]struct{}
	// tooMany is set once there were more than recent.DefaultLeast. From then on all is empty.
	tooMany bool
}

func (u *unanswered) add(t *thread) {
	switch {
	case u.tooMany:
	case len(u.all) >= recent.DefaultLeast:
		u.tooMany = true
		u.all = nil
	default:
		if u.all == nil {
			u.all = map[*thread]struct{}{}
		}
		u.all[t] = struct{}{}
	}
}

// remove forgets a request, answered or not.
func (u *unanswered) remove(t *thread) { delete(u.all, t) }

// mostAtOnce is how many requests single looks at.
const maxSingleSearch = 100

// single is the only request that waits, nil where there are none or several. One that
// subscribes waits for ever, and what comes for it says so.
func (u *unanswered) single() (only *thread) {
	if len(u.all) > maxSingleSearch {
		return nil
	}
	for t := range u.all {
		if t.method == "subscriptions/listen" {
			continue
		}
		if only != nil {
			return nil
		}
		only = t
	}
	return only
}

// rounds are the exchanges whose response asked for more, and that a further request
// continues (2026-07-28 basic/patterns/mrtr).
type rounds []*thread

// mostRounds bounds the exchanges that wait for a further request, which may never come.
const maxRounds = 1000

// add remembers an exchange by the state that m, its response, handed out.
func (r *rounds) add(t *thread, m *Traits) {
	if len(*r) < maxRounds {
		t.state = m.State
		*r = append(*r, t)
	}
}

// take removes and returns the exchange that m continues, the newest if there are several:
// m is the same request again and gives back the state that the server handed out, or at
// least answers where it asked. A server may hand out the same state for all its tools.
func (r *rounds) removeContinued(m *Traits) *thread {
	if m.State == "" && !m.Answers {
		return nil
	}
	for i, t := range slices.Backward(*r) {
		if t.state == m.State && t.method == m.Method && t.name == m.Name {
			*r = slices.Delete(*r, i, i+1)
			return t
		}
	}
	return nil
}
