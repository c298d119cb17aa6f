package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// isTableRule reports whether a line separates the head of a table from its rows.
func isTableRule(line string) bool {
	bare := strings.TrimSpace(line)
	return strings.Contains(bare, "-") && strings.Contains(bare, "|") && strings.Trim(bare, "|-: ") == ""
}

// drawTable draws the table at the start of lines with aligned columns. It returns the number of its
// lines. A table wider than the screen is written unchanged: nothing of a server's text is cut.
func (d *markdownWriter) drawTable(lines []string) int {
	end := 2
	for end < len(lines) && strings.Contains(lines[end], "|") && strings.TrimSpace(lines[end]) != "" {
		end++
	}
	var rows [][]string
	var widths []int
	for i, line := range lines[:end] {
		if i == 1 { // the rule between the head and the rows
			continue
		}
		style := ""
		if i == 0 {
			style = Bold
		}
		row := d.parseCells(line, style)
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], ansi.StringWidth(cell))
		}
		rows = append(rows, row)
	}
	total := len(Gap) * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total > d.st.Columns() {
		for _, line := range lines[:end] {
			d.writeLine(line)
		}
		return end
	}
	right := rightColumns(lines[1], len(widths))
	for i, row := range rows {
		d.writeLine(AlignRow(row, widths, func(column int) bool { return right[column] }))
		if i == 0 {
			d.writeLine(d.st.Paint(Dim, strings.Repeat(d.st.dash(), total)))
		}
	}
	return end
}

// rightColumns reports for each column whether the line below the head aligns it to the right: ---:
func rightColumns(line string, columns int) []bool {
	right := make([]bool, columns)
	for i, mark := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
		mark = strings.TrimSpace(mark)
		if i < columns {
			right[i] = strings.HasSuffix(mark, ":") && !strings.HasPrefix(mark, ":")
		}
	}
	return right
}

// parseCells returns the drawn cells of one row. Neither \| nor a | in code separates cells.
func (d *markdownWriter) parseCells(line, sgr string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var cells []string
	start := 0
	inCode := false
	for i := range line {
		isEscaped := i > 0 && line[i-1] == '\\'
		if line[i] == '`' {
			inCode = !inCode
		} else if line[i] == '|' && !inCode && !isEscaped {
			cells = append(cells, d.drawCell(line[start:i], sgr))
			start = i + 1
		}
	}
	return append(cells, d.drawCell(line[start:], sgr))
}

// drawCell draws the text of one cell, without the blanks around it.
func (d *markdownWriter) drawCell(text, sgr string) string {
	return paintAll(d.st, parseInline(strings.TrimSpace(text), sgr))
}
