package main

import (
	"context"
	"fmt"
	"regexp"
)

// A pair is one command with a small and a large response. Both should have the same peak memory.
type pair struct {
	key, name    string
	sizes        [2]string
	small, large *row
}

// flatLimit is the maximum ratio of the memory for the large response to the memory for the small
// response.
const flatLimit = 1.1

// pairs returns the pairs that flatness measures.
func pairs() (list []*pair) {
	for _, record := range []bool{false, true} {
		add := func(key, name, small, large string, sized func(large bool) *row) {
			p := &pair{key: "flat-" + key, name: name, sizes: [2]string{small, large}, small: sized(false), large: sized(true)}
			if record {
				p.key, p.name, p.small, p.large = p.key+"-record", p.name+", recorded", recorded(p.small), recorded(p.large)
			}
			list = append(list, p)
		}
		bytes := map[bool]int{false: gigabyte / 10, true: gigabyte}
		number := map[bool]int{false: 10_000, true: 1_000_000}
		add(
			"text-json",
			"text, `--json`",
			"100 MB",
			"1 GB",
			func(large bool) *row { return text("", "", bytes[large], goal{}, "--json") },
		)
		add("text", "text", "100 MB", "1 GB", func(large bool) *row { return text("", "", bytes[large], goal{}) })
		add(
			"text-sse-json",
			"text in an event, `--json`",
			"100 MB",
			"1 GB",
			func(large bool) *row { return inEvent(text("", "", bytes[large], goal{}, "--json")) },
		)
		add(
			"text-sse",
			"text in an event",
			"100 MB",
			"1 GB",
			func(large bool) *row { return inEvent(text("", "", bytes[large], goal{})) },
		)
		add(
			"list-json",
			"list, `--json`",
			"10,000 tools",
			"1,000,000",
			func(large bool) *row { return tools("", "", number[large], goal{}, "--json") },
		)
		add(
			"list",
			"list",
			"10,000 tools",
			"1,000,000",
			func(large bool) *row { return tools("", "", number[large], goal{}) },
		)
		few := map[bool]int{false: 1_000, true: 1_000_000}
		add(
			"progress",
			"progress events",
			"1,000",
			"1,000,000",
			func(large bool) *row { return events("", "", few[large], goal{}) },
		)
	}
	return list
}

// flatness measures the pairs one at a time, because some servers are large.
func (b *bench) flatness(ctx context.Context, only *regexp.Regexp) error {
	b.rounds = max(1, b.rounds/4)
	list := pairs()
	for _, p := range list {
		if !only.MatchString(p.key) {
			continue
		}
		for _, r := range []*row{p.small, p.large} {
			r.key, r.prepare = p.key, prepareAlone
		}
		if err := b.measure(ctx, []*row{p.small, p.large}); err != nil {
			return err
		}
		b.stopServers()
	}
	if err := b.publish("flat", flatTable(list)); err != nil {
		return err
	}
	fmt.Printf("\nMemory is flat, within %.0f %%: %s\n", (flatLimit-1)*100, flatVerdict(list))
	return nil
}

// flatVerdict returns the overall verdict of the pairs.
func flatVerdict(list []*pair) string {
	measured, flat := 0, 0
	for _, p := range list {
		if p.large.contenders == nil {
			continue
		}
		if measured++; p.memoryRatio() <= flatLimit {
			flat++
		}
	}
	switch {
	case measured == 0:
		return unmeasured
	case flat == measured:
		return fmt.Sprintf("met, %d of %d", flat, len(list))
	}
	return fmt.Sprintf("not met, %d of %d", flat, measured)
}

// memoryRatio returns the ratio of the memory for the large response to the memory for the small
// response.
func (p *pair) memoryRatio() float64 {
	return median(p.large.contender("mcpc").peaks()) / median(p.small.contender("mcpc").peaks())
}

// prepareAlone starts the server of a row and returns mcpc as its only contender.
func prepareAlone(ctx context.Context, b *bench, r *row) ([]*contender, error) {
	address, err := b.serve(ctx, r.server...)
	if err != nil {
		return nil, err
	}
	r.url = "http://" + address + "/mcp"
	return b.mcpcContenders(func(bin string) runner { return b.mcpcRunner(bin, nothing, r.args...) }), nil
}

// flatTable returns the table of the pairs, with a line for each.
func flatTable(list []*pair) []string {
	lines := []string{
		"| mcpc's peak memory | small | large | MB small | MB large | times | goal | verdict |",
		"| --- | --- | --- | --- | --- | --- | --- | --- |",
	}
	for _, p := range list {
		cells := "| | | |"
		verdict := unmeasured
		if p.large.contenders != nil {
			small, large := p.small.contender("mcpc"), p.large.contender("mcpc")
			cells = fmt.Sprintf("| %.0f | %.0f | %.2f |", median(small.peaks()), median(large.peaks()), p.memoryRatio())
			verdict = metText(p.memoryRatio() <= flatLimit)
		}
		lines = append(
			lines,
			fmt.Sprintf("| %s | %s | %s %s ≤ %.1f | %s |", p.name, p.sizes[0], p.sizes[1], cells, flatLimit, verdict),
		)
	}
	return lines
}
