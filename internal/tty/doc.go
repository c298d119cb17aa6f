// Package tty asks a terminal what it can show, and believes nothing else: no
// TERM, no name of a program, which survive ssh, sudo and tmux in places where they
// are no longer true.
//
// The questions go out together, and behind them one that every terminal has
// answered since the VT100: the primary device attributes. Since a terminal answers
// in order, its answer to that one says that the answers to the others are here or
// will never come. So a terminal that knows none of them costs one round trip, and
// nothing is left in its input for the shell to read as a command. One that answers
// nothing at all is given up after a second.
//
// It also reads what a person types, and stops when the caller cancels: a question given up
// must leave the next line to the next reader. Of a pipe it says whether its reader is
// there, and it opens the streams that a process was started with.
//
// The package draws nothing and decides nothing: what is done with the answers is for
// others to say.
package tty

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// Facts are what a terminal said of itself.
type Facts struct {
	// Answered is set where the device attributes came: the rest is complete.
	Answered bool
	// Name and version, as XTVERSION gives them: "kitty(0.26.5)", "XTerm(379)".
	Name string
	// Kitty is set where the terminal draws by kitty's graphics protocol, Sixel
	// where it says that it draws sixels.
	Kitty, Sixel bool
	// CellWidth and CellHeight are a character's size in pixels; 0 is unknown.
	CellWidth, CellHeight int
	// Interrupted is set where Ctrl-C came in the place of an answer.
	Interrupted bool
}

// questions are, in this order: may I draw one pixel by kitty's protocol (which draws
// none), who are you (XTVERSION), how many pixels has a character (XTWINOPS 16), and
// what can you do (DA1).
const questions = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + "\x1b[>0q" + "\x1b[16t" + "\x1b[c"

// parse reads what came back so far.
func parse(reply []byte) (f Facts) {
	f.Interrupted = bytes.IndexByte(reply, 0x03) >= 0
	if m := find(`\x1b\[\?([0-9;]*)c`, reply); m != "" {
		f.Answered = true
		// The first number is the class of the terminal, 4 behind it are sixels.
		for _, attribute := range strings.Split(m, ";")[1:] {
			f.Sixel = f.Sixel || attribute == "4"
		}
	} else if bytes.Contains(reply, []byte("\x1b[?c")) {
		f.Answered = true
	}
	f.Kitty = find(`\x1b_Gi=31;(OK)\x1b\\`, reply) != ""
	f.Name = find(`\x1bP>\|([ -~]{0,100})\x1b\\`, reply)
	if size := find(`\x1b\[6;([0-9]{1,4};[0-9]{1,4})t`, reply); size != "" {
		height, width, _ := strings.Cut(size, ";")
		f.CellHeight, _ = strconv.Atoi(height)
		f.CellWidth, _ = strconv.Atoi(width)
	}
	return f
}

// find gives the first group of a pattern, which is compiled here and not at the
// start of every command.
func find(pattern string, text []byte) string {
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
