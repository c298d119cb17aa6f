package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/compress/packed"
	"mcpc/internal/sliceutil"
)

// A Ring is a directory with one capture for each run: NNNNNN.jsonl, or NNNNNN.jsonl.zst once it is
// compressed, with the number of the run. Prune bounds it by Limits. A Ring has no file open
// between calls. Many processes may use it at the same time.
type Ring struct{ dir string }

// Limits bound a Ring. A limit of 0 has no effect.
type Limits struct {
	Runs  int
	Bytes int64
	Age   time.Duration
}

// DefaultLimits are the limits of the ring that records every command.
var DefaultLimits = Limits{Runs: 2000, Bytes: 512 << 20, Age: 30 * 24 * time.Hour}

const (
	// Extension ends the name of an uncompressed recording in a Ring.
	Extension = ".jsonl"
	// IndexExtension ends the name of an index.
	IndexExtension = ".idx"

	counterName = "last"
	// maxTries is how many numbers Create tries. The counter is never far below the last number.
	maxTries = 10_000
)

// recordingExtensions end the names of recordings: captures, HTTP archives and bundles.
var recordingExtensions = []string{Extension, ".har", ".html", ".mcpcz"}

// NamesRecording reports whether a file name has the extension of a recording, compressed or not.
// The file need not exist.
func NamesRecording(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), packed.Extension)
	return slices.Contains(recordingExtensions, filepath.Ext(name))
}

// NewRing returns the ring in a directory, which need not exist.
func NewRing(dir string) *Ring { return &Ring{dir: dir} }

// Dir returns the directory of the ring.
func (r *Ring) Dir() string { return r.dir }

// Indexes returns the directory with the indexes of captures outside the ring.
func (r *Ring) Indexes() string { return filepath.Join(filepath.Dir(r.dir), "indexes") }

// Path returns the path of the uncompressed capture of a run, which need not exist.
func (r *Ring) Path(run int) string {
	return filepath.Join(r.dir, fmt.Sprintf("%06d%s", run, Extension))
}

// Create creates the file of a new run. It is an Opener. It tries the numbers after the one in the
// counter until it has created a file: the file system creates a file only once, so no two runs get
// the same number.
func (r *Ring) Create() (io.WriteCloser, int, error) {
	run := r.lastNumber()
	for range maxTries {
		run++
		if _, err := os.Lstat(r.Path(run) + packed.Extension); err == nil { // the counter is too low
			continue
		}
		// Windows locks no file that is open for writing alone.
		f, err := os.OpenFile(r.Path(run), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(r.dir, 0o700); err != nil {
				return nil, 0, err
			}
			run-- // this number is tried again
		case errors.Is(err, fs.ErrExist): // the next number may be free
		case err != nil:
			return nil, 0, err
		default:
			_ = lockShared(f) // some file systems have no locks
			r.storeCounter(run)
			return f, run, nil
		}
	}
	return nil, 0, fmt.Errorf("%s: no number is free after %d", r.dir, run)
}

// storeCounter stores the number of the last run. It overwrites the number before, always with 12
// digits: truncating the file would cost more than all other steps, because file systems then write
// it to the disk at once. It ignores errors: the next run searches longer for its number.
func (r *Ring) storeCounter(n int) {
	f, err := r.openCounter(os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(filepath.Join(r.dir, counterName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "%012d\n", n)
	f.Close()
}

// openCounter opens the counter with OpenPlain.
func (r *Ring) openCounter(flag int) (*os.File, error) {
	return OpenPlain(filepath.Join(r.dir, counterName), flag)
}

// lastNumber returns the number in the counter, or the newest run's if the counter cannot be read.
// It returns 0 if there is no run.
func (r *Ring) lastNumber() int {
	if f, err := r.openCounter(os.O_RDONLY); err == nil {
		raw, err := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		if n, bad := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && bad == nil && n >= 0 {
			return n
		}
	}
	if runs, err := r.Runs(); err == nil && len(runs) > 0 {
		return runs[len(runs)-1].Number
	}
	return 0
}

// A Run is the file of a run in a Ring. It may be compressed.
type Run struct {
	Number int
	Path   string
	// Bytes is the size of the file, compressed or not.
	Bytes    int64
	Modified time.Time
}

// Runs returns the runs in the ring, oldest first. It returns no runs if the directory does not
// exist.
func (r *Ring) Runs() ([]Run, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var runs []Run
	for _, e := range entries {
		n := parseRunNumber(e.Name())
		path := filepath.Join(r.dir, e.Name())
		// Entries are sorted by name, so NNNNNN.jsonl comes just before NNNNNN.jsonl.zst.
		isCompressedCopy := len(runs) > 0 && runs[len(runs)-1].Number == n
		if n == 0 || isCompressedCopy {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // another process compressed it
			path += packed.Extension
			info, err = os.Lstat(path)
		}
		if err == nil && info.Mode().IsRegular() {
			runs = append(runs, Run{Number: n, Path: path, Bytes: info.Size(), Modified: info.ModTime()})
		}
	}
	sliceutil.Sort(runs, func(a, b Run) int { return a.Number - b.Number })
	return runs, nil
}

// Numbers returns the numbers of the runs in the ring, oldest first. It lists the directory and
// looks at no file, so it is faster than Runs.
func (r *Ring) Numbers() (numbers []int, err error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if n := parseRunNumber(e.Name()); n > 0 && e.Type().IsRegular() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil // a run that is being compressed has two files
}

// parseRunNumber returns the number of the run with this file name; 0 if no run has such a name.
func parseRunNumber(name string) int {
	name, ok := strings.CutSuffix(strings.TrimSuffix(name, packed.Extension), Extension)
	if n, err := strconv.Atoi(name); ok && err == nil && n > 0 {
		return n
	}
	return 0
}

// ErrNoRun is the error for the number of a run that does not exist or was deleted.
var ErrNoRun = errors.New("no such run")

// Find returns a run by its number, or ErrNoRun.
func (r *Ring) Find(number int) (Run, error) {
	runs, err := r.Runs()
	if err != nil {
		return Run{}, err
	}
	i := slices.IndexFunc(runs, func(r Run) bool { return r.Number == number })
	if i < 0 {
		return Run{}, ErrNoRun
	}
	return runs[i], nil
}

// IndexPath returns the path of the index of a run, given the path of the run, compressed or not.
func IndexPath(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, packed.Extension), Extension) + IndexExtension
}

