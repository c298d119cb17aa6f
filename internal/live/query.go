package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
)

// A queryKey identifies a query: its filter, order and conversation.
type queryKey struct {
	filter, sort string
	talk         Talk
}

// queries caches the results of queries.
type queries struct {
	mu sync.Mutex
	// recent holds the cached queries, the most recently used last.
	recent []*query
}

// A query is a cached query with its result. Its fields change under the read lock of the Store and
// mu, or under the write lock of the Store.
type query struct {
	queryKey
	filter    filter.Filter
	createdAt time.Time

	mu sync.Mutex
	// lastUsed is the time of the last Find.
	lastUsed time.Time
	order    func(x, y *entry) int
	// found are the matching entries in order, and keys are their keys. Callers may hold a part of
	// keys: an update appends to keys or makes a new slice.
	found []*entry
	keys  []Key
	// stillOpen are the entries of found that were still open when found was sorted by duration.
	stillOpen []*entry
	// changedEntries are the entries that are new or changed since the last update. It is nil before the first.
	changedEntries map[*entry]bool
	// todo are the entries whose bodies are still to be searched, the newest last.
	todo []*entry
	// decided maps entries to whether they match, until applyDecisions updates found.
	decided map[*entry]bool
	// active is the number of entries that are being searched now.
	active int
	// searching is true while goroutines search.
	searching bool
	// raisedAt is when the search last announced matches.
	raisedAt time.Time
}

const (
	// maxQueries is the number of cached queries.
	maxQueries = 8
	// maxSearch is how long one Find searches bodies.
	maxSearch = 50 * time.Millisecond
	// abandonAfter is how long a search continues after the last Find.
	abandonAfter = 10 * time.Second
	// raiseInterval is the shortest time between two announcements of a search.
	raiseInterval = 100 * time.Millisecond
	// maxRelative is how long a filter with a time relative to now is used.
	maxRelative = 5 * time.Second
)

// get returns the cached query for a key, or a new one. It returns errors of the filter and of the
// order.
func (q *queries) get(s *Store, key queryKey) (*query, error) {
	now := s.options.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.recent, func(cached *query) bool { return cached.queryKey == key })
	if i >= 0 {
		cached := q.recent[i]
		q.recent = slices.Delete(q.recent, i, i+1)
		if !cached.filter.Names("since", "time") || now.Sub(cached.createdAt) < maxRelative {
			q.recent = append(q.recent, cached)
			return cached, nil
		}
	}
	f, err := filter.Parse(key.filter, now, s.options.Judge)
	if err != nil {
		return nil, err
	}
	cached := &query{queryKey: key, filter: f, createdAt: now}
	cached.order, err = cached.orderOf(key.sort)
	if err != nil {
		return nil, err
	}
	if len(q.recent) == maxQueries {
		q.recent = slices.Delete(q.recent, 0, 1)
	}
	q.recent = append(q.recent, cached)
	return cached, nil
}

// update adds changed and removed entries to all cached queries. It drops a query that no call has
// used for a while before the query holds too many entries. count is the number of kept entries.
func (q *queries) update(now time.Time, count int, changed, removed []*entry) {
	q.recent = slices.DeleteFunc(q.recent, func(x *query) bool {
		// Bringing it up to date would cost nearly as much as a new query.
		return len(x.changedEntries) > 1000+count/4 && now.Sub(x.lastUsed) > abandonAfter
	})
	for _, x := range q.recent {
		if x.changedEntries == nil {
			continue // the first update looks at all entries
		}
		for _, e := range slices.Concat(changed, removed) {
			x.changedEntries[e] = true
		}
	}
}

// ErrSort is returned for an unknown sort key.
var ErrSort = errors.New("rows cannot be sorted by")

