package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns a quantile of the values, interpolated between the two nearest values.
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

func (e *contender) times() []float64 {
	return e.samplesAs(func(s sample) float64 { return milliseconds(s.took) })
}

func (e *contender) cpu() []float64 {
	return e.samplesAs(func(s sample) float64 { return milliseconds(s.cpu) })
}

func (e *contender) peaks() []float64 {
	return e.samplesAs(func(s sample) float64 { return float64(s.peak) / 1e6 })
}

func (e *contender) samplesAs(of func(sample) float64) []float64 {
	out := make([]float64, len(e.samples))
	for i, s := range e.samples {
		out[i] = of(s)
	}
	return out
}

// peak returns the largest peak memory of all rounds, in MB.
func (e *contender) peak() float64 { return slices.Max(append(e.peaks(), 0)) }

// ratios returns the ratio of the time of e to the time of other for each round.
func ratios(e, other *contender) []float64 { return divide(e.times(), other.times()) }

func divide(values, others []float64) []float64 {
	for i := range min(len(values), len(others)) {
		values[i] /= others[i]
	}
	return values[:min(len(values), len(others))]
}

// p99Ratio returns the median of the ratios of the 99th percentiles.
func p99Ratio(e, other *contender) float64 {
	of := func(s sample) float64 { return milliseconds(s.p99) }
	return median(divide(e.samplesAs(of), other.samplesAs(of)))
}

// startKey is the key of the row that measures the start.
const startKey = "version"

// goalTable returns the table of the goals, with a line for each row. Rows without samples have no
// values.
func goalTable(list []*row) []string {
	lines := []string{
		"| | ms | times | floor | goal | peak MB | goal | requests | goal | rounds | verdict |",
		"|" + strings.Repeat(" --- |", 11),
	}
	for _, r := range list {
		g, cells, verdict := r.goal, [6]string{}, unmeasured
		if r.contenders != nil {
			cells, verdict = r.cells()
		}
		lines = append(
			lines,
			fmt.Sprintf(
				"| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |",
				r.name,
				cells[0],
				cells[1],
				cells[5],
				g.timeText(),
				cells[2],
				limitText(g.maxMB, "%.0f"),
				cells[3],
				limitText(float64(g.maxRequests), "%.0f"),
				cells[4],
				verdict,
			),
		)
	}
	return lines
}

// cells returns the cells with mcpc's time, ratio, memory, requests and rounds and the ratio of
// the floor, and the verdict.
func (r *row) cells() (cells [6]string, verdict string) {
	mcpc, first := r.contender("mcpc"), r.contenders[0]
	if mcpc.failure != "" {
		return cells, "not met: " + mcpc.failure
	}
	g, took, times := r.goal, median(mcpc.times()), median(ratios(mcpc, first))
	var missed []string
	judge := func(what string, value, limit float64) {
		if limit > 0 && value > limit {
			missed = append(missed, what)
		}
	}
	judge("time", times, g.maxRatio)
	judge("time", took, milliseconds(g.maxTime))
	judge("memory", mcpc.peak(), g.maxMB)
	judge("requests", float64(mcpc.requests), float64(g.maxRequests))
	cells = [6]string{
		fmt.Sprintf("%.1f", took),
		fmt.Sprintf("%.2f", times),
		fmt.Sprintf("%.1f", mcpc.peak()),
		"",
		fmt.Sprint(len(mcpc.samples)),
	}
	if g.limitsP99 {
		judge("p99", p99Ratio(mcpc, first), g.maxRatio)
		cells[1] += fmt.Sprintf(", p99 %.2f", p99Ratio(mcpc, first))
	}
	if mcpc.requests > 0 {
		cells[3] = fmt.Sprint(mcpc.requests)
	}
	if least := r.contender(r.floor); least != nil && least.failure == "" {
		cells[5] = fmt.Sprintf("%.2f", median(ratios(least, first)))
	}
	if len(missed) > 0 {
		return cells, "not met: " + strings.Join(missed, ", ")
	}
	return cells, metText(true)
}

// unmeasured is the verdict of a row without samples.
const unmeasured = "not measured"

func metText(yes bool) string {
	if yes {
		return "met"
	}
	return "not met"
}

// timeText returns the text of the goal for the time.
func (g goal) timeText() string {
	text := limitText(g.maxRatio, "%.2f")
	if g.maxTime > 0 {
		text = "≤ " + g.maxTime.String()
	}
	if g.words != "" {
		text += " (" + g.words + ")"
	}
	if g.limitsP99 {
		text += ", p99 as well"
	}
	return text
}

