package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A Figure is one line of statistics.
type Figure struct {
	// What was asked: "tools/call get-sum".
	What  string
	Count int
	// Timed are those that have a duration.
	Timed         int
	P50, P95, P99 time.Duration
	// Bytes and Tokens are those of all messages.
	Bytes, Tokens int64
	Failures      []Failed
}

// A Failed is how many ended in one channel.
type Failed struct {
	Channel string
	Count   int
}

// A Bar is how many took at least From and less than To.
type Bar struct {
	From, To time.Duration
	Count    int
}

// Stats writes figures as a table, how the failures came about, and how long all
// of it took as a histogram. all is the last line of the table, where there is
// more than one. It is the same into a pipe: programs take --json. Without figures
// nothing is written.
func Stats(w io.Writer, st Style, figures []Figure, all Figure, bars []Bar) error {
	if len(figures) == 0 {
		return nil
	}
	var b bytes.Buffer
	if len(figures) > 1 {
		all.What = "all"
		st.figures(&b, append(figures[:len(figures):len(figures)], all))
	} else {
		st.figures(&b, figures)
	}
	st.failures(&b, figures)
	st.histogram(&b, bars)
	_, err := w.Write(b.Bytes())
	return err
}

// figures are a table whose numbers stand right.
func (s Style) figures(b *bytes.Buffer, figures []Figure) {
	rows := [][]string{{"WHAT", "COUNT", "FAILED", "P50", "P95", "P99", "SIZE", "TOKENS"}}
	for _, f := range figures {
		failed := 0
		for _, one := range f.Failures {
			failed += one.Count
		}
		row := []string{s.Line(f.What), strconv.Itoa(f.Count), strconv.Itoa(failed), "-", "-", "-", Bytes(f.Bytes), about(f.Tokens)}
		if f.Timed > 0 {
			row[3], row[4], row[5] = s.brief(f.P50), s.brief(f.P95), s.brief(f.P99)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	rest := 0
	for _, width := range widths[1:] {
		rest += len(gap) + width
	}
	widths[0] = min(widths[0], max(s.columns()-rest, 12))
	for i, row := range rows {
		// A name that is too long for its column has a line of its own.
		if ansi.StringWidth(row[0]) > widths[0] {
			b.WriteString(s.cut(row[0], s.columns()) + "\n")
			row[0] = ""
		}
		line := pad(row[0], widths[0])
		for j, cell := range row[1:] {
			line += gap + left(cell, widths[j+1])
		}
		line = s.clipped(line)
		if i == 0 {
			line = s.paint(bold, line)
		}
		b.WriteString(line + "\n")
	}
}

// left fills text with blanks before it.
func left(text string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + text
}

// failures lists what went wrong most often first.
func (s Style) failures(b *bytes.Buffer, figures []Figure) {
	type failure struct {
		Failed
		what string
	}
	var all []failure
	count, channel := 0, 0
	for _, f := range figures {
		for _, one := range f.Failures {
			one.Channel = s.Line(one.Channel)
			all = append(all, failure{one, s.Line(f.What)})
			count, channel = max(count, len(strconv.Itoa(one.Count))), max(channel, ansi.StringWidth(one.Channel))
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(x, y failure) int { return y.Count - x.Count })
	b.WriteString("\n" + s.paint(bold, "Failures") + "\n")
	for _, one := range all {
		line := gap + left(strconv.Itoa(one.Count), count) + gap + pad(one.Channel, channel) + gap
		b.WriteString(line + s.cut(one.what, max(s.columns()-ansi.StringWidth(line), 12)) + "\n")
	}
}

// histogram draws a bar for each step, the longest as wide as there is room. A
// step that something fell into has at least the smallest bar.
func (s Style) histogram(b *bytes.Buffer, bars []Bar) {
	if len(bars) == 0 {
		return
	}
	most, label, number := 1, 0, 0
	labels := make([]string, len(bars))
	for i, bar := range bars {
		most = max(most, bar.Count)
		labels[i] = left(s.step(bar.From), 6) + " to " + left(s.step(bar.To), 6)
		label, number = max(label, ansi.StringWidth(labels[i])), max(number, len(strconv.Itoa(bar.Count)))
	}
	room := max(min(s.columns(), maxProse)-label-number-3*len(gap), 4)
	b.WriteString("\n" + s.paint(bold, "Durations") + "\n")
	for i, bar := range bars {
		line := gap + pad(labels[i], label) + gap + left(strconv.Itoa(bar.Count), number) + gap + s.drawn(bar.Count, most, room)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// drawn is a bar of n eighths of a column, in ASCII of whole ones.
func (s Style) drawn(count, most, room int) string {
	if count == 0 {
		return ""
	}
	if s.ASCII {
		return strings.Repeat("#", max(count*room/most, 1))
	}
	eighths := max(count*room*8/most, 1)
	bar := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		bar += string(rune('█' + 8 - part))
	}
	return bar
}

// brief is a duration as a person says it, down to microseconds.
func (s Style) brief(d time.Duration) string {
	switch {
	case d >= time.Millisecond || d < time.Microsecond && d != 0:
		return Took(d)
	case s.ASCII:
		return fmt.Sprintf("%d us", d.Microseconds())
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// step is the end of a bar, which is a round number.
func (s Style) step(d time.Duration) string {
	if d >= time.Hour*24*365 {
		return "more"
	}
	return s.brief(d)
}

// about is a number that is only about right: 7,800 becomes 7.8k.
func about(n int64) string {
	value, unit := float64(n), ""
	for _, u := range []string{"k", "M", "G"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1000, u
	}
	if unit != "" && value < 9.95 {
		return fmt.Sprintf("~%.1f%s", value, unit)
	}
	return fmt.Sprintf("~%.0f%s", value, unit)
}
