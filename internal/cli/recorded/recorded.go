// Package recorded finds the recorded exchange that a word of a command line means.
package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Which recorded exchange is meant: "42" is what run 42 was about, "42.3" its
// third exchange, "last" or nothing the one that ended last; FILE#3 is
// the third exchange of a file, FILE its last.
var runNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,9}))?$`) })

// Pick finds the exchange that a word means. A caller closes the capture.
func Pick(f *cmdutil.Factory, word string) (*capture.Capture, *capture.Row, wire.Outcome) {
	if number := runNumber().FindStringSubmatch(word); number != nil || word == "" || word == "last" {
		run, index := 0, 0
		if number != nil {
			run, _ = strconv.Atoi(number[1])
			index, _ = strconv.Atoi(number[2])
			if run == 0 {
				return nil, nil, usage.Outcome(usage.New("run numbers start at 1", wire.Run("log")+" lists them"))
			}
		}
		if run == 0 {
			return pickLast(f)
		}
		return pickRun(f, run, index)
	}
	path, number := word, ""
	if at := strings.LastIndexByte(word, '#'); at > 0 && runNumber().MatchString(word[at+1:]) {
		path, number = word[:at], word[at+1:]
	}
	c, err := capture.Open(path)
	if err != nil {
		return nil, nil, Unreadable(path, err)
	}
	return rowNumbered(c, number, path)
}

// pickLast finds the exchange of the ring that ended last; a tap or a proxy may have
// seen none.
func pickLast(f *cmdutil.Factory) (*capture.Capture, *capture.Row, wire.Outcome) {
	var last *capture.Row
	var in *capture.Capture
	out := NewestFirst(f, func(c *capture.Capture, written time.Time) (more bool) {
		if last != nil && last.Settled() && written.Before(last.Ended()) {
			return false
		}
		if row := c.Main(); row != nil && row.LaterThan(last) {
			last, in = row, c
		}
		return true
	})
	if out.Good() && last == nil {
		out = usage.Outcome(usage.New("nothing is recorded", "commands record their traffic, unless --no-record is given"))
	}
	return in, last, out
}

// pickRun finds a run in the ring by its number.
func pickRun(f *cmdutil.Factory, run, index int) (*capture.Capture, *capture.Row, wire.Outcome) {
	ring, err := f.Env.Ring()
	if err != nil {
		return nil, nil, connect.StateFailed(err)
	}
	found, err := ring.Find(run)
	switch {
	case errors.Is(err, capture.ErrNoRun):
		return nil, nil, usage.Outcome(usage.New(fmt.Sprintf("no recording %d: it was not made, or was deleted", run), wire.Run("log")+" lists the recorded runs"))
	case err != nil:
		return nil, nil, usage.LocalIO("reading the recordings", err)
	}
	c, err := capture.Open(found.Path)
	if err != nil {
		return nil, nil, Unreadable(found.Path, err)
	}
	return rowOf(c, index, fmt.Sprintf("run %d", found.Number))
}

// rowNumbered finds an exchange of a file: by the number that mcpc log --file shows,
// which of a recording from the ring begins with its run, or counted from 1.
func rowNumbered(c *capture.Capture, number, path string) (*capture.Capture, *capture.Row, wire.Outcome) {
	rows := c.Rows()
	if i := slices.IndexFunc(rows, func(r *capture.Row) bool { return r.Number() == number }); i >= 0 {
		return c, rows[i], wire.Outcome{}
	}
	index, err := strconv.Atoi(number)
	if number == "" || len(rows) == 0 || err == nil && c.Row(index) != nil {
		return rowOf(c, index, path)
	}
	c.Close()
	which := rows[0].Number()
	if len(rows) > 1 {
		which += " to " + rows[len(rows)-1].Number()
	}
	return nil, nil, usage.Outcome(usage.New(path+" has no exchange "+number+", only "+which, wire.Run("log --file "+shellwords.Quote(path))+" shows them"))
}

func rowOf(c *capture.Capture, index int, name string) (*capture.Capture, *capture.Row, wire.Outcome) {
	row := c.Main()
	if index > 0 {
		row = c.Row(index)
	}
	if len(c.Rows()) == 0 {
		return nil, nil, usage.Outcome(usage.New(name+" has no exchanges", ""))
	} else if row == nil {
		return nil, nil, usage.Outcome(usage.New(fmt.Sprintf("%s has %d exchanges", name, len(c.Rows())), wire.Run("log")+" lists them"))
	}
	return c, row, wire.Outcome{}
}

// Unreadable is the ending of a command that cannot read a capture.
func Unreadable(path string, err error) wire.Outcome {
	var version *capture.VersionError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage.Outcome(usage.New("no such file: "+path, wire.Run("log")+" lists mcpc's own recordings by number"))
	case errors.Is(err, capture.ErrNoCapture), errors.As(err, &version):
		return usage.Outcome(usage.New(path+": "+err.Error(), "docs/capture.md describes the format; "+wire.Run("log")+" lists mcpc's own recordings"))
	}
	return usage.LocalIO("reading "+path, usage.Bare(err))
}

// Warn says what of a capture could not be read.
func Warn(f *cmdutil.Factory, c *capture.Capture) {
	for _, finding := range c.Findings() {
		f.Warn(c.Path + ": " + finding.Text)
	}
}

// NewestFirst goes through the captures of the ring, those that were written last
// first, until look wants no more; written is when the last of it was, at the latest.
// A capture that was pruned meanwhile is passed over, one that cannot be read is
// reported.
func NewestFirst(f *cmdutil.Factory, look func(c *capture.Capture, written time.Time) (more bool)) wire.Outcome {
	ring, err := f.Env.Ring()
	if err != nil {
		return connect.StateFailed(err)
	}
	runs, err := ring.Runs()
	if err != nil {
		return usage.LocalIO("reading the recordings", err)
	}
	slices.SortStableFunc(runs, func(x, y capture.Run) int {
		return cmp.Or(y.Modified.Compare(x.Modified), y.Number-x.Number)
	})
	for _, run := range runs {
		c, err := capture.Open(run.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			f.Warn(run.Path + ": " + err.Error())
			continue
		}
		more := look(c, run.Modified.Add(clockSlack))
		c.Close()
		if !more {
			break
		}
	}
	return wire.Outcome{}
}

// clockSlack is how far a file system's clock may be behind the one of the frames.
const clockSlack = time.Second
