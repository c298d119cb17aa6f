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

// writeText writes a result for people, or as lines of cells into a pipe.
func writeText(w io.Writer, st term.Style, d *bench.Document) error {
	t := &text{w: w, st: st}
	for i, r := range d.Results {
		if i > 0 {
			t.line("")
		}
		t.head(d, r)
		t.latencies(r)
		t.stages(r)
		t.bars(r.Main())
		t.channels(r)
		t.setup(r)
		t.notes(r)
	}
	t.comparison(d.Comparison)
	for _, e := range d.Expectations {
		t.expectation(e)
	}
	if d.Invalid != "" {
		t.line(st.Paint(term.Bold+";"+term.Red, "invalid: ") + st.Line(d.Invalid))
	}
	return t.err
}

// text writes the parts of a result. After a failure, kept in err, it writes nothing more.
type text struct {
	w   io.Writer
	st  term.Style
	err error
}

// line writes s and a newline.
func (t *text) line(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s+"\n")
	}
}

// table writes a table, with an empty line before it at a terminal. It removes empty cells at the
// end of rows.
func (t *text) table(head []string, rows [][]string) {
	if t.st.Pretty() && len(rows) > 0 {
		t.line("")
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

// headed writes a table that needs its head. A pipe gets the head too.
func (t *text) headed(head []string, rows [][]string) {
	if !t.st.Pretty() && len(rows) > 0 {
		rows = append([][]string{head}, rows...)
	}
	t.table(head, rows)
}

// head writes the tool, the target, the load, and the definition of the latencies.
func (t *text) head(d *bench.Document, r *bench.Result) {
	t.line(t.st.Strong(t.st.Line(d.Tool)) + t.st.Line(" at "+r.Target))
	load := []string{fmt.Sprintf("closed model: %s", english.Plural(d.Load.Users, "user"))}
	if d.Load.Rate > 0 {
		load[0] = "open model: " + number(d.Load.Rate) + " calls a second"
		if d.Load.Poisson {
			load[0] += " with random gaps"
		}
	}
	if d.Load.ThinkUS > 0 {
		load = append(load, "a pause of "+micros(t.st, float64(d.Load.ThinkUS)))
	}
	if d.Load.Most > 0 {
		load = append(load, "at most "+number(d.Load.Most)+" calls a second (--i-know: no limit)")
	}
	if d.Load.Seconds > 0 {
		load = append(load, number(d.Load.Seconds)+" s")
	}
	if d.Load.Calls > 0 {
		load = append(load, english.Plural(d.Load.Calls, "call"))
	}
	t.line(strings.Join(load, ", ") + pipelined(r, d.Load))
	t.line("latencies: " + d.Load.Meaning)
}

// latencies writes the quantiles with their intervals.
func (t *text) latencies(r *bench.Result) {
	if r.Service.Calls == 0 {
		t.line("no call succeeded, so there are no latencies")
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
				row = append(row, t.latency(v), t.interval(v, micros))
			} else {
				row = append(row, "-", fmt.Sprintf("needs %d calls", bench.Needs(name)))
			}
		}
		rows = append(rows, row)
	}
	t.headed(head, rows)
}

// latency returns a latency as text: a lower bound if calls timed out.
func (t *text) latency(v bench.Value) string {
	if v.AtLeast {
		return t.st.Ornament(">=", "≥") + " " + micros(t.st, v.Value)
	}
	return micros(t.st, v.Value)
}

// interval returns the interval of a value as text, or "" if there is none.
func (t *text) interval(v bench.Value, unit func(term.Style, float64) string) string {
	if v.Low == nil || v.High == nil {
		return ""
	}
	return unit(t.st, *v.Low) + " to " + unit(t.st, *v.High)
}

// stages writes the table of the durations of the stages of calls.
func (t *text) stages(r *bench.Result) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(r.Stages)) {
		l := r.Stages[name]
		row := []string{name, fmt.Sprint(l.Calls)}
		for _, q := range []string{"p50", "p99", "max"} {
			if v, ok := l.Quantiles[q]; ok {
				row = append(row, micros(t.st, v.Value))
			} else {
				row = append(row, "-")
			}
		}
		rows = append(rows, row)
	}
	t.table([]string{"on the way", "times", "p50", "p99", "max"}, rows)
}

// barColumns bounds the length of a bar.
const barColumns = 50

