package render

import (
	"fmt"
	"io"
	"strings"

	"mcpc/internal/wire"
)

// The widths of the table's columns; with the gaps they make 80.
var endingColumns = []struct {
	head  string
	width int
}{{"exit", 5}, {"kind", 17}, {"layer", 27}, {"sent?", 10}, {"stdout", 13}}

// ExitCodes writes the table of exit codes: the contract of the command line,
// in 80 columns whatever the terminal.
func ExitCodes(w io.Writer, st Style) {
	var b strings.Builder
	heads := make([]string, len(endingColumns))
	for i, c := range endingColumns {
		heads[i] = c.head
	}
	b.WriteString(st.paint(bold, strings.TrimRight(endingLine(heads), " ")) + "\n")
	for _, e := range wire.Endings {
		writeEnding(&b, e)
	}
	b.WriteString(exitCodeNotes)
	_, _ = io.WriteString(w, b.String())
}

const exitCodeNotes = `
Precedence if several apply: signal, 13 (the result could not be written), 1,
12, 4, 9, 7, 8, 6, 11, 10, 5, and 13 for other files (--junit, --save). If the
server's error follows from a missing answer, the code is 11 or 3, not 6.

"sent" is a member of the JSON error that --json writes to stderr. With 2 it is
true if --jq or -o failed on a result, and with 3 if an answer to a server
request did not match: the request had been sent, and a retry may run it twice.
"sent" is about the request that failed, which may be the handshake or a list
before a call; "operation_sent" and "retryable" are about the requested
operation.
`

// writeEnding writes one row, in as many lines as its longest cell needs.
func writeEnding(b *strings.Builder, e wire.Ending) {
	code, kind := fmt.Sprint(e.Code), string(e.Kind)
	if e.Kind == wire.Signal {
		code = "128+n"
	}
	if e.Kind == wire.OK {
		kind = "-"
	}
	cells := [][]string{{code}, {kind}, nil, nil, nil}
	for i, text := range []string{e.Channel, e.Sent, e.Stdout} {
		cells[i+2] = wrapWords(text, endingColumns[i+2].width)
	}
	for line := 0; line < max(len(cells[2]), len(cells[3]), len(cells[4])); line++ {
		row := make([]string, len(cells))
		for i, c := range cells {
			if line < len(c) {
				row[i] = c[line]
			}
		}
		b.WriteString(strings.TrimRight(endingLine(row), " ") + "\n")
	}
}

func endingLine(cells []string) string {
	var b strings.Builder
	for i, c := range endingColumns {
		fmt.Fprintf(&b, "%-*s  ", c.width, cells[i])
	}
	return b.String()
}

// wrapWords breaks text into lines of at most width columns, at blanks; a word
// that is longer stands alone.
func wrapWords(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
