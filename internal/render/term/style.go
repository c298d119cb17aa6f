// Package term writes to a terminal or a pipe: what a stream can show (Style), text that
// is sanitized and fits its width, tables, outlines, Markdown, pictures and progress.
package term

import (
	"cmp"
	"os"

	"golang.org/x/term"

	"mcpc/internal/render/hint"
)

// A Style says what may be written to one stream. It is decided per stream:
// stdout in a pipe and stderr on a terminal is the usual case.
type Style struct {
	// Terminal is set where a person looks on: sanitize, indent, align.
	Terminal bool
	// Color is set where SGR sequences may be written.
	Color bool
	// Width is the terminal's width in columns; 80 where there is none.
	Width int
	// Height is its height in lines; 0 is unknown.
	Height int
	// ASCII asks for plain ASCII in mcpc's own ornaments.
	ASCII bool
	// RawText has texts shown as they came, where they are Markdown too.
	RawText bool
	// Canvas says how pictures are drawn.
	Canvas Canvas
	// Verbose is how many -v were given.
	Verbose int
	// Hints says to which server the commands go that are shown.
	Hints hint.Context
}

// A Screen is a stream of a test that is treated as a terminal.
type Screen interface {
	// Size returns its columns and lines.
	Size() (width, height int)
}

// StyleFor decides the style of a standard stream. color is the --color flag: "auto",
// "always" or "never"; getenv reads the environment. A flag beats the
// environment: NO_COLOR, then CLICOLOR_FORCE, then TERM=dumb.
func StyleFor(stream any, color string, getenv func(string) string) Style {
	s := Style{Width: 80}
	switch stream := stream.(type) {
	case *os.File:
		s.Terminal = stream != nil && term.IsTerminal(int(stream.Fd()))
		if !s.Terminal {
			break
		}
		if width, height, err := term.GetSize(int(stream.Fd())); err == nil && width > 0 {
			s.Width = width
			s.Height = height
		}
	case Screen:
		s.Terminal = true
		s.Width, s.Height = stream.Size()
	}
	s.Color = wantsColor(s.Terminal, color, getenv)
	s.ASCII = wantsASCII(getenv)
	return s
}

func wantsColor(terminal bool, color string, getenv func(string) string) bool {
	switch {
	case color == "always":
		return true
	case color == "never":
		return false
	case getenv("NO_COLOR") != "":
		return false
	case getenv("CLICOLOR_FORCE") != "" && getenv("CLICOLOR_FORCE") != "0":
		return true
	default:
		return terminal && getenv("TERM") != "dumb" && getenv("CLICOLOR") != "0"
	}
}

// wantsASCII follows the locale's order: LC_ALL, LC_CTYPE, LANG. No locale at
// all is what containers have, and their terminals speak UTF-8.
func wantsASCII(getenv func(string) string) bool {
	v := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return v == "C" || v == "POSIX"
}

// The sixteen ANSI colours only: they follow the person's own palette, and no
// state is told by colour alone.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Strong paints a sanitized text that a reader should find first.
func (s Style) Strong(text string) string { return s.Paint(Bold, text) }

// Faint paints a sanitized text that a reader may skip.
func (s Style) Faint(text string) string { return s.Paint(Dim, text) }

// Alert paints a sanitized text that says that something is not right.
func (s Style) Alert(text string) string { return s.Paint(Yellow, text) }

// Ornament is one of mcpc's own marks, in ASCII where that is asked for.
func (s Style) Ornament(ascii, other string) string {
	if s.ASCII {
		return ascii
	}
	return other
}

// Paint wraps text, which must be sanitized already, in one SGR sequence.
func (s Style) Paint(sgr, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// Pretty says whether a person will see this stream: there is a terminal, or
// colour was asked for, which only a terminal behind a pager can use.
func (s Style) Pretty() bool { return s.Terminal || s.Color }