// bars draws the distribution at a terminal.
func (t *text) bars(l *bench.Latency) {
	if !t.st.Terminal || len(l.Bars) == 0 {
		return
	}
	var most int64
	for _, b := range l.Bars {
		most = max(most, b.Calls)
	}
	room := int64(max(5, min(barColumns, t.st.Columns()-30)))
	var rows [][]string
	for _, b := range l.Bars {
		bar := ""
		if b.Calls > 0 {
			bar = strings.Repeat(t.st.Ornament("#", "█"), int(max(1, b.Calls*room/most)))
		}
		rows = append(rows, []string{micros(t.st, float64(b.UpTo)), fmt.Sprint(b.Calls), bar})
	}
	t.table([]string{"up to", "calls", ""}, rows)
}

// channelsShown are the channels that the table has even if no call ended with them.
var channelsShown = []string{
	bench.OK,
	string(wire.ToolError),
	string(wire.RPCFailed),
	string(wire.Transport),
	string(wire.Timeout),
}

// channels writes the table of the numbers of calls by channel.
func (t *text) channels(r *bench.Result) {
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
			interval = number(c.Low) + " to " + number(c.High)
		}
		rows = append(rows, []string{name, fmt.Sprint(c.Calls), number(c.Rate), interval})
	}
	t.table([]string{"ended with", "calls", "a second", "95 % interval"}, rows)
}

// setup writes the table of the steps that were measured apart from the calls.
func (t *text) setup(r *bench.Result) {
	var rows [][]string
	for _, s := range r.Setup {
		times := "once"
		if s.Times > 1 {
			times = fmt.Sprintf("median of %d", s.Times)
		}
		rows = append(rows, []string{s.Name, micros(t.st, float64(s.MedianUS)), times})
	}
	t.table([]string{"apart", "took", ""}, rows)
}

// notes writes remarks about a result.
func (t *text) notes(r *bench.Result) {
	note := func(text string) { t.line(t.st.Alert("note:") + " " + t.st.Line(text)) }
	if n := r.Channels[bench.Timeout].Calls; n > 0 {
		note(fmt.Sprintf("%s timed out: the latencies from the limit on are lower bounds", english.Plural(int(n), "call")))
	}
	if r.Warmup > 0 {
		note(fmt.Sprintf("%s of the warm-up are not counted", english.Plural(int(r.Warmup), "call")))
	}
	if r.FellBehind() {
		note("the server or this machine fell behind: response times are more than 10 % longer than service times")
	}
	if r.Made.Waited > 0 {
		note(fmt.Sprintf(
			"%s waited because as many were in flight as bench allows (256, with --i-know 4096); their response times have it",
			english.Plural(int(r.Made.Waited), "call"),
		))
	}
	if r.Made.Pauses > 0 {
		note(fmt.Sprintf("the server asked for a pause %d times; %d planned calls were not sent", r.Made.Pauses, r.Made.Held))
	}
	if r.Ended != "" {
		note(fmt.Sprintf("ended early, after %s s: %s", number(r.Seconds), r.Ended))
	}
}

// comparison writes the table of the changes between two results.
func (t *text) comparison(changes []bench.Change) {
	var rows [][]string
	for _, c := range changes {
		show := func(v bench.Value) string {
			unit := micros
			switch c.Metric {
			case "rate":
				unit = func(_ term.Style, f float64) string { return number(f) + "/s" }
			case "error_rate":
				unit = func(_ term.Style, f float64) string { return number(100*f) + " %" }
			}
			if in := t.interval(v, unit); in != "" {
				return unit(t.st, v.Value) + " (" + in + ")"
			}
			return unit(t.st, v.Value)
		}
		rows = append(rows,
			[]string{c.Metric, string(c.Verdict), fmt.Sprintf("%+.1f %%", 100*c.Shift), show(c.Before), show(c.After)})
	}
	t.headed([]string{"compared", "verdict", "change", "before", "after"}, rows)
}

// expectation writes a line with the verdict on an expectation.
func (t *text) expectation(e bench.Expectation) {
	mark := "ok"
	sgr := term.Green
	why := "got " + e.Got
	if !e.Held {
		mark = "FAIL"
		sgr = term.Bold + ";" + term.Red
	}
	if e.Unknown != "" {
		why = e.Unknown
	}
	t.line(t.st.Paint(sgr, fmt.Sprintf("%-4s", mark)) + " " + t.st.Line(e.Text+": "+why))
}

// micros returns a number of microseconds as text with three digits.
func micros(st term.Style, us float64) string {
	if us >= 1e6 {
		return number(us/1e6) + " s"
	}
	if us >= 1e3 {
		return number(us/1e3) + " ms"
	}
	return number(us) + " " + st.Ornament("us", "µs")
}

// number returns a number as text with three digits, or all digits before the point.
func number(f float64) string {
	if f >= 99.95 || f == 0 {
		return fmt.Sprintf("%.0f", f)
	}
	if f >= 9.995 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}
