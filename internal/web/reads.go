package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/live/view"
)

// mostRows is how many rows a page gets at a time.
const mostRows = 200

// asked are the parameters of a request.
type asked struct{ url.Values }

// number reads a parameter that is a whole number.
func (a asked) number(name string, usual int) (int, error) {
	if a.Get(name) == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(a.Get(name))
	if err != nil {
		return 0, refusal{http.StatusBadRequest, name + " is not a whole number"}
	}
	return n, nil
}

// time reads a parameter as in "2026-01-02T15:04:05.123Z"; the zero time without one.
func (a asked) time(name string) (t time.Time, err error) {
	if text := a.Get(name); text != "" {
		t, err = time.Parse(time.RFC3339, text)
		if err != nil {
			err = refusal{http.StatusBadRequest, name + " is not a time"}
		}
	}
	return t, err
}

// query reads which rows are asked for. Keys stand in one parameter with commas, or in several.
func (a asked) query() view.Query {
	q := view.Query{Filter: a.Get("filter"), Sort: a.Get("sort"), Talk: a.Get("talk")}
	for _, keys := range a.Values["only"] {
		for key := range strings.SplitSeq(keys, ",") {
			if key != "" {
				q.Only = append(q.Only, key)
			}
		}
	}
	return q
}

// part reads which rows are asked for, and which part of them.
func (a asked) part() (q view.Query, err error) {
	q = a.query()
	q.From, err = a.number("from", 0)
	if err == nil {
		q.Count, err = a.number("count", mostRows)
	}
	q.Count = max(0, min(q.Count, mostRows))
	return q, err
}

// reads are the addresses below /api/ that give a document.
var reads = map[string]func(ctx context.Context, s *Server, a asked) (any, error){
	"status": func(_ context.Context, s *Server, _ asked) (any, error) { return s.Reader.Status(), nil },
	"rows":   readRows,
	"talk":   readTalk,
	"conversations": func(_ context.Context, s *Server, _ asked) (any, error) {
		return filled(s.Reader.Conversations()), nil
	},
	"row": func(ctx context.Context, s *Server, a asked) (any, error) {
		d, err := s.Reader.Detail(ctx, a.Get("key"))
		d.Lines, d.Frames, d.Facts = filled(d.Lines), filled(d.Frames), filled(d.Facts)
		return d, err
	},
	"tools": func(ctx context.Context, s *Server, a asked) (any, error) {
		return list(s.Reader.Tools(ctx, a.query()))
	},
	"streams": func(ctx context.Context, s *Server, a asked) (any, error) {
		return list(s.Reader.Streams(ctx, a.query()))
	},
	"secrets": func(ctx context.Context, s *Server, a asked) (any, error) {
		return list(s.Reader.Secrets(ctx, a.query()))
	},
	"lanes": readLanes,
	"diff":  readDiff,
	"compare": func(ctx context.Context, s *Server, a asked) (any, error) {
		return s.Reader.Compare(ctx, a.Get("a"), a.Get("b"))
	},
	"suggest": func(_ context.Context, s *Server, a asked) (any, error) {
		return filled(s.Reader.Suggest(a.Get("filter"))), nil
	},
	"questions": func(_ context.Context, s *Server, _ asked) (any, error) {
		if s.Actor == nil {
			return []view.Question{}, nil
		}
		return filled(s.Actor.Questions()), nil
	},
	"held": func(_ context.Context, s *Server, _ asked) (any, error) {
		if s.Actor == nil {
			return []view.Held{}, nil
		}
		return filled(s.Actor.Held()), nil
	},
}

func readRows(ctx context.Context, s *Server, a asked) (any, error) {
	q, err := a.part()
	if err != nil {
		return nil, err
	}
	p, err := s.Reader.Rows(ctx, q)
	p.Rows = filled(p.Rows)
	return p, err
}

func readTalk(ctx context.Context, s *Server, a asked) (any, error) {
	q, err := a.part()
	if err != nil {
		return nil, err
	}
	blocks, p, err := s.Reader.Talk(ctx, q)
	p.Rows = filled(p.Rows)
	return struct {
		Blocks []view.Block `json:"blocks"`
		Page   view.Page    `json:"page"`
	}{filled(blocks), p}, err
}

func readLanes(ctx context.Context, s *Server, a asked) (any, error) {
	from, err := a.time("from")
	if err != nil {
		return nil, err
	}
	to, err := a.time("to")
	if err != nil {
		return nil, err
	}
	return list(s.Reader.Lanes(ctx, a.query(), from, to))
}

func readDiff(ctx context.Context, s *Server, a asked) (any, error) {
	request, response, err := s.Reader.Diff(ctx, a.Get("a"), a.Get("b"))
	return struct {
		Request  []view.Change `json:"request"`
		Response []view.Change `json:"response"`
	}{filled(request), filled(response)}, err
}

// okay is the answer where there is nothing to tell.
var okay = map[string]bool{"ok": true}

// filled is a list that is [] in JSON where it is empty.
func filled[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func list[T any](all []T, err error) (any, error) { return filled(all), err }
