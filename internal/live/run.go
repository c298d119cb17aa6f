package live

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// A Store keeps the rows of recordings while they grow. Its methods may be called by several
// goroutines, but not by a function that was given to Look or Each.
type Store struct {
	o    Options
	tail *Tail

	// mu guards the rows, which change under it alone.
	mu       sync.RWMutex
	kept     kept
	talks    talks
	queries  queries
	marks    marks
	loading  bool
	warnings []string

	signal
	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup
}

const (
	// mostRows is how many rows of a Ring are kept.
	mostRows = 50_000
	// New waits until firstRows rows are read, but at most firstWait.
	firstRows, firstWait = 2000, 100 * time.Millisecond
	// every is how often recordings are looked at.
	every        = 50 * time.Millisecond
	mostWarnings = 100
)

// New reads a file, or what came last in a Ring, and reads on until it is closed. Errors are
// those of the file or of the Ring's folder.
func New(o Options) (*Store, error) {
	if o.Path == "" {
		o.Most = cmp.Or(o.Most, mostRows)
	}
	tail, err := NewTail(o)
	if err != nil {
		return nil, err
	}
	tail.gradual = true
	s := newStore(o, tail)
	if o.Path != "" {
		c, _, err := tail.Older()
		if err != nil {
			return nil, err
		}
		var changed Changed
		changed.add(&file{}, c)
		s.apply(changed)
	}
	first := make(chan struct{})
	s.all.Go(func() { s.run(first) })
	select {
	case <-first:
	case <-time.After(firstWait):
	}
	return s, nil
}

func newStore(o Options, tail *Tail) *Store {
	s := &Store{o: o, tail: tail, kept: newKept(), talks: talks{all: map[Talk]*talk{}}, loading: true}
	s.marks.read(o.Marks)
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends the reading and all searches.
func (s *Store) Close() {
	s.mu.Lock() // no search begins any more
	s.stop()
	s.mu.Unlock()
	s.all.Wait()
	s.tail.Close()
}

// run reads what there is, the newest first, and what comes. It closes first once the first
// rows are there.
func (s *Store) run(first chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	read := 0
	for s.tail.Left() > 0 && s.ctx.Err() == nil {
		read += s.older(firstRows - read)
		if (read >= firstRows || s.o.Path != "") && first != nil {
			close(first)
			first = nil
		}
		if s.o.Path == "" {
			select {
			case <-ticker.C:
			default:
				continue
			}
		}
		s.tail.Step(&s.mu, s.apply)
	}
	s.mu.Lock()
	s.loading = false
	s.raise()
	s.mu.Unlock()
	if first != nil {
		close(first)
	}
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
			s.tail.Step(&s.mu, s.apply)
		}
	}
}

// atLeast is how many rows of small recordings are taken up together.
const atLeast = 500

// older reads recordings until they have so many rows, or a few more.
func (s *Store) older(rows int) (read int) {
	var changed Changed
	for len(changed.Rows) < max(rows, atLeast) && s.ctx.Err() == nil {
		c, written, err := s.tail.Older()
		if err != nil {
			changed.Warnings = append(changed.Warnings, err.Error())
			continue
		}
		if c == nil {
			break
		}
		if s.full(written) {
			changed.Warnings = append(changed.Warnings,
				fmt.Sprintf("%d older recordings are not shown, at most %d exchanges are kept", s.tail.Left()+1, s.o.Most))
			s.tail.Skip()
			break
		}
		changed.add(&file{}, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(changed)
	return len(changed.Rows)
}

// full reports that a recording that was written last at this time has no row to be kept.
func (s *Store) full(written time.Time) bool {
	rows := s.kept.rows
	return s.o.Most > 0 && len(rows) >= s.o.Most && written.Before(rows[0].Time)
}

// apply takes up what has changed. It is called under the lock.
func (s *Store) apply(c Changed) {
	s.warnings = append(s.warnings, c.Warnings[:min(len(c.Warnings), mostWarnings-len(s.warnings))]...)
	s.kept.lost += c.Lost
	out := s.kept.change(c.Rows, s.o.Most)
	if c.Gone != "" {
		out = s.kept.gone(c.Gone)
	}
	s.marks.seen(c.Rows)
	s.talks.change(&s.kept, c.Rows, out)
	s.queries.change(s.o.Now(), len(s.kept.rows), c.Rows, out)
	s.raise()
}

// Status is what is known of the whole.
func (s *Store) Status() Status {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := Status{Seq: s.now(), Rows: len(s.kept.rows), Dropped: s.kept.dropped, Loading: s.loading, Lost: s.kept.lost,
		Warnings: append([]string(nil), s.warnings...)}
	s.talks.mu.Lock()
	defer s.talks.mu.Unlock()
	for _, t := range s.talks.all {
		t.count()
		st.Open, st.Failed = st.Open+t.doc.Open, st.Failed+t.doc.Failed
	}
	return st
}

// Seq is that of Status alone.
func (s *Store) Seq() uint64 { return s.now() }

// A signal counts changes and wakes those that wait for one.
type signal struct {
	mu      sync.Mutex
	seq     uint64
	changed chan struct{}
}

func (s *signal) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// next is the number of the last change, and a channel that is closed by the next one.
func (s *signal) next() (seq uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.seq, s.changed
}

// Wait waits until Seq is larger than after, and returns it. It also returns when ctx or the
// Store ends.
func (s *Store) Wait(ctx context.Context, after uint64) uint64 {
	for {
		seq, changed := s.signal.next()
		if seq > after {
			return seq
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seq
		case <-s.ctx.Done():
			return seq
		}
	}
}
