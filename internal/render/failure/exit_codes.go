package failure

import (
	"fmt"
	"io"
	"strings"

	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// columnWidths are the widths of the table's columns; with the gaps they make 80.
var columnWidths = []int{5, 17, 27, 10, 13}

// WriteExitCodes writes the table of exit codes in 80 columns, whatever the terminal. The table is
// the contract of the command line.
func WriteExitCodes(w io.Writer, st term.Style) {
	var b strings.Builder
	b.WriteString(st.Paint(term.Bold, tableRow("exit", "kind", "layer", "sent?", "stdout")) + "\n")
	for _, e := range wire.ExitCodes {
		writeExitCode(&b, e)
	}
	b.WriteString(exitCodeNotes)
	_, _ = io.WriteString(w, b.String())
}

func tableRow(cells ...string) string {
	return term.AlignRow(cells, columnWidths, func(int) bool { return false })
}

const exitCodeNotes = `
Precedence if several apply: signal, 13 (the result could not be written), 1,
12, 4, 9, 7, 8, 6, 11, 10, 5, and 13 for other files (--junit, --save). If an
error follows from a missing or declined answer, the code is 11 or 3, not 6.

"sent" is a member of the JSON error that --json writes to stderr. With 2 it is
true if --jq failed on a result or the result had nothing that -o could save,
and with 3 if an answer to a server request did not match: the request had been
sent, and a retry may run it twice.
"sent" is about the request that failed, which may be the handshake or a list
before a call; "operation_sent" and "retryable" are about the requested
operation.
`

// writeExitCode writes one row, in as many lines as its longest cell needs.
func writeExitCode(b *strings.Builder, e wire.ExitCode) {
	code := fmt.Sprint(e.Code)
	kind := string(e.Kind)
	if e.Kind == wire.Signal {
		code = "128+n"
	}
	if e.Kind == wire.OK {
		kind = "-"
	}
	cells := [][]string{{code}, {kind}}
	lines := 1
	for i, text := range []string{e.Channel, e.Sent, e.Stdout} {
		cells = append(cells, term.WrapWords(text, columnWidths[i+2]))
		lines = max(lines, len(cells[i+2]))
	}
	for line := range lines {
		row := make([]string, len(cells))
		for i, c := range cells {
			if line < len(c) {
				row[i] = c[line]
			}
		}
		b.WriteString(tableRow(row...) + "\n")
	}
}

// KindName returns the name of a kind in JSON.
func KindName(k wire.Kind) string {
	if k == wire.OK {
		return "ok"
	}
	return string(k)
}

// KindAndCode names the kind of o and its exit code: "tool_error (exit code 5)".
func KindAndCode(o wire.Outcome) string {
	return fmt.Sprintf("%s (exit code %d)", KindName(o.Kind), o.ExitCode())
}
