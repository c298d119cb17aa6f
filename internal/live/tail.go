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

// A Tail reads recordings and follows them while they grow: the runs of a Ring, or one file. Only one
// goroutine may use it.
type Tail struct {
	options Options
	// unopened are the recordings that existed at the start and are not open yet, the newest last.
	unopened []capture.Run
	// files are the known recordings by the number of the run, 0 if the file is not in the ring.
	// growing are the recordings among them that may still grow.
	files, growing map[int]*file
	// listedAt is when the Ring's directory was read, and modifiedAt is its modification time then.
	listedAt, modifiedAt time.Time
	// comparedAt is when the finished recordings were last checked for replacement.
	comparedAt time.Time
	// lastRun is the largest run number in the directory.
	lastRun int
	// steps counts the calls of Step.
	steps int
	// readsInSteps makes OpenOlder read only the beginning of a large file; Step reads the rest.
	readsInSteps bool
	// carried is the state of Capture.ResolveCarried. The newest recordings are opened first.
	carried rows.Carried
}

// A file is a recording that may grow.
type file struct {
	run  int
	path string
	// capture is nil before the head is written, and after the recording is finished.
	capture *rows.Capture
	// state is the file's state when it was last read.
	state rows.FileState
	// mark describes the content that was read of a finished recording.
	mark rows.ContentMark
	// hasMore is true while a part of the file is not read yet.
	hasMore bool
	// grewAtStep is the number of the step that found the file longer. It is negative for recordings that
	// existed at the start.
	grewAtStep int
	// hasWarned is true after a warning that the file cannot be read.
	hasWarned bool
	// reportedFindings is the number of findings reported.
	reportedFindings int
	// reportedLost is the number of lost frames reported.
	reportedLost int
	// hiddenHeads is the number of runs in the file when its secrets were hidden.
	hiddenHeads int
	// previousRun is the run that this one continues; 0 if it begins a recording.
	previousRun int
}

// A Changed is a change that a step of a Tail found.
type Changed struct {
	// Path is the path of the recording. It is empty if the recording was deleted.
	Path string
	// Rows are the rows that are new, have changed or were read again.
	Rows []*rows.Row
	// DeletedPath is the path of a deleted recording, and Run is its run. DeletedPath is empty for other changes.
	DeletedPath string
	Run         int
	// Ended is true if a run ended.
	Ended bool
	// Warnings name recordings and lines that cannot be read.
	Warnings []string
	// Lost is the number of frames that recorders left out.
	Lost int
}

// addFindings adds the findings about a recording that are new since the last call for its file.
func (c *Changed) addFindings(f *file, all *rows.Capture) {
	findings := skippedLines(all)
	findings = findings[min(f.reportedFindings, len(findings)):]
	for _, finding := range findings {
		c.Warnings = append(c.Warnings, all.Path+": "+finding.Text)
	}
	f.reportedFindings += len(findings)
	c.Lost += max(all.Lost()-f.reportedLost, 0)
	f.reportedLost = max(f.reportedLost, all.Lost())
}

// skippedLines returns the findings about lines that were left out. It ignores an incomplete last line:
// the rest of the line may follow.
func skippedLines(c *rows.Capture) []wire.Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings()), func(f wire.Finding) bool { return f.Rule == rows.RuleTorn })
}

const (
	// relistInterval is how often the directory is read even if its modification time is unchanged:
	// not every file system keeps that time exactly.
	relistInterval = 2 * time.Second
	// maxGrowing is the maximum number of growing recordings for every step to check each of them.
	// Killed recorders leave recordings without an end.
	maxGrowing = 100
	// quietSteps is the number of steps without growth that make a recording quiet. If more than
	// maxGrowing recordings are growing, a quiet one is checked in every quietEvery-th step only.
	quietSteps = 1200
	quietEvery = 20
	// stepBytes is how much is read under one lock, which takes some 10 ms.
	stepBytes = 2 << 20
	// clockSlack is how far the clock of a file system may lag the recorder's clock.
	clockSlack = time.Second
)

// NewTail lists the recordings without opening them. It returns errors of listing the Ring.
func NewTail(o Options) (*Tail, error) {
	t := &Tail{options: o, files: map[int]*file{}, growing: map[int]*file{}, carried: rows.Carried{}}
	if o.Path != "" {
		t.unopened = []capture.Run{{Path: o.Path}}
		return t, nil
	}
	runs, err := runsByChange(o.Ring)
	if err != nil {
		return nil, err
	}
	t.unopened = runs
	for _, run := range runs {
		t.lastRun = max(t.lastRun, run.Number)
		t.files[run.Number] = &file{run: run.Number, path: o.Ring.Path(run.Number)}
	}
	return t, nil
}