func limitText(limit float64, format string) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("≤ "+format, limit)
}

// peerTable returns the table with the times of the other programs as multiples of mcpc's time, and
// their peak memory.
func peerTable(list []*row) []string {
	columns := append([]string{readsAll, "curl"}, peerNames...)
	lines := []string{
		"| times mcpc's, and MB | " + strings.Join(columns, " | ") + " |",
		"| --- " + strings.Repeat("| --- ", len(columns)) + "|",
	}
	for _, r := range list {
		if r.peers == "" && r.floor != readsAll && !r.minimal && r.key != startKey {
			continue
		}
		line := "| " + r.name
		for _, name := range columns {
			line += " | " + r.peerCell(name)
		}
		lines = append(lines, line+" |")
	}
	return lines
}

func (r *row) peerCell(name string) string {
	e := r.contender(name)
	if e == nil || len(e.samples) == 0 && e.failure == "" {
		return ""
	}
	if e.failure != "" {
		return e.failure
	}
	return fmt.Sprintf("%.1f (%.0f MB)", median(ratios(e, r.contender("mcpc"))), e.peak())
}

// printContenders prints the cost of each contender of each row.
func printContenders(w io.Writer, list []*row) {
	fmt.Fprintln(w, "Medians; × is the median of the ratios within a round, with its quartiles; MB is the largest peak.")
	for _, r := range list {
		fmt.Fprintf(
			w,
			"\n%-50s %9s %9s %7s %15s %8s %9s %7s\n",
			r.name,
			"ms",
			"CPU ms",
			"×",
			"quartiles",
			"peak MB",
			"requests",
			"rounds",
		)
		for _, e := range r.contenders {
			x := ratios(e, r.contenders[0])
			fmt.Fprintf(
				w,
				"  %-48s %9.1f %9.1f %7.2f %15s %8.1f %9d %7d %s\n",
				e.name,
				median(e.times()),
				median(e.cpu()),
				median(x),
				fmt.Sprintf("%.2f..%.2f", quantile(x, 0.25), quantile(x, 0.75)),
				e.peak(),
				e.requests,
				len(e.samples),
				e.failure,
			)
		}
	}
}

// publish prints a table after a line about the run, and writes both into the page.
func (b *bench) publish(table string, lines []string) error {
	fmt.Printf("\n%s\n\n%s\n", b.describeRun(), strings.Join(lines, "\n"))
	if b.docs == "" {
		return nil
	}
	return b.writeDocs(table, lines)
}

func (b *bench) describeRun() string {
	return fmt.Sprintf(
		"Measured on %s: mcpc %s, rounds: %d, %s/%s, %d cores.",
		time.Now().UTC().Format(time.DateOnly),
		b.commit,
		b.rounds,
		runtime.GOOS,
		runtime.GOARCH,
		runtime.NumCPU(),
	)
}

// writeDocs replaces the text between the markers of a table in the page.
func (b *bench) writeDocs(table string, lines []string) error {
	raw, err := os.ReadFile(b.docs)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(raw), tableStart(table))
	_, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no %q with %q behind it", b.docs, tableStart(table), tableEnd)
	}
	text := before + tableStart(table) + "\n\n" + b.describeRun() + "\n\n" + strings.Join(lines, "\n") + "\n\n" + tableEnd + after
	return os.WriteFile(b.docs, []byte(text), 0o644)
}

// tableEnd is the line after a table in the page.
const tableEnd = "<!-- end of the table -->"

func tableStart(table string) string {
	return "<!-- scripts/bench.sh writes this table: " + table + " -->"
}

// appendHistory writes a line for each measurement of mcpc. The first line of the file names the
// columns.
func (b *bench) appendHistory(name string, list []*row) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Size() == 0 {
		fmt.Fprintln(f, "# date (UTC)\tcommit (+: with changes)\tmeasure\tmedian ms\t"+
			"median of the ratios to raw within a round (version: to raw -h); compare this and not ms\tpeak MB\tmedian CPU ms\trounds")
	}
	now := time.Now().UTC().Format("2006-01-02T15:04:05Z")
	for _, r := range list {
		if e := r.contender("mcpc"); e.failure == "" {
			fmt.Fprintf(f, "%s\t%s\t%s\t%.1f\t%.3f\t%.1f\t%.1f\t%d\n", now, b.commit, r.key,
				median(e.times()), median(ratios(e, r.contenders[0])), e.peak(), median(e.cpu()), len(e.samples))
		}
	}
	return f.Close()
}
