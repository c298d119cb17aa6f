package check

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/cli/check/evidence"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/outfile"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/lint"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// runNumber matches a run of the ring, or one exchange of it.
var runNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,9}))?$`) })

// isCapture tells recorded traffic from a server: a number, "last", a file, FILE#3.
func isCapture(word string) bool {
	path, _ := splitNumber(word)
	return word == "last" || runNumber().MatchString(word) || outfile.IsFile(path)
}

// splitNumber parts FILE#3.
func splitNumber(word string) (path, number string) {
	if at := strings.LastIndexByte(word, '#'); at > 0 && runNumber().MatchString(word[at+1:]) && !outfile.IsFile(word) {
		return word[:at], word[at+1:]
	}
	return word, ""
}

// judgeCapture judges recorded traffic: a whole capture, or one exchange of it.
func judgeCapture(f *cmdutil.Factory, word string) (*verdict.Report, wire.Outcome) {
	c, number, out := openCapture(f, word)
	if !out.Good() {
		return nil, out
	}
	defer c.Close()
	for _, finding := range c.Findings() {
		f.Warn(c.Path + ": " + finding.Text)
	}
	cmdutil.HideIn(f, c)
	l := lint.New(lint.Options{Tools: tools})
	tap := func(run int, frame wire.Frame) error {
		frame.Conn = evidence.Conn(run, frame.Conn)
		l.Tap(frame)
		return nil
	}
	var err error
	rows := c.Rows()
	if number != "" {
		if rows = slices.DeleteFunc(slices.Clone(rows), func(r *capture.Row) bool { return r.Number() != number && strconv.Itoa(r.Index) != number }); len(rows) == 0 {
			return nil, usage.Outcome(usage.New(word+": no such exchange", wire.Run("log --file "+shellwords.Quote(c.Path))+" shows them"))
		}
		err = rows[0].EachFrame(func(frame wire.Frame) error { return tap(rows[0].RunIndex(), frame) })
	} else {
		err = c.EachFrame(tap)
	}
	if err != nil {
		return nil, usage.LocalIO("reading "+c.Path, usage.Bare(err))
	}
	l.Close()
	r := &verdict.Report{Target: targetOf(c), Recording: c.Path}
	evidence.Recording{Rows: rows}.Fill(r, l.Report())
	for _, revision := range client.Revisions() {
		if slices.ContainsFunc(rows, func(row *capture.Row) bool { return row.Revision == revision && row.Method != "initialize" }) {
			r.Revisions = append(r.Revisions, revision)
		}
	}
	r.Lacks = []string{"check a server"}
	return r, wire.Outcome{}
}

// targetOf names the servers of a capture.
func targetOf(c *capture.Capture) string {
	var names []string
	for _, h := range c.Heads {
		if h.Target != "" && !slices.Contains(names, h.Target) {
			names = append(names, h.Target)
		}
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// openCapture opens what a word names, and gives the number of the one exchange that is
// meant, or "".
func openCapture(f *cmdutil.Factory, word string) (c *capture.Capture, number string, out wire.Outcome) {
	path, number := splitNumber(word)
	match := runNumber().FindStringSubmatch(word)
	if word == "last" || match != nil && !outfile.IsFile(word) {
		ring, err := f.Ring()
		if err != nil {
			return nil, "", connect.StateFailed(err)
		}
		if path, out = runPath(ring, match); !out.Good() {
			return nil, "", out
		}
		if match != nil && match[2] != "" {
			number = word
		}
	}
	c, err := capture.Open(path)
	var version *capture.VersionError
	switch {
	case err == nil:
		return c, number, wire.Outcome{}
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", usage.Outcome(usage.New("no such file: "+path, wire.Run("log")+" lists mcpc's own recordings by number"))
	case errors.Is(err, capture.ErrNoCapture), errors.As(err, &version):
		return nil, "", usage.Outcome(usage.New(path+": "+err.Error(), "docs/capture.md describes the format; "+wire.Run("log")+" lists mcpc's own recordings"))
	}
	return nil, "", usage.LocalIO("reading "+path, usage.Bare(err))
}

// runPath is the file of a run: the one of a number, else the last.
func runPath(ring *capture.Ring, match []string) (string, wire.Outcome) {
	if match != nil {
		n, _ := strconv.Atoi(match[1])
		found, err := ring.Find(n)
		if err != nil {
			return "", usage.Outcome(usage.New(fmt.Sprintf("no recording %d", n), wire.Run("log")+" lists the recorded runs"))
		}
		return found.Path, wire.Outcome{}
	}
	runs, err := ring.Runs()
	if err != nil {
		return "", usage.LocalIO("reading the recordings", err)
	}
	if len(runs) == 0 {
		return "", usage.Outcome(usage.New("nothing is recorded", "commands record their traffic, unless --no-record is given"))
	}
	return runs[len(runs)-1].Path, wire.Outcome{}
}
