package cells

// A Drawn is a line of a part of the screen. Item is the number of the entry of a list that it
// belongs to, from 1; 0 is none.
type Drawn struct {
	Line     Line
	Selected bool
	Item     int
}

// Fill makes a part of the screen exactly w columns wide and h lines high.
func Fill(lines []Drawn, w, h int) []Drawn {
	for i := range lines {
		lines[i].Line = lines[i].Line.To(w)
	}
	for len(lines) < h {
		lines = append(lines, Drawn{Line: Line{Blank(w)}})
	}
	return lines[:h]
}
