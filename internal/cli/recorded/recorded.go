// Package recorded finds the recording and the exchange that an argument of a command names. It
// turns recorded requests into curl commands, mcpc commands and new requests.
package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/compress/packed"
	"mcpc/internal/connect"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// runNumber matches the number of a run or of an exchange. "42" names the main exchange of run 42,
// "42.3" its third exchange. "last", or no argument, names the exchange that ended last. FILE#3
// names the third exchange of a file, FILE its main exchange.
var runNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,9}))?$`) })

// A Recording is a capture and perhaps an exchange that the user selected in it.
type Recording struct {
	*rows.Capture
	name string // of the capture, for errors
	// number is the number of the selected exchange, as in FILE#3. index is its position, from 1,
	// as in 42.3. "" and 0 select no exchange.
	number string
	index  int
}

// Open opens the capture that an argument names; "last" is the newest run, and run:42 is run 42. The caller closes it.
func Open(f *cmdutil.Factory, word string) (r Recording, out wire.Outcome) {
	if number, isRun := strings.CutPrefix(word, "run:"); isRun && runNumber().MatchString(number) {
		word = number
	}
	if word == "last" {
		return openLast(f)
	}
	if match := runNumber().FindStringSubmatch(word); match != nil {
		return openRun(f, match)
	}
	path, number := splitNumber(word)
	r.name = cmdutil.ShownFile(path)
	r.number = number
	var err error
	r.Capture, err = OpenIndexed(f, path)
	if err != nil {
		return r, Unreadable(path, err)
	}
	return r, out
}

// largeFile is the minimum size in bytes of a capture that is read with less memory.
const largeFile = 128 << 20

// Stdin is the argument for a recording on stdin.
const Stdin = "-"

// OpenFile opens a capture, a bundle or an HTTP archive, from a file or stdin. It converts an
// archive to a capture. Unreadable returns the outcome for its errors.
func OpenFile(f *cmdutil.Factory, path string) (*rows.Capture, error) {
	return openWith(f, path, rows.Open)
}

// OpenIndexed opens a capture like OpenFile, with an index in the state directory. It creates the
// index if needed.
func OpenIndexed(f *cmdutil.Factory, path string) (*rows.Capture, error) {
	ring, err := f.Env.Ring()
	if err != nil {
		return OpenFile(f, path)
	}
	return openWith(f, path, func(path string) (*rows.Capture, error) {
		return rows.OpenIndexed(path, ring.Indexes())
	})
}

// openWith opens a recording of any format. It opens a capture in a regular file with open, copies a
// stream or a pipe to a temporary file first, and returns errEmpty for an empty file.
func openWith(f *cmdutil.Factory, path string, open func(string) (*rows.Capture, error)) (*rows.Capture, error) {
	if path == Stdin {
		return openStream(f, path, f.In)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		in, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return openStream(f, path, in)
	}
	if info, err := rows.Stat(path); err == nil && info.Size() > largeFile {
		debug.SetGCPercent(50) // the rows stay in memory until the command ends
	}
	c, err := open(path)
	if err == nil {
		mayGrow := strings.ToLower(filepath.Ext(path)) == ".jsonl" // a recorder may still write its first line
		info, statErr := os.Stat(path)
		if statErr == nil && info.Size() == 0 && !mayGrow {
			c.Close()
			return nil, errEmpty
		}
	}
	if !errors.Is(err, rows.ErrNoCapture) {
		return c, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return openBundleOrArchive(f, path, file)
}

// openBundleOrArchive opens a bundle or an HTTP archive. The caller closes file.
func openBundleOrArchive(f *cmdutil.Factory, path string, file *os.File) (*rows.Capture, error) {
	c, err := bundle.OpenFrom(path, file)
	if errors.Is(err, bundle.ErrNoBundle) {
		return openArchive(f, path, file)
	}
	return c, err
}

// errEmpty is the error for an empty file.
var errEmpty = &bundle.Error{Text: "the file is empty"}

// Extensions are the file name extensions of recordings: captures, bundles and HTTP archives.
var Extensions = []string{"jsonl", "zst", "mcpcz", "html", "har"}

// similarExtensions are the extensions of files that a user may take for a recording.
var similarExtensions = []string{"json", "txt", "log", "zip", "gz", "htm"}

// NamesFile reports whether a first argument, which may be a filter too, names a recording file,
// stdin, a pipe or a device. It includes missing files and directories: a word that looks like a
// path is not a filter.
func NamesFile(word string) bool {
	if word == Stdin || strings.HasPrefix(word, "/dev/") {
		return true
	}
	firstFolder, _, _ := strings.Cut(filepath.ToSlash(word), "/")
	if firstFolder == "." || firstFolder == ".." || firstFolder == "~" {
		return true
	}
	extension := strings.TrimPrefix(strings.ToLower(filepath.Ext(word)), ".")
	isKnown := slices.Contains(Extensions, extension) || slices.Contains(similarExtensions, extension)
	if isKnown && !strings.Contains(word, ":") { // name:x.log is a filter
		return true
	}
	return strings.ContainsAny(word, "./") && cmdutil.IsFile(word)
}

// NamesTraffic reports whether an argument names recorded traffic: a number, "last", a file,
// FILE#3, or - for stdin.
func NamesTraffic(word string) bool {
	path, _ := splitNumber(word)
	return word == "last" || word == Stdin || runNumber().MatchString(word) || cmdutil.IsFile(path)
}

// IsNumber reports whether an argument is the number of an exchange or a run, such as 42.3 or 42.
func IsNumber(word string) bool { return runNumber().MatchString(word) }

// splitNumber splits FILE#3. number is "" if the word has no number.
func splitNumber(word string) (path, number string) {
	sign := strings.LastIndexByte(word, '#')
	if sign <= 0 || !runNumber().MatchString(word[sign+1:]) || cmdutil.IsFile(word) {
		return word, ""
	}
	return word[:sign], word[sign+1:]
}

// HasSelection reports whether one exchange is selected, not the whole capture.
func (r Recording) HasSelection() bool { return r.number != "" || r.index > 0 }

// Row returns the selected exchange, or else the main exchange of the capture.
func (r Recording) Row() (*rows.Row, wire.Outcome) {
	if r.number != "" {
		return r.rowByNumber()
	}
	row := r.Main()
	if r.index > 0 {
		row = r.Capture.Row(r.index)
	}
	if r.Count() == 0 {
		return nil, usage.Outcome(usage.New(r.name+" has no exchanges", ""))
	}
	if row == nil { // index is too large
		text := fmt.Sprintf("%s has %d exchanges", r.name, r.Count())
		return nil, usage.Outcome(usage.New(text, wire.Run("log")+" lists them"))
	}
	return row, wire.Outcome{}
}

// rowByNumber returns the exchange with a number that mcpc log --file shows, which begins with the
// run in a recording of a run, or else counts the exchanges from 1.
func (r Recording) rowByNumber() (*rows.Row, wire.Outcome) {
	index, err := strconv.Atoi(r.number)
	isIndex := err == nil && r.Capture.Row(index) != nil
	if isIndex && r.Capture.Row(index).Number() == r.number { // saves reading all rows
		return r.Capture.Row(index), wire.Outcome{}
	}
	all := r.Rows()
	if i := slices.IndexFunc(all, func(row *rows.Row) bool { return row.Number() == r.number }); i >= 0 {
		return all[i], wire.Outcome{}
	}
	if len(all) == 0 || isIndex { // Row counts from 1, and has the failure for an empty capture
		r.number = ""
		r.index = index
		return r.Row()
	}
	which := all[0].Number()
	if len(all) > 1 {
		which += " to " + all[len(all)-1].Number()
	}
	return nil, usage.Outcome(usage.New(r.name+" has no exchange "+r.number+", only "+which,
		wire.Run("log --file "+shellwords.Quote(r.name))+" shows them"))
}

// Pick returns the exchange that an argument names; "" names the last one. The caller closes the
// capture.
func Pick(f *cmdutil.Factory, word string) (*rows.Capture, *rows.Row, wire.Outcome) {
	if word == "" || word == "last" {
		return pickLast(f)
	}
	r, out := Open(f, word)
	if !out.OK() {
		return nil, nil, out
	}
	row, out := r.Row()
	if !out.OK() {
		r.Close()
		return nil, nil, out
	}
	return r.Capture, row, out
}

// nothingRecorded returns the usage failure of a command that needs a recording.
func nothingRecorded() wire.Outcome {
	return usage.Outcome(usage.New("nothing is recorded", "commands record their traffic, unless --no-record is given"))
}

// pickLast returns the exchange of the state directory that ended last. Runs without exchanges are
// skipped.
func pickLast(f *cmdutil.Factory) (*rows.Capture, *rows.Row, wire.Outcome) {
	var last *rows.Row
	var newest *rows.Capture
	out := NewestFirst(f, func(c *rows.Capture, written time.Time) (more bool) {
		if last != nil && last.IsFinal() && written.Before(last.EndTime()) {
			return false // this capture and those after it have nothing later
		}
		if row := c.Main(); row != nil && row.LaterThan(last) {
			last = row
			newest = c
		}
		return true
	})
	if out.OK() && last == nil {
		out = nothingRecorded()
	}
	return newest, last, out
}

// openLast opens the newest run in the ring. It fails if nothing is recorded.
func openLast(f *cmdutil.Factory) (Recording, wire.Outcome) {
	ring, err := f.Env.Ring()
	if err != nil {
		return Recording{}, connect.StateFailed(err)
	}
	runs, err := ring.Runs()
	if err != nil {
		return Recording{}, usage.LocalIO("reading the recordings", err)
	}
	if len(runs) == 0 {
		return Recording{}, nothingRecorded()
	}
	return openFoundRun(runs[len(runs)-1])
}

// openRun opens the run that match names, which is a match of runNumber: the whole text, the number
// of the run, and the position of an exchange or "".
func openRun(f *cmdutil.Factory, match []string) (r Recording, out wire.Outcome) {
	run, _ := strconv.Atoi(match[1])
	if run == 0 {
		return r, usage.Outcome(usage.New("run numbers start at 1", wire.Run("log")+" lists them"))
	}
	ring, err := f.Env.Ring()
	if err != nil {
		return r, connect.StateFailed(err)
	}
	found, err := ring.Find(run)
	if errors.Is(err, capture.ErrNoRun) {
		text := fmt.Sprintf("no recording %d: it was not made, or was deleted", run)
		return r, usage.Outcome(usage.New(text, wire.Run("log")+" lists the recorded runs"))
	}
	if err != nil {
		return r, usage.LocalIO("reading the recordings", err)
	}
	r, out = openFoundRun(found)
	r.index, _ = strconv.Atoi(match[2]) // 0 for ""
	return r, out
}

// openFoundRun opens the recording of a run in the ring. No exchange is selected.
func openFoundRun(run capture.Run) (Recording, wire.Outcome) {
	c, err := rows.OpenIndexed(run.Path, "")
	if err != nil {
		return Recording{}, Unreadable(run.Path, err)
	}
	return Recording{Capture: c, name: fmt.Sprintf("run %d", run.Number)}, wire.Outcome{}
}

// Unreadable returns the outcome of a command that cannot read a recording: a usage failure if the
// file is none or is damaged, otherwise a failure of the file system.
func Unreadable(path string, err error) wire.Outcome {
	path = cmdutil.ShownFile(path)
	if usageErr, ok := errors.AsType[usage.Error](err); ok {
		return usage.Outcome(usageErr)
	}
	var version *capture.VersionError
	var damage *packed.DamagedError
	if fault, ok := errors.AsType[*bundle.Error](err); ok {
		hint := wire.Hint(fault.Hint)
		if fault.Changed != "" {
			hint = wire.Hint("unzip -p " + shellwords.Quote(path) + " " + fault.Changed +
				" writes the changed recording, which mcpc reads as a file of its own")
		}
		return usage.Outcome(usage.New(path+": "+fault.Text, hint))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return usage.Outcome(usage.New("no such file: "+path, wire.Run("log")+" lists mcpc's own recordings by number"))
	}
	if errors.Is(err, rows.ErrNoCapture) {
		return usage.Outcome(usage.New(path+": "+err.Error(),
			"recordings are captures (.jsonl), bundles (.mcpcz.html) and HTTP archives (.har)"))
	}
	if errors.Is(err, packed.ErrNone) || errors.Is(err, packed.ErrTooLarge) || errors.As(err, &damage) {
		return usage.Outcome(usage.New(path+": "+err.Error(),
			"docs/reference/capture-format.md describes compressed recordings"))
	}
	if errors.As(err, &version) {
		return usage.Outcome(usage.New(path+": "+err.Error(),
			"docs/reference/capture-format.md describes the format; "+wire.Run("log")+" lists mcpc's own recordings"))
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok && pathErr.Op == "write" {
		return usage.LocalIO("writing a temporary copy of "+path+" in "+filepath.Dir(pathErr.Path), pathErr.Err)
	}
	return usage.LocalIO("reading "+path, usage.Bare(err))
}

// WarnDamage prints a warning for each part of a capture that could not be read.
func WarnDamage(f *cmdutil.Factory, c *rows.Capture) {
	for _, finding := range c.Findings() {
		f.Warn(cmdutil.ShownFile(c.Path) + ": " + finding.Text)
	}
}

// NewestFirst calls visit with the captures of all runs, the last written first, until visit
// returns false. Written is the latest time at which the capture may have been written. It skips
// captures that are deleted meanwhile, and warns about unreadable ones.
func NewestFirst(f *cmdutil.Factory, visit func(c *rows.Capture, written time.Time) (more bool)) wire.Outcome {
	ring, err := f.Env.Ring()
	if err != nil {
		return connect.StateFailed(err)
	}
	runs, err := ring.Runs()
	if err != nil {
		return usage.LocalIO("reading the recordings", err)
	}
	sliceutil.Sort(runs, func(x, y capture.Run) int {
		return cmp.Or(y.Modified.Compare(x.Modified), y.Number-x.Number)
	})
	for _, run := range runs {
		c, err := rows.OpenIndexed(run.Path, "")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			f.Warn(run.Path + ": " + err.Error())
			continue
		}
		more := visit(c, run.Modified.Add(clockSlack))
		c.Close()
		if !more {
			break
		}
	}
	ring.CompressEnded(runs, f.Now())
	return wire.Outcome{}
}

// clockSlack is how much a file system's clock may be behind the clock of the frames.
const clockSlack = time.Second
