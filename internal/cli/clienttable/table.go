// Package clienttable shows what clients do as a table: for a terminal, as Markdown, and as a page.
package clienttable

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/capture/clients"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
	"mcpc/internal/sliceutil"
)

// clientTitle returns the name and the version of a client.
func clientTitle(c *clients.Client) string {
	if title := strings.TrimSpace(c.Name + " " + c.Version); title != "" {
		return cutValue(title)
	}
	return "unknown client"
}

// shownFacts returns the facts that at least one client has an answer to, and the names of the others.
func shownFacts(all []*clients.Client) (shown []clients.Fact, notSeen []string) {
	for _, fact := range clients.Facts {
		isSeen := slices.ContainsFunc(all, func(c *clients.Client) bool {
			return slices.ContainsFunc(c.Facts, func(f clients.Finding) bool {
				return f.Name == fact.Name && f.IsSeen()
			})
		})
		if isSeen {
			shown = append(shown, fact)
		} else {
			notSeen = append(notSeen, fact.Name)
		}
	}
	return shown, notSeen
}

// unseenValue returns the value of the facts that no client has an answer to.
func unseenValue(all []*clients.Client) string {
	for _, c := range all {
		for _, f := range c.Facts {
			if !f.IsSeen() {
				return f.Value
			}
		}
	}
	return clients.NotSeen
}

// cutValue sanitizes a text of a client, and cuts it if it is very long.
func cutValue(text string) string {
	const maxWidth = 200
	return term.Style{}.Cut(term.Line(text), maxWidth)
}

// valuesOf returns the values of a client's fact, each with its first exchange and the number of
// others.
func valuesOf(c *clients.Client, fact clients.Fact) []string {
	var values []string
	for _, f := range c.Facts {
		if f.Name != fact.Name {
			continue
		}
		text := cutValue(f.Value)
		if len(f.Exchanges) > 0 {
			text += " " + f.Exchanges[0]
		}
		if f.Count > 1 {
			text += fmt.Sprintf(" +%d", f.Count-1)
		}
		values = append(values, text)
	}
	return values
}

const (
	// minClientColumn is the smallest width of a client's column if there are several.
	minClientColumn = 18
	// minOnlyColumn is the smallest width of the column of a single client.
	minOnlyColumn = 8
)

// Text returns a table with a row for each fact and a column for each client. Clients that
// do not fit in the width follow in another table.
func Text(st term.Style, all []*clients.Client) []byte {
	if len(all) == 0 {
		return nil
	}
	shown, notSeen := shownFacts(all)
	nameWidth := 0
	for _, fact := range shown {
		nameWidth = max(nameWidth, len(fact.Name))
	}
	room := st.Columns() - nameWidth
	perTable := max(1, room/(minClientColumn+len(term.Gap)))
	var b bytes.Buffer
	for group := range slices.Chunk(all, perTable) {
		width := max(room/len(group)-len(term.Gap), minOnlyColumn)
		titles := sliceutil.Map(group, func(c *clients.Client) []string { return []string{clientTitle(c), c.Transport} })
		writeRow(&b, st, nameWidth, width, "", titles, term.Bold)
		for _, fact := range shown {
			cells := sliceutil.Map(group, func(c *clients.Client) []string { return valuesOf(c, fact) })
			writeRow(&b, st, nameWidth, width, fact.Name, cells, "")
		}
		b.WriteString("\n")
	}
	if len(notSeen) > 0 {
		remark := unseenValue(all) + " of any client: " + strings.Join(notSeen, ", ")
		for _, line := range term.WrapWords(remark, st.Columns()) {
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes()
}

// writeRow writes a name and cells of several texts, each of which begins a line. Long texts
// are wrapped.
func writeRow(b *bytes.Buffer, st term.Style, nameWidth, width int, name string, cells [][]string, sgr string) {
	widths := []int{nameWidth}
	height := 1
	wrapped := sliceutil.Map(cells, func(texts []string) []string {
		var lines []string
		for _, text := range texts {
			for _, line := range term.WrapWords(st.Line(text), width) {
				for term.Width(line) > width { // a long word
					start := term.Truncate(line, width)
					lines = append(lines, start)
					line = line[len(start):]
				}
				lines = append(lines, line)
			}
		}
		widths = append(widths, width)
		height = max(height, len(lines))
		return lines
	})
	for i := range height {
		row := []string{""}
		if i == 0 {
			row[0] = name
		}
		for _, lines := range wrapped {
			cell := ""
			if i < len(lines) {
				cell = lines[i]
			}
			row = append(row, cell)
		}
		line := term.AlignRow(row, widths, func(int) bool { return false })
		if sgr != "" {
			line = st.Paint(sgr, line)
		}
		b.WriteString(line + "\n")
	}
}

// Markdown returns a table with a row for each fact and a column for each client.
func Markdown(all []*clients.Client) []byte {
	var b bytes.Buffer
	b.WriteString("## Clients\n\n| |")
	for _, c := range all {
		b.WriteString(" " + sanitize.MarkdownCell(clientTitle(c)) + "<br>" + sanitize.Markdown(c.Transport) + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(all)) + "\n")
	for _, fact := range clients.Facts {
		b.WriteString("| " + fact.Question + " |")
		for _, c := range all {
			b.WriteString(" " + strings.Join(sliceutil.Map(valuesOf(c, fact), sanitize.MarkdownCell), "<br>") + " |")
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}
