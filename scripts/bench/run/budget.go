package main

import (
	"fmt"
	"io"
)

// A budget is what mcpc may cost. over gives by how much it costs more, in each
// round; a budget of memory has one value for all of them.
type budget struct {
	text, key, unit string
	over            func(m *measure) []float64
}

// budgets are what was promised. "start" is what mcpc needs more than an empty
// Go program to print its version, in the same round.
func (b *bench) budgets() []budget {
	version := b.done[0]
	start := func(i int) float64 {
		return milliseconds(version.entry("mcpc").samples[i].took - version.base().samples[i].took)
	}
	time := func(limit func(round int, raw float64) float64) func(m *measure) []float64 {
		return func(m *measure) []float64 {
			over, raw := m.entry("mcpc").took(), m.base().took()
			for i := range over {
				over[i] -= limit(i, raw[i])
			}
			return over
		}
	}
	peak := func(limit float64) func(m *measure) []float64 {
		return func(m *measure) []float64 { return []float64{m.entry("mcpc").peak() - limit} }
	}
	withStart := time(func(round int, raw float64) float64 { return start(round) + 1.3*raw })
	times := func(factor float64) func(m *measure) []float64 {
		return time(func(_ int, raw float64) float64 { return factor * raw })
	}
	flat := peak(version.entry("mcpc").peak() + 16)
	return []budget{
		{"start <= empty + 7 ms", startKey, "ms", time(func(_ int, empty float64) float64 { return empty + 7 })},
		{"<= start + 1.3 raw", "list-everything", "ms", withStart},
		{"<= start + 1.3 raw", "list-legacy", "ms", withStart},
		{"<= start + 1.3 raw", "list-modern", "ms", withStart},
		{"<= start + 1.3 raw", "warm-legacy", "ms", withStart},
		{"<= start + 1.3 raw", "warm-modern", "ms", withStart},
		{"<= 1.5 raw", "list-10k-json", "ms", times(1.5)},
		{"<= 120 MB", "list-10k-json", "MB", peak(120)},
		{"<= 1.5 raw", "list-10k", "ms", times(1.5)},
		{"<= 120 MB", "list-10k", "MB", peak(120)},
		{"<= 2.5 messages of memory", "text-100mb", "MB", peak(2.5 * message / 1e6)},
		{"<= 2.5 messages of memory", "text-100mb-sse", "MB", peak(2.5 * message / 1e6)},
		{"<= 2 raw", "progress-100k", "ms", times(2)},
		{"flat memory: version's peak + 16 MB", "progress-100k", "MB", flat},
		{"<= 2 raw", "progress-100k-v", "ms", times(2)},
		{"flat memory: version's peak + 16 MB", "progress-100k-v", "MB", flat},
		{"flat memory: version's peak + 16 MB", "progress-100k-legacy", "MB", flat},
	}
}

func (b *bench) printBudgets(w io.Writer) {
	measures := map[string]*measure{}
	for _, m := range b.done {
		measures[m.key] = m
	}
	fmt.Fprintln(w, "\nbudgets (by how much they are exceeded: the median of the rounds)")
	for _, one := range b.budgets() {
		m := measures[one.key]
		if m == nil {
			continue
		}
		word := "ok  "
		over := median(one.over(m))
		if over > 0 {
			word = "OVER"
		}
		fmt.Fprintf(w, "  %s  %-16s %-38s %+9.1f %s\n", word, one.key, one.text, over, one.unit)
	}
}
