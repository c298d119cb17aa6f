package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figure is one line of statistics.
type Figure struct {
	// What was asked: "tools/call get-sum".
	What  string
	Count int
	// Cancelled are the requests that were cancelled before their answer, Timed those that
	// have a duration.
	Cancelled     int
	Timed         int
	P50, P95, P99 time.Duration
	// Bytes and Tokens are those of all messages.
	Bytes, Tokens int64
	Failures      []Failed
}

// Failed is how many ended in one channel.
type Failed struct {
	Channel string
	Count   int
}

// Bar is how many took at least From and less than To.
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

// figures are a table whose numbers stand right. A name that is too long for its column
// has a line of its own.
func (s Style) figures(b *bytes.Buffer, figures []Figure) {
	shown := []Column{{Head: "WHAT", Least: 12}}
	heads := []string{"COUNT", "FAILED", "CANCELLED", "P50", "P95", "P99", "SIZE", "TOKENS"}
	cancelled := slices.ContainsFunc(figures, func(f Figure) bool { return f.Cancelled > 0 })
	for _, head := range heads {
		if head != "CANCELLED" || cancelled {
			shown = append(shown, Column{Head: head, Right: true})
		}
	}
	var rows [][]string
	for _, f := range figures {
		failed := 0
		for _, one := range f.Failures {
			failed += one.Count
		}
		row := []string{f.What, strconv.Itoa(f.Count), strconv.Itoa(failed), "-", "-", "-", Bytes(f.Bytes), about(f.Tokens)}
		if f.Timed > 0 {
			row[3], row[4], row[5] = s.brief(f.P50), s.brief(f.P95), s.brief(f.P99)
		}
		if cancelled {
			row = slices.Insert(row, 3, strconv.Itoa(f.Cancelled))
		}
		rows = append(rows, row)
	}
	g := NewGrid(b, s, shown, rows)
	_ = g.Head()
	for _, row := range rows {
		if name := s.Line(row[0]); columns(name) > g.Width(0) {
			b.WriteString(s.cut(name, s.columns()) + "\n")
			row[0] = ""
		}
		_ = g.Rows([][]string{row})
	}
}

// failures lists what went wrong most often first.
func (s Style) failures(b *bytes.Buffer, figures []Figure) {
	type failure struct {
		Failed
		what string
	}
	var all []failure
	for _, f := range figures {
		for _, one := range f.Failures {
			all = append(all, failure{one, f.What})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(x, y failure) int { return y.Count - x.Count })
	b.WriteString("\n" + s.paint(bold, "Failures") + "\n")
	var rows [][]string
	for _, one := range all {
		rows = append(rows, []string{"", strconv.Itoa(one.Count), one.Channel, one.what})
	}
	_ = NewGrid(b, s, []Column{{}, {Right: true}, {}, {Least: 12, Cut: s.counting}}, rows).Rows(rows)
}

// histogram draws a bar for each step, the longest as wide as there is room. A
// step that something fell into has at least the smallest bar.
func (s Style) histogram(b *bytes.Buffer, bars []Bar) {
	if len(bars) == 0 {
		return
	}
	most := 1
	var rows [][]string
	for _, bar := range bars {
		most = max(most, bar.Count)
		rows = append(rows, []string{"", fmt.Sprintf("%6s to %6s", s.step(bar.From), s.step(bar.To)), strconv.Itoa(bar.Count), ""})
	}
	g := NewGrid(b, s, []Column{{}, {}, {Right: true}, {}}, rows)
	room := max(min(s.columns(), maxProse)-g.Width(1)-g.Width(2)-3*len(gap), 4)
	for i, bar := range bars {
		rows[i][3] = s.drawn(bar.Count, most, room)
	}
	b.WriteString("\n" + s.paint(bold, "Durations") + "\n")
	_ = g.Rows(rows)
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
	if d >= time.Millisecond || d < time.Microsecond && d != 0 {
		return Took(d)
	}
	return fmt.Sprintf("%d %s", d.Microseconds(), s.ornament("us", "µs"))
}

// step is the end of a bar, which is a round number.
func (s Style) step(d time.Duration) string {
	if d >= time.Hour*24*365 {
		return "more"
	}
	return s.brief(d)
}

// about is a number that is only about right: 7,800 becomes ~7.8k.
func about(n int64) string { return "~" + scaled(n, "k", "M", "G") }
