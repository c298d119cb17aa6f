package view

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/live"
)

// Options configures Views. All fields but Now are optional.
type Options struct {
	Now func() time.Time
	// Title names the source: "all recordings", or a file.
	Title string
	// Hint is the next step for the user while there are no rows.
	Hint string
	// File is true if the source cannot grow.
	File bool
	// Home is true if the Actor has servers to show.
	Home bool
	// Findings checks the conversation of an exchange with the rules of mcpc check. It is called
	// from callbacks of the Store.
	Findings func(*rows.Row) ([]Finding, error)
	// Words are the rule names that a filter may use with "finding:".
	Words []string
	// Held and Questions return the held messages and open questions of the Actor.
	Held      func() []Held
	Questions func() []Question
	// Faults returns the faults that the view has set.
	Faults func() []ArmedFault
	// Intercepting reports whether the Actor holds messages, and returns its filter.
	Intercepting func() (on bool, filter string)
	// Catalogs counts the changes of lists that servers of the Try view announced.
	Catalogs func() int
	// Notice returns the last notice about the server of the Actor, and the number of notices.
	Notice func() (text string, count int)
	// Trouble says why the server of the Actor does not run, or returns "".
	Trouble func() string
	// HasOutput reports whether the server of the Actor has written to standard error.
	HasOutput func() bool
	// HasServer reports whether the Actor has started a server.
	HasServer func() bool
	// Marked reports whether the user marked a row, and returns the row's note.
	Marked func(key string) (marked bool, note string)
}

// Views makes documents from the rows of a Store. Several goroutines may use it.
type Views struct {
	store *live.Store
	Options
	lists *Lists
}

// New returns Views of a Store.
func New(s *live.Store, o Options) *Views { return &Views{store: s, Options: o, lists: NewLists()} }

// Status returns the status of the store and what waits for the user.
func (v *Views) Status() Status {
	s := Status{Status: v.store.Status(), Title: v.Title, Hint: v.Hint, File: v.File, Home: v.Home}
	if v.Held != nil {
		s.Held = len(v.Held())
	}
	if v.Questions != nil {
		s.Questions = len(v.Questions())
	}
	if v.Catalogs != nil {
		s.Catalogs = v.Catalogs()
	}
	if v.Notice != nil {
		s.Notice, s.Notices = v.Notice()
	}
	if v.Trouble != nil {
		s.Trouble = v.Trouble()
	}
	if v.HasOutput != nil {
		s.Output = v.HasOutput()
	}
	if v.HasServer != nil {
		s.Own = v.HasServer()
	}
	if v.Faults != nil {
		s.Faults = len(v.Faults())
	}
	if v.Intercepting != nil {
		s.Intercept, s.Wanted = v.Intercepting()
	}
	return s
}

// Wait waits for a change after the given one, and returns the number of the last change.
func (v *Views) Wait(ctx context.Context, after uint64) uint64 { return v.store.Wait(ctx, after) }

// fewRows is the maximum number of rows of a file that is shown as a whole instead of by
// conversation.
const fewRows = 200

// Conversations returns the conversations of the store. In a file with few rows, no conversation
// has First set.
func (v *Views) Conversations() []Conversation {
	all := v.store.Conversations()
	out := make([]Conversation, len(all))
	few := v.File && v.store.Status().Rows <= fewRows
	for i, c := range all {
		out[i] = Conversation{
			ID:       talkID(c.Talk),
			Client:   bounded(c.Client),
			Server:   bounded(c.Server),
			Target:   bounded(c.Target),
			By:       c.By,
			Revision: c.Revision,
			Began:    c.Began,
			Last:     c.Last,
			Rows:     c.Rows,
			Open:     c.Open,
			Failed:   c.Failed,
			Live:     !c.Over && !v.File,
			First:    c.First && !few,
		}
	}
	return out
}

// talkID returns the id of a conversation in documents: "42.1", or "-1.1" in a file.
func talkID(t live.Talk) string { return fmt.Sprintf("%d.%d", t.Run, t.Conn) }

// storeQuery returns the store's form of the query. It reports false if the id of the conversation
// is malformed. Malformed keys in Only are left out, as they select no row.
func (q Query) storeQuery() (out live.Query, ok bool) {
	out = live.Query{Filter: q.Filter, Sort: q.Sort}
	if q.Talk != "" {
		run, conn, _ := strings.Cut(q.Talk, ".")
		out.Talk.Run, _ = strconv.Atoi(run)
		out.Talk.Conn, _ = strconv.Atoi(conn)
		if talkID(out.Talk) != q.Talk {
			return out, false
		}
	}
	out.Keep, _ = live.ParseKey(q.Keep)
	if q.Only != nil {
		out.Only = make([]live.Key, 0, len(q.Only))
		for _, text := range q.Only {
			if key, ok := live.ParseKey(text); ok {
				out.Only = append(out.Only, key)
			}
		}
	}
	return out, true
}

// eachRow calls visit with all rows of a query, the oldest first, until it returns false. It
// ignores the query's order and part.
func (v *Views) eachRow(q Query, visit func(r *rows.Row) bool) error {
	in, ok := q.storeQuery()
	if !ok {
		return ErrGone
	}
	in.Sort = ""
	return v.store.Each(in, visit)
}

// withRow calls use with the row of a key, and returns its error. It returns ErrGone if the row is
// not kept or the key is malformed.
func (v *Views) withRow(text string, use func(r *rows.Row) error) error {
	key, ok := live.ParseKey(text)
	if !ok {
		return ErrGone
	}
	err := ErrGone
	v.store.Look([]live.Key{key}, func(_ int, r *rows.Row) {
		if r != nil {
			err = use(r)
		}
	})
	return err
}

// Searched calls Rows until all bodies are searched. If ctx ends earlier, it returns the rows found
// so far, and Pending is the number of exchanges not searched.
func Searched(ctx context.Context, r Reader, q Query) (Page, error) {
	for {
		page, err := r.Rows(ctx, q)
		if err != nil || page.Pending == 0 || ctx.Err() != nil {
			return page, err
		}
		r.Wait(ctx, page.Seq)
	}
}

// EachRow calls visit with all rows of a query that are found before ctx ends. It returns the
// number of exchanges not searched.
func EachRow(ctx context.Context, r Reader, q Query, visit func(Row)) (pending int, err error) {
	q.From = 0
	q.Count = maxRows
	for {
		page, err := Searched(ctx, r, q)
		if err != nil {
			return 0, err
		}
		for _, row := range page.Rows {
			visit(row)
		}
		pending = max(pending, page.Pending)
		q.From += len(page.Rows)
		if len(page.Rows) == 0 || q.From >= page.Total {
			return pending, nil
		}
	}
}
