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

// A Ring is a folder with one capture per run, NNNNNN.jsonl by the number of the run, or NNNNNN.jsonl.zst
// once it is compressed, bounded by Limits. It holds nothing open between calls and may be used by many
// processes at once.
type Ring struct{ dir string }

// Limits bound a Ring. 0 is no limit.
type Limits struct {
	Runs  int
	Bytes int64
	Age   time.Duration
}

// DefaultLimits are those of the ring in which every command is recorded.
var DefaultLimits = Limits{Runs: 2000, Bytes: 512 << 20, Age: 30 * 24 * time.Hour}

const (
	// Extension ends the names of plain recordings in a Ring, IndexExtension those of their indexes.
	Extension      = ".jsonl"
	IndexExtension = ".idx"

	counterName = "last"
	// mostTries is how many numbers are tried before a run is given up: the counter
	// is never far behind.
	maxTries = 10_000
)

// recordingExtensions end the names of recordings: captures, HTTP archives and bundles.
var recordingExtensions = []string{Extension, ".har", ".html", ".mcpcz"}

// NamesRecording reports whether a file has the name of a recording, compressed or not. It does not look for the file.
func NamesRecording(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), packed.Extension)
	return slices.Contains(recordingExtensions, filepath.Ext(name))
}

// NewRing names the folder; it need not exist.
func NewRing(dir string) *Ring { return &Ring{dir: dir} }

// Dir is the ring's folder.
func (r *Ring) Dir() string { return r.dir }

// Indexes is the folder with the indexes of captures that are no runs, beside the ring's.
func (r *Ring) Indexes() string { return filepath.Join(filepath.Dir(r.dir), "indexes") }

// Path is where the capture of a run is, or would be.
func (r *Ring) Path(run int) string {
	return filepath.Join(r.dir, fmt.Sprintf("%06d%s", run, Extension))
}

// Create makes the file of a new run. It is an Opener. That no two runs get one
// number is seen to by the file system, which makes a file only once; the counter
// is where to begin.
func (r *Ring) Create() (io.WriteCloser, int, error) {
	run := r.lastNumber()
	for range maxTries {
		run++
		if _, err := os.Lstat(r.Path(run) + packed.Extension); err == nil { // the counter is behind
			continue
		}
		// Windows locks no file that is open for writing alone.
		f, err := os.OpenFile(r.Path(run), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(r.dir, 0o700); err != nil {
				return nil, 0, err
			}
			run--
		case errors.Is(err, fs.ErrExist):
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

// count notes the number of the last run, in so many digits that it overwrites the
// one before: to make a file empty first costs more than all the rest, because file
// systems then take care that it does not stay so. Where it cannot be written, the
// next run looks longer for its number.
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

// counter opens the counter where it is a plain file, and no link to one: what another
// program put there must not lead to a file of the user's, nor make mcpc wait.
func (r *Ring) openCounter(flag int) (*os.File, error) {
	return OpenPlain(filepath.Join(r.dir, counterName), flag)
}

// last is the number of the last run, as far as the counter knows.
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

// A Run is one file of a Ring, which may be compressed.
type Run struct {
	Number int
	Path   string
	// Bytes are those on the disk.
	Bytes    int64
	Modified time.Time
}

// Runs are the runs that are kept, oldest first. No folder is no runs.
func (r *Ring) Runs() ([]Run, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var runs []Run
	for _, e := range entries {
		n := parseRunNumber(e.Name())
		path := filepath.Join(r.dir, e.Name())
		if n == 0 || len(runs) > 0 && runs[len(runs)-1].Number == n { // compressed, and the plain one is still there
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // it was compressed meanwhile
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

// Numbers are those of the runs that are kept, oldest first. Their files are not looked at.
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
	return slices.Compact(numbers), nil
}

// numberOf is the number of the run whose file has a name; 0 for what is none.
func parseRunNumber(name string) int {
	name, ok := strings.CutSuffix(strings.TrimSuffix(name, packed.Extension), Extension)
	if n, err := strconv.Atoi(name); ok && err == nil && n > 0 {
		return n
	}
	return 0
}

// ErrNoRun is the error of a number that no run has, or not any more.
var ErrNoRun = errors.New("no such run")

// Find gives a run by its number.
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

// IndexPath returns where the index of a run is, whether the run is compressed or not.
func IndexPath(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, packed.Extension), Extension) + IndexExtension
}

// remove removes a run with its index.
func (r *Ring) remove(run int) error {
	os.Remove(IndexPath(r.Path(run)))
	err := os.Remove(r.Path(run) + packed.Extension)
	if plain := os.Remove(r.Path(run)); !errors.Is(plain, fs.ErrNotExist) {
		err = plain
	}
	return err
}

// removeStray removes the indexes of runs that are gone, and indexes and compressed runs that were
// not written to their end.
func (r *Ring) removeStrays(runs []Run, now time.Time) {
	strays, _ := filepath.Glob(filepath.Join(r.dir, "*"+IndexExtension+"*"))
	unfinished, _ := filepath.Glob(filepath.Join(r.dir, "*"+packed.Extension+"-*"))
	for _, path := range append(strays, unfinished...) {
		info, err := os.Lstat(path)
		kept := slices.ContainsFunc(runs, func(r Run) bool { return IndexPath(r.Path) == path })
		if err == nil && !kept && now.Sub(info.ModTime()) > time.Minute {
			os.Remove(path)
		}
	}
}

// Prune removes the oldest runs beyond the limits. It keeps a run whose recorder has its file open, and one that was
// written to in the last minute, for file systems without locks. It returns the runs that it removed.
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
		if index, err := os.Lstat(IndexPath(run.Path)); err == nil {
			bytes += index.Size()
		}
		age := now.Sub(run.Modified)
		over := limits.Runs > 0 && len(runs)-i > limits.Runs || limits.Bytes > 0 && bytes > limits.Bytes ||
			limits.Age > 0 && age > limits.Age
		if !over || age < time.Minute {
			continue
		}
		done, failed := r.removeEnded(run)
		if failed != nil {
			err = failed
		}
		if done {
			removed = append(removed, run)
		}
	}
	return removed, err
}

// removeEnded removes a run unless its recorder has its file open, and reports whether it removed it.
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

// openEnded opens the file of a run and locks it, so that no other process compresses or removes it meanwhile. The file
// is nil, without an error, if its recorder has it open.
func openEnded(path string) (*os.File, error) {
	f, err := OpenPlain(path, os.O_RDWR) // over NFS no other file can be locked
	if errors.Is(err, fs.ErrPermission) {
		f, err = OpenPlain(path, os.O_RDONLY)
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

// File is the Opener of one file that the user named: it is made, or the run is
// written behind those that stand in it.
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

// endTornLine ends the line in which a recorder was killed, so that what is
// appended does not become a part of it. What is no regular file has none.
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

// OpenPlain opens a file where it is a plain one, and no link to one: what another program
// put there must not lead to a file of the user's, nor make mcpc wait.
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
	if opened, err := f.Stat(); err != nil || !os.SameFile(plain, opened) { // it was replaced meanwhile
		f.Close()
		return nil, fs.ErrInvalid
	}
	return f, nil
}
