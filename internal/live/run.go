package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// A Store keeps the rows of recordings while they grow. Its methods may be called by several
// goroutines, but not by a function that was given to Look or Each.
type Store struct {
	o    Options
	tail *Tail

	// room is set if rows that were left out may be kept again. Only the goroutine that reads
	// uses it.
	room bool
	// mu guards the rows, which change under it alone.
	mu      sync.RWMutex
	kept    kept
	talks   talks
	queries queries
	marks   marks
	loading bool
	notes   notes

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

// New reads a file, or what was recorded last in a Ring, and reads on until it is closed. Errors are
// those of the file or of the Ring's folder.
func New(o Options) (*Store, error) {
	s, err := begin(o)
	if err != nil {
		return nil, err
	}
	first := make(chan struct{})
	s.all.Go(func() { s.run(first) })
	select {
	case <-first:
	case <-time.After(firstWait):
	}
	return s, nil
}

// NewStepped is New for a test, which decides when the Store reads on: when it calls Step. The Store
// has read all that there is.
func NewStepped(o Options) (*Store, error) {
	s, err := begin(o)
	if err != nil {
		return nil, err
	}
	s.readAll()
	s.loading = false
	return s, nil
}

// Step reads all that was added since the last call, and notices deleted recordings. It is for a
// Store of NewStepped.
func (s *Store) Step() {
	s.tail.listed = time.Time{}
	s.tail.Step(&s.mu, s.apply)
	s.readAll()
}

// begin makes a Store that has read the beginning of a file, or nothing of a Ring.
func begin(o Options) (*Store, error) {
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
		s.take(c)
	}
	return s, nil
}

// readAll reads all that is left.
func (s *Store) readAll() {
	for s.left() {
		s.older(0)
		if s.o.Path != "" {
			s.tail.Step(&s.mu, s.apply)
		}
	}
}

func newStore(o Options, tail *Tail) *Store {
	s := &Store{o: o, tail: tail, kept: kept{most: o.Most, by: map[Key]*entry{}, leftOut: keySet{}}, loading: true}
	s.talks.all = map[Talk]*talk{}
	s.talks.leftOut = map[Talk]int{}
	s.notes.lost = map[string]int{}
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
	for s.left() {
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
			s.readAll()
		}
	}
}

// left reports whether recordings are left to read: all of them if rows were left out and there is
// room for them now, because a newer recording was deleted, or rows are in another part of one.
func (s *Store) left() bool {
	if s.room {
		s.room = false
		if s.tail.Again() == nil {
			s.mu.Lock()
			s.kept.leftOut = keySet{}
			s.talks.leftOut = map[Talk]int{}
			s.notes.unread = 0
			s.mu.Unlock()
		}
	}
	return s.tail.Left() > 0 && s.ctx.Err() == nil
}

// atLeast is how many rows of small recordings are taken up together.
const atLeast = 500

// older reads recordings until they have so many rows, or a few more.
func (s *Store) older(listed int) (read int) {
	var all []*rows.Capture
	for read < max(listed, atLeast) && s.ctx.Err() == nil {
		c, written, err := s.tail.Older()
		if err != nil {
			s.mu.Lock()
			s.notes.add("", err.Error())
			s.mu.Unlock()
			continue
		}
		if c == nil {
			break
		}
		if entries := s.kept.entries; s.o.Most > 0 && len(entries) >= s.o.Most && written.Before(entries[0].time) { // no row of it has room
			left := s.tail.Left() + 1
			s.tail.Skip()
			s.mu.Lock()
			s.notes.unread = left
			s.mu.Unlock()
			break
		}
		all = append(all, c)
		read += len(c.Rows())
	}
	s.take(all...)
	return read
}

// take takes recordings as a whole.
func (s *Store) take(all ...*rows.Capture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var listed []*rows.Row
	for _, c := range all {
		s.notes.forget(c.Path)
		s.notes.take(c.Path, leftOut(c))
		listed = append(listed, c.Rows()...)
	}
	s.applyRows(listed)
}

// apply takes up what has changed. It is called under the lock.
func (s *Store) apply(c Changed) {
	if c.Gone != "" {
		s.notes.forget(c.Gone)
		s.talks.deleted(c.Run)
		s.changed(nil, s.kept.deleted(func(k Key) bool { return s.o.Path != "" || k.Run == c.Run }))
		s.raise()
		return
	}
	for _, text := range c.Warnings {
		s.notes.add(c.Path, text)
	}
	s.notes.lost[c.Path] += c.Lost
	s.applyRows(c.Rows)
}

func (s *Store) applyRows(rows []*rows.Row) {
	s.changed(s.kept.change(rows))
	s.raise()
}

// changed tells all that keep entries which have changed, and which are not kept any more.
func (s *Store) changed(changed, out []*entry) {
	s.room = len(s.kept.entries) < s.o.Most && (s.notes.unread > 0 || s.kept.leftOut.count() > 0)
	s.marks.seen(changed)
	s.talks.change(&s.kept, changed, out)
	s.queries.change(s.o.Now(), len(s.kept.entries), changed, out)
}

// notes are about recordings or lines that cannot be read, by the path of the recording.
type notes struct {
	warnings []warning
	lost     map[string]int
	// unread is how many older recordings were not read because enough rows are kept.
	unread int
}

type warning struct{ path, text string }

// add notes a warning once.
func (n *notes) add(path, text string) {
	w := warning{path, text}
	if len(n.warnings) < mostWarnings && !slices.Contains(n.warnings, w) {
		n.warnings = append(n.warnings, w)
	}
}

func (n *notes) forget(path string) {
	n.warnings = slices.DeleteFunc(n.warnings, func(w warning) bool { return w.path == path })
	delete(n.lost, path)
}

// take notes the findings about a recording.
func (n *notes) take(path string, findings []wire.Finding) {
	for _, f := range findings {
		n.add(path, path+": "+f.Text)
	}
	n.lost[path] += rows.Lost(findings)
}

// Status is what is known of the whole.
func (s *Store) Status() Status {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := Status{Seq: s.now(), Rows: len(s.kept.entries), Most: s.kept.most, Dropped: s.kept.leftOut.count(),
		Loading: s.loading}
	for _, lost := range s.notes.lost {
		st.Lost += lost
	}
	for _, w := range s.notes.warnings {
		st.Warnings = append(st.Warnings, w.text)
	}
	if n := s.notes.unread; n > 0 {
		st.Warnings = append(st.Warnings,
			fmt.Sprintf("%d older recordings are not shown, at most %d exchanges are kept", n, s.o.Most))
	}
	s.talks.mu.Lock()
	defer s.talks.mu.Unlock()
	for _, t := range s.talks.all {
		t.count()
		st.Open, st.Failed = st.Open+t.doc.Open, st.Failed+t.doc.Failed
	}
	return st
}

// Raise counts a change that is in no recording: of questions, or held messages.
func (s *Store) Raise() { s.raise() }

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
