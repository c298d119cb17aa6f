package traffic

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
)

// StatsRow is one line of statistics.
type StatsRow struct {
	// What names the requests: "tools/call get-sum".
	What  string
	Count int
	// Open counts requests without a response, Cancelled requests that were cancelled before their
	// response, and Timed requests with a duration. Open and Cancelled requests did not fail.
	Open          int
	Cancelled     int
	Timed         int
	P50, P95, P99 time.Duration
	// Bytes and Tokens count all messages.
	Bytes, Tokens int64
	Failures      []FailureCount
}

// FailureCount is how many exchanges failed in one channel.
type FailureCount struct {
	Channel string
	Count   int
}

// HistogramBar is how many exchanges took at least From and less than To.
type HistogramBar struct {
	From, To time.Duration
	Count    int
}

// Stats writes figures as a table, the failures, and the durations as a histogram. all is the last
// line of the table, omitted if there is one other row only. It writes the same into a pipe:
// programs use --json. It writes nothing if there are no figures.
func Stats(w io.Writer, st term.Style, figures []StatsRow, all StatsRow, bars []HistogramBar) error {
	if len(figures) == 0 {
		return nil
	}
	var b bytes.Buffer
	if len(figures) > 1 {
		all.What = "all"
		writeStatsTable(st, &b, append(figures[:len(figures):len(figures)], all))
	} else {
		writeStatsTable(st, &b, figures)
	}
	writeFailures(st, &b, figures)
	writeHistogram(st, &b, bars)
	_, err := w.Write(b.Bytes())
	return err
}

// writeStatsTable writes a table with numbers at the right. A name that is too long for its column
// gets a separate line.
func writeStatsTable(s term.Style, b *bytes.Buffer, figures []StatsRow) {
	columns := []term.Column{{Head: "WHAT", CutTo: 12}}
	heads := []string{"COUNT", "FAILED", "OPEN", "CANCELLED", "P50", "P95", "P99", "SIZE", "TOKENS"}
	hasOpen := slices.ContainsFunc(figures, func(f StatsRow) bool { return f.Open > 0 })
	hasCancelled := slices.ContainsFunc(figures, func(f StatsRow) bool { return f.Cancelled > 0 })
	for _, head := range heads {
		isEmpty := head == "OPEN" && !hasOpen || head == "CANCELLED" && !hasCancelled
		if !isEmpty {
			columns = append(columns, term.Column{Head: head, Right: true})
		}
	}
	var rows [][]string
	for _, f := range figures {
		failed := 0
		for _, failure := range f.Failures {
			failed += failure.Count
		}
		row := []string{f.What, strconv.Itoa(f.Count), strconv.Itoa(failed)}
		if hasOpen {
			row = append(row, strconv.Itoa(f.Open))
		}
		if hasCancelled {
			row = append(row, strconv.Itoa(f.Cancelled))
		}
		if f.Timed > 0 {
			row = append(row, term.FineDuration(s, f.P50), term.FineDuration(s, f.P95), term.FineDuration(s, f.P99))
		} else {
			row = append(row, "-", "-", "-")
		}
		rows = append(rows, append(row, term.Bytes(f.Bytes), "~"+term.Scale(f.Tokens, "k", "M", "G")))
	}
	g := term.NewGrid(b, s, columns, rows)
	_ = g.Head()
	for _, row := range rows {
		if name := s.Line(row[0]); term.Width(name) > g.Width(0) {
			b.WriteString(s.Cut(name, s.Columns()) + "\n")
			row[0] = "" // the numbers follow on the next line
		}
		_ = g.Rows([][]string{row})
	}
}

// writeFailures lists the failures, the most frequent first.
func writeFailures(s term.Style, b *bytes.Buffer, figures []StatsRow) {
	type failure struct {
		FailureCount
		what string
	}
	var all []failure
	for _, f := range figures {
		for _, count := range f.Failures {
			all = append(all, failure{count, f.What})
		}
	}
	if len(all) == 0 {
		return
	}
	sliceutil.Sort(all, func(x, y failure) int { return y.Count - x.Count })
	b.WriteString("\n" + s.Paint(term.Bold, "Failures") + "\n")
	var rows [][]string
	for _, f := range all {
		rows = append(rows, []string{"", strconv.Itoa(f.Count), f.Channel, f.what})
	}
	columns := []term.Column{{}, {Right: true}, {}, {CutTo: 12, Cut: s.CutCell}} // the empty first one indents
	_ = term.NewGrid(b, s, columns, rows).Rows(rows)
}

// writeHistogram draws a bar for each range of durations. A range with any exchange has a visible bar.
func writeHistogram(s term.Style, b *bytes.Buffer, bars []HistogramBar) {
	if len(bars) == 0 {
		return
	}
	largest := 1
	var rows [][]string
	for _, bar := range bars {
		largest = max(largest, bar.Count)
		durations := fmt.Sprintf("%6s to %6s", stepEnd(s, bar.From), stepEnd(s, bar.To))
		rows = append(rows, []string{"", durations, strconv.Itoa(bar.Count), ""})
	}
	// The bars get the room that the other columns leave, so their widths are computed first.
	g := term.NewGrid(b, s, []term.Column{{}, {}, {Right: true}, {}}, rows)
	room := max(min(s.Columns(), term.MaxProse)-g.Width(1)-g.Width(2)-3*len(term.Gap), 4)
	for i, bar := range bars {
		rows[i][3] = drawBar(s, bar.Count, largest, room)
	}
	b.WriteString("\n" + s.Paint(term.Bold, "Durations") + "\n")
	_ = g.Rows(rows)
}

// drawBar draws a bar for count in eighths of a column, or in ASCII in whole columns. The bar of the
// largest count has room columns.
func drawBar(s term.Style, count, largest, room int) string {
	if count == 0 {
		return ""
	}
	if s.ASCII {
		return strings.Repeat("#", max(count*room/largest, 1))
	}
	eighths := max(count*room*8/largest, 1)
	bar := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		bar += string(rune('█' + 8 - part)) // after █ in Unicode come the blocks of 7/8 to 1/8
	}
	return bar
}

// stepEnd formats the end of a range, "more" for the last.
func stepEnd(s term.Style, d time.Duration) string {
	if d >= time.Hour*24*365 { // the last range has no end
		return "more"
	}
	return term.FineDuration(s, d)
}
