package live

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Tail reads recordings and reads them on while they grow: the runs of a Ring, or one file.
// It is used by one goroutine.
type Tail struct {
	o Options
	// older are the runs that were there and are not open yet, the newest last.
	older []capture.Run
	// files are those known, by the number of the run, 0 for one that is no run; growing
	// are those of which more may come.
	files, growing map[int]*file
	// listed is when the folder was read, modified what its time of change was then, and
	// last the largest number in it.
	listed, modified time.Time
	// compared is when the files that are not read on were compared with what was read of them.
	compared time.Time
	last     int
	// steps counts the calls of Step.
	steps int
	// gradual is set where a large file is begun by Older, and read on by Step.
	gradual bool
	// carried is for Capture.Agree: the newest are opened first.
	carried rows.Carried
}

// A file is a recording that may grow.
type file struct {
	run  int
	path string
	// capture is nil where the head is not written yet, and where nothing more comes.
	capture *rows.Capture
	// state is that of the file when it was read last, mark says what was read of a recording to which
	// nothing is added any more.
	state rows.FileState
	mark  rows.ContentMark
	// more is set while a part of it is not read yet.
	more bool
	// grew is the step that found it longer, less than 0 for one that is old.
	grew int
	// told is set once it was reported that it cannot be read; findings is how many were
	// reported.
	told     bool
	findings int
	// heads is how many runs it had when what is secret was hidden.
	heads int
	// after is the run from which this one goes on; 0 is none.
	after int
}

// A Changed is what a step of a Tail found.
type Changed struct {
	// Path is the path of the recording; "" if it was deleted.
	Path string
	// Rows are those that are new or have changed, or that were read again.
	Rows []*rows.Row
	// Gone is the path of a recording that was deleted, Run the number of its run; "" elsewhere.
	Gone string
	Run  int
	// Ended is set if a run came to its end.
	Ended bool
	// Warnings are about recordings or lines that cannot be read, Lost is how many frames
	// recorders left out.
	Warnings []string
	Lost     int
}

// missing adds what is said of a recording since the last call for its file.
func (c *Changed) missing(f *file, all *rows.Capture) {
	findings := leftOut(all)
	findings = findings[min(f.findings, len(findings)):]
	for _, finding := range findings {
		c.Warnings = append(c.Warnings, all.Path+": "+finding.Text)
	}
	c.Lost += rows.Lost(findings)
	f.findings += len(findings)
}

// leftOut are the findings about lines that were left out. An incomplete last line is of no
// interest: more may come.
func leftOut(c *rows.Capture) []wire.Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings()), func(f wire.Finding) bool { return f.Rule == rows.RuleTorn })
}

const (
	// relist is how often the folder is read although its time of change is the same, which
	// not every file system keeps exactly.
	relist = 2 * time.Second
	// mostGrowing is of how many recordings each is looked at in every step. Where more have
	// no end, of killed recorders, those that have not grown for quietFrom steps are looked
	// at in every quietEvery-th.
	mostGrowing, quietFrom, quietEvery = 100, 1200, 20
	// stepBytes is how much is read under one lock: some 10 ms.
	stepBytes = 2 << 20
	// clockSlack is how far a file system's clock may be behind that of the frames.
	clockSlack = time.Second
)

// NewTail lists what there is; the errors are those of the folder. Nothing is opened yet.
func NewTail(o Options) (*Tail, error) {
	t := &Tail{o: o, files: map[int]*file{}, growing: map[int]*file{}, carried: rows.Carried{}}
	if o.Path != "" {
		t.older = []capture.Run{{Path: o.Path}}
		return t, nil
	}
	runs, err := byChange(o.Ring)
	if err != nil {
		return nil, err
	}
	t.older = runs
	for _, run := range runs {
		t.last = max(t.last, run.Number)
		t.files[run.Number] = &file{run: run.Number, path: o.Ring.Path(run.Number)}
	}
	return t, nil
}

// Older opens the newest of the recordings that were there and are not open yet; nil where none
// is left. One that is deleted meanwhile is left out. Errors of runs begin with the path.
// written is when its last frame was recorded, at the latest.
func (t *Tail) Older() (c *rows.Capture, written time.Time, err error) {
	for len(t.older) > 0 {
		run := t.older[len(t.older)-1]
		t.older = t.older[:len(t.older)-1]
		f := &file{run: run.Number, path: run.Path, grew: -quietFrom}
		if t.o.Path == "" {
			f.path = t.o.Ring.Path(run.Number) // it may be compressed, or replaced by one that is not
		}
		t.files[run.Number] = f
		c, err = t.open(f)
		if run.Number > 0 && errors.Is(err, fs.ErrNotExist) {
			delete(t.files, run.Number)
			continue
		}
		if err != nil {
			f.told = true
			t.growing[run.Number] = f // its head may still come
			if run.Number > 0 {
				err = fmt.Errorf("%s: %w", run.Path, err)
			}
			return nil, time.Time{}, err
		}
		f.findings = len(leftOut(c))
		c.Agree(t.carried)
		if f.capture == nil && !c.Bundled() {
			c.Settle(nil)
		}
		return c, run.Modified.Add(clockSlack), nil
	}
	return nil, time.Time{}, nil
}

