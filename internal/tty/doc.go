// Package tty asks a terminal what it can show. It ignores TERM and names of programs, which are
// often wrong after ssh, sudo and tmux.
//
// It sends all questions at once, and last a request for the primary device attributes, which every
// terminal has answered since the VT100. A terminal answers in order, so after that response no
// other follows. So a terminal that does not know the questions costs one round trip, and no
// response is left in its input for the shell to read as a command. A terminal that does not
// respond is given up after a second.
//
// The package also reads what a person types and stops when the caller cancels, so that the next
// line stays for the next reader. It reports whether a pipe has a reader, and opens streams that
// the process inherited. It draws nothing.
package tty

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// Facts are a terminal's answers.
type Facts struct {
	// Answered is true if the terminal sent its device attributes: all other answers are complete.
	Answered bool
	// Name is the name and version from XTVERSION: "kitty(0.26.5)", "XTerm(379)".
	Name string
	// Kitty is true if the terminal supports kitty's graphics protocol, Sixel if it draws sixels.
	Kitty, Sixel bool
	// CellWidth and CellHeight are a character's size in pixels; 0 if unknown.
	CellWidth, CellHeight int
	// Interrupted is true if the user typed Ctrl-C.
	Interrupted bool
}

// questions asks, in this order: whether kitty's protocol works (a query that draws nothing), the
// name (XTVERSION), the size of a character (XTWINOPS 16), and the device attributes (DA1).
const questions = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + "\x1b[>0q" + "\x1b[16t" + "\x1b[c"

// parseReply returns the facts in the bytes received so far. It sets Answered if the device attributes,
// the last answer, are among them.
func parseReply(reply []byte) Facts {
	var f Facts
	f.Interrupted = bytes.IndexByte(reply, 0x03) >= 0
	if attributes := firstGroup(`\x1b\[\?([0-9;]*)c`, reply); attributes != "" {
		f.Answered = true
		// The first number is the class of the terminal. A 4 after it means sixels.
		for _, attribute := range strings.Split(attributes, ";")[1:] {
			f.Sixel = f.Sixel || attribute == "4"
		}
	} else if bytes.Contains(reply, []byte("\x1b[?c")) {
		f.Answered = true
	}
	f.Kitty = firstGroup(`\x1b_Gi=31;(OK)\x1b\\`, reply) != ""
	f.Name = firstGroup(`\x1bP>\|([ -~]{0,100})\x1b\\`, reply)
	if size := firstGroup(`\x1b\[6;([0-9]{1,4};[0-9]{1,4})t`, reply); size != "" {
		height, width, _ := strings.Cut(size, ";")
		f.CellHeight, _ = strconv.Atoi(height)
		f.CellWidth, _ = strconv.Atoi(width)
	}
	return f
}

// firstGroup returns the first group of a pattern in text, or "". It compiles the pattern itself, since
// few commands need it.
func firstGroup(pattern string, text []byte) string {
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
