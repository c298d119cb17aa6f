package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Screen draws the output of a command as a terminal would, without colours.
type Screen struct {
	w, h  int
	cells [][]string
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
	s := &Screen{w: w, h: h, bottom: h - 1}
	for range h {
		s.cells = append(s.cells, s.blank())
	}
	return s
}

func (s *Screen) blank() []string {
	line := make([]string, s.w)
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
	p.SetHandler(ansi.Handler{Print: func(r rune) { s.print(string(r)) }, Execute: s.control, HandleCsi: s.csi, HandleEsc: s.escape})
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
	if s.x+wide > s.w {
		s.x = 0
		s.down()
	}
	s.cells[s.y][s.x] = text
	if wide == 2 {
		s.cells[s.y][s.x+1] = ""
	}
	s.x = s.x + wide
	s.last = text
}

func (s *Screen) down() {
	if s.y == s.bottom {
		s.scroll(s.top, 1)
	} else {
		s.y = min(s.y+1, s.h-1)
	}
}

// scroll moves the lines below a line up by n lines, or down if n is negative.
func (s *Screen) scroll(from, n int) {
	for ; n > 0; n-- {
		copy(s.cells[from:s.bottom], s.cells[from+1:s.bottom+1])
		s.cells[s.bottom] = s.blank()
	}
	for ; n < 0; n++ {
		copy(s.cells[from+1:s.bottom+1], s.cells[from:s.bottom])
		s.cells[from] = s.blank()
	}
}

func (s *Screen) control(b byte) {
	switch b {
	case '\r':
		s.x = 0
	case '\n':
		s.down()
	case '\b':
		s.x = max(0, s.x-1)
	case '\t':
		s.x = min(s.w-1, (s.x/8+1)*8)
	}
}

func (s *Screen) escape(cmd ansi.Cmd) {
	if cmd.Final() == 'M' && cmd.Intermediate() == 0 {
		if s.y == s.top {
			s.scroll(s.top, -1)
		} else {
			s.y = max(0, s.y-1)
		}
	}
}

func (s *Screen) csi(cmd ansi.Cmd, params ansi.Params) {
	if cmd.Prefix() != 0 || cmd.Intermediate() != 0 {
		return // modes
	}
	n, _, _ := params.Param(0, 1)
	n = max(n, 1)
	kind, _, _ := params.Param(0, 0)
	second, _, _ := params.Param(1, 1)
	switch cmd.Final() {
	case 'A':
		s.y = max(0, s.y-n)
	case 'B', 'e':
		s.y = min(s.h-1, s.y+n)
	case 'C', 'a':
		s.x = min(s.w-1, s.x+n)
	case 'D':
		s.x = max(0, s.x-n)
	case 'E':
		s.x, s.y = 0, min(s.h-1, s.y+n)
	case 'F':
		s.x, s.y = 0, max(0, s.y-n)
	case 'G', '`':
		s.x = min(s.w, n) - 1
	case 'd':
		s.y = min(s.h, n) - 1
	case 'H', 'f':
		s.y, s.x = min(s.h, n)-1, min(s.w, max(second, 1))-1
	case 'I':
		for range n {
			s.control('\t')
		}
	case 'Z':
		s.x = max(0, ((s.x+7)/8-n)*8)
	case 'J':
		s.erase(kind)
	case 'K':
		s.eraseLine(kind)
	case 'X':
		copy(s.cells[s.y][s.x:min(s.w, s.x+n)], s.blank())
	case 'P':
		line := append(append([]string{}, s.cells[s.y][min(s.w, s.x+n):]...), s.blank()...)
		copy(s.cells[s.y][s.x:], line)
	case '@':
		line := append(s.blank()[:min(n, s.w)], s.cells[s.y][s.x:]...)
		copy(s.cells[s.y][s.x:], line)
	case 'L':
		s.scroll(s.y, -n)
	case 'M':
		s.scroll(s.y, n)
	case 'S':
		s.scroll(s.top, n)
	case 'T':
		s.scroll(s.top, -n)
	case 'b':
		for range n {
			s.print(s.last)
		}
	case 'r':
		second, _, _ = params.Param(1, s.h)
		if second < 1 {
			second = s.h
		}
		s.top, s.bottom, s.x, s.y = n-1, min(second, s.h)-1, 0, 0
	case 'm', 'n', 'c', 'h', 'l', 't', 'q', 'u', 's':
	default:
		s.unknown = append(s.unknown, string(rune(cmd.Final())))
	}
}

// erase clears the screen: after the cursor (0), before the cursor (1), or completely.
func (s *Screen) erase(kind int) {
	for y := range s.h {
		if kind >= 2 || kind == 0 && y > s.y || kind == 1 && y < s.y {
			s.cells[y] = s.blank()
		}
	}
	s.eraseLine(kind)
}

func (s *Screen) eraseLine(kind int) {
	from := s.x
	to := s.w
	if kind > 0 {
		from = 0
	}
	if kind == 1 {
		to = min(s.w, s.x+1)
	}
	copy(s.cells[s.y][min(from, s.w):to], s.blank())
}
