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

// A question is what a Query asks of each row, and their order.
type question struct {
	filter, sort string
	talk         Talk
}

// queries are the answers that are kept.
type queries struct {
	mu sync.Mutex
	// kept are in the order in which they were asked for, the last one last.
	kept []*query
}

// A query is a question and what was found. What is in it is changed under the read lock of
// the Store and mu, or under the write lock.
type query struct {
	question
	filter filter.Filter
	made   time.Time

	mu    sync.Mutex
	asked time.Time
	order func(x, y *entry) int
	// found are the entries that fit, in their order, and keys are their keys. Callers may have a part of
	// keys: a change appends to it, or makes a new slice.
	found []*entry
	keys  []Key
	// growing are the entries in found that still waited when found was sorted by how long they took.
	growing []*entry
	// fresh are the entries that are new or have changed since, todo those to search, the
	// newest last, and decided says of entries whether they fit, until found is changed by it.
	fresh   map[*entry]bool
	todo    []*entry
	decided map[*entry]bool
	// under is how many are searched now, searching is set while goroutines do.
	under     int
	searching bool
	raised    time.Time
}

const (
	// mostQueries is how many answers are kept.
	mostQueries = 8
	// searchFor is how long one call searches bodies, abandonAfter when a search ends that
	// no call asks for any more, tellEvery how often it says what it found.
	searchFor, abandonAfter, tellEvery = 50 * time.Millisecond, 10 * time.Second, 100 * time.Millisecond
	// relativeFor is how long a filter is used that counts from now.
	relativeFor = 5 * time.Second
)

// get gives the kept answer to a question, or begins one.
func (q *queries) get(s *Store, ask question) (*query, error) {
	now := s.o.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.kept, func(x *query) bool { return x.question == ask })
	if i >= 0 {
		x := q.kept[i]
		q.kept = slices.Delete(q.kept, i, i+1)
		if !x.filter.Names("since", "time") || now.Sub(x.made) < relativeFor {
			q.kept = append(q.kept, x)
			return x, nil
		}
	}
	f, err := filter.Parse(ask.filter, now, s.o.Judge)
	if err != nil {
		return nil, err
	}
	x := &query{question: ask, filter: f, made: now}
	if x.order, err = x.orderOf(ask.sort); err != nil {
		return nil, err
	}
	if len(q.kept) == mostQueries {
		q.kept = slices.Delete(q.kept, 0, 1)
	}
	q.kept = append(q.kept, x)
	return x, nil
}

// change notes the entries that changed in all answers. One that no call asks for is let go before
// it holds many rows.
func (q *queries) change(now time.Time, count int, changed, out []*entry) {
	q.kept = slices.DeleteFunc(q.kept, func(x *query) bool {
		return len(x.fresh) > 1000+count/4 && now.Sub(x.asked) > abandonAfter
	})
	for _, x := range q.kept {
		if x.fresh == nil {
			continue // nothing was asked yet
		}
		for _, e := range slices.Concat(changed, out) {
			x.fresh[e] = true
		}
	}
}

// ErrSort is the error for an order that there is not.
var ErrSort = errors.New("rows cannot be sorted by")

