package arguments

import (
	"bytes"
	"os"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// meantByArgs returns the hint for a value of --args that is not JSON but NAME=VALUE, an object without its quotes, or
// the name of a file; "" for any other.
func meantByArgs(arg string) wire.Hint {
	if at, _ := Operator(arg); at > 0 && !strings.ContainsAny(arg[:at], "{[") {
		return "arguments that are words need no --args: " + wire.Hint(shellwords.Quote(arg))
	}
	if words := BrokenObject([]string{arg}); len(words) > 0 {
		return "JSON needs double quotes around names and texts, which shells take away; words need none: " +
			wire.Hint(strings.Join(sliceutil.Map(words, shellwords.Quote), " "))
	}
	if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
		return "did you mean --args " + wire.Hint(shellwords.Quote("@"+arg)) + "?"
	}
	return ""
}

// FromArgv is where JSON comes from that stands on the command line itself, where the
// shell may have taken its quotes.
const FromArgv = "the argument"

func NotJSON(raw []byte, from string, bad *jsonraw.SyntaxError) error {
	var hint wire.Hint
	switch {
	case from != FromArgv || bytes.Contains(raw, []byte(`"`)):
	case !strings.Contains("{[", firstOf(string(raw))):
		hint = `pass one JSON object: '{"a":1}'`
	case bytes.Contains(raw, []byte("'")):
		hint = `JSON needs double quotes: '{"a":1}'`
	default:
		hint = `quote it for the shell: '{"a":1}'`
	}
	return &usage.JSONError{
		Text:  from + " is not JSON: " + bad.Error(),
		Hint:  hint,
		Facts: wire.InputFacts{Raw: raw, Offset: bad.Offset},
	}
}
