package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/scripts/bench/plan"
)

// prepareRequests starts the server of a row, records the requests of mcpc, and returns the
// contenders. Some contenders only repeat these requests.
func prepareRequests(ctx context.Context, b *bench, r *row) ([]*contender, error) {
	address, err := b.serve(ctx, r.server...)
	if err != nil {
		return nil, err
	}
	r.url = "http://" + address + "/mcp"
	mcpc := b.mcpcContenders(func(bin string) runner { return b.mcpcRunner(bin, r.remembers, r.args...) })
	sent, err := b.record(ctx, r, mcpc...)
	if err != nil {
		return nil, err
	}
	if r.minimal {
		sent = slices.DeleteFunc(sent, func(q plan.Request) bool {
			return !slices.Contains([]string{"initialize", "notifications/initialized", "tools/call"}, methodOf(q))
		})
	}
	all := b.newPath("plan")
	if err := plan.Save(all, markPrinted(sent)); err != nil {
		return nil, err
	}
	raw := func(tool string, flags ...string) runner {
		return b.programRunner(slices.Concat([]string{b.toolPath(tool)}, flags, []string{"{URL}", all})...)
	}
	entries := append([]*contender{{name: "raw", run: raw("raw", r.raw...), requests: len(sent)}}, mcpc...)
	if flag, does := strings.CutPrefix(r.floor, "raw "); does {
		entries = append(entries, &contender{name: r.floor, run: raw("raw", flag), requests: len(sent)})
	} else if r.floor == startsAndSends {
		entries = append(entries, &contender{name: r.floor, run: raw("raw-schemas"), requests: len(sent)})
	}
	if r.peers != "" || r.minimal {
		entries = append(
			entries,
			&contender{name: "curl", run: b.curlRunner(sent), requests: len(sent), limit: peerLimit, budget: peerBudget},
		)
	}
	return append(entries, b.peerContenders(r.peers)...), nil
}

// mcpcContenders returns the measured mcpc, and the mcpc that it is compared with.
func (b *bench) mcpcContenders(run func(bin string) runner) []*contender {
	entries := []*contender{{name: "mcpc", run: run(b.mcpc)}}
	if b.against != "" {
		entries = append(entries, &contender{name: "mcpc-b", run: run(b.against)})
	}
	return entries
}

// record runs the clients with a recorder, which counts their requests, and returns the requests of
// the first client. It omits the requests that a client only sends in its first run.
func (b *bench) record(ctx context.Context, r *row, clients ...*contender) (first []plan.Request, err error) {
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
		rec.takeRequests()
		if _, err := e.run(ctx, rec.url); err != nil {
			return nil, err
		}
		sent := rec.takeRequests()
		if e.requests = len(sent); i == 0 {
			first = sent
		}
	}
	return first, nil
}

// markPrinted marks the requests with responses that the command prints: all requests with the method
// of the last request.
func markPrinted(requests []plan.Request) []plan.Request {
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