// Left reports how many recordings are not read, those included that Step reads on.
func (t *Tail) Left() int {
	left := len(t.older)
	for _, f := range t.growing {
		if f.more {
			left++
		}
	}
	return left
}

// Again has Older begin again with the newest recording of the ring.
func (t *Tail) Again() error {
	runs, err := byChange(t.o.Ring)
	if err != nil {
		return err
	}
	t.older = runs
	clear(t.carried)
	return nil
}

// byChange returns the runs of a ring by their time of change, the oldest first.
func byChange(ring *capture.Ring) ([]capture.Run, error) {
	runs, err := ring.Runs()
	if err != nil {
		return nil, err
	}
	sliceutil.Sort(runs, func(x, y capture.Run) int {
		return cmp.Or(x.Modified.Compare(y.Modified), x.Number-y.Number)
	})
	return runs, nil
}

// Skip leaves the recordings out that Older has not opened. One that changes later is read.
func (t *Tail) Skip() {
	for _, run := range t.older {
		if f := t.files[run.Number]; f != nil {
			f.state = rows.StateOf(f.path)
		}
	}
	t.older = nil
}

// Close gives back what is open.
func (t *Tail) Close() {
	for _, f := range t.growing {
		if f.capture != nil {
			f.capture.Close()
		}
	}
}

func (t *Tail) open(f *file) (c *rows.Capture, err error) {
	f.state = rows.StateOf(f.path)
	switch {
	case t.o.Path == "":
		c, err = rows.OpenIndexed(f.path, "")
	case t.o.Given != nil:
		c = t.o.Given
	case t.gradual:
		c, err = t.begin(f)
	default:
		c, err = t.o.Open(f.path)
	}
	if err != nil {
		return nil, err
	}
	f.capture = c
	if n := len(c.Heads); n > 0 {
		f.after = c.Heads[n-1].After
	}
	t.hide(f, nil)
	t.growing[f.run] = f
	t.release(f)
	return c, nil
}

// hide hides what is secret in rows that have changed, and in all where a run began.
func (t *Tail) hide(f *file, rows []*rows.Row) {
	if n := len(f.capture.Heads); t.o.Hide != nil && n != f.heads {
		f.heads = n
		t.o.Hide(f.capture)
	}
	for _, r := range rows {
		r.HideAgain()
	}
}

// begin reads the beginning of a capture; another file is opened as a whole.
func (t *Tail) begin(f *file) (*rows.Capture, error) {
	begin := func() (*rows.Capture, error) { return rows.Begin(f.path) }
	if t.o.Indexes != "" {
		begin = func() (*rows.Capture, error) { return rows.BeginIndexed(f.path, t.o.Indexes) }
	}
	c, err := begin()
	if err != nil {
		return nil, err
	}
	if _, f.more, err = c.ReadOn(stepBytes); err == nil {
		return c, nil
	}
	c.Close()
	if errors.Is(err, rows.ErrNoCapture) {
		return t.o.Open(f.path)
	}
	return nil, err
}

// release lets go of what is not needed before the next look, and of a recording to which
// nothing comes any more.
func (t *Tail) release(f *file) {
	if f.more {
		return
	}
	f.capture.Close()
	if f.capture.Bundled() || t.o.Path == "" && f.capture.Ended() {
		delete(t.growing, f.run)
		f.mark = f.capture.Mark()
		f.capture = nil
	}
}

// Step looks what came since. It calls apply under the lock for each recording that has
// changed, and changes rows under it alone.
func (t *Tail) Step(lock sync.Locker, apply func(Changed)) {
	t.steps++
	gone := t.list()
	give := func(read func() Changed) bool {
		lock.Lock()
		defer lock.Unlock()
		changed := read()
		if changed.Rows != nil || changed.Ended || changed.Warnings != nil || changed.Gone != "" {
			apply(changed)
		}
		return changed.Rows != nil
	}
	for _, f := range gone {
		give(func() Changed { return Changed{Gone: f.path, Run: f.run} })
	}
	var grew []*rows.Capture
	for _, f := range t.newestFirst() {
		if !t.longer(f) {
			continue
		}
		c, read := f.capture, t.readOn
		if c == nil {
			c, read = t.opened(f)
		}
		for more := true; more; more = f.more && t.o.Path == "" {
			if give(func() Changed { return read(f) }) {
				grew = append(grew, c)
			}
			if f.capture == nil && c != nil && t.growing[f.run] == f { // it was replaced
				c, read = t.opened(f)
				if give(func() Changed { return read(f) }) {
					grew = append(grew, c)
				}
				read = t.readOn
			}
		}
	}
	for _, c := range grew {
		give(func() Changed {
			all := t.agree(c)
			if t.o.Path == "" && c.Ended() {
				c.Settle(nil)
			}
			return Changed{Path: c.Path, Rows: all}
		})
	}
}

