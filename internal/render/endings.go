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
	b.WriteString("\nWhen several apply: signal, 13 where the answer cannot be written, 1, 12, 4, 9,\n")
	b.WriteString("7, 8, 6, 11, 10, 5, and last 13 where a file beside it (--junit, --save) cannot.\n")
	b.WriteString("A server's error that follows from a missing answer is no 6, but 11 or 3.\n")
	b.WriteString("A warning on standard error says what the code does not.\n")
	b.WriteString("\"sent\" is a member of the JSON error that --json puts on standard error. It is\n")
	b.WriteString("true with 2 where --jq or -o could do nothing with the answer, and with 3 where\n")
	b.WriteString("what was given for a question of the server's does not fit: the request was sent\n")
	b.WriteString("then, and sending it again may do it twice. It is about the request that failed,\n")
	b.WriteString("which may be the handshake or a list before a call; \"operation_sent\" is about\n")
	b.WriteString("the request that was asked for, and \"retryable\" goes by that.\n")
	_, _ = io.WriteString(w, b.String())
}

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
