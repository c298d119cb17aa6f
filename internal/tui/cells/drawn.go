package cells

// A Drawn is a line of a pane. Item is the number, from 1, of the list entry that it shows; 0 means
// no entry.
type Drawn struct {
	Line     Line
	Selected bool
	Item     int
}

// Fill makes a pane exactly w columns wide and h lines high.
func Fill(lines []Drawn, w, h int) []Drawn {
	for i := range lines {
		lines[i].Line = lines[i].Line.FitTo(w)
	}
	for len(lines) < h {
		lines = append(lines, Drawn{Line: Line{Blank(w)}})
	}
	return lines[:h]
}
