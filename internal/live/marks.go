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

// Marks are kept in a file of the user, never in the recording.

// A MarkFile keeps marks; *state.Private is one.
type MarkFile interface {
	Read() ([]byte, error)
	// Update replaces the file under a lock.
	Update(ctx context.Context, change func(old []byte) ([]byte, error)) error
}

const (
	// mostMarks is how many marks a file has; the oldest go first.
	mostMarks = 10_000
	// mostNote is how many bytes a note has.
	mostNote = 2000
)

// ErrGone is the error for a row that is not kept any more.
var ErrGone = errors.New("not kept any more")

// A mark is an entry of the file: the run of a recording, the row in it and what the user said.
type mark struct {
	Of    string `json:"of"`
	Index int    `json:"index"`
	Mark  bool   `json:"mark,omitempty"`
	Note  string `json:"note,omitempty"`
}

// marks are those of a Store.
type marks struct {
	mu sync.Mutex
	// of are those in the file, by the run and the row.
	of map[string]map[int]mark
	// by are those of rows that are kept or were.
	by map[Key]mark
}

// read takes the marks from the file; what cannot be read is as if there were none.
func (m *marks) read(f MarkFile) {
	m.of, m.by = map[string]map[int]mark{}, map[Key]mark{}
	if f == nil {
		return
	}
	raw, err := f.Read()
	if err != nil {
		return
	}
	for _, x := range marksIn(raw) {
		if m.of[x.Of] == nil {
			m.of[x.Of] = map[int]mark{}
		}
		m.of[x.Of][x.Index] = x
	}
}

func marksIn(raw []byte) (all []mark) {
	_ = json.Unmarshal(raw, &all)
	return all
}

// seen notes which of the rows are marked.
func (m *marks) seen(changed []*entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.of) == 0 && len(m.by) == 0 {
		return
	}
	var last rows.RunID
	var run string
	for _, e := range changed {
		if id := e.row.RunID(); id != last {
			last, run = id, recording(e.row)
		}
		if x, there := m.of[run][e.row.Index]; there {
			m.by[e.key] = x
		} else if m.by[e.key].Of != run { // the mark of a recording that had this key before
			delete(m.by, e.key)
		}
	}
}

// recording identifies the run of a row wherever its file is: by when it began, and its number.
func recording(r *rows.Row) string {
	h := r.Head()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %d", h.Run, h.Started.UTC(), h.In, r.RunIndex()))
	return hex.EncodeToString(sum[:8])
}

// Mark marks a row, or no longer, and gives it a note; "" is none. The error is ErrGone or that
// of the file.
func (s *Store) Mark(key Key, set bool, note string) error {
	s.mu.RLock()
	e := s.kept.by[key]
	if e == nil {
		s.mu.RUnlock()
		return ErrGone
	}
	x := mark{recording(e.row), e.row.Index, set, strings.ToValidUTF8(note[:min(len(note), mostNote)], "")}
	s.mu.RUnlock()
	if s.o.Marks != nil {
		err := s.o.Marks.Update(s.ctx, func(old []byte) ([]byte, error) {
			all := slices.DeleteFunc(marksIn(old), func(y mark) bool { return y.Of == x.Of && y.Index == x.Index })
			if x.Mark || x.Note != "" {
				all = append(all, x)
			}
			return json.Marshal(all[max(0, len(all)-mostMarks):])
		})
		if err != nil {
			return err
		}
	}
	s.marks.mu.Lock()
	s.marks.by[key] = x
	s.marks.mu.Unlock()
	s.raise()
	return nil
}

// MarkOf reports whether a row is marked, and its note. It may be called by a function that was
// given to Look or Each.
func (s *Store) MarkOf(key Key) (set bool, note string) {
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	x := s.marks.by[key]
	return x.Mark, x.Note
}
