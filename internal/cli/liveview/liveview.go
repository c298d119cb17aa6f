// Package liveview opens what mcpc inspect shows, and what acts on it: the recordings, or one file,
// as rows that grow.
package liveview

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Options say what to show, and what the user allowed.
type Options struct {
	// Path is a capture, a bundle or an HTTP archive; "" is all that is recorded.
	Path string
	// Title names what is shown; "" goes by the Path.
	Title string
	// Hint says what to do while nothing is shown yet.
	Hint   string
	Powers view.Powers
	// Exec allows starting the commands of servers that are configured or remembered.
	Exec bool
}

// A View is what is shown, and what acts on it. It is a view.Reader.
type View struct {
	*view.Views
	Actor *Actor
	store *live.Store
}

// Open opens what is to be shown. A caller closes it.
func Open(f *cmdutil.Factory, o Options) (*View, wire.Outcome) {
	debug.SetGCPercent(25) // rows stay in memory as long as the view is open
	judge := &recorded.RowFindings{Live: true}
	v := &View{}
	how := live.Options{Path: o.Path, Now: f.Now, Judge: judge,
		Open: func(path string) (*rows.Capture, error) { return recorded.OpenFile(f, path) },
		Hide: func(c *rows.Capture) { f.HideIn(c) }}
	title := "all recordings"
	file := false
	var out wire.Outcome
	if o.Path != "" {
		file, out = opened(f, &how)
		if !out.Good() {
			return nil, out
		}
		title = filepath.Base(o.Path)
	} else {
		ring, err := f.Env.Ring()
		if err != nil {
			return nil, connect.StateFailed(err)
		}
		how.Ring = ring
	}
	title = cmp.Or(o.Title, title)
	var err error
	if st, failed := state.Open(f.State); failed == nil {
		how.Marks = st.Private("marks")
	}
	v.store, err = live.New(how)
	if err != nil {
		return nil, usage.LocalIO("reading the recordings", err)
	}
	v.Actor = NewActor(
		ActorOptions{
			Factory:   f,
			Reader:    v,
			Marks:     v.store,
			Powers:    o.Powers,
			Exec:      o.Exec,
			Elsewhere: o.Path != "",
			Changed:   v.store.Raise,
			Open:      func(key live.Key) (*rows.Capture, error) { return v.open(f, how, key) },
		},
	)
	v.Views = view.New(
		v.store,
		view.Options{Now: f.Now, Title: title, Hint: o.Hint, File: file, Findings: judge.Shown, Words: judge.Words(),
			Held: v.Actor.Held, Questions: v.Actor.Questions, Intercepting: v.Actor.Intercepting, Marked: func(text string) (bool, string) {
				key, ok := live.ParseKey(text)
				if !ok {
					return false, ""
				}
				return v.store.MarkOf(key)
			}},
	)
	return v, out
}

// opened opens the file once, so that what is wrong with it is known before anything is shown; file
// reports that nothing more can come. Of a capture, which may be large, it reads the beginning.
func opened(f *cmdutil.Factory, how *live.Options) (file bool, out wire.Outcome) {
	if begins(how.Path) {
		if ring, err := f.Env.Ring(); err == nil {
			how.Indexes = ring.Indexes()
		}
		return false, out
	}
	first, err := recorded.OpenFile(f, how.Path)
	if err != nil {
		return false, recorded.Unreadable(how.Path, err)
	}
	again := how.Open
	how.Open = func(path string) (c *rows.Capture, err error) {
		c = first
		first = nil
		if c != nil {
			return c, nil
		}
		return again(path)
	}
	return first.Bundled(), out
}

// begins reports a file that begins as a capture.
func begins(path string) bool {
	c, err := rows.Begin(path)
	if err != nil {
		return false
	}
	defer c.Close()
	_, _, err = c.ReadOn(1)
	return err == nil && len(c.Heads) > 0
}

// open opens the capture of a key anew, with the rows that came since how.Open opened it.
func (v *View) open(f *cmdutil.Factory, how live.Options, key live.Key) (*rows.Capture, error) {
	if how.Path != "" {
		return recorded.OpenFile(f, how.Path)
	}
	run, err := how.Ring.Find(key.Run)
	if errors.Is(err, capture.ErrNoRun) {
		return nil, view.ErrGone
	} else if err != nil {
		return nil, err
	}
	return rows.Open(run.Path)
}

// FromNow is a filter for what comes from now on.
func FromNow(f *cmdutil.Factory) string {
	return "since:" + f.Now().Local().Format("2006-01-02T15:04:05")
}

// Close ends the view, with what it has started.
func (v *View) Close(ctx context.Context) wire.Outcome {
	out := v.Actor.Close(ctx)
	v.store.Close()
	return out
}