// newestFirst are the recordings to look at: of two parts of one the newer has to be read
// first, see Capture.Agree.
func (t *Tail) newestFirst() (files []*file) {
	for _, f := range t.growing {
		if len(t.growing) <= mostGrowing || t.steps-f.grew < quietFrom || t.steps%quietEvery == f.run%quietEvery {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b *file) int { return b.run - a.run })
	return files
}

// list begins to follow new recordings, and returns those that were deleted. It ignores errors: the
// next call tries again.
func (t *Tail) list() (gone []*file) {
	if t.o.Path != "" {
		return nil
	}
	now := t.o.Now()
	modified := time.Time{} // of a folder that is not there, or not any more
	info, err := os.Stat(t.o.Ring.Dir())
	switch {
	case err == nil:
		modified = info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return nil
	}
	_, next := os.Lstat(t.o.Ring.Path(t.last + 1)) // a clock may not tell two changes apart
	if next != nil && modified.Equal(t.modified) && now.Sub(t.listed) < relist && !now.Before(t.listed) {
		return nil
	}
	numbers, err := t.o.Ring.Numbers()
	if err != nil {
		return nil
	}
	compare := now.Sub(t.compared) >= relist || now.Before(t.compared) || t.listed.IsZero()
	t.modified, t.listed = modified, now
	there := make(map[int]bool, len(numbers))
	for _, n := range numbers {
		t.last = max(t.last, n)
		if there[n] = true; t.files[n] == nil {
			f := &file{run: n, path: t.o.Ring.Path(n), grew: t.steps}
			t.files[n], t.growing[n] = f, f
		}
	}
	if compare {
		t.compared = now
	}
	for n, f := range t.files {
		if there[n] && (!compare || !t.another(f)) {
			continue
		}
		delete(t.files, n)
		delete(t.growing, n)
		t.carried.Forget(n, f.after)
		gone = append(gone, f)
		if there[n] {
			f := &file{run: n, path: t.o.Ring.Path(n), grew: t.steps}
			t.files[n], t.growing[n] = f, f
		}
	}
	return gone
}

// another reports whether a recording that was read to its end was replaced by another one. If something was added to
// it instead, it is read once more.
func (t *Tail) another(f *file) bool {
	if t.growing[f.run] == f || !f.state.Exists() {
		return false
	}
	state := rows.StateOf(f.path)
	if !state.Exists() || state.Same(f.state) {
		return false
	}
	same, grown := f.mark.Compare(f.path)
	if same && !grown { // it was compressed
		f.state = state
	}
	if grown {
		f.state = rows.FileState{}
		t.growing[f.run] = f
	}
	return !same
}

// longer reports whether something was added to a recording, or another one is in its place.
func (t *Tail) longer(f *file) bool {
	if f.more {
		return true
	}
	state := rows.StateOf(f.path)
	if !state.Exists() || state.Same(f.state) {
		return false
	}
	f.state = state
	f.grew = t.steps
	return true
}

// opened opens a recording that was not open, which needs no lock.
func (t *Tail) opened(f *file) (*rows.Capture, func(*file) Changed) {
	changed := Changed{Path: f.path}
	c, err := t.open(f)
	switch {
	case err == nil:
		changed.Rows = c.Rows()
		changed.missing(f, c)
	case !f.told && !errors.Is(err, rows.ErrNoCapture) && !errors.Is(err, fs.ErrNotExist):
		f.told, changed.Warnings = true, []string{f.path + ": " + err.Error()}
	}
	return c, func(*file) Changed { return changed }
}

// readOn reads what was added to a recording.
func (t *Tail) readOn(f *file) Changed {
	changed := Changed{Path: f.path}
	ended := f.capture.Ended()
	var err error
	changed.Rows, f.more, err = f.capture.ReadOn(stepBytes)
	if errors.Is(err, rows.ErrReplaced) {
		return t.replaced(f)
	}
	if err != nil {
		f.more = false
		if !f.told {
			f.told, changed.Warnings = true, []string{f.path + ": " + err.Error()}
		}
	}
	changed.Ended = f.capture.Ended() && !ended
	t.hide(f, changed.Rows)
	changed.missing(f, f.capture)
	t.release(f)
	return changed
}

// replaced forgets what was read of a recording that was replaced by another one, which Step opens next.
func (t *Tail) replaced(f *file) Changed {
	f.capture.Close()
	t.carried.Forget(f.run, f.after)
	t.o.Given = nil
	*f = file{run: f.run, path: f.path, grew: t.steps}
	return Changed{Gone: f.path, Run: f.run}
}

// agree settles what two parts of a recording both have while its recorder is between them:
// of the older one all has been read that was recorded before the newer one. It gives the
// rows that this may have changed.
func (t *Tail) agree(c *rows.Capture) (rows []*rows.Row) {
	if len(c.Heads) == 0 || c.Heads[len(c.Heads)-1].After == 0 {
		return nil
	}
	c.Agree(t.carried)
	old := t.growing[c.Heads[len(c.Heads)-1].After]
	if old == nil || old.capture == nil {
		return nil
	}
	old.capture.Agree(t.carried)
	for _, r := range old.capture.Rows() {
		if r.Open() || r.Cancel != nil {
			rows = append(rows, r)
		}
	}
	return rows
}