// OpenOlder opens the newest recording that existed at the start and is not open yet, and returns
// the latest possible time of its last frame. It returns nil if no recording is left, and skips
// recordings deleted in the meantime. Errors about runs begin with the path.
func (t *Tail) OpenOlder() (c *rows.Capture, written time.Time, err error) {
	for len(t.unopened) > 0 {
		run := t.unopened[len(t.unopened)-1]
		t.unopened = t.unopened[:len(t.unopened)-1]
		f := &file{run: run.Number, path: run.Path, grewAtStep: -quietSteps}
		if t.options.Path == "" {
			f.path = t.options.Ring.Path(run.Number) // compression may have changed the name since the listing
		}
		t.files[run.Number] = f
		c, err = t.open(f)
		if run.Number > 0 && errors.Is(err, fs.ErrNotExist) {
			delete(t.files, run.Number)
			continue
		}
		if err != nil {
			f.hasWarned = true
			t.growing[run.Number] = f // its head may not be written yet
			if run.Number > 0 {
				err = fmt.Errorf("%s: %w", run.Path, err)
			}
			return nil, time.Time{}, err
		}
		f.reportedFindings = len(skippedLines(c))
		f.reportedLost = c.Lost()
		c.ResolveCarried(t.carried)
		// release has decided that the recording cannot grow.
		if f.capture == nil && !c.IsBundled() {
			c.Freeze(nil)
		}
		return c, run.Modified.Add(clockSlack), nil
	}
	return nil, time.Time{}, nil
}

// CountUnread returns the number of recordings that are not completely read, including recordings
// that Step continues.
func (t *Tail) CountUnread() int {
	left := len(t.unopened)
	for _, f := range t.growing {
		if f.hasMore {
			left++
		}
	}
	return left
}

// Restart makes OpenOlder start again with the newest recording of the ring.
func (t *Tail) Restart() error {
	runs, err := runsByChange(t.options.Ring)
	if err != nil {
		return err
	}
	t.unopened = runs
	clear(t.carried)
	return nil
}

// runsByChange returns the runs of a ring in the order of their modification times, the oldest first.
func runsByChange(ring *capture.Ring) ([]capture.Run, error) {
	runs, err := ring.Runs()
	if err != nil {
		return nil, err
	}
	sliceutil.Sort(runs, func(x, y capture.Run) int {
		return cmp.Or(x.Modified.Compare(y.Modified), x.Number-y.Number)
	})
	return runs, nil
}

// SkipOlder skips the recordings that OpenOlder has not opened. Step still reads a skipped
// recording that changes later.
func (t *Tail) SkipOlder() {
	for _, run := range t.unopened {
		if f := t.files[run.Number]; f != nil {
			f.state = rows.StateOf(f.path)
		}
	}
	t.unopened = nil
}

// Close closes all open recordings.
func (t *Tail) Close() {
	for _, f := range t.growing {
		if f.capture != nil {
			f.capture.Close()
		}
	}
}

// open opens a recording, hides its secrets and adds it to growing, unless it cannot grow. It reads
// all of it, or only the beginning if readsInSteps is set.
func (t *Tail) open(f *file) (c *rows.Capture, err error) {
	f.state = rows.StateOf(f.path)
	switch {
	case t.options.Path == "":
		c, err = rows.OpenIndexed(f.path, "")
	case t.options.Capture != nil:
		c = t.options.Capture
	case t.readsInSteps:
		c, err = t.begin(f)
	default:
		c, err = t.options.Open(f.path)
	}
	if err != nil {
		return nil, err
	}
	f.capture = c
	if n := len(c.Heads); n > 0 {
		f.previousRun = c.Heads[n-1].PreviousRun
	}
	t.hide(f, nil)
	t.growing[f.run] = f
	t.release(f)
	return c, nil
}

// hide hides secrets in changed rows, and first in the whole capture if a run began: its head may
// have secrets.
func (t *Tail) hide(f *file, changed []*rows.Row) {
	if n := len(f.capture.Heads); t.options.Hide != nil && n != f.hiddenHeads {
		f.hiddenHeads = n
		t.options.Hide(f.capture)
	}
	for _, r := range changed {
		r.HideAgain()
	}
}