// Find returns the keys of the rows that a query selects. It searches bodies for at most 50 ms; the
// search continues in the background. Errors are *filter.Error and ErrSort.
func (s *Store) Find(ctx context.Context, q Query) (Found, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x, err := s.queries.get(s, queryKey{q.Filter, q.Sort, q.Talk})
	if err != nil {
		return Found{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxSearch)
	defer cancel()
	x.update(ctx, s)
	found := Found{Keys: slices.Clip(x.keys), Pending: len(x.todo) + x.active, Seq: s.changes.now()}
	kept := s.kept.byKey[q.Keep]
	if kept != nil && (q.Talk == Talk{} || q.Talk == kept.talk) && !slices.Contains(x.found, kept) {
		i, _ := slices.BinarySearchFunc(x.found, kept, x.order)
		found.Keys = slices.Insert(slices.Clone(x.keys), i, kept.key) // the keys of the cached query stay as they are
	}
	if q.Only != nil {
		only := make(map[Key]bool, len(q.Only))
		for _, key := range q.Only {
			only[key] = true
		}
		found.Keys = slices.DeleteFunc(slices.Clone(found.Keys), func(k Key) bool { return !only[k] })
	}
	return found, nil
}

// Each calls visit with all rows of a query, oldest first, until it returns false. It waits until
// all bodies are searched, but not after Close. Rows that are removed during the call are skipped.
func (s *Store) Each(q Query, visit func(r *rows.Row) bool) error {
	q.Sort = ""
	for {
		found, err := s.Find(s.ctx, q)
		if err != nil {
			return err
		}
		if found.Pending > 0 && s.ctx.Err() == nil {
			s.Wait(s.ctx, found.Seq)
			continue
		}
		more := true
		for part := range slices.Chunk(found.Keys, lookBatch) {
			s.Look(part, func(_ int, r *rows.Row) {
				more = more && (r == nil || visit(r))
			})
			if !more {
				break
			}
		}
		return nil
	}
}

// lookBatch is the number of rows that Each passes on under one lock.
const lookBatch = 100

// matches reports whether the query selects an entry. A row that cannot be read does not match.
func (x *query) matches(e *entry) bool {
	if x.talk != (Talk{}) && e.talk != x.talk {
		return false
	}
	matches, err := x.filter.Match(e.row)
	return matches && err == nil
}

// update brings the result up to date. A search of bodies that takes longer than ctx continues in
// background goroutines. The Store is locked for reading, and x.mu is locked.
func (x *query) update(ctx context.Context, s *Store) {
	x.lastUsed = s.options.Now()
	if x.changedEntries == nil {
		x.decideAll(s)
	} else {
		x.decideChanged(s)
	}
	var files idleCloser
	for ctx.Err() == nil && len(x.todo) > 0 {
		e := x.popTodo()
		x.decided[e] = s.kept.has(e) && x.matches(e)
		files.read(e.row)
	}
	files.read(nil)
	// The durations of these have grown: decide them again, so that they are sorted again.
	for _, e := range x.stillOpen {
		if _, decided := x.decided[e]; !decided && s.kept.has(e) {
			x.decided[e] = true
		}
	}
	x.applyDecisions()
	if strings.TrimPrefix(x.sort, "-") == "took" {
		x.stillOpen = slices.DeleteFunc(slices.Clone(x.found), func(e *entry) bool { return !e.row.IsWaiting() })
	}
	if len(x.todo) > 0 && !x.searching && s.ctx.Err() == nil {
		x.searching = true
		for range runtime.GOMAXPROCS(0) {
			s.goroutines.Go(func() {
				var files idleCloser
				for x.searchNext(s, &files) {
				}
				files.read(nil)
			})
		}
	}
}

// decideAll decides about all kept entries at the first update, or adds them to todo if the filter
// needs bodies.
func (x *query) decideAll(s *Store) {
	x.changedEntries = map[*entry]bool{}
	x.decided = map[*entry]bool{}
	if x.filter.ReadsTraffic() {
		x.todo = slices.Clone(s.kept.entries)
		return
	}
	for _, e := range s.kept.entries {
		if x.matches(e) {
			x.found = append(x.found, e)
		}
	}
	if x.sort != "" && x.sort != "time" {
		slices.SortFunc(x.found, x.order)
	}
	x.keys = make([]Key, len(x.found))
	for i, e := range x.found {
		x.keys[i] = e.key
	}
}

// decideChanged decides about the changed entries, or adds them to todo if the filter needs bodies.
func (x *query) decideChanged(s *Store) {
	readsTraffic := x.filter.ReadsTraffic()
	for e := range x.changedEntries {
		if !s.kept.has(e) {
			x.decided[e] = false
		} else if readsTraffic {
			x.todo = append(x.todo, e)
		} else {
			x.decided[e] = x.matches(e)
		}
	}
	clear(x.changedEntries)
}

// popTodo removes the newest entry of todo and returns it.
func (x *query) popTodo() *entry {
	e := x.todo[len(x.todo)-1]
	x.todo[len(x.todo)-1] = nil
	x.todo = x.todo[:len(x.todo)-1]
	return e
}

// applyDecisions updates found and keys from decided, and clears decided. Callers of Find may hold
// parts of keys, so it only appends to keys, or replaces the slice.
func (x *query) applyDecisions() {
	if len(x.decided) == 0 {
		return
	}
	sortedByTime := x.sort == "" || x.sort == "time"
	if sortedByTime { // usually only the oldest entries are removed
		x.dropOldest()
		if len(x.decided) == 0 {
			return
		}
	}
	var added []*entry
	var oldest *entry
	for e, matches := range x.decided {
		if matches {
			added = append(added, e)
		}
		if oldest == nil || byTime(e, oldest) < 0 {
			oldest = e
		}
	}
	slices.SortFunc(added, x.order)
	// Only the part of found from the oldest decided entry on changes, if it is sorted by time.
	from := 0
	if sortedByTime {
		from, _ = slices.BinarySearchFunc(x.found, oldest, byTime)
	}
	tail := slices.DeleteFunc(slices.Clone(x.found[from:]), func(e *entry) bool {
		_, decided := x.decided[e]
		return decided
	})
	tail = merge(tail, added, x.order)
	before := x.found
	x.found = append(x.found[:from], tail...)
	clear(before[min(len(x.found), len(before)):]) // a row keeps all of its recording in memory
	clear(x.decided)
	// Keep the keys that are equal before and after.
	same := from
	for same < len(x.keys) && same < len(x.found) && x.keys[same] == x.found[same].key {
		same++
	}
	if same < len(x.keys) {
		x.keys = slices.Clone(x.keys[:same])
	}
	for _, e := range x.found[same:] {
		x.keys = append(x.keys, e.key)
	}
}

// dropOldest removes the first entries of found and keys, as far as they do not match any more, and
// their decisions.
func (x *query) dropOldest() {
	n := 0
	for n < len(x.found) {
		matches, decided := x.decided[x.found[n]]
		if !decided || matches {
			break
		}
		delete(x.decided, x.found[n])
		n++
	}
	x.found = withoutFirst(x.found, n)
	x.keys = x.keys[n:]
}

// searchNext searches one entry of todo. It reports false if todo is empty or the search is
// abandoned. The last goroutine to end announces the result.
func (x *query) searchNext(s *Store, files *idleCloser) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	now := s.options.Now()
	if s.ctx.Err() != nil || now.Sub(x.lastUsed) > abandonAfter || len(x.todo) == 0 {
		last := x.searching && x.active == 0
		x.searching = x.active > 0
		x.mu.Unlock()
		if last {
			s.changes.raise()
		}
		return false
	}
	e := x.popTodo()
	x.active++
	x.mu.Unlock()
	// x.mu is unlocked during the search: the other goroutines search too.
	matches := s.kept.has(e) && x.matches(e)
	files.read(e.row)
	x.mu.Lock()
	x.active--
	x.decided[e] = matches
	// Views read again after each announcement, so there is a limit.
	due := now.Sub(x.raisedAt) >= raiseInterval
	if due {
		x.raisedAt = now
	}
	x.mu.Unlock()
	if due {
		s.changes.raise()
	}
	return true
}

