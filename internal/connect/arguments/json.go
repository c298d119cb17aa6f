package arguments

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Arguments reads the JSON object that stands on the command line, in a file or
// on standard input. Its bytes are what will be sent.
func Arguments(e *host.Env, arg string) (json.RawMessage, error) {
	raw, from, err := e.UI.Input(arg)
	if err != nil {
		return nil, err
	}
	if limit := e.Limits.WithDefaults().Message; limit > 0 && int64(len(raw)) > limit {
		return nil, usage.New(fmt.Sprintf("%s has %d bytes, over the message limit of %d", from, len(raw), limit),
			"--max-message-size SIZE raises the limit, 0 removes it")
	}
	if bad := jsonraw.Valid(raw); bad != nil {
		err := NotJSON(raw, from, bad)
		if notJSON, ok := errors.AsType[*usage.JSONError](err); ok && from == FromArgv {
			notJSON.Hint = cmp.Or(meantByArgs(arg), notJSON.Hint)
		}
		return nil, err
	}
	members, bad := jsonraw.Object(raw)
	if bad != nil {
		return nil, usage.New(from+" must be a JSON object, got "+jsonraw.Excerpt(bytes.TrimSpace(raw), 40), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`)
	}
	if err := EachOnce(members, from); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(raw), nil
}

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

// EachOnce refuses arguments of which each server would take another value.
func EachOnce(members jsonraw.Members, from string) error {
	if name, twice := members.Duplicate(); twice {
		return fmt.Errorf("%s has the member %q twice", from, name)
	}
	return nil
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
	return &usage.JSONError{Text: from + " is not JSON: " + bad.Error(), Hint: hint, Facts: wire.InputFacts{Raw: raw, Offset: bad.Offset}}
}