// begin reads the beginning of a capture. It opens other kinds of files as a whole.
func (t *Tail) begin(f *file) (*rows.Capture, error) {
	var c *rows.Capture
	var err error
	if t.options.Indexes == "" {
		c, err = rows.Begin(f.path)
	} else {
		c, err = rows.BeginIndexed(f.path, t.options.Indexes)
	}
	if err != nil {
		return nil, err
	}
	_, f.hasMore, err = c.ReadOn(stepBytes)
	if err == nil {
		return c, nil
	}
	c.Close()
	if errors.Is(err, rows.ErrNoCapture) { // a bundle or an HTTP archive
		return t.options.Open(f.path)
	}
	return nil, err
}

// release closes a file that is read completely for now, and frees the capture of a recording that
// cannot grow any more.
func (t *Tail) release(f *file) {
	if f.hasMore {
		return
	}
	f.capture.Close()
	if f.capture.IsBundled() || t.options.Path == "" && f.capture.HasEnded() {
		delete(t.growing, f.run)
		f.mark = f.capture.Mark()
		f.capture = nil
	}
}

// Step reads what was added to the recordings since the last call. It changes rows only while it holds
// lock, and calls apply under lock for each recording that has changed.
func (t *Tail) Step(lock sync.Locker, apply func(Changed)) {
	t.steps++
	deleted := t.scan()
	// readLocked calls read and apply under the lock, and reports whether rows changed.
	readLocked := func(read func() Changed) bool {
		lock.Lock()
		defer lock.Unlock()
		changed := read()
		if changed.Rows != nil || changed.Ended || changed.Warnings != nil || changed.DeletedPath != "" {
			apply(changed)
		}
		return changed.Rows != nil
	}
	for _, f := range deleted {
		readLocked(func() Changed { return Changed{DeletedPath: f.path, Run: f.run} })
	}
	var grew []*rows.Capture
	for _, f := range t.dueNewestFirst() {
		if !t.checkGrown(f) {
			continue
		}
		c := f.capture
		read := t.readOn
		if c == nil {
			c, read = t.reopen(f)
		}
		// A file is read in one step for each call, so that its Store can be used meanwhile; a
		// recording of a Ring is read to its end.
		for more := true; more; more = f.hasMore && t.options.Path == "" {
			if readLocked(func() Changed { return read(f) }) {
				grew = append(grew, c)
			}
			if f.capture == nil && c != nil && t.growing[f.run] == f { // the file was replaced
				c, read = t.reopen(f)
				if readLocked(func() Changed { return read(f) }) {
					grew = append(grew, c)
				}
				read = t.readOn
			}
		}
	}
	// Now that all files are read, decide which part of a recording lists which rows.
	for _, c := range grew {
		readLocked(func() Changed {
			all := t.resolveParts(c)
			if t.options.Path == "" && c.HasEnded() {
				c.Freeze(nil)
			}
			return Changed{Path: c.Path, Rows: all}
		})
	}
}

// dueNewestFirst returns the recordings to check in this step. The newer part of a recording has to
// be read before the older part, see Capture.ResolveCarried.
func (t *Tail) dueNewestFirst() []*file {
	var files []*file
	for _, f := range t.growing {
		quiet := len(t.growing) > maxGrowing && t.steps-f.grewAtStep >= quietSteps
		if !quiet || t.steps%quietEvery == f.run%quietEvery { // not all quiet ones in the same step
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b *file) int { return b.run - a.run })
	return files
}

