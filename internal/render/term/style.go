// Package term writes to a terminal or a pipe: the properties of a stream (Style), sanitized text
// that fits the width, tables, outlines, Markdown, pictures and progress.
package term

import (
	"cmp"
	"os"

	"golang.org/x/term"

	"mcpc/internal/render/hint"
)

// A Style describes what mcpc may write to one stream. Each stream has its own: often stdout is a
// pipe and stderr a terminal.
type Style struct {
	// Terminal is true if a person reads the stream: sanitize, indent, align.
	Terminal bool
	// Color allows SGR sequences.
	Color bool
	// Width is the terminal's width in columns; 80 if the stream is a pipe.
	Width int
	// Height is the terminal's height in lines; 0 if unknown.
	Height int
	// ASCII limits mcpc's own ornaments to ASCII.
	ASCII bool
	// RawText turns off drawing of Markdown.
	RawText bool
	// Canvas says how pictures are drawn.
	Canvas Canvas
	// Verbose is the number of -v flags.
	Verbose int
	// Hints adds the server of the command line to commands in hints.
	Hints hint.Context
	// Server is the server's name in warnings and notes, for a command that asks several servers.
	Server string
}

// A Screen is a test's stream that mcpc treats as a terminal.
type Screen interface {
	// Size returns the screen's columns and lines.
	Size() (width, height int)
}

// StyleFor returns the style of a standard stream. color is the --color flag: "auto", "always" or
// "never"; getenv reads the environment. The flag overrides the environment, where NO_COLOR comes
// first, then CLICOLOR_FORCE, then TERM=dumb and CLICOLOR=0.
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

// wantsColor reports whether a stream gets colour, see StyleFor.
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

// wantsASCII reports whether the locale is C or POSIX; LC_ALL overrides LC_CTYPE, and that LANG.
// Without a locale, as in containers, it assumes UTF-8.
func wantsASCII(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return locale == "C" || locale == "POSIX"
}

// SGR parameters. mcpc uses the sixteen ANSI colours only, because they follow the user's palette.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Strong paints a sanitized text that a reader should see first.
func (s Style) Strong(text string) string { return s.Paint(Bold, text) }

// Faint paints a sanitized text that a reader may skip.
func (s Style) Faint(text string) string { return s.Paint(Dim, text) }

// Alert paints a sanitized text that reports a problem.
func (s Style) Alert(text string) string { return s.Paint(Yellow, text) }

// Ornament returns a mark of mcpc, in ASCII if the style requires it.
func (s Style) Ornament(ascii, other string) string {
	if s.ASCII {
		return ascii
	}
	return other
}

// Paint wraps text, which must be sanitized, in one SGR sequence.
func (s Style) Paint(sgr, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// Pretty reports whether a person reads this stream: it is a terminal, or the user requested
// colour, which only a pager can show.
func (s Style) Pretty() bool { return s.Terminal || s.Color }
