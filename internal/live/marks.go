package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/capture/rows"
)

// A MarkFile stores marks in a file of the user, never in a recording. *state.Private implements
// it.
type MarkFile interface {
	Read() ([]byte, error)
	// Update replaces the contents of the file under a lock.
	Update(ctx context.Context, change func(old []byte) ([]byte, error)) error
}

const (
	// maxMarks limits the marks in a file; the oldest are deleted first.
	maxMarks = 10_000
	// maxNote is the largest size of a note in bytes.
	maxNote = 2000
)

// ErrGone is returned for a row that is no longer kept.
var ErrGone = errors.New("no longer kept")

// A mark is one entry of the file: the identity of a run, the index of a row in it, and the user's
// mark and note.
type mark struct {
	Run   string `json:"of"`
	Index int    `json:"index"`
	Mark  bool   `json:"mark,omitempty"`
	Note  string `json:"note,omitempty"`
}

// marks holds the marks of a Store.
type marks struct {
	mu sync.Mutex
	// stored holds the marks of the file, by run identity and row index.
	stored map[string]map[int]mark
	// byKey holds the marks of rows that are kept or were kept.
	byKey map[Key]mark
}

// read loads the marks from the file. It ignores errors: an unreadable file counts as empty.
func (m *marks) read(f MarkFile) {
	m.stored = map[string]map[int]mark{}
	m.byKey = map[Key]mark{}
	if f == nil {
		return
	}
	raw, err := f.Read()
	if err != nil {
		return
	}
	for _, x := range parseMarks(raw) {
		if m.stored[x.Run] == nil {
			m.stored[x.Run] = map[int]mark{}
		}
		m.stored[x.Run][x.Index] = x
	}
}

// parseMarks returns the marks of the file's JSON, or nil if it is not valid.
func parseMarks(raw []byte) []mark {
	var all []mark
	_ = json.Unmarshal(raw, &all)
	return all
}

// update looks up the marks of changed entries, and forgets the mark of a different row that had
// the same key before.
func (m *marks) update(changed []*entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stored) == 0 && len(m.byKey) == 0 {
		return
	}
	var last rows.RunID
	var run string
	for _, e := range changed {
		// The rows of a run usually follow each other: compute its identity once.
		if id := e.row.RunID(); id != last {
			last = id
			run = runIdentity(e.row)
		}
		if x, ok := m.stored[run][e.row.Index]; ok {
			m.byKey[e.key] = x
		} else if m.byKey[e.key].Run != run { // a deleted recording had the same key
			delete(m.byKey, e.key)
		}
	}
}

// runIdentity returns a hash that identifies the run of a row independently of the file's path. It
// covers the number of the run and its start time.
func runIdentity(r *rows.Row) string {
	h := r.Head()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %d", h.Run, h.Started.UTC(), h.Mark, r.RunIndex()))
	return hex.EncodeToString(sum[:8])
}

// Mark sets or clears the mark of a row and replaces its note, which is cut to maxNote bytes; an
// empty note deletes it. It returns ErrGone if the row is no longer kept, or the error of the file.
func (s *Store) Mark(key Key, set bool, note string) error {
	s.mu.RLock()
	e := s.kept.byKey[key]
	if e == nil {
		s.mu.RUnlock()
		return ErrGone
	}
	note = strings.ToValidUTF8(note[:min(len(note), maxNote)], "")
	newMark := mark{runIdentity(e.row), e.row.Index, set, note}
	s.mu.RUnlock()
	if s.options.Marks != nil {
		err := s.options.Marks.Update(s.ctx, func(old []byte) ([]byte, error) {
			isSame := func(m mark) bool { return m.Run == newMark.Run && m.Index == newMark.Index }
			all := slices.DeleteFunc(parseMarks(old), isSame)
			if newMark.Mark || newMark.Note != "" {
				all = append(all, newMark)
			}
			return json.Marshal(all[max(0, len(all)-maxMarks):])
		})
		if err != nil {
			return err
		}
	}
	s.marks.mu.Lock()
	s.marks.byKey[key] = newMark
	s.marks.mu.Unlock()
	s.changes.raise()
	return nil
}

// MarkOf reports whether a row is marked, and returns its note. Callbacks of Look and Each may call
// it.
func (s *Store) MarkOf(key Key) (bool, string) {
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	x := s.marks.byKey[key]
	return x.Mark, x.Note
}