// scan begins to follow new recordings of the ring, and returns the deleted and replaced ones. It
// ignores errors: the next scan tries again.
func (t *Tail) scan() []*file {
	if t.options.Path != "" {
		return nil
	}
	now := t.options.Now()
	var modified time.Time // zero if the directory does not exist
	info, err := os.Stat(t.options.Ring.Dir())
	if err == nil {
		modified = info.ModTime()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Two changes can have the same modification time, so the next recording is looked for by name.
	_, noNext := os.Lstat(t.options.Ring.Path(t.lastRun + 1))
	recent := now.Sub(t.listedAt) < relistInterval && !now.Before(t.listedAt)
	if noNext != nil && modified.Equal(t.modifiedAt) && recent {
		return nil
	}
	numbers, err := t.options.Ring.Numbers()
	if err != nil {
		return nil
	}
	// Comparing opens each finished recording that has changed.
	compare := now.Sub(t.comparedAt) >= relistInterval || now.Before(t.comparedAt) || t.listedAt.IsZero()
	t.modifiedAt = modified
	t.listedAt = now
	present := make(map[int]bool, len(numbers))
	for _, n := range numbers {
		t.lastRun = max(t.lastRun, n)
		present[n] = true
		if t.files[n] == nil {
			t.follow(n)
		}
	}
	if compare {
		t.comparedAt = now
	}
	var deleted []*file
	for n, f := range t.files {
		if present[n] && (!compare || !t.checkReplaced(f)) {
			continue
		}
		delete(t.files, n)
		delete(t.growing, n)
		t.carried.Forget(n, f.previousRun)
		deleted = append(deleted, f)
		if present[n] {
			t.follow(n)
		}
	}
	return deleted
}

// follow begins to follow a recording of the ring. The next steps read it.
func (t *Tail) follow(n int) {
	f := &file{run: n, path: t.options.Ring.Path(n), grewAtStep: t.steps}
	t.files[n] = f
	t.growing[n] = f
}

// checkReplaced reports whether a finished recording was replaced by a different one. If something
// was appended instead, it makes the next steps read the file again. It returns false if the
// recording still grows or was not read: the steps notice the replacement.
func (t *Tail) checkReplaced(f *file) bool {
	if t.growing[f.run] == f || !f.state.Exists() {
		return false
	}
	state := rows.StateOf(f.path)
	if !state.Exists() || state.Same(f.state) {
		return false
	}
	same, grown := f.mark.Compare(f.path)
	if same && !grown { // the file was compressed
		f.state = state
	}
	if grown {
		f.state = rows.FileState{}
		t.growing[f.run] = f
	}
	return !same
}

// checkGrown reports whether a file has changed since it was last read, or is not completely read. It
// updates the file's state.
func (t *Tail) checkGrown(f *file) bool {
	if f.hasMore {
		return true
	}
	state := rows.StateOf(f.path)
	if !state.Exists() || state.Same(f.state) {
		return false
	}
	f.state = state
	f.grewAtStep = t.steps
	return true
}

// reopen opens a recording that is not open; it needs no lock. It returns the capture, nil after an
// error, and a function in the form of readOn that returns the change. An error is a warning the
// first time, unless the head of the recording is not written yet or the file was deleted.
func (t *Tail) reopen(f *file) (*rows.Capture, func(*file) Changed) {
	changed := Changed{Path: f.path}
	c, err := t.open(f)
	if err == nil {
		changed.Rows = c.Rows()
		changed.addFindings(f, c)
	} else if !f.hasWarned && !errors.Is(err, rows.ErrNoCapture) && !errors.Is(err, fs.ErrNotExist) {
		f.hasWarned = true
		changed.Warnings = []string{f.path + ": " + err.Error()}
	}
	return c, func(*file) Changed { return changed }
}

// readOn reads the next part of a recording, of about stepBytes bytes, and returns the change. An
// error is a warning the first time.
func (t *Tail) readOn(f *file) Changed {
	changed := Changed{Path: f.path}
	ended := f.capture.HasEnded()
	var err error
	changed.Rows, f.hasMore, err = f.capture.ReadOn(stepBytes)
	if errors.Is(err, rows.ErrReplaced) {
		return t.forgetReplaced(f)
	}
	if err != nil {
		f.hasMore = false
		if !f.hasWarned {
			f.hasWarned = true
			changed.Warnings = []string{f.path + ": " + err.Error()}
		}
	}
	changed.Ended = f.capture.HasEnded() && !ended
	t.hide(f, changed.Rows)
	changed.addFindings(f, f.capture)
	t.release(f)
	return changed
}

// forgetReplaced resets a recording whose file was replaced, and returns the change. Step opens the
// new file next.
func (t *Tail) forgetReplaced(f *file) Changed {
	f.capture.Close()
	t.carried.Forget(f.run, f.previousRun)
	t.options.Capture = nil // it has the replaced contents
	*f = file{run: f.run, path: f.path, grewAtStep: t.steps}
	return Changed{DeletedPath: f.path, Run: f.run}
}

// resolveParts reconciles a recording with the part before it, which may still be open while its recorder
// changes over. It returns the rows of the older part that this may have changed.
func (t *Tail) resolveParts(c *rows.Capture) []*rows.Row {
	if len(c.Heads) == 0 || c.Heads[len(c.Heads)-1].PreviousRun == 0 {
		return nil
	}
	c.ResolveCarried(t.carried)
	old := t.growing[c.Heads[len(c.Heads)-1].PreviousRun]
	if old == nil || old.capture == nil {
		return nil
	}
	old.capture.ResolveCarried(t.carried)
	var rows []*rows.Row
	for _, r := range old.capture.Rows() {
		if r.IsOpen() || r.Cancel != nil {
			rows = append(rows, r)
		}
	}
	return rows
}
