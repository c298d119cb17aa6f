package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/scripts/bench/plan"
)

// enterRequests starts the server of a row, records the requests of mcpc, and returns the
// contenders. Some contenders only repeat these requests.
func enterRequests(ctx context.Context, b *bench, r *row) ([]*entry, error) {
	address, err := b.serve(ctx, r.server...)
	if err != nil {
		return nil, err
	}
	r.url = "http://" + address + "/mcp"
	mcpc := b.clients(func(bin string) runner { return b.client(bin, r.remembers, r.args...) })
	sent, err := b.record(ctx, r, mcpc...)
	if err != nil {
		return nil, err
	}
	if r.minimal {
		sent = slices.DeleteFunc(sent, func(q plan.Request) bool {
			return !slices.Contains([]string{"initialize", "notifications/initialized", "tools/call"}, methodOf(q))
		})
	}
	all := b.path("plan")
	if err := plan.Save(all, printed(sent)); err != nil {
		return nil, err
	}
	raw := func(tool string, flags ...string) runner {
		return b.plain(slices.Concat([]string{b.tool(tool)}, flags, []string{"{URL}", all})...)
	}
	entries := append([]*entry{{name: "raw", run: raw("raw", r.raw...), requests: len(sent)}}, mcpc...)
	if flag, does := strings.CutPrefix(r.floor, "raw "); does {
		entries = append(entries, &entry{name: r.floor, run: raw("raw", flag), requests: len(sent)})
	} else if r.floor == startsAndSends {
		entries = append(entries, &entry{name: r.floor, run: raw("raw-schemas"), requests: len(sent)})
	}
	if r.peers != "" || r.minimal {
		entries = append(
			entries,
			&entry{name: "curl", run: b.curl(sent), requests: len(sent), limit: peerLimit, budget: peerBudget},
		)
	}
	return append(entries, b.peers(r.peers)...), nil
}

// clients returns the measured mcpc, and the mcpc that it is compared with.
func (b *bench) clients(run func(bin string) runner) []*entry {
	entries := []*entry{{name: "mcpc", run: run(b.mcpc)}}
	if b.against != "" {
		entries = append(entries, &entry{name: "mcpc-b", run: run(b.against)})
	}
	return entries
}

// record runs the clients with a recorder, which counts their requests, and returns the requests of
// the first client. It omits the requests that a client only sends in its first run.
func (b *bench) record(ctx context.Context, r *row, clients ...*entry) (first []plan.Request, err error) {
	rec, err := newRecorder(r.url)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	for i, e := range clients {
		if r.remembers != nothing {
			if _, err := e.run(ctx, rec.url); err != nil {
				return nil, err
			}
		}
		rec.take()
		if _, err := e.run(ctx, rec.url); err != nil {
			return nil, err
		}
		sent := rec.take()
		if e.requests = len(sent); i == 0 {
			first = sent
		}
	}
	return first, nil
}

// printed marks the requests with responses that the command prints: all requests with the method
// of the last request.
func printed(requests []plan.Request) []plan.Request {
	last := ""
	for _, r := range requests {
		if m := methodOf(r); m != "" {
			last = m
		}
	}
	for i := range requests {
		requests[i].Print = methodOf(requests[i]) == last
	}
	return requests
}

func methodOf(r plan.Request) string {
	var m struct{ Method string }
	_ = json.Unmarshal([]byte(r.Body), &m)
	return m.Method
}