// duration returns how long an exchange took, or until now if it is open. It returns 0 if the row
// is a stream or a pipe, which lasts until its client ends.
func (x *query) duration(r *rows.Row) time.Duration {
	if r.Method == rows.MethodStream || r.Method == rows.MethodPipe {
		return 0
	}
	if r.IsWaiting() {
		return max(x.lastUsed.Sub(r.Time)-r.Held, r.Duration)
	}
	return r.Duration
}

// orderOf returns the comparison for a sort key, or ErrSort. Entries with equal values are in the
// order of their times.
func (x *query) orderOf(sort string) (func(a, b *entry) int, error) {
	name, down := strings.CutPrefix(sort, "-")
	if name == "" || name == "time" {
		return func(a, b *entry) int {
			if down {
				return byTime(b, a)
			}
			return byTime(a, b)
		}, nil
	}
	order := map[string]func(a, b *rows.Row) int{
		"took":    func(a, b *rows.Row) int { return cmp.Compare(x.duration(a), x.duration(b)) },
		"size":    func(a, b *rows.Row) int { return cmp.Compare(a.Size(), b.Size()) },
		"first":   func(a, b *rows.Row) int { return cmp.Compare(a.TimeToFirst, b.TimeToFirst) },
		"name":    func(a, b *rows.Row) int { return cmp.Compare(a.Name, b.Name) },
		"method":  func(a, b *rows.Row) int { return cmp.Compare(a.Method, b.Method) },
		"channel": func(a, b *rows.Row) int { return cmp.Compare(a.Channel, b.Channel) },
		"server":  func(a, b *rows.Row) int { return cmp.Compare(a.ServerName(), b.ServerName()) },
		"client":  func(a, b *rows.Row) int { return cmp.Compare(a.ClientName(), b.ClientName()) },
	}[name]
	if order == nil {
		return nil, fmt.Errorf("%w %q", ErrSort, sort)
	}
	return func(a, b *entry) int {
		by := order(a.row, b.row)
		if down {
			by = -by
		}
		return cmp.Or(by, byTime(a, b))
	}, nil
}
