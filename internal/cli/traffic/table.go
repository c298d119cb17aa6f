package traffic

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
)

// wideTerminal is from how many columns on there is room for what is said elsewhere
// too: an exit code says no more than its channel, and mcpc show has size and notes.
const wideTerminal = 100

// logTable writes rows for a reader, or whole and one line each into a pipe.
func logTable(w io.Writer, style term.Style, all []*rows.Row, now time.Time) error {
	if !style.Terminal {
		return term.Table(w, style, nil, logLine(all, now))
	}
	foreign := slices.ContainsFunc(all, func(r *rows.Row) bool { return by(r) != "" })
	columns := logColumns(style, foreign, false)
	grid := term.NewGrid(w, style, columns, logCells(columns, all, now))
	if len(all) == 0 {
		return nil
	}
	if err := grid.Head(); err != nil {
		return err
	}
	return grid.Rows(logCells(columns, all, now))
}

// logLine are the cells of rows as a pipe gets them.
func logLine(all []*rows.Row, now time.Time) [][]string {
	return sliceutil.Map(all, func(r *rows.Row) []string {
		return []string{r.Number(), r.Time.Format(time.RFC3339Nano), r.Target, r.Method, r.Name, r.Channel, exitOf(r),
			recorded.Took(r, now), strconv.FormatInt(r.Size(), 10), notesOf(r), by(r)}
	})
}

// logColumns are those that a terminal has room for. A table that grows has minimum widths,
// because its later rows are unknown.
func logColumns(style term.Style, foreign, grows bool) []term.Column {
	wide := style.Width >= wideTerminal
	what := 20
	if wide {
		what = 36
	}
	min := func(n int) int {
		if grows {
			return n
		}
		return 0
	}
	columns := []term.Column{{Head: "#", MinWidth: min(6)}, {Head: "TIME", MinWidth: min(8)}}
	if foreign {
		columns = append(columns, term.Column{Head: "BY", MinWidth: min(5)})
	}
	columns = append(columns, term.Column{Head: "SERVER", MinWidth: min(24), CutTo: 11, Cut: cutServer},
		term.Column{Head: "WHAT", MinWidth: min(40), CutTo: what, Cut: cutWhat},
		term.Column{Head: "CHANNEL", MinWidth: min(10)}, term.Column{Head: "TOOK", MinWidth: min(6)})
	if wide {
		columns = append(columns, term.Column{Head: "SIZE", MinWidth: min(7)}, term.Column{Head: "EXIT"},
			term.Column{Head: "NOTES", MinWidth: min(16), CutTo: 8, CutFirst: true})
	}
	return columns
}

// logCells are the cells of rows under these columns.
func logCells(columns []term.Column, rows []*rows.Row, now time.Time) [][]string {
	cells := make([][]string, len(rows))
	hasNotes := slices.ContainsFunc(columns, func(c term.Column) bool { return c.Head == "NOTES" })
	for i, r := range rows {
		cell := map[string]string{
			"#":       r.Number(),
			"TIME":    clock(r.Time, now),
			"BY":      by(r),
			"SERVER":  strings.TrimPrefix(r.Target, "http://"),
			"WHAT":    whatIn(r, hasNotes),
			"CHANNEL": r.Channel,
			"TOOK":    recorded.Took(r, now),
			"SIZE":    term.Bytes(r.Size()),
			"EXIT":    exitOf(r),
			"NOTES":   notesOf(r),
		}
		for _, c := range columns {
			cells[i] = append(cells[i], cell[c.Head])
		}
	}
	return cells
}

// whatIn returns what was requested. It says that the server asked, and in a table without room for notes that a
// request was sent again: with another id ("again"), or within its exchange ("retried").
func whatIn(r *rows.Row, hasNotes bool) string {
	what := whatOf(r.Method, r.Name)
	if rows.ByServer(r) && !r.Apart {
		return "asks: " + what
	}
	if !hasNotes && r.SameAs != nil {
		return "again: " + what
	}
	if !hasNotes && r.Notes.Retries > 0 {
		return "retried: " + what
	}
	return what
}

// cutServer keeps the name of a session, and of an address or a command the end, in
// which the port and the path or the package stand.
func cutServer(text string, width int, mark string) string {
	if name, address, ok := strings.Cut(text, ", "); ok && recorded.IsAddress(address) {
		text = name
	}
	return term.CutStart(text, width, mark)
}

// cutWhat says less of the method before it cuts the name: "call get-sum". Of a URI the
// end tells more than the beginning.
func cutWhat(text string, width int, mark string) string {
	method, name, ok := strings.Cut(text, " ")
	if !ok {
		return text
	}
	method = method[strings.LastIndexByte(method, '/')+1:]
	if strings.Contains(name, "://") {
		name = term.CutStart(name, width-len(method)-1, mark)
	}
	return method + " " + name
}

// by names what recorded a row, where that was no command of its own.
func by(r *rows.Row) string {
	if r.By == capture.ByCommand {
		return ""
	}
	return r.By
}

func exitOf(r *rows.Row) string {
	if r.Exit < 0 {
		return ""
	}
	return strconv.Itoa(r.Exit)
}

// notesOf says what was folded into a row, and what it issued again.
func notesOf(r *rows.Row) string {
	notes := r.Remarks()
	if r.Again == "" {
		return notes
	}
	if notes == "" {
		return "again " + r.Again
	}
	return "again " + r.Again + ", " + notes
}

// clock is the time of today, and the day where it is another.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return t.Format("01-02 15:04")
}
