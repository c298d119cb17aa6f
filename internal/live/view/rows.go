package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/english"
	"mcpc/internal/live"
	"mcpc/internal/wire"
)

const (
	// defaultRows is the number of rows on a page if the query gives no number.
	defaultRows = 200
	// maxRows limits the rows on a page.
	maxRows = 5000
	// maxTalks limits the rows on a page of Talk, which reads their bodies.
	maxTalks = 200
	// maxTalked limits the bytes that Talk reads of a row.
	maxTalked = 4 << 20
)

// The states of a Row. A row without a response is done too if no response can follow.
const (
	stateOpen   = "open"
	stateAsking = "asking"
	stateHeld   = "held"
	stateDone   = "done"
)

// Rows returns a part of the rows that a query selects. Unless WithArguments is set, it reads no bodies.
// A row has only the phases that the list knows: "wait", "read" and "held".
func (v *Views) Rows(ctx context.Context, q Query) (Page, error) {
	limit := maxRows
	if q.WithArguments {
		limit = maxTalks
	}
	page, keys, err := v.page(ctx, q, limit)
	if err != nil {
		return page, err
	}
	page.Rows = make([]Row, len(keys))
	m := v.maker()
	v.store.Look(keys, func(i int, r *rows.Row) {
		page.Rows[i] = m.makeRow(keys[i], r)
		if !q.WithArguments || r == nil || !hasArguments(r) {
			return
		}
		if x, err := readExchange(r, maxTalked); err == nil {
			page.Rows[i].Arguments = argumentsText(x)
		}
	})
	return page, nil
}

// hasArguments reports whether the request of a row may have arguments.
func hasArguments(r *rows.Row) bool { return r.Method == "tools/call" || r.Method == "prompts/get" }

// argumentsText returns the beginning of the arguments of a request, or "" if it has none.
func argumentsText(x *wire.Exchange) string {
	params, _ := wire.ParseMessage(x.Request.Raw).ParamMembers()
	arguments := params.Value("arguments")
	if arguments == nil {
		return ""
	}
	return cutJSON(arguments, maxShort)
}

// page returns a page without its rows, and the keys of the rows, at most limit. For a malformed
// conversation the page is empty and Absent has the reason.
func (v *Views) page(ctx context.Context, q Query, limit int) (Page, []live.Key, error) {
	storeQuery, ok := q.storeQuery()
	if !ok {
		return Page{Rows: []Row{}, Absent: v.absent(live.Talk{})}, nil, nil
	}
	found, err := v.store.Find(ctx, storeQuery)
	if err != nil {
		return Page{}, nil, err
	}
	count := q.Count
	if count <= 0 {
		count = defaultRows
	}
	total := len(found.Keys)
	from := q.From
	if from < 0 {
		from = max(0, total+from)
	}
	from = min(from, total)
	to := min(total, from+min(count, limit))
	f, _ := filter.Parse(q.Filter, v.Now(), nil) // Find has parsed it without an error
	page := Page{From: from, Total: total, Pending: found.Pending, Seq: found.Seq, Texts: f.Texts()}
	if total == 0 && q.Talk != "" {
		page.Absent = v.absent(storeQuery.Talk)
	}
	return page, found.Keys[from:to], nil
}

// absent returns the reason why a conversation has no rows, or "" if it has some.
func (v *Views) absent(t live.Talk) string {
	older := "older than the " + english.Thousands(v.store.Status().MaxRows) + " exchanges kept"
	switch v.store.AbsenceOf(t) {
	case live.LeftOut:
		return "this conversation is " + older
	case live.Unread:
		return "this conversation is not read: it is " + older + ", or its recording was deleted"
	case live.Unknown:
		return "no recording has this conversation: it was deleted, or there never was one"
	}
	return ""
}

// A maker makes Rows as of one moment.
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

