// Package liveview opens recordings for the live views of mcpc inspect, and carries out the actions of
// the views.
package liveview

import (
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

// Options configures a View.
type Options struct {
	// Path is a capture, a bundle or an HTTP archive. If it is empty, the View shows all recordings.
	Path string
	// Title names the source. If it is empty, the title is derived from Path.
	Title string
	// Hint is the next step for the user while there are no rows.
	Hint   string
	Powers view.Powers
	// Exec allows the view to start the commands of configured or remembered servers.
	Exec bool
	// AskServer asks a server of the Home view. If it is nil, the view has no Home.
	AskServer AskServer
}

// A View has the documents to show and the Actor for actions. It is a view.Reader.
type View struct {
	*view.Views
	Actor *Actor
	store *live.Store
}

// Open opens a View. The caller must close it. If the outcome is not OK, the View is nil.
func Open(f *cmdutil.Factory, o Options) (*View, wire.Outcome) {
	debug.SetGCPercent(25) // saves memory, because the rows stay as long as the view is open
	ruleFindings := &recorded.RowFindings{Live: true}
	v := &View{}
	storeOptions := live.Options{
		Path: o.Path, Now: f.Now, Judge: ruleFindings,
		Open: func(path string) (*rows.Capture, error) { return recorded.OpenFile(f, path) },
		Hide: func(c *rows.Capture) { f.HideSecretsIn(c) },
	}
	title := "all recordings"
	cannotGrow := false // the folder of recordings and a capture can get new exchanges
	var out wire.Outcome
	if o.Path != "" {
		cannotGrow, out = checkFile(f, &storeOptions)
		if !out.OK() {
			return nil, out
		}
		title = filepath.Base(o.Path)
	} else {
		ring, err := f.Env.Ring()
		if err != nil {
			return nil, connect.StateFailed(err)
		}
		storeOptions.Ring = ring
	}
	if o.Title != "" {
		title = o.Title
	}
	// Without the state folder, marks are kept only as long as the view is open.
	if st, err := state.Open(f.State); err == nil {
		storeOptions.Marks = st.Private("marks")
	}
	var err error
	v.store, err = live.New(storeOptions)
	if err != nil {
		return nil, usage.LocalIO("reading the recordings", err)
	}
	v.Actor = NewActor(ActorOptions{
		Factory:          f,
		Reader:           v,
		Marks:            v.store,
		Powers:           o.Powers,
		Exec:             o.Exec,
		AskServer:        o.AskServer,
		RecordsElsewhere: o.Path != "",
		Changed:          v.store.Raise,
		Open:             func(key live.Key) (*rows.Capture, error) { return v.open(f, storeOptions, key) },
	})
	v.Views = view.New(v.store, view.Options{
		Now:          f.Now,
		Title:        title,
		Hint:         o.Hint,
		File:         cannotGrow,
		Home:         o.AskServer != nil,
		Findings:     ruleFindings.ViewFindings,
		Words:        ruleFindings.Words(),
		Held:         v.Actor.Held,
		Questions:    v.Actor.Questions,
		Faults:       v.Actor.Faults,
		Intercepting: v.Actor.Intercepting,
		Catalogs:     v.Actor.Catalogs,
		Notice:       v.Actor.lastNotice,
		Trouble:      v.Actor.lastTrouble,
		HasOutput:    v.Actor.hasOutput,
		HasServer:    v.Actor.hasServer,
		Marked:       v.markOf,
	})
	return v, out
}

// markOf reports whether the row of a key is marked, and returns its note.
func (v *View) markOf(rowKey string) (bool, string) {
	key, ok := live.ParseKey(rowKey)
	if !ok {
		return false, ""
	}
	return v.store.MarkOf(key)
}

// checkFile opens the file of o, so that errors are found before the view appears, and reports
// whether the file cannot grow, as a bundle and an HTTP archive cannot. It reads only the beginning
// of a capture, which may be large. Other files are read whole: checkFile replaces o.Open, so that
// the store gets the opened file at its first call.
func checkFile(f *cmdutil.Factory, o *live.Options) (cannotGrow bool, out wire.Outcome) {
	if isCapture(o.Path) {
		if ring, err := f.Env.Ring(); err == nil { // without indexes, opening only takes longer
			o.Indexes = ring.Indexes()
		}
		return false, wire.Outcome{}
	}
	opened, err := recorded.OpenFile(f, o.Path)
	if err != nil {
		return false, recorded.Unreadable(o.Path, err)
	}
	cannotGrow = opened.IsBundled()
	openAgain := o.Open
	o.Open = func(path string) (*rows.Capture, error) {
		if opened == nil {
			return openAgain(path)
		}
		c := opened
		opened = nil
		return c, nil
	}
	return cannotGrow, wire.Outcome{}
}

// isCapture reports whether a file begins like a capture.
func isCapture(path string) bool {
	c, err := rows.Begin(path)
	if err != nil {
		return false
	}
	defer c.Close()
	_, _, err = c.ReadOn(1) // one byte: stops after the first line
	return err == nil && len(c.Heads) > 0
}

// open opens the current capture of a key. It returns view.ErrGone if the recording was deleted.
func (v *View) open(f *cmdutil.Factory, o live.Options, key live.Key) (*rows.Capture, error) {
	if o.Path != "" { // all rows are of this file
		return recorded.OpenFile(f, o.Path)
	}
	run, err := o.Ring.Find(key.Run)
	if errors.Is(err, capture.ErrNoRun) {
		return nil, view.ErrGone
	}
	if err != nil {
		return nil, err
	}
	return rows.Open(run.Path)
}

// FromNow returns a filter for exchanges from now on.
func FromNow(f *cmdutil.Factory) string {
	return "since:" + f.Now().Local().Format("2006-01-02T15:04:05")
}

// Close closes the view and ends the server that it started.
func (v *View) Close(ctx context.Context) wire.Outcome {
	out := v.Actor.Close(ctx)
	v.store.Close()
	return out
}
