package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
)

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile interpolates between the values around the place.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (e *entry) took() []float64 {
	return e.each(func(s sample) float64 { return milliseconds(s.took) })
}

func (e *entry) cpu() []float64 { return e.each(func(s sample) float64 { return milliseconds(s.cpu) }) }

func (e *entry) each(of func(sample) float64) []float64 {
	out := make([]float64, len(e.samples))
	for i, s := range e.samples {
		out[i] = of(s)
	}
	return out
}

// peak is the largest of all rounds, in MB.
func (e *entry) peak() float64 {
	return slices.Max(e.each(func(s sample) float64 { return float64(s.peak) / 1e6 }))
}

// ratios are those of e to what it is compared to, round by round.
func (m *measure) ratios(e *entry) []float64 { return ratios(e, m.base()) }

// ratios are how many times slower than another a contender is, round by round.
func ratios(e, other *entry) []float64 {
	out, took := e.took(), other.took()
	for i := range out {
		out[i] /= took[i]
	}
	return out
}

// peers are the programs that a user may run instead of mcpc.
var peers = []string{"curl", "curl, 2 times", "Go SDK", "Inspector"}

func (b *bench) printFactors(w io.Writer) {
	fmt.Fprintf(w, "\n%-38s", "how many times slower than mcpc")
	for _, name := range peers {
		fmt.Fprintf(w, " %13s", name)
	}
	fmt.Fprintln(w)
	for _, m := range b.done {
		row := ""
		measured := false
		for _, name := range peers {
			cell := ""
			if e := m.entry(name); e != nil {
				cell, measured = fmt.Sprintf("%.2f", median(ratios(e, m.entry("mcpc")))), true
			}
			row += fmt.Sprintf(" %13s", cell)
		}
		if measured {
			fmt.Fprintf(w, "%-38s%s\n", m.name, row)
		}
	}
}

func (b *bench) printTable(w io.Writer) {
	fmt.Fprintf(w, "mcpc %s. Medians; × is the median of the ratios within a round, with its quartiles; MB is the largest peak.\n", b.commit)
	for _, m := range b.done {
		fmt.Fprintf(w, "\n%-38s %9s %9s %7s %15s %8s %9s\n", m.name, "ms", "CPU ms", "×", "quartiles", "peak MB", "requests")
		for _, e := range m.entries {
			r := m.ratios(e)
			quartiles := fmt.Sprintf("%.2f..%.2f", quantile(r, 0.25), quantile(r, 0.75))
			fmt.Fprintf(w, "  %-36s %9.1f %9.1f %7.2f %15s %8.1f %9d\n",
				e.name, median(e.took()), median(e.cpu()), median(r), quartiles, e.peak(), e.requests)
		}
	}
}

// appendHistory writes a line for each measure of mcpc. The first line of the
// file says what the columns are.
func (b *bench) appendHistory(name string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Size() == 0 {
		fmt.Fprintln(f, "# date (UTC)\tcommit (+: with changes)\tmeasure\tmedian ms\t"+
			"median of the ratios to raw within a round (version: to an empty Go program); compare this and not ms\tpeak MB\tmedian CPU ms\trounds")
	}
	now := time.Now().UTC().Format("2006-01-02T15:04:05Z")
	for _, m := range b.done {
		e := m.entry("mcpc")
		fmt.Fprintf(f, "%s\t%s\t%s\t%.1f\t%.3f\t%.1f\t%.1f\t%d\n", now, b.commit, m.key,
			median(e.took()), median(m.ratios(e)), e.peak(), median(e.cpu()), len(e.samples))
	}
	return f.Close()
}
