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

// Options are what Views need beside a Store. All but Now may be left out.
type Options struct {
	Now func() time.Time
	// Title names what is shown: "all recordings", a file.
	Title string
	// Hint says what to do while nothing is shown yet.
	Hint string
	// File is set where nothing more comes.
	File bool
	// Findings judges the conversation of an exchange by the rules of mcpc check. It is called
	// while the Store calls back.
	Findings func(*rows.Row) ([]Finding, error)
	// Words are those that a filter may ask for with "finding:".
	Words []string
	// Held and Questions are those of the Actor, Intercepting whether it holds messages,
	// and which.
	Held         func() []Held
	Questions    func() []Question
	Intercepting func() (on bool, filter string)
	// Marked reports the mark and the note that the user gave a row.
	Marked func(key string) (marked bool, note string)
}

// Views make documents of the rows of a Store. Several goroutines may use them.
type Views struct {
	store *live.Store
	Options
	lists *Lists
}

// New makes Views over a Store.
func New(s *live.Store, o Options) *Views { return &Views{store: s, Options: o, lists: NewLists()} }

// Status is that of the store, and what waits for the user.
func (v *Views) Status() Status {
	s := Status{Status: v.store.Status(), Title: v.Title, Hint: v.Hint, File: v.File}
	if v.Held != nil {
		s.Held = len(v.Held())
	}
	if v.Questions != nil {
		s.Questions = len(v.Questions())
	}
	if v.Intercepting != nil {
		s.Intercept, s.Wanted = v.Intercepting()
	}
	return s
}

// Wait waits until there is a change after one, and returns the number of the last.
func (v *Views) Wait(ctx context.Context, after uint64) uint64 { return v.store.Wait(ctx, after) }

// fewRows is how many rows of a file are shown together, whatever conversations they are of.
const fewRows = 200

// Conversations returns those of the store. Of a file with few rows none is to be shown first.
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

// talkID is the id of a conversation in documents: "42.1", in a file "-1.1".
func talkID(t live.Talk) string { return fmt.Sprintf("%d.%d", t.Run, t.Conn) }

// query is that of the store. ok is false where it names a conversation or rows that cannot be.
func (q Query) query() (out live.Query, ok bool) {
	out = live.Query{Filter: q.Filter, Sort: q.Sort}
	if q.Talk != "" {
		run, conn, _ := strings.Cut(q.Talk, ".")
		out.Talk.Run, _ = strconv.Atoi(run)
		out.Talk.Conn, _ = strconv.Atoi(conn)
		if talkID(out.Talk) != q.Talk {
			return out, false
		}
	}
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

// each calls look with all rows of a query, oldest first.
func (v *Views) each(q Query, look func(r *rows.Row) bool) error {
	in, ok := q.query()
	if !ok {
		return ErrGone
	}
	in.Sort = ""
	return v.store.Each(in, look)
}

// one calls look with the row of a key.
func (v *Views) one(text string, look func(r *rows.Row) error) error {
	key, ok := live.ParseKey(text)
	if !ok {
		return ErrGone
	}
	err := ErrGone
	v.store.Look([]live.Key{key}, func(_ int, r *rows.Row) {
		if r != nil {
			err = look(r)
		}
	})
	return err
}

// Searched returns what Rows returns once all bodies are searched. If ctx ends before, it returns the
// rows that were found so far, and Pending says how many exchanges are not searched.
func Searched(ctx context.Context, r Reader, q Query) (Page, error) {
	for {
		page, err := r.Rows(ctx, q)
		if err != nil || page.Pending == 0 || ctx.Err() != nil {
			return page, err
		}
		r.Wait(ctx, page.Seq)
	}
}

// EachRow calls look with all rows of a query, as far as they are searched when ctx ends. It returns how
// many exchanges are not searched.
func EachRow(ctx context.Context, r Reader, q Query, look func(Row)) (pending int, err error) {
	q.From = 0
	q.Count = mostRows
	for {
		page, err := Searched(ctx, r, q)
		if err != nil {
			return 0, err
		}
		for _, row := range page.Rows {
			look(row)
		}
		pending = max(pending, page.Pending)
		q.From += len(page.Rows)
		if len(page.Rows) == 0 || q.From >= page.Total {
			return pending, nil
		}
	}
}
