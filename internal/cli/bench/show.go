package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/bench"
	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// writeText writes a result for people, or as lines of cells into a pipe. It returns the first error
// of writing.
func writeText(w io.Writer, st term.Style, d *bench.Document) error {
	t := &resultWriter{w: w, st: st}
	for i, r := range d.Results {
		if i > 0 {
			t.writeLine("")
		}
		t.writeHead(d, r)
		t.writeLatencies(r)
		t.writeStages(r)
		t.drawBars(r.MainLatency())
		t.writeChannels(r)
		t.writeSetup(r)
		t.writeNotes(r)
	}
	t.writeComparison(d.Comparison)
	for _, e := range d.Expectations {
		t.writeExpectation(e)
	}
	if d.Invalid != "" {
		t.writeLine(st.Paint(term.Bold+";"+term.Red, "invalid: ") + st.Line(d.Invalid))
	}
	return t.err
}

// resultWriter writes the parts of a result. After a failure, kept in err, it writes nothing more.
type resultWriter struct {
	w   io.Writer
	st  term.Style
	err error
}

// writeLine writes s and a newline.
func (t *resultWriter) writeLine(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s+"\n")
	}
}

// writeTable writes a table, with an empty line before it at a terminal. It removes empty cells at the
// end of rows.
func (t *resultWriter) writeTable(head []string, rows [][]string) {
	if t.st.Pretty() && len(rows) > 0 {
		t.writeLine("")
	}
	for i, row := range rows {
		for len(row) > 0 && row[len(row)-1] == "" {
			row = row[:len(row)-1]
		}
		rows[i] = row
	}
	if t.err == nil {
		t.err = term.Table(t.w, t.st, head, rows)
	}
}

// writeTableWithHead writes a table that needs its head. A pipe gets the head too.
func (t *resultWriter) writeTableWithHead(head []string, rows [][]string) {
	if !t.st.Pretty() && len(rows) > 0 {
		rows = append([][]string{head}, rows...)
	}
	t.writeTable(head, rows)
}

// writeHead writes the tool, the target, the load, and the definition of the latencies.
func (t *resultWriter) writeHead(d *bench.Document, r *bench.Result) {
	t.writeLine(t.st.Strong(t.st.Line(d.Tool)) + t.st.Line(" at "+r.Target))
	load := []string{fmt.Sprintf("closed model: %s", english.Plural(d.Load.Users, "user"))}
	if d.Load.Rate > 0 {
		load[0] = "open model: " + formatNumber(d.Load.Rate) + " calls a second"
		if d.Load.Poisson {
			load[0] += " with random gaps"
		}
	}
	if d.Load.ThinkUS > 0 {
		load = append(load, "a pause of "+formatMicros(t.st, float64(d.Load.ThinkUS)))
	}
	if d.Load.MaxRate > 0 {
		load = append(load, "at most "+formatNumber(d.Load.MaxRate)+" calls a second (--i-know: no limit)")
	}
	if d.Load.Seconds > 0 {
		load = append(load, formatNumber(d.Load.Seconds)+" s")
	}
	if d.Load.Calls > 0 {
		load = append(load, english.Plural(d.Load.Calls, "call"))
	}
	t.writeLine(strings.Join(load, ", ") + pipeRemark(r, d.Load))
	t.writeLine("latencies: " + d.Load.Meaning)
}

// writeLatencies writes the quantiles with their intervals.
func (t *resultWriter) writeLatencies(r *bench.Result) {
	if r.Service.Calls == 0 {
		t.writeLine("no call succeeded, so there are no latencies")
		return
	}
	columns := []*bench.Latency{r.Service}
	head := []string{"quantile", "service time", "95 % interval"}
	if r.Response != nil {
		columns = []*bench.Latency{r.Response, r.Service}
		head = []string{"quantile", "response time", "95 % interval", "service time", "95 % interval"}
	}
	var rows [][]string
	for _, name := range append(slices.Clone(bench.Quantiles), "max") {
		row := []string{name}
		for _, l := range columns {
			v, ok := l.Quantiles[name]
			if ok {
				row = append(row, t.formatLatency(v), t.formatInterval(v, formatMicros))
			} else {
				row = append(row, "-", fmt.Sprintf("needs %d calls", bench.NeededCalls(name)))
			}
		}
		rows = append(rows, row)
	}
	t.writeTableWithHead(head, rows)
}

