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

// wideTerminal is the width from which a table has the columns SIZE, EXIT and NOTES. mcpc show has
// their contents too.
const wideTerminal = 100

// logTable writes rows as a table at a terminal, or as uncut lines into a pipe. It writes nothing
// if there are no rows.
func logTable(w io.Writer, style term.Style, all []*rows.Row, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	if !style.Terminal {
		return term.Table(w, style, nil, pipeCells(all, now))
	}
	foreign := slices.ContainsFunc(all, func(r *rows.Row) bool { return foreignRecorder(r) != "" })
	columns := logColumns(style, foreign, false)
	cells := logCells(columns, all, now)
	grid := term.NewGrid(w, style, columns, cells)
	if err := grid.Head(); err != nil {
		return err
	}
	return grid.Rows(cells)
}

// pipeCells returns the cells of rows for a pipe.
func pipeCells(all []*rows.Row, now time.Time) [][]string {
	return sliceutil.Map(all, func(r *rows.Row) []string {
		return []string{
			r.Number(), r.Time.Format(time.RFC3339Nano), r.Target, r.Method, r.Name, r.Channel, exitText(r),
			recorded.Took(r, now), strconv.FormatInt(r.Size(), 10), notesOf(r), foreignRecorder(r),
		}
	})
}

// logColumns returns the columns for the width of the terminal; hasForeign adds the column BY. If
// grows is set, the columns have minimum widths, because later rows are unknown.
func logColumns(style term.Style, hasForeign, grows bool) []term.Column {
	isWide := style.Width >= wideTerminal
	whatWidth := 20
	if isWide {
		whatWidth = 36
	}
	minWidth := func(n int) int {
		if grows {
			return n
		}
		return 0
	}
	columns := []term.Column{{Head: "#", MinWidth: minWidth(6)}, {Head: "TIME", MinWidth: minWidth(8)}}
	if hasForeign {
		columns = append(columns, term.Column{Head: "BY", MinWidth: minWidth(5)})
	}
	columns = append(columns, term.Column{Head: "SERVER", MinWidth: minWidth(24), CutTo: 11, Cut: cutServer},
		term.Column{Head: "WHAT", MinWidth: minWidth(40), CutTo: whatWidth, Cut: cutRequest},
		term.Column{Head: "CHANNEL", MinWidth: minWidth(10)}, term.Column{Head: "TOOK", MinWidth: minWidth(6)})
	if isWide {
		columns = append(columns, term.Column{Head: "SIZE", MinWidth: minWidth(7)}, term.Column{Head: "EXIT"},
			term.Column{Head: "NOTES", MinWidth: minWidth(16), CutTo: 8, CutFirst: true})
	}
	return columns
}

// logCells returns the cells of rows in the order of columns, which it identifies by their heads.
func logCells(columns []term.Column, all []*rows.Row, now time.Time) [][]string {
	cells := make([][]string, len(all))
	hasNotes := slices.ContainsFunc(columns, func(c term.Column) bool { return c.Head == "NOTES" })
	for i, r := range all {
		cell := map[string]string{
			"#":       r.Number(),
			"TIME":    shortTime(r.Time, now),
			"BY":      foreignRecorder(r),
			"SERVER":  strings.TrimPrefix(r.Target, "http://"),
			"WHAT":    describeRow(r, hasNotes),
			"CHANNEL": r.Channel,
			"TOOK":    recorded.Took(r, now),
			"SIZE":    term.Bytes(r.Size()),
			"EXIT":    exitText(r),
			"NOTES":   notesOf(r),
		}
		for _, c := range columns {
			cells[i] = append(cells[i], cell[c.Head])
		}
	}
	return cells
}

// describeRow returns what was requested, with "asks" before it if the server requested it during a
// request of the client. In a table without notes it also says that a request was sent again: with
// another id ("again"), or within its exchange ("retried").
func describeRow(r *rows.Row, hasNotes bool) string {
	what := describeRequest(r.Method, r.Name)
	if rows.IsByServer(r) && !r.IsSeparate {
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

// cutServer cuts a server to width. It keeps the name of a session, and the end of a URL or a
// command, which contains the port and path or the package.
func cutServer(text string, width int, mark string) string {
	if name, address, ok := strings.Cut(text, ", "); ok && recorded.IsAddress(address) {
		text = name
	}
	return term.CutStart(text, width, mark)
}

// cutRequest shortens the method before the name is cut: "call get-sum". It keeps the end of a URI.
func cutRequest(text string, width int, mark string) string {
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

// foreignRecorder returns what recorded the row: tap or proxy, or "" for a command.
func foreignRecorder(r *rows.Row) string {
	if r.By == capture.ByCommand {
		return ""
	}
	return r.By
}

func exitText(r *rows.Row) string {
	if r.Exit < 0 {
		return ""
	}
	return strconv.Itoa(r.Exit)
}

// notesOf returns the notes of a row, with the number of the exchange that it resends.
func notesOf(r *rows.Row) string {
	notes := r.Remarks()
	if r.ReplayOf == "" {
		return notes
	}
	if notes == "" {
		return "again " + r.ReplayOf
	}
	return "again " + r.ReplayOf + ", " + notes
}

// shortTime returns the time of day, with the date if it is not today.
func shortTime(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return t.Format("01-02 15:04")
}
