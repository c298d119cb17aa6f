package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// Which recorded exchange is meant: "42" is what run 42 was about, "42.3" its
// third exchange, "last" or nothing that of the last run that has any; FILE#3 is
// the third exchange of a file, FILE its last.
var runNumber = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,9}))?$`)

// pickRow finds the exchange that a word means. A caller closes the capture.
func (a *app) pickRow(word string) (*trace.Capture, *trace.Row, wire.Outcome) {
	if number := runNumber.FindStringSubmatch(word); number != nil || word == "" || word == "last" {
		run, index := 0, 0
		if number != nil {
			run, _ = strconv.Atoi(number[1])
			index, _ = strconv.Atoi(number[2])
			if run == 0 {
				return nil, nil, usage(hintedError{"runs are numbered from 1", "mcpc log shows them"})
			}
		}
		if run == 0 {
			return a.pickLast()
		}
		return a.pickRun(run, index)
	}
	path, index := word, 0
	if at := strings.LastIndexByte(word, '#'); at > 0 {
		if n, err := strconv.Atoi(word[at+1:]); err == nil && n > 0 {
			path, index = word[:at], n
		}
	}
	c, err := trace.Open(path)
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	return rowOf(c, index, path)
}

// pickLast finds the last run in the ring that has an exchange: a tap or a proxy
// may have seen none.
func (a *app) pickLast() (*trace.Capture, *trace.Row, wire.Outcome) {
	ring, err := a.ring()
	if err != nil {
		return nil, nil, stateFailed(err)
	}
	runs, err := ring.Runs()
	if err != nil {
		return nil, nil, localIO("reading the recordings", err)
	}
	for _, run := range slices.Backward(runs) {
		c, err := trace.Open(run.Path)
		if errors.Is(err, fs.ErrNotExist) { // pruned meanwhile
			continue
		}
		if err != nil {
			return nil, nil, unreadable(run.Path, err)
		}
		if row := c.Main(); row != nil {
			return c, row, wire.Outcome{}
		}
		c.Close()
	}
	return nil, nil, usage(hintedError{"nothing is recorded", "commands record what crosses, unless --no-record says otherwise"})
}

// pickRun finds a run in the ring by its number.
func (a *app) pickRun(run, index int) (*trace.Capture, *trace.Row, wire.Outcome) {
	ring, err := a.ring()
	if err != nil {
		return nil, nil, stateFailed(err)
	}
	found, err := ring.Find(run)
	switch {
	case errors.Is(err, trace.ErrNoRun):
		return nil, nil, usage(hintedError{fmt.Sprintf("run %d is not recorded, or not any more", run), "mcpc log shows those that are"})
	case err != nil:
		return nil, nil, localIO("reading the recordings", err)
	}
	c, err := trace.Open(found.Path)
	if err != nil {
		return nil, nil, unreadable(found.Path, err)
	}
	return rowOf(c, index, fmt.Sprintf("run %d", found.Number))
}

func rowOf(c *trace.Capture, index int, name string) (*trace.Capture, *trace.Row, wire.Outcome) {
	row := c.Main()
	if index > 0 {
		row = c.Row(index)
	}
	if row == nil {
		return nil, nil, usage(hintedError{fmt.Sprintf("%s has %d exchanges", name, len(c.Rows())), "mcpc log shows them"})
	}
	return c, row, wire.Outcome{}
}

// unreadable is the ending of a command that cannot read a capture.
func unreadable(path string, err error) wire.Outcome {
	var version *trace.VersionError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage(hintedError{"there is no file " + path, "mcpc log lists what mcpc recorded itself, each by a number"})
	case errors.Is(err, trace.ErrNoCapture), errors.As(err, &version):
		return wire.Outcome{Kind: wire.BadResponse, Text: path + ": " + err.Error(), Phase: "arguments",
			Hint: "docs/capture.md describes the format; mcpc log lists what mcpc recorded itself"}
	}
	return localIO("reading "+path, bare(err))
}

// warnOf says what of a capture could not be read.
func (a *app) warnOf(c *trace.Capture) {
	for _, f := range c.Findings() {
		a.warn(c.Path + ": " + f.Text)
	}
}

// matching is the filter over a row. What cannot be read does not fit, and is told
// of.
func (a *app) matching(filter trace.Filter) func(*trace.Row) bool {
	return func(row *trace.Row) bool {
		fits, err := filter.Match(row)
		if err != nil {
			a.warn(row.Path() + ": " + err.Error())
		}
		return fits
	}
}

// rows are those of a file, or where path is "" of the ring, newest last: at most
// the last so many that fit, or all where most is 0.
func (a *app) rows(ctx context.Context, path string, fits func(*trace.Row) bool, most int) ([]*trace.Row, wire.Outcome) {
	if path != "" {
		c, err := trace.Open(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		defer c.Close()
		a.warnOf(c)
		return lastFitting(c.Rows(), fits, most), wire.Outcome{}
	}
	ring, err := a.ring()
	if err != nil {
		return nil, stateFailed(err)
	}
	runs, err := ring.Runs()
	if err != nil {
		return nil, localIO("reading the recordings", err)
	}
	var backwards []*trace.Row
	for i := len(runs) - 1; i >= 0 && (most == 0 || len(backwards) < most) && ctx.Err() == nil; i-- {
		c, err := trace.Open(runs[i].Path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // pruned meanwhile
				a.warn(runs[i].Path + ": " + err.Error())
			}
			continue
		}
		fitting := lastFitting(c.Rows(), fits, most)
		for j := len(fitting) - 1; j >= 0; j-- {
			backwards = append(backwards, fitting[j])
		}
		c.Close()
	}
	if most > 0 {
		backwards = backwards[:min(most, len(backwards))]
	}
	return reversed(backwards), wire.Outcome{}
}

func lastFitting(rows []*trace.Row, fits func(*trace.Row) bool, most int) []*trace.Row {
	var backwards []*trace.Row
	for i := len(rows) - 1; i >= 0 && (most == 0 || len(backwards) < most); i-- {
		if fits(rows[i]) {
			backwards = append(backwards, rows[i])
		}
	}
	return reversed(backwards)
}

func reversed(rows []*trace.Row) []*trace.Row {
	out := make([]*trace.Row, len(rows))
	for i, row := range rows {
		out[len(rows)-1-i] = row
	}
	return out
}
