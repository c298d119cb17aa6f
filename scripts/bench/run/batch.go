package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"mcpc/scripts/bench/plan"
)

// batchCalls is how many calls a batch makes: enough that its start and its end
// weigh little.
const batchCalls = 20_000

// batchCases are many calls in one process, checked and in order, beside a program
// that sends the same request as often and as many at a time, and does neither.
func batchCases(server []string) (cases []*measure) {
	for _, parallel := range []int{1, 8, 64} {
		cases = append(cases, &measure{
			name: fmt.Sprintf("batch, %d calls, %d at a time", batchCalls, parallel), key: fmt.Sprintf("batch-%d", parallel),
			server: server, path: "/mcp", parallel: parallel, least: 90 * batchCalls,
		})
	}
	return cases
}

// prepareBatch lets mcpc make one call before a recorder, so that it is known what
// the others have to send.
func (b *bench) prepareBatch(ctx context.Context, m *measure) error {
	target, err := b.serve(ctx, m.server, m.path)
	if err != nil {
		return err
	}
	rec, err := newRecorder(target)
	if err != nil {
		return err
	}
	defer rec.Close()
	m.url = target
	one, many, sent := b.path("calls"), b.path("calls"), b.path("plan")
	if err := writeCalls(one, 1); err != nil {
		return err
	}
	if err := writeCalls(many, batchCalls); err != nil {
		return err
	}
	if _, err := b.cold(b.mcpc, "batch", one)(ctx, rec.url); err != nil {
		return err
	}
	requests := printed(rec.take())
	if err := plan.Save(sent, requests); err != nil {
		return err
	}
	times, parallel := strconv.Itoa(batchCalls), strconv.Itoa(m.parallel)
	m.entries = []*entry{
		{name: "raw", run: b.plain(b.tool("raw"), "-times", times, "-parallel", parallel, "{URL}", sent)},
		{name: "mcpc", run: b.cold(b.mcpc, "batch", many, "--parallel", parallel)},
	}
	m.entries = append(m.entries, &entry{name: "mcpc bench", quiet: true, run: b.cold(b.mcpc, "bench", "get-sum", sumArguments, "--users", parallel, "--requests", times, "--json")})
	if b.against != "" {
		m.entries = append(m.entries, &entry{name: "mcpc-b", run: b.cold(b.against, "batch", many, "--parallel", parallel)})
	}
	for _, e := range m.entries {
		e.requests = len(requests) - 1 + batchCalls
		if err := m.tryOut(ctx, e, target); err != nil {
			return err
		}
	}
	return nil
}

func writeCalls(name string, n int) error {
	return os.WriteFile(name, []byte(strings.Repeat(`{"tool":"get-sum","arguments":`+sumArguments+"}\n", n)), 0o600)
}

// printRates says how many calls a second the batches made.
func (b *bench) printRates(w io.Writer) {
	for _, m := range b.done {
		if m.parallel == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%-38s %15s %15s\n", m.name, "calls a second", "of those of raw")
		for _, e := range m.entries {
			fmt.Fprintf(w, "  %-36s %15.0f %14.0f%%\n", e.name, batchCalls/median(e.took())*1000, 100/median(m.ratios(e)))
		}
	}
}
