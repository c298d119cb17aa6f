package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// A Store keeps the rows of recordings while they grow. Its methods may be called by several
// goroutines, but not by callbacks of Look or Each.
type Store struct {
	options Options
	tail    *Tail

	// hasRoom reports that rows that were left out could be kept again. Only the reading goroutine uses
	// it.
	hasRoom bool
	// mu guards the rows. Rows change only while it is locked for writing.
	mu      sync.RWMutex
	kept    kept
	talks   talks
	queries queries
	marks   marks
	loading bool
	notes   notes

	// changes is raised after each change of the rows.
	changes signal
	// ctx ends when the Store is closed; goroutines counts the goroutines that Close waits for.
	ctx        context.Context
	stop       context.CancelFunc
	goroutines sync.WaitGroup
}

const (
	// maxRows is the default limit of the rows kept of a Ring.
	maxRows = 50_000
	// firstRows is the number of rows that New waits for.
	firstRows = 2000
	// firstWait is the longest time that New waits.
	firstWait = 100 * time.Millisecond
	// pollInterval is the time between two checks of the recordings.
	pollInterval = 50 * time.Millisecond
	maxWarnings  = 100
)

// New starts a Store that reads a file or the Ring until it is closed. It waits briefly for the
// first rows. It returns errors of opening the file or of listing the Ring.
func New(o Options) (*Store, error) {
	s, err := begin(o)
	if err != nil {
		return nil, err
	}
	first := make(chan struct{})
	s.goroutines.Go(func() { s.run(first) })
	select {
	case <-first:
	case <-time.After(firstWait):
	}
	return s, nil
}

// NewStepped returns a Store for tests. It has read everything, and reads more only when Step is
// called.
func NewStepped(o Options) (*Store, error) {
	s, err := begin(o)
	if err != nil {
		return nil, err
	}
	s.readAll()
	s.loading = false
	return s, nil
}

// Step reads everything added since the last call, and notices deleted recordings. It is for a
// Store made by NewStepped.
func (s *Store) Step() {
	s.tail.listedAt = time.Time{}
	s.tail.Step(&s.mu, s.apply)
	s.readAll()
}

// begin returns a Store that has read the beginning of a file, or nothing of a Ring yet.
func begin(o Options) (*Store, error) {
	if o.Path == "" && o.MaxRows == 0 {
		o.MaxRows = maxRows
	}
	tail, err := NewTail(o)
	if err != nil {
		return nil, err
	}
	tail.readsInSteps = true
	s := newStore(o, tail)
	if o.Path != "" {
		// An error about a file is an error of New.
		c, _, err := tail.OpenOlder()
		if err != nil {
			return nil, err
		}
		s.addCaptures(c)
	}
	return s, nil
}

// readAll reads until no recording is unread.
func (s *Store) readAll() {
	for s.hasUnread() {
		s.readOlder(0)
		if s.options.Path != "" {
			s.tail.Step(&s.mu, s.apply)
		}
	}
}

