package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/english"
	"mcpc/internal/live"
	"mcpc/internal/wire"
)

// How many rows a page has where the query does not say, and at most. A page of Talk has fewer:
// the bodies of its rows are read.
const (
	someRows  = 200
	mostRows  = 5000
	mostTalks = 200
	// mostTalked is how many bytes of a row Talk reads.
	mostTalked = 4 << 20
)

// The states of a Row. One that waits for nothing any more is done, also without an answer.
const (
	stateOpen   = "open"
	stateAsking = "asking"
	stateHeld   = "held"
	stateDone   = "done"
)

// Rows returns a part of the rows that a query selects. It reads no bodies: the phases of a row
// are those that the listing knows: "wait", "read" and "held".
func (v *Views) Rows(ctx context.Context, q Query) (Page, error) {
	page, keys, err := v.page(ctx, q, mostRows)
	if err != nil {
		return page, err
	}
	page.Rows = make([]Row, len(keys))
	m := v.maker()
	v.store.Look(keys, func(i int, r *rows.Row) { page.Rows[i] = m.row(keys[i], r) })
	return page, nil
}

// page is a page without its rows, and their keys.
func (v *Views) page(ctx context.Context, q Query, most int) (Page, []live.Key, error) {
	in, ok := q.query()
	if !ok {
		return Page{Rows: []Row{}, Absent: v.absent(live.Talk{})}, nil, nil
	}
	found, err := v.store.Find(ctx, in)
	if err != nil {
		return Page{}, nil, err
	}
	count := q.Count
	if count <= 0 {
		count = someRows
	}
	total := len(found.Keys)
	from := q.From
	if from < 0 {
		from = max(0, total+from)
	}
	from = min(from, total)
	to := min(total, from+min(count, most))
	page := Page{From: from, Total: total, Pending: found.Pending, Seq: found.Seq}
	if total == 0 && q.Talk != "" {
		page.Absent = v.absent(in.Talk)
	}
	return page, found.Keys[from:to], nil
}

// absent says why a conversation has no rows, "" if it has some.
func (v *Views) absent(t live.Talk) string {
	older := "older than the " + english.Thousands(v.store.Status().Most) + " rows kept"
	switch v.store.Absent(t) {
	case live.LeftOut:
		return "this conversation is " + older
	case live.Unread:
		return "this conversation is not read: it is " + older + ", or its recording was deleted"
	case live.Unknown:
		return "no recording has this conversation: it was deleted, or there never was one"
	}
	return ""
}

// A maker makes Rows at one moment.
type maker struct {
	v    *Views
	now  time.Time
	held map[string]bool
}

func (v *Views) maker() maker {
	m := maker{v: v, now: v.Now(), held: map[string]bool{}}
	if v.Held != nil {
		for _, h := range v.Held() {
			m.held[h.Row] = true
		}
	}
	return m
}

// row is a row as a document; r is nil where it is not kept any more.
func (m maker) row(key live.Key, r *rows.Row) Row {
	if r == nil {
		return Row{Key: key.String(), State: stateDone, Text: ErrGone.Error()}
	}
	out := Row{
		Key:    key.String(),
		Time:   r.Time,
		Talk:   talkID(live.TalkOf(r)),
		Client: bounded(r.Client()),
		Server: bounded(r.Server()),
		Target: bounded(r.Target),
		Method: bounded(
			r.Method,
		),
		Name:     bounded(r.Name),
		ID:       bounded(r.ID),
		Dir:      r.Dir.String(),
		State:    stateDone,
		Channel:  r.Channel,
		Failed:   r.Failed(),
		Status:   r.Status,
		Code:     r.Code,
		Seconds:  r.Duration.Seconds(),
		First:    r.First.Seconds(),
		Sent:     r.Sent,
		Received: r.Received,
		Tokens:   r.Size() / 4,
		Guess:    r.Guess,
		Notes:    notes(r),
		Findings: len(r.Findings),
		Text:     bounded(r.Text),
		Again:    r.Again,
		Edited:   r.Edited,
	}
	if r.Within != nil {
		out.Parent = live.KeyOf(r.Within).String()
	}
	if m.v.waits(r) {
		out.State = stateOpen
		out.Seconds = max(m.now.Sub(r.Time)-r.Held, r.Duration).Seconds()
		out.Quiet = max(m.now.Sub(r.LastFrame()), 0).Seconds()
		if asks(r) {
			out.State = stateAsking
		}
	}
	if m.held[out.Key] || out.State != stateDone && r.Waiting > 0 {
		out.State = stateHeld
	}
	out.Phases = roughPhases(out, r.Held.Seconds())
	if m.v.Marked != nil {
		out.Mark, out.Note = m.v.Marked(out.Key)
	}
	return out
}

