package wire

import (
	"cmp"
	"maps"
	"slices"

	"mcpc/internal/recent"
)

// A requests indexes the requests of one side, including answered ones, by id and progress token.
type requests struct{ byID, byToken recent.Map[string, *thread] }

// put records a request with the traits of its message.
func (r *requests) put(t *thread, m *Traits) {
	r.byID.Put(m.ID, t)
	t.progressToken = m.ProgressToken
	if m.ProgressToken != "" {
		r.byToken.Put(m.ProgressToken, t)
	}
}

// FindSent returns the number of the exchange of the client's last request with an id, in any
// conversation, and whether there is one. The first call builds the index that noteSent then updates;
// it prefers the exchange that began last.
func (f *Correlator) FindSent(id []byte) (int, bool) {
	if f.exchangeBySentID == nil {
		numbers := map[string]int{}
		for _, c := range f.conns.All() {
			for id, t := range c.clientRequests.byID.All() {
				numbers[id] = max(numbers[id], t.number)
			}
		}
		f.exchangeBySentID = &recent.Map[string, int]{}
		// The map forgets the oldest entries first, so the newest exchange is put last.
		byNumber := func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) }
		for _, id := range slices.SortedFunc(maps.Keys(numbers), byNumber) {
			f.exchangeBySentID.Put(id, numbers[id]+1)
		}
	}
	number := f.exchangeBySentID.Get(idKey(id))
	return number - 1, number > 0
}

// noteSent records the requests in a frame for FindSent. It stores the number of the exchange plus 1,
// because 0 means unknown.
func (f *Correlator) noteSent(t *Traits, places []Place) {
	for _, p := range places {
		if p.Role > RoleContinuation { // not a request
			continue
		}
		if p.Item < 0 {
			f.exchangeBySentID.Put(t.ID, p.Exchange+1)
		} else {
			f.exchangeBySentID.Put(t.Items[p.Item].ID, p.Exchange+1)
		}
	}
}

// An unanswered is the set of the client's requests without a response.
type unanswered struct {
	all map[*thread]struct{}
	// tooMany is set once there were more than recent.DefaultMinEntries requests. all then stays empty.
	tooMany bool
}

func (u *unanswered) add(t *thread) {
	if u.tooMany {
		return // requests are no longer recorded
	}
	if len(u.all) >= recent.DefaultMinEntries {
		u.tooMany = true
		u.all = nil
		return
	}
	if u.all == nil {
		u.all = map[*thread]struct{}{}
	}
	u.all[t] = struct{}{}
}

// remove forgets a request, answered or not.
func (u *unanswered) remove(t *thread) { delete(u.all, t) }

// maxSingleSearch bounds the requests that onlyRequest reads.
const maxSingleSearch = 100

// onlyRequest returns the only waiting request, or nil. It ignores subscriptions, which wait forever and
// whose notifications name them.
func (u *unanswered) onlyRequest() *thread {
	if len(u.all) > maxSingleSearch {
		return nil
	}
	var only *thread
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

// A rounds lists the exchanges whose result requires input and that another request continues
// (2026-07-28 basic/patterns/mrtr).
type rounds []*thread

// maxRounds bounds the exchanges that wait for another request, which may never be sent.
const maxRounds = 1000

// add records an exchange with the requestState in m, its result.
func (r *rounds) add(t *thread, m *Traits) {
	if len(*r) < maxRounds {
		t.requestState = m.RequestState
		*r = append(*r, t)
	}
}

// removeContinued removes and returns the exchange that the request m continues, the newest if
// several match: m has the same method and name, and the requestState of the result or
// inputResponses. A server may use the same requestState for all its tools.
func (r *rounds) removeContinued(m *Traits) *thread {
	if m.RequestState == "" && !m.HasInputResponses {
		return nil
	}
	for i, t := range slices.Backward(*r) {
		if t.requestState == m.RequestState && t.method == m.Method && t.name == m.Name {
			*r = slices.Delete(*r, i, i+1)
			return t
		}
	}
	return nil
}
