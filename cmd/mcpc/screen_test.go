//go:build unix && peers

package main

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A screen is what a terminal of a size shows of what is written to it: text without colours.
type screen struct {
	w, h        int
	cells       [][]string
	x, y        int
	top, bottom int // of what scrolls
	last        string
	odd         []string // sequences that are not known
}

func newScreen(w, h int) *screen {
	s := &screen{w: w, h: h, bottom: h - 1}
	for range h {
		s.cells = append(s.cells, s.blank())
	}
	return s
}

func (s *screen) blank() []string {
	line := make([]string, s.w)
	for i := range line {
		line[i] = " "
	}
	return line
}

// show draws all of an output, and gives the lines.
func (s *screen) show(output string) string {
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

func (s *screen) print(text string) {
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
	s.x, s.last = s.x+wide, text
}

func (s *screen) down() {
	if s.y == s.bottom {
		s.scroll(s.top, 1)
	} else {
		s.y = min(s.y+1, s.h-1)
	}
}

// scroll moves the lines from one on up, or down where n is less than 0.
func (s *screen) scroll(from, n int) {
	for ; n > 0; n-- {
		copy(s.cells[from:s.bottom], s.cells[from+1:s.bottom+1])
		s.cells[s.bottom] = s.blank()
	}
	for ; n < 0; n++ {
		copy(s.cells[from+1:s.bottom+1], s.cells[from:s.bottom])
		s.cells[from] = s.blank()
	}
}

func (s *screen) control(b byte) {
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

func (s *screen) escape(cmd ansi.Cmd) {
	if cmd.Final() == 'M' && cmd.Intermediate() == 0 {
		if s.y == s.top {
			s.scroll(s.top, -1)
		} else {
			s.y = max(0, s.y-1)
		}
	}
}

func (s *screen) csi(cmd ansi.Cmd, params ansi.Params) {
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
		if second, _, _ = params.Param(1, s.h); second < 1 {
			second = s.h
		}
		s.top, s.bottom, s.x, s.y = n-1, min(second, s.h)-1, 0, 0
	case 'm', 'n', 'c', 'h', 'l', 't', 'q', 'u', 's':
	default:
		s.odd = append(s.odd, string(rune(cmd.Final())))
	}
}

// erase clears below the cursor, above it, or all.
func (s *screen) erase(kind int) {
	for y := range s.h {
		if kind >= 2 || kind == 0 && y > s.y || kind == 1 && y < s.y {
			s.cells[y] = s.blank()
		}
	}
	s.eraseLine(kind)
}

func (s *screen) eraseLine(kind int) {
	from, to := s.x, s.w
	if kind > 0 {
		from = 0
	}
	if kind == 1 {
		to = min(s.w, s.x+1)
	}
	copy(s.cells[s.y][min(from, s.w):to], s.blank())
}
