package terminal

import (
	"regexp"
	"strings"
)

// Colors matches the control sequences for colours.
var Colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Concealed is the control sequence for hidden text, which mcpc never writes.
const Concealed = "\x1b[8m"

var controls = regexp.MustCompile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069" +
	"\U000e0000-\U000e007f]")

// Forbidden returns the part of an output that must not reach a terminal, or "". The colours of
// mcpc are allowed, and a carriage return that is not followed by text of a server.
func Forbidden(out string) string {
	plain := strings.ReplaceAll(Colors.ReplaceAllString(out, ""), "\r\n", "\n")
	if strings.Contains(plain, "\rEVIL") {
		return "a carriage return"
	}
	if strings.Contains(out, Concealed) {
		return "a colour of the server's"
	}
	return controls.FindString(plain)
}