// mostName is how many characters of a name documents have that repeat it: one of a megabyte may be
// that of each row.
const mostName = 1000

func bounded(text string) string { return shortened(text, mostName) }

// waits reports that an answer may still come, or more on a stream.
func (v *Views) waits(r *rows.Row) bool {
	return !v.File && r.Waits()
}

// notes are the Notes of a row as a text.
func notes(r *rows.Row) string {
	text := r.Notes.String()
	if r.Cancel != nil && r.Cancel.Late {
		text = strings.TrimSuffix("answered late, "+text, ", ")
	}
	if r.SameAs != nil {
		text = strings.TrimSuffix("same request as "+r.SameAs.Number()+", "+text, ", ")
	}
	return text
}

// roughPhases are those that need no frames.
func roughPhases(r Row, held float64) (phases []Phase) {
	add := func(name string, seconds float64) {
		if seconds > 0 {
			phases = append(phases, Phase{Name: name, Seconds: seconds})
		}
	}
	switch {
	case r.Method == rows.MethodStream || r.Method == rows.MethodPipe:
		return nil
	case r.First <= 0 || r.First >= r.Seconds:
		add(phaseWait, r.Seconds)
	default:
		add(phaseWait, r.First)
		add(phaseRead, r.Seconds-r.First)
	}
	add(phaseHeld, held)
	return phases
}

// asks reports that the server waits for an answer to a request of its own.
func asks(r *rows.Row) bool {
	return slices.ContainsFunc(questions(r), (*rows.Row).Open)
}

// questions are the requests of the server that belong to a row, or may.
func questions(r *rows.Row) (all []*rows.Row) {
	if r.Notes.Questions+r.Notes.Guessed == 0 {
		return nil
	}
	rows := r.Capture().Rows()
	i := r.Index - 1
	if i < 0 || i >= len(rows) || rows[i] != r {
		i = slices.Index(rows, r)
	}
	for _, other := range rows[max(i, 0):] {
		if other.Within == r && other.Dir == wire.Received {
			all = append(all, other)
			if len(all) == r.Notes.Questions+r.Notes.Guessed {
				break
			}
		}
	}
	return all
}

// Talk returns a part of the rows that a query selects with the lines of each. It reads their
// bodies, so a part has at most 200.
func (v *Views) Talk(ctx context.Context, q Query) ([]Block, Page, error) {
	page, keys, err := v.page(ctx, q, mostTalks)
	if err != nil {
		return nil, page, err
	}
	blocks := make([]Block, len(keys))
	page.Rows = make([]Row, len(keys))
	m := v.maker()
	v.store.Look(keys, func(i int, r *rows.Row) {
		blocks[i] = Block{Row: m.row(keys[i], r), Lines: []Line{}}
		if r != nil {
			if x, err := readExchange(r, mostTalked); err != nil {
				blocks[i].Lines = []Line{{Dir: r.Dir.String(), Time: r.Time, Kind: "request", Text: titleOf(r), Times: 1},
					{Time: r.Time, Kind: "remark", Text: err.Error(), Times: 1}}
			} else {
				blocks[i].Lines = linesOf(r, x, m.v.waits(r))
				blocks[i].Row.Phases = phasesOf(x, m.endOf(r))
			}
		}
		page.Rows[i] = blocks[i].Row
	})
	return blocks, page, nil
}

// endOf is where a row without an answer ends: now, while it waits.
func (m maker) endOf(r *rows.Row) time.Time {
	if m.v.waits(r) {
		return later(m.now, r.LastFrame())
	}
	return r.LastFrame()
}