// remove deletes a run and its index. The run may have a plain file, a compressed one or, while it
// is compressed, both. It returns an error if it deleted neither file or could not delete a file
// that exists.
func (r *Ring) remove(run int) error {
	os.Remove(IndexPath(r.Path(run)))
	err := os.Remove(r.Path(run) + packed.Extension)
	if plain := os.Remove(r.Path(run)); !errors.Is(plain, fs.ErrNotExist) {
		err = plain
	}
	return err
}

// removeStrays deletes indexes without a run, and unfinished indexes and compressed runs. It keeps
// a file for a minute: a process may be writing it.
func (r *Ring) removeStrays(runs []Run, now time.Time) {
	strays, _ := filepath.Glob(filepath.Join(r.dir, "*"+IndexExtension+"*"))
	unfinished, _ := filepath.Glob(filepath.Join(r.dir, "*"+packed.Extension+"-*"))
	for _, path := range append(strays, unfinished...) {
		info, err := os.Lstat(path)
		hasRun := slices.ContainsFunc(runs, func(r Run) bool { return IndexPath(r.Path) == path })
		if err == nil && !hasRun && now.Sub(info.ModTime()) > time.Minute {
			os.Remove(path)
		}
	}
}

// Prune deletes the oldest runs beyond the limits and returns them. It keeps a run whose recorder
// has its file open. For file systems without locks, it also keeps a run that was written to in the
// last minute.
func (r *Ring) Prune(limits Limits, now time.Time) (removed []Run, err error) {
	runs, err := r.Runs()
	if err != nil {
		return nil, err
	}
	r.removeStrays(runs, now)
	var bytes int64
	for i := len(runs) - 1; i >= 0; i-- {
		run := runs[i]
		bytes += run.Bytes
		// An index counts in the limit, as it is deleted with its run.
		if index, err := os.Lstat(IndexPath(run.Path)); err == nil {
			bytes += index.Size()
		}
		age := now.Sub(run.Modified)
		isOverLimit := limits.Runs > 0 && len(runs)-i > limits.Runs || limits.Bytes > 0 && bytes > limits.Bytes ||
			limits.Age > 0 && age > limits.Age
		if !isOverLimit || age < time.Minute {
			continue
		}
		done, failed := r.removeEnded(run)
		// The other runs are deleted all the same.
		if failed != nil {
			err = failed
		}
		if done {
			removed = append(removed, run)
		}
	}
	return removed, err
}

// removeEnded deletes a run unless its recorder has its file open. It reports whether it deleted
// the run. A run that another process deleted is no error.
func (r *Ring) removeEnded(run Run) (done bool, err error) {
	f, err := openEnded(run.Path)
	if errors.Is(err, fs.ErrNotExist) { // another process removed or compressed it
		return false, nil
	}
	if f == nil {
		return false, err
	}
	if runtime.GOOS == "windows" { // it deletes no file that is open
		f.Close()
	}
	err = r.remove(run.Number)
	f.Close()
	return err == nil, err
}

// openEnded opens and locks the file of a run, so that no other process compresses or deletes it at
// the same time. It returns nil and no error if the run's recorder has the file open.
func openEnded(path string) (*os.File, error) {
	f, err := OpenPlain(path, os.O_RDWR) // over NFS no other file can be locked
	if errors.Is(err, fs.ErrPermission) {
		f, err = OpenPlain(path, os.O_RDONLY) // a local file can be locked without the right to write
	}
	if err != nil {
		return nil, err
	}
	if lockExclusive(f) {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// File returns the Opener of a file that the user named. It creates the file, or appends to it.
func File(path string) Opener {
	return func() (io.WriteCloser, int, error) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, 0, err
		}
		if err := endTornLine(f); err != nil {
			f.Close()
			return nil, 0, err
		}
		return f, 0, nil
	}
}

// endTornLine ends an incomplete last line, which a killed recorder left, so that the appended
// lines do not become a part of it. It does nothing for a file that is not regular.
func endTornLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// OpenPlain opens a regular file. It returns fs.ErrInvalid for everything else, such as a link or a
// pipe: another program could use one to make mcpc write to a file of the user or wait.
func OpenPlain(path string, flag int) (*os.File, error) {
	plain, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !plain.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(plain, opened) { // the file was replaced
		f.Close()
		return nil, fs.ErrInvalid
	}
	return f, nil
}