// makeRow returns a row as a document; r is nil if the row is no longer kept.
func (m maker) makeRow(key live.Key, r *rows.Row) Row {
	if r == nil {
		return Row{Key: key.String(), State: stateDone, Text: ErrGone.Error()}
	}
	out := Row{
		Key:      key.String(),
		Time:     r.Time,
		Talk:     talkID(live.TalkOf(r)),
		Client:   bounded(r.Client()),
		Server:   bounded(r.Server()),
		Target:   bounded(r.Target),
		Method:   bounded(r.Method),
		Name:     bounded(r.Name),
		ID:       bounded(r.ID),
		Dir:      r.Dir.String(),
		State:    stateDone,
		Channel:  r.Channel,
		Failed:   r.Failed(),
		Status:   r.Status,
		Code:     r.Code,
		Seconds:  r.Duration.Seconds(),
		First:    r.TimeToFirst.Seconds(),
		Sent:     r.Sent,
		Received: r.Received,
		Tokens:   r.Size() / 4,
		Guess:    r.IsGuess,
		Notes:    notesText(r),
		Findings: len(r.Findings),
		Text:     bounded(r.Text),
		Again:    r.ReplayOf,
		Edited:   r.Edited,
	}
	if r.Within != nil {
		out.Parent = live.KeyOf(r.Within).String()
	}
	// An open row's values are computed as of now.
	if m.v.waits(r) {
		out.State = stateOpen
		out.Seconds = max(m.now.Sub(r.Time)-r.Held, r.Duration).Seconds()
		out.Quiet = max(m.now.Sub(r.LastFrameTime()), 0).Seconds()
		if hasOpenQuestions(r) {
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

// maxName limits the characters of a name in documents that repeat it for each row.
const maxName = 1000

// bounded returns a name with at most maxName characters.
func bounded(text string) string { return shortened(text, maxName) }

// waits reports whether a response or more of a stream can still follow.
func (v *Views) waits(r *rows.Row) bool {
	return !v.File && r.IsWaiting()
}

// notesText returns the Notes of a row as text.
func notesText(r *rows.Row) string {
	var texts []string
	if r.SameAs != nil {
		texts = append(texts, "same request as "+r.SameAs.Number())
	}
	if r.Cancel != nil && r.Cancel.IsLate {
		texts = append(texts, "answered late")
	}
	if text := r.Notes.String(); text != "" {
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// roughPhases returns the phases that can be computed without frames. held is in seconds. Streams
// and pipes have no phases, as they last until their client ends.
func roughPhases(r Row, held float64) []Phase {
	var phases []Phase
	add := func(name string, seconds float64) {
		if seconds > 0 {
			phases = append(phases, Phase{Name: name, Seconds: seconds})
		}
	}
	if r.Method == rows.MethodStream || r.Method == rows.MethodPipe {
		return nil
	}
	if r.First <= 0 || r.First >= r.Seconds {
		add(phaseWait, r.Seconds)
	} else {
		add(phaseWait, r.First)
		add(phaseRead, r.Seconds-r.First)
	}
	add(phaseHeld, held)
	return phases
}

// hasOpenQuestions reports whether the server waits for a response to its own request.
func hasOpenQuestions(r *rows.Row) bool {
	return slices.ContainsFunc(questions(r), (*rows.Row).IsOpen)
}

// questions returns the requests of the server that belong to a row, including guesses.
func questions(r *rows.Row) []*rows.Row {
	var all []*rows.Row
	if r.Notes.Questions+r.Notes.Guessed == 0 {
		return nil
	}
	rows := r.Capture().Rows()
	// In a capture of one run, rows[i] is r: try that first. A question comes after its request.
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

// Talk returns a part of the rows that a query selects, each with its lines. It reads bodies, so a
// part has at most 200 rows. The lines of a row that cannot be read say why.
func (v *Views) Talk(ctx context.Context, q Query) ([]Block, Page, error) {
	page, keys, err := v.page(ctx, q, maxTalks)
	if err != nil {
		return nil, page, err
	}
	blocks := make([]Block, len(keys))
	page.Rows = make([]Row, len(keys))
	m := v.maker()
	v.store.Look(keys, func(i int, r *rows.Row) {
		blocks[i] = Block{Row: m.makeRow(keys[i], r), Lines: []Line{}}
		if r != nil {
			if x, err := readExchange(r, maxTalked); err != nil {
				blocks[i].Lines = []Line{
					{Dir: r.Dir.String(), Time: r.Time, Kind: "request", Text: titleOf(r), Times: 1},
					{Time: r.Time, Kind: "remark", Text: err.Error(), Times: 1},
				}
			} else {
				blocks[i].Lines = makeLines(r, x, m.v.waits(r))
				blocks[i].Row.Phases = phasesOf(x, m.endOf(r))
				if hasArguments(r) {
					blocks[i].Row.Arguments = argumentsText(x)
				}
			}
		}
		page.Rows[i] = blocks[i].Row
	})
	return blocks, page, nil
}

// endOf returns the end of a row without a response: now if it waits, else its last frame.
func (m maker) endOf(r *rows.Row) time.Time {
	if m.v.waits(r) {
		return later(m.now, r.LastFrameTime())
	}
	return r.LastFrameTime()
}