// Find returns the keys of the rows that a query selects; errors are *filter.Error and ErrSort. It searches bodies for at most 50 ms.
func (s *Store) Find(ctx context.Context, q Query) (Found, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x, err := s.queries.get(s, question{q.Filter, q.Sort, q.Talk})
	if err != nil {
		return Found{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	x.update(ctx, s)
	found := Found{Keys: slices.Clip(x.keys), Pending: len(x.todo) + x.under, Seq: s.now()}
	if q.Only != nil {
		only := make(map[Key]bool, len(q.Only))
		for _, key := range q.Only {
			only[key] = true
		}
		found.Keys = slices.DeleteFunc(slices.Clone(x.keys), func(k Key) bool { return !only[k] })
	}
	return found, nil
}

// Each calls look with all rows of a query, oldest first, until it returns false. It waits until
// all bodies are searched.
func (s *Store) Each(q Query, look func(r *rows.Row) bool) error {
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
		for part := range slices.Chunk(found.Keys, atATime) {
			s.Look(part, func(_ int, r *rows.Row) {
				more = more && (r == nil || look(r))
			})
			if !more {
				break
			}
		}
		return nil
	}
}

// atATime is how many rows are looked at before rows may change again.
const atATime = 100

// fits reports whether the query selects an entry. A row that cannot be read does not fit.
func (x *query) fits(e *entry) bool {
	if x.talk != (Talk{}) && e.talk != x.talk {
		return false
	}
	fits, err := x.filter.Match(e.row)
	return fits && err == nil
}

// update brings the answer up to date, and begins a search where that takes longer than ctx.
func (x *query) update(ctx context.Context, s *Store) {
	x.asked = s.o.Now()
	deep := x.filter.Deep()
	switch {
	case x.fresh != nil:
		for e := range x.fresh {
			switch {
			case !s.kept.has(e):
				x.decided[e] = false
			case deep:
				x.todo = append(x.todo, e)
			default:
				x.decided[e] = x.fits(e)
			}
		}
		clear(x.fresh)
	case deep:
		x.todo = slices.Clone(s.kept.entries)
	default:
		for _, e := range s.kept.entries {
			if x.fits(e) {
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
	if x.fresh == nil {
		x.fresh, x.decided = map[*entry]bool{}, map[*entry]bool{}
	}
	var read resting
	for ctx.Err() == nil && len(x.todo) > 0 {
		e := x.next()
		x.decided[e] = s.kept.has(e) && x.fits(e)
		read.on(e.row)
	}
	read.on(nil)
	for _, e := range x.growing {
		if _, is := x.decided[e]; !is && s.kept.has(e) {
			x.decided[e] = true
		}
	}
	x.patch()
	if strings.TrimPrefix(x.sort, "-") == "took" {
		x.growing = slices.DeleteFunc(slices.Clone(x.found), func(e *entry) bool { return !e.row.Waits() })
	}
	if len(x.todo) > 0 && !x.searching && s.ctx.Err() == nil {
		x.searching = true
		for range runtime.GOMAXPROCS(0) {
			s.all.Go(func() {
				var read resting
				for x.step(s, &read) {
				}
				read.on(nil)
			})
		}
	}
}

// next takes the newest entry that is to be searched.
func (x *query) next() *entry {
	e := x.todo[len(x.todo)-1]
	x.todo[len(x.todo)-1] = nil
	x.todo = x.todo[:len(x.todo)-1]
	return e
}

// patch puts what was decided into the entries that were found.
func (x *query) patch() {
	if len(x.decided) == 0 {
		return
	}
	inTime := x.sort == "" || x.sort == "time"
	if inTime { // mostly only the oldest ones are removed
		n := 0
		for n < len(x.found) {
			fits, is := x.decided[x.found[n]]
			if !is || fits {
				break
			}
			delete(x.decided, x.found[n])
			n++
		}
		x.found = withoutFirst(x.found, n)
		x.keys = x.keys[n:]
		if len(x.decided) == 0 {
			return
		}
	}
	var in []*entry
	var oldest *entry
	for e, fits := range x.decided {
		if fits {
			in = append(in, e)
		}
		if oldest == nil || byTime(e, oldest) < 0 {
			oldest = e
		}
	}
	slices.SortFunc(in, x.order)
	from := 0
	if inTime {
		from, _ = slices.BinarySearchFunc(x.found, oldest, byTime)
	}
	tail := slices.DeleteFunc(slices.Clone(x.found[from:]), func(e *entry) bool {
		_, is := x.decided[e]
		return is
	})
	tail = merge(tail, in, x.order)
	before := x.found
	x.found = append(x.found[:from], tail...)
	clear(before[min(len(x.found), len(before)):]) // a row holds all of its recording
	clear(x.decided)
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

// step decides about one entry that is still to search. It reports false once nothing is left, or no call asks for it.
func (x *query) step(s *Store, read *resting) (more bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	now := s.o.Now()
	if s.ctx.Err() != nil || now.Sub(x.asked) > abandonAfter || len(x.todo) == 0 {
		last := x.searching && x.under == 0
		x.searching = x.under > 0
		x.mu.Unlock()
		if last {
			s.raise()
		}
		return false
	}
	e := x.next()
	x.under++
	x.mu.Unlock()
	fits := s.kept.has(e) && x.fits(e)
	read.on(e.row)
	x.mu.Lock()
	x.under--
	x.decided[e] = fits
	tell := now.Sub(x.raised) >= tellEvery
	if tell {
		x.raised = now
	}
	x.mu.Unlock()
	if tell {
		s.raise()
	}
	return true
}

// lasting is how long an exchange took, or took until now. The rows of streams and conversations are no exchanges, and last
// as long as their client is there.
func (x *query) lasting(r *rows.Row) time.Duration {
	switch {
	case r.Method == rows.MethodStream || r.Method == rows.MethodPipe:
		return 0
	case r.Waits():
		return max(x.asked.Sub(r.Time)-r.Held, r.Duration)
	}
	return r.Duration
}

// orderOf is the order of a sort key.
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
		"took":    func(a, b *rows.Row) int { return cmp.Compare(x.lasting(a), x.lasting(b)) },
		"size":    func(a, b *rows.Row) int { return cmp.Compare(a.Size(), b.Size()) },
		"first":   func(a, b *rows.Row) int { return cmp.Compare(a.First, b.First) },
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