// newStore returns a Store that has read only the marks.
func newStore(o Options, tail *Tail) *Store {
	s := &Store{options: o, tail: tail, loading: true}
	s.kept = kept{limit: o.MaxRows, byKey: map[Key]*entry{}, leftOut: keySet{}}
	s.talks.all = map[Talk]*talk{}
	s.talks.leftOut = map[Talk]int{}
	s.notes.lost = map[string]int{}
	s.marks.read(o.Marks)
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close stops reading and all searches, and waits for them.
func (s *Store) Close() {
	s.mu.Lock() // so that no search begins after stop
	s.stop()
	s.mu.Unlock()
	s.goroutines.Wait()
	s.tail.Close()
}

// run reads the existing recordings, the newest first, and then follows them until the Store is
// closed. It closes first when the first rows are read, or all.
func (s *Store) run(first chan struct{}) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	read := 0
	for s.hasUnread() {
		read += s.readOlder(firstRows - read)
		if (read >= firstRows || s.options.Path != "") && first != nil {
			close(first)
			first = nil
		}
		// Between recordings of a Ring, follow the growing ones from time to time. Of a file, Step
		// reads the rest.
		if s.options.Path == "" {
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
	s.changes.raise()
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

// hasUnread reports whether recordings are left to read. If left-out rows have room again, it first
// restarts the reading of all recordings. Room appears when a newer recording is deleted or when two
// parts of a recording turn out to have the same rows.
func (s *Store) hasUnread() bool {
	if s.hasRoom {
		s.hasRoom = false
		if s.tail.Restart() == nil {
			s.mu.Lock()
			s.kept.leftOut = keySet{}
			s.talks.leftOut = map[Talk]int{}
			s.notes.unread = 0
			s.mu.Unlock()
		}
	}
	return s.tail.CountUnread() > 0 && s.ctx.Err() == nil
}

// minBatchRows is how many rows of small recordings are added under one lock.
const minBatchRows = 500

// readOlder reads whole recordings until they have at least wanted rows in total, and minBatchRows.
// It stops at recordings that are older than all kept rows. It returns the number of rows.
func (s *Store) readOlder(wanted int) int {
	read := 0
	var all []*rows.Capture
	for read < max(wanted, minBatchRows) && s.ctx.Err() == nil {
		c, written, err := s.tail.OpenOlder()
		if err != nil {
			s.mu.Lock()
			// The error has the path; forget must not remove it with the notes about a recording.
			s.notes.add("", err.Error())
			s.mu.Unlock()
			continue
		}
		if c == nil {
			break
		}
		full := s.options.MaxRows > 0 && len(s.kept.entries) >= s.options.MaxRows
		if full && written.Before(s.kept.entries[0].time) { // all its rows are too old
			left := s.tail.CountUnread() + 1
			s.tail.SkipOlder()
			s.mu.Lock()
			s.notes.unread = left
			s.mu.Unlock()
			break
		}
		all = append(all, c)
		read += len(c.Rows())
	}
	s.addCaptures(all...)
	return read
}

// addCaptures adds all rows and findings of recordings.
func (s *Store) addCaptures(all ...*rows.Capture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var listed []*rows.Row
	for _, c := range all {
		s.notes.forget(c.Path)
		s.notes.addFindings(c.Path, skippedLines(c))
		s.notes.lost[c.Path] += c.Lost()
		listed = append(listed, c.Rows()...)
	}
	s.applyRows(listed)
}

// apply applies a change that the Tail found. The caller holds the write lock.
func (s *Store) apply(c Changed) {
	if c.DeletedPath != "" {
		s.notes.forget(c.DeletedPath)
		s.talks.forgetRun(c.Run)
		removed := s.kept.forgetRecording(func(k Key) bool { return s.options.Path != "" || k.Run == c.Run })
		s.updateEntries(nil, removed)
		s.changes.raise()
		return
	}
	for _, text := range c.Warnings {
		s.notes.add(c.Path, text)
	}
	s.notes.lost[c.Path] += c.Lost
	s.applyRows(c.Rows)
}

// applyRows stores changed rows and raises a change. The caller holds the write lock.
func (s *Store) applyRows(rows []*rows.Row) {
	s.updateEntries(s.kept.update(rows))
	s.changes.raise()
}

// updateEntries passes changed and removed entries to the marks, conversations and queries.
func (s *Store) updateEntries(changed, removed []*entry) {
	s.hasRoom = len(s.kept.entries) < s.options.MaxRows && (s.notes.unread > 0 || s.kept.leftOut.count() > 0)
	s.marks.update(changed)
	s.talks.update(&s.kept, changed, removed)
	s.queries.update(s.options.Now(), len(s.kept.entries), changed, removed)
}

// notes holds warnings about recordings and lines that cannot be read.
type notes struct {
	warnings []warning
	// lost counts the frames that recorders left out, by the path of the recording.
	lost map[string]int
	// unread is how many older recordings were not read because enough rows are kept.
	unread int
}

type warning struct{ path, text string }

// add adds a warning unless it exists or there are too many.
func (n *notes) add(path, text string) {
	w := warning{path, text}
	if len(n.warnings) < maxWarnings && !slices.Contains(n.warnings, w) {
		n.warnings = append(n.warnings, w)
	}
}

// forget removes the warnings about a recording.
func (n *notes) forget(path string) {
	n.warnings = slices.DeleteFunc(n.warnings, func(w warning) bool { return w.path == path })
	delete(n.lost, path)
}

// addFindings adds the findings about a recording as warnings.
func (n *notes) addFindings(path string, findings []wire.Finding) {
	for _, f := range findings {
		n.add(path, path+": "+f.Text)
	}
}

// Status returns the state of the Store.
func (s *Store) Status() Status {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := Status{
		Seq: s.changes.now(), Rows: len(s.kept.entries), MaxRows: s.kept.limit, Dropped: s.kept.leftOut.count(),
		Loading: s.loading,
	}
	for _, lost := range s.notes.lost {
		st.Lost += lost
	}
	for _, w := range s.notes.warnings {
		st.Warnings = append(st.Warnings, w.text)
	}
	if n := s.notes.unread; n > 0 {
		st.Warnings = append(st.Warnings,
			fmt.Sprintf("%d older recordings are not shown, at most %d exchanges are kept", n, s.options.MaxRows))
	}
	s.talks.mu.Lock()
	defer s.talks.mu.Unlock()
	for _, t := range s.talks.all {
		t.refresh()
		st.Open += t.doc.Open
		st.Failed += t.doc.Failed
	}
	return st
}

// Raise counts a change outside the recordings: of questions or held messages.
func (s *Store) Raise() { s.changes.raise() }

// A signal counts changes and wakes the goroutines that wait for a change.
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

// raise counts a change and wakes the waiting goroutines.
func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// next returns the number of the last change, and a channel that the next change closes.
func (s *signal) next() (uint64, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.seq, s.changed
}

// Wait waits until Seq is greater than after and returns it. It also returns when ctx ends or the
// Store is closed.
func (s *Store) Wait(ctx context.Context, after uint64) uint64 {
	for {
		seq, changed := s.changes.next()
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