// formatLatency returns a latency as text: a lower bound if calls timed out.
func (t *resultWriter) formatLatency(v bench.Value) string {
	if v.AtLeast {
		return t.st.Ornament(">=", "≥") + " " + formatMicros(t.st, v.Value)
	}
	return formatMicros(t.st, v.Value)
}

// formatInterval returns the interval of a value as text, or "" if the value has no interval.
func (t *resultWriter) formatInterval(v bench.Value, unit func(term.Style, float64) string) string {
	if v.Low == nil || v.High == nil {
		return ""
	}
	return unit(t.st, *v.Low) + " to " + unit(t.st, *v.High)
}

// writeStages writes the table of the durations of the stages of calls.
func (t *resultWriter) writeStages(r *bench.Result) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(r.Stages)) {
		l := r.Stages[name]
		row := []string{name, fmt.Sprint(l.Calls)}
		for _, q := range []string{"p50", "p99", "max"} {
			if v, ok := l.Quantiles[q]; ok {
				row = append(row, formatMicros(t.st, v.Value))
			} else {
				row = append(row, "-")
			}
		}
		rows = append(rows, row)
	}
	t.writeTable([]string{"on the way", "times", "p50", "p99", "max"}, rows)
}

// barColumns bounds the length of a bar.
const barColumns = 50

// drawBars draws the distribution at a terminal. A pipe gets none.
func (t *resultWriter) drawBars(l *bench.Latency) {
	if !t.st.Terminal || len(l.Bars) == 0 {
		return
	}
	const minColumns = 5
	const otherColumns = 30 // of the table
	var maxCalls int64
	for _, b := range l.Bars {
		maxCalls = max(maxCalls, b.Calls)
	}
	columns := int64(max(minColumns, min(barColumns, t.st.Columns()-otherColumns)))
	var rows [][]string
	for _, b := range l.Bars {
		bar := ""
		if b.Calls > 0 { // a single call is visible too
			bar = strings.Repeat(t.st.Ornament("#", "█"), int(max(1, b.Calls*columns/maxCalls)))
		}
		rows = append(rows, []string{formatMicros(t.st, float64(b.UpTo)), fmt.Sprint(b.Calls), bar})
	}
	t.writeTable([]string{"up to", "calls", ""}, rows)
}

// channelsShown are the channels that the table has even if no call ended with them.
var channelsShown = []string{
	bench.OK,
	string(wire.ToolError),
	string(wire.RPCFailed),
	string(wire.Transport),
	string(wire.Timeout),
}

