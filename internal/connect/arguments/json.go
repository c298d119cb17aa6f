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

// hintForArgs returns the hint for a value of --args that is NAME=VALUE, an object without its
// quotes, or the name of a file. Returns "" if the value is something else.
func hintForArgs(arg string) wire.Hint {
	if pathEnd, _ := Operator(arg); pathEnd > 0 && !strings.ContainsAny(arg[:pathEnd], "{[") { // not JSON with a =
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

// FromArgv names JSON from the command line in messages. A shell may have removed its quotes.
const FromArgv = "the argument"

// NotJSON returns the usage error for raw, which is not JSON. source names where it is from. The error
// has a hint only if the shell has probably removed quotes.
func NotJSON(raw []byte, source string, bad *jsonraw.SyntaxError) error {
	var hint wire.Hint
	isQuoted := bytes.Contains(raw, []byte(`"`))
	switch {
	case source != FromArgv || isQuoted:
		hint = "" // the shell did not change it
	case !strings.Contains("{[", firstByte(string(raw))): // it was not meant as JSON
		hint = `pass one JSON object: '{"a":1}'`
	case bytes.Contains(raw, []byte("'")): // as in Python
		hint = `JSON needs double quotes: '{"a":1}'`
	default:
		hint = `quote it for the shell: '{"a":1}'`
	}
	return &usage.JSONError{
		Text:  source + " is not JSON: " + bad.Error(),
		Hint:  hint,
		Facts: wire.InputFacts{Raw: raw, Offset: bad.Offset},
	}
}
