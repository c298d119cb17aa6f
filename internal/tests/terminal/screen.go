package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Screen draws the output of a command as a terminal would, without colours.
type Screen struct {
	width, height int
	cells         [][]string
	// x and y are the position of the cursor.
	x, y int
	// top and bottom are the first and the last line of the scrolling region.
	top, bottom int
	// last is the last character, which a sequence can repeat.
	last string
	// unknown are the final characters of unsupported control sequences.
	unknown []string
}

// NewScreen returns an empty screen with w columns and h lines.
func NewScreen(w, h int) *Screen {
	s := &Screen{width: w, height: h, bottom: h - 1}
	for range h {
		s.cells = append(s.cells, s.blankLine())
	}
	return s
}

func (s *Screen) blankLine() []string {
	line := make([]string, s.width)
	for i := range line {
		line[i] = " "
	}
	return line
}

// Unknown returns the final characters of unsupported control sequences in the output. If there are
// any, the result of Show may be wrong.
func (s *Screen) Unknown() []string { return s.unknown }

// Show draws an output and returns the lines of the screen.
func (s *Screen) Show(output string) string {
	p := ansi.NewParser()
	p.SetHandler(ansi.Handler{Print: func(r rune) { s.print(string(r)) }, Execute: s.handleControl, HandleCsi: s.handleCSI, HandleEsc: s.handleEscape})
	for _, b := range []byte(output) {
		p.Advance(b)
	}
	var lines []string
	for _, line := range s.cells {
		lines = append(lines, strings.TrimRight(strings.Join(line, ""), " "))
	}
	return strings.Join(lines, "\n")
}

func (s *Screen) print(text string) {
	wide := ansi.StringWidth(text)
	if wide == 0 {
		return
	}
	if s.x+wide > s.width {
		s.x = 0
		s.moveDown()
	}
	s.cells[s.y][s.x] = text
	if wide == 2 {
		s.cells[s.y][s.x+1] = ""
	}
	s.x = s.x + wide
	s.last = text
}

func (s *Screen) moveDown() {
	if s.y == s.bottom {
		s.scroll(s.top, 1)
	} else {
		s.y = min(s.y+1, s.height-1)
	}
}

// scroll moves the lines below a line up by n lines, or down if n is negative.
func (s *Screen) scroll(first, n int) {
	for ; n > 0; n-- {
		copy(s.cells[first:s.bottom], s.cells[first+1:s.bottom+1])
		s.cells[s.bottom] = s.blankLine()
	}
	for ; n < 0; n++ {
		copy(s.cells[first+1:s.bottom+1], s.cells[first:s.bottom])
		s.cells[first] = s.blankLine()
	}
}

func (s *Screen) handleControl(b byte) {
	switch b {
	case '\r':
		s.x = 0
	case '\n':
		s.moveDown()
	case '\b':
		s.x = max(0, s.x-1)
	case '\t':
		s.x = min(s.width-1, (s.x/8+1)*8)
	}
}

func (s *Screen) handleEscape(cmd ansi.Cmd) {
	if cmd.Final() == 'M' && cmd.Intermediate() == 0 {
		if s.y == s.top {
			s.scroll(s.top, -1)
		} else {
			s.y = max(0, s.y-1)
		}
	}
}

func (s *Screen) handleCSI(cmd ansi.Cmd, params ansi.Params) {
	if cmd.Prefix() != 0 || cmd.Intermediate() != 0 {
		return // modes
	}
	count, _, _ := params.Param(0, 1)
	count = max(count, 1)
	mode, _, _ := params.Param(0, 0)
	second, _, _ := params.Param(1, 1)
	switch cmd.Final() {
	case 'A':
		s.y = max(0, s.y-count)
	case 'B', 'e':
		s.y = min(s.height-1, s.y+count)
	case 'C', 'a':
		s.x = min(s.width-1, s.x+count)
	case 'D':
		s.x = max(0, s.x-count)
	case 'E':
		s.x, s.y = 0, min(s.height-1, s.y+count)
	case 'F':
		s.x, s.y = 0, max(0, s.y-count)
	case 'G', '`':
		s.x = min(s.width, count) - 1
	case 'd':
		s.y = min(s.height, count) - 1
	case 'H', 'f':
		s.y, s.x = min(s.height, count)-1, min(s.width, max(second, 1))-1
	case 'I':
		for range count {
			s.handleControl('\t')
		}
	case 'Z':
		s.x = max(0, ((s.x+7)/8-count)*8)
	case 'J':
		s.erase(mode)
	case 'K':
		s.eraseLine(mode)
	case 'X':
		copy(s.cells[s.y][s.x:min(s.width, s.x+count)], s.blankLine())
	case 'P':
		line := append(append([]string{}, s.cells[s.y][min(s.width, s.x+count):]...), s.blankLine()...)
		copy(s.cells[s.y][s.x:], line)
	case '@':
		line := append(s.blankLine()[:min(count, s.width)], s.cells[s.y][s.x:]...)
		copy(s.cells[s.y][s.x:], line)
	case 'L':
		s.scroll(s.y, -count)
	case 'M':
		s.scroll(s.y, count)
	case 'S':
		s.scroll(s.top, count)
	case 'T':
		s.scroll(s.top, -count)
	case 'b':
		for range count {
			s.print(s.last)
		}
	case 'r':
		second, _, _ = params.Param(1, s.height)
		if second < 1 {
			second = s.height
		}
		s.top, s.bottom, s.x, s.y = count-1, min(second, s.height)-1, 0, 0
	case 'm', 'n', 'c', 'h', 'l', 't', 'q', 'u', 's':
	default:
		s.unknown = append(s.unknown, string(rune(cmd.Final())))
	}
}

// erase clears the screen: after the cursor (0), before the cursor (1), or completely.
func (s *Screen) erase(kind int) {
	for y := range s.height {
		if kind >= 2 || kind == 0 && y > s.y || kind == 1 && y < s.y {
			s.cells[y] = s.blankLine()
		}
	}
	s.eraseLine(kind)
}

func (s *Screen) eraseLine(kind int) {
	start := s.x
	end := s.width
	if kind > 0 {
		start = 0
	}
	if kind == 1 {
		end = min(s.width, s.x+1)
	}
	copy(s.cells[s.y][min(start, s.width):end], s.blankLine())
}