// writeChannels writes the table of the numbers of calls by channel.
func (t *resultWriter) writeChannels(r *bench.Result) {
	names := slices.Clone(channelsShown)
	for _, name := range slices.Sorted(maps.Keys(r.Channels)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var rows [][]string
	for _, name := range names {
		c := r.Channels[name]
		interval := ""
		if c.High > 0 {
			interval = formatNumber(c.Low) + " to " + formatNumber(c.High)
		}
		rows = append(rows, []string{name, fmt.Sprint(c.Calls), formatNumber(c.Rate), interval})
	}
	t.writeTable([]string{"ended with", "calls", "a second", "95 % interval"}, rows)
}

// writeSetup writes the table of the steps that were measured separately from the calls.
func (t *resultWriter) writeSetup(r *bench.Result) {
	var rows [][]string
	for _, s := range r.Setup {
		times := "once"
		if s.Times > 1 {
			times = fmt.Sprintf("median of %d", s.Times)
		}
		rows = append(rows, []string{s.Name, formatMicros(t.st, float64(s.MedianUS)), times})
	}
	t.writeTable([]string{"apart", "took", ""}, rows)
}

// writeNotes writes remarks about a result.
func (t *resultWriter) writeNotes(r *bench.Result) {
	note := func(text string) { t.writeLine(t.st.Alert("note:") + " " + t.st.Line(text)) }
	if n := r.Channels[bench.Timeout].Calls; n > 0 {
		note(fmt.Sprintf("%s timed out: the latencies from the limit on are lower bounds", english.Plural(int(n), "call")))
	}
	if r.Warmup > 0 {
		note(fmt.Sprintf("%s of the warm-up are not counted", english.Plural(int(r.Warmup), "call")))
	}
	if r.FellBehind() {
		note("the server or this machine fell behind: response times are more than 10 % longer than service times")
	}
	if r.Generator.Waited > 0 {
		note(fmt.Sprintf(
			"%s waited because bench allows no more calls in flight (256, with --i-know 4096); "+
				"their response times include the wait",
			english.Plural(int(r.Generator.Waited), "call"),
		))
	}
	if r.Generator.Pauses > 0 {
		note(fmt.Sprintf("the server asked for a pause %d times; %d planned calls were not sent",
			r.Generator.Pauses, r.Generator.Held))
	}
	if r.EndReason != "" {
		note(fmt.Sprintf("ended early, after %s s: %s", formatNumber(r.Seconds), r.EndReason))
	}
}

// writeComparison writes the table of the changes between two results.
func (t *resultWriter) writeComparison(changes []bench.Change) {
	var rows [][]string
	for _, c := range changes {
		rows = append(rows, []string{
			c.Metric, string(c.Verdict), fmt.Sprintf("%+.1f %%", 100*c.Shift),
			t.formatValue(c.Metric, c.Before), t.formatValue(c.Metric, c.After),
		})
	}
	t.writeTableWithHead([]string{"compared", "verdict", "change", "before", "after"}, rows)
}

// formatValue returns a value of a metric in its unit, with its interval if it has one.
func (t *resultWriter) formatValue(metric string, v bench.Value) string {
	unit := formatMicros
	switch metric {
	case "rate":
		unit = func(_ term.Style, f float64) string { return formatNumber(f) + "/s" }
	case "error_rate":
		unit = func(_ term.Style, f float64) string { return formatNumber(100*f) + " %" }
	}
	if interval := t.formatInterval(v, unit); interval != "" {
		return unit(t.st, v.Value) + " (" + interval + ")"
	}
	return unit(t.st, v.Value)
}

// writeExpectation writes a line with the verdict on an expectation.
func (t *resultWriter) writeExpectation(e bench.Expectation) {
	mark := "ok"
	sgr := term.Green
	why := "got " + e.Got
	if !e.Met {
		mark = "FAIL"
		sgr = term.Bold + ";" + term.Red
	}
	if e.UnknownReason != "" {
		why = e.UnknownReason
	}
	t.writeLine(t.st.Paint(sgr, fmt.Sprintf("%-4s", mark)) + " " + t.st.Line(e.Text+": "+why))
}

// formatMicros returns a number of microseconds as text with three digits.
func formatMicros(st term.Style, us float64) string {
	if us >= 1e6 {
		return formatNumber(us/1e6) + " s"
	}
	if us >= 1e3 {
		return formatNumber(us/1e3) + " ms"
	}
	return formatNumber(us) + " " + st.Ornament("us", "µs")
}

// formatNumber returns a number as text with three digits, or all digits before the point. The limits
// are the numbers that are rounded up to one more digit.
func formatNumber(f float64) string {
	if f >= 99.95 || f == 0 {
		return fmt.Sprintf("%.0f", f)
	}
	if f >= 9.995 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}
