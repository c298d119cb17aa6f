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

// maxRows limits the rows that a page gets at a time.
const maxRows = 200

// params are the query parameters of a request.
type params struct{ url.Values }

// number parses a parameter as a whole number. It returns fallback if the parameter is missing.
func (a params) number(name string, fallback int) (int, error) {
	if a.Get(name) == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(a.Get(name))
	if err != nil {
		return 0, refusal{http.StatusBadRequest, name + " is not a whole number"}
	}
	return n, nil
}

// time parses a parameter such as "2026-01-02T15:04:05.123Z". It returns the zero time if it is
// missing.
func (a params) time(name string) (time.Time, error) {
	text := a.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, refusal{http.StatusBadRequest, name + " is not a time"}
	}
	return t, nil
}

// query parses the parameters that select rows. Keys are given in one parameter with commas, or in
// several.
func (a params) query() view.Query {
	q := view.Query{Filter: a.Get("filter"), Sort: a.Get("sort"), Talk: a.Get("talk"), Keep: a.Get("keep")}
	for _, keys := range a.Values["only"] {
		for key := range strings.SplitSeq(keys, ",") {
			if key != "" {
				q.Only = append(q.Only, key)
			}
		}
	}
	return q
}

// rowQuery parses the parameters that select a part of the rows.
func (a params) rowQuery() (view.Query, error) {
	q := a.query()
	from, err := a.number("from", 0)
	if err != nil {
		return q, err
	}
	count, err := a.number("count", maxRows)
	if err != nil {
		return q, err
	}
	q.From = from
	q.Count = max(0, min(count, maxRows)) // From may be negative: it then counts from the end
	return q, nil
}

// reads maps the addresses below /api/ to functions that return a document.
var reads = map[string]func(ctx context.Context, s *Server, a params) (any, error){
	"status": func(_ context.Context, s *Server, _ params) (any, error) { return s.status(), nil },
	"rows":   readRows,
	"talk":   readTalk,
	"conversations": func(_ context.Context, s *Server, _ params) (any, error) {
		return notNil(s.Reader.Conversations()), nil
	},
	"row": func(ctx context.Context, s *Server, a params) (any, error) {
		d, err := s.Reader.Detail(ctx, a.Get("key"))
		d.Lines = notNil(d.Lines)
		d.Frames = notNil(d.Frames)
		d.Facts = notNil(d.Facts)
		return d, err
	},
	"tools": func(ctx context.Context, s *Server, a params) (any, error) {
		return notNilResult(s.Reader.Tools(ctx, a.query()))
	},
	"streams": func(ctx context.Context, s *Server, a params) (any, error) {
		return notNilResult(s.Reader.Streams(ctx, a.query()))
	},
	"secrets": func(ctx context.Context, s *Server, a params) (any, error) {
		return notNilResult(s.Reader.Secrets(ctx, a.query()))
	},
	"lanes": readLanes,
	"diff":  readDiff,
	"compare": func(ctx context.Context, s *Server, a params) (any, error) {
		return s.Reader.Compare(ctx, a.Get("a"), a.Get("b"))
	},
	"suggest": func(_ context.Context, s *Server, a params) (any, error) {
		return notNil(s.Reader.Suggest(a.Get("filter"))), nil
	},
	"questions": func(_ context.Context, s *Server, _ params) (any, error) {
		if s.Actor == nil {
			return []view.Question{}, nil
		}
		return notNil(s.Actor.Questions()), nil
	},
	"servers": func(_ context.Context, s *Server, _ params) (any, error) {
		if s.Actor == nil {
			return []view.Server{}, nil
		}
		return notNil(s.Actor.Servers()), nil
	},
	"output": func(_ context.Context, s *Server, _ params) (any, error) {
		if s.Actor == nil {
			return []string{}, nil
		}
		return notNil(s.Actor.ServerOutput()), nil
	},
	"login": func(_ context.Context, s *Server, _ params) (any, error) {
		if s.Actor == nil {
			return nil, nil
		}
		return s.Actor.LoginState(), nil
	},
	"faults": func(_ context.Context, s *Server, _ params) (any, error) {
		if s.Actor == nil {
			return []view.ArmedFault{}, nil
		}
		return notNil(s.Actor.Faults()), nil
	},
	"held": func(_ context.Context, s *Server, _ params) (any, error) {
		if s.Actor == nil {
			return []view.Held{}, nil
		}
		return notNil(s.Actor.Held()), nil
	},
}

// readRows returns a part of the rows.
func readRows(ctx context.Context, s *Server, a params) (any, error) {
	q, err := a.rowQuery()
	if err != nil {
		return nil, err
	}
	q.WithArguments = true
	p, err := s.Reader.Rows(ctx, q)
	p.Rows = notNil(p.Rows)
	return p, err
}

// readTalk returns a part of the rows as blocks of lines.
func readTalk(ctx context.Context, s *Server, a params) (any, error) {
	q, err := a.rowQuery()
	if err != nil {
		return nil, err
	}
	blocks, p, err := s.Reader.Talk(ctx, q)
	p.Rows = notNil(p.Rows)
	return struct {
		Blocks []view.Block `json:"blocks"`
		Page   view.Page    `json:"page"`
	}{notNil(blocks), p}, err
}

// readLanes returns the lanes of a period.
func readLanes(ctx context.Context, s *Server, a params) (any, error) {
	from, err := a.time("from")
	if err != nil {
		return nil, err
	}
	to, err := a.time("to")
	if err != nil {
		return nil, err
	}
	return notNilResult(s.Reader.Lanes(ctx, a.query(), from, to))
}

// readDiff returns the differences of two exchanges.
func readDiff(ctx context.Context, s *Server, a params) (any, error) {
	request, response, err := s.Reader.Diff(ctx, a.Get("a"), a.Get("b"))
	return struct {
		Request  []view.Change `json:"request"`
		Response []view.Change `json:"response"`
	}{notNil(request), notNil(response)}, err
}

// okResponse is the response to an action without a result.
var okResponse = map[string]bool{"ok": true}

// notNil returns an empty list for nil, so that its JSON is [].
func notNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// notNilResult returns all as a result of a read, with an empty list for nil.
func notNilResult[T any](all []T, err error) (any, error) { return notNil(all), err }
