package reload

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quietTime is how long no file may change before a change is reported, so that saving many files is
// one change.
const quietTime = 200 * time.Millisecond

// Files are watched files.
type Files struct {
	// Changed receives a value after files have changed. It keeps one value.
	Changed chan struct{}

	patterns []pattern
	ignored  ignoreRules
	watcher  *fsnotify.Watcher
	note     func(text string)
	isFull   bool // the system watches no more directories, which was reported
	// fitting are the patterns that have selected a file. dirs are the watched directories.
	fitting, dirs map[string]bool
	// touched are the selected files that may have changed since the last report. sums has the checksum
	// of each file that has changed before: a build may write the same content again.
	touched map[string]bool
	sums    map[string][sha256.Size]byte
	ended   chan struct{}
}

// WatchFiles watches the files that the patterns select, relative to dir, until Close. note is called
// with what the user should know, such as a pattern that selects no file yet. The error is a PatternError,
// or the system's.
func WatchFiles(dir string, patterns []string, note func(text string)) (*Files, error) {
	f := &Files{
		Changed: make(chan struct{}, 1), note: note, ended: make(chan struct{}),
		fitting: map[string]bool{}, dirs: map[string]bool{}, touched: map[string]bool{}, sums: map[string][sha256.Size]byte{},
	}
	for _, text := range patterns {
		p, err := parsePattern(dir, text)
		if err != nil {
			return nil, err
		}
		f.patterns = append(f.patterns, p)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	f.watcher = watcher
	for _, p := range f.patterns {
		f.addBase(p)
	}
	for _, p := range f.patterns {
		if !f.fitting[p.text] {
			note(fmt.Sprintf("the pattern %q fits no file yet", p.text))
		}
	}
	clear(f.touched)
	go f.run()
	return f, nil
}

// Close ends the watch.
func (f *Files) Close() {
	_ = f.watcher.Close()
	<-f.ended
}

// addBase watches the directories of a pattern and those that lead to it, so that a base which is
// created later is noticed.
func (f *Files) addBase(p pattern) {
	start := filepath.Dir(p.base)
	for start != filepath.Dir(start) {
		if info, err := os.Stat(start); err == nil && info.IsDir() {
			break
		}
		start = filepath.Dir(start)
	}
	f.ignored.loadAbove(start)
	f.add(start)
}

// add watches a directory and the directories in it, if they can have watched files or lead to some. The
// watched files in them count as touched. It reports whether there are any.
func (f *Files) add(dir string) (found bool) {
	leads := false
	contains := false
	for _, p := range f.patterns {
		_, isAbove := below(dir, p.base)
		leads = leads || isAbove
		contains = contains || p.contains(dir)
	}
	if !leads && !contains {
		return false
	}
	if err := f.watcher.Add(dir); err != nil {
		f.reportUnwatched(dir, err)
	}
	f.dirs[dir] = true
	if contains {
		f.ignored.load(dir)
	}
	entries, _ := os.ReadDir(dir) // a directory that cannot be read has no watched files
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			found = f.touch(path) || found
		} else if !contains || !f.ignored.ignores(path, true) {
			found = f.add(path) || found
		}
	}
	return found
}

// reportUnwatched reports once that a directory cannot be watched.
func (f *Files) reportUnwatched(dir string, err error) {
	if f.isFull || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return
	}
	f.isFull = true
	text := "changes in " + dir + " are not noticed: " + err.Error()
	if errors.Is(err, syscall.ENOSPC) {
		text += "; watch fewer directories, or raise fs.inotify.max_user_watches"
	}
	f.note(text)
}

// touch notes that a file may have changed, and reports whether a pattern selects it and it is not ignored.
func (f *Files) touch(path string) (found bool) {
	for _, p := range f.patterns {
		if p.regexp.MatchString(filepath.ToSlash(path)) && !f.ignored.ignores(path, false) {
			f.fitting[p.text] = true
			f.touched[path] = true
			found = true
		}
	}
	return found
}

// maxSummed is the size of the largest file whose content is compared, in bytes.
const maxSummed = 16 << 20

// takeChanges reports whether the content of a touched file has changed since it was touched before. A file
// that was never touched before has changed.
func (f *Files) takeChanges() bool {
	hasChanged := false
	for path := range f.touched {
		var sum [sha256.Size]byte // of a deleted file
		info, err := os.Stat(path)
		isLarge := err == nil && info.Size() > maxSummed
		if raw, err := os.ReadFile(path); err == nil && !isLarge {
			sum = sha256.Sum256(raw)
		}
		before, isKnown := f.sums[path]
		hasChanged = hasChanged || !isKnown || isLarge || sum != before
		f.sums[path] = sum
	}
	clear(f.touched)
	return hasChanged
}

// run reports changes until Close.
func (f *Files) run() {
	defer close(f.ended)
	quiet := time.NewTimer(quietTime)
	quiet.Stop()
	for {
		select {
		case e, ok := <-f.watcher.Events:
			if !ok {
				return
			}
			if f.handle(e) {
				quiet.Reset(quietTime)
			}
		case err, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) { // some changes are unknown
				for _, p := range f.patterns {
					f.addBase(p)
				}
				quiet.Reset(quietTime)
				continue
			}
			f.note("watching files: " + err.Error())
		case <-quiet.C:
			if !f.takeChanges() {
				continue
			}
			select {
			case f.Changed <- struct{}{}:
			default:
			}
		}
	}
}

// handle notes which watched files an event may have changed, and reports whether there are any. It watches
// a new directory, and tells the user about a deleted one that a pattern names.
func (f *Files) handle(e fsnotify.Event) (found bool) {
	if e.Op == fsnotify.Chmod {
		return false
	}
	path := e.Name
	if info, err := os.Lstat(path); e.Has(fsnotify.Create) && err == nil && info.IsDir() {
		return !f.ignored.ignores(path, true) && f.add(path)
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		f.reportDeleted(path)
	}
	return f.touch(path)
}

// reportDeleted reports that a directory which has or leads to the files of a pattern was deleted.
func (f *Files) reportDeleted(path string) {
	if !f.dirs[path] {
		return
	}
	delete(f.dirs, path)
	for _, p := range f.patterns {
		if _, leads := below(path, p.base); leads {
			f.note(path + " was deleted; its files are watched again when it is back")
			return
		}
	}
}
