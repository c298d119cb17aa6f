package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// arguments reads the JSON object that stands on the command line, in a file or
// on standard input. Its bytes are what will be sent.
func (a *env) arguments(arg string) (json.RawMessage, error) {
	raw, from, err := a.ui.input(arg)
	if err != nil {
		return nil, err
	}
	if limit := a.limits.WithDefaults().Message; limit > 0 && int64(len(raw)) > limit {
		return nil, hinted(fmt.Sprintf("%s has %d bytes, over the message limit of %d", from, len(raw), limit),
			"--max-message-size SIZE raises the limit, 0 removes it")
	}
	if bad := wire.Valid(raw); bad != nil {
		return nil, notJSON(raw, from, bad)
	}
	members, bad := wire.Object(raw)
	if bad != nil {
		return nil, hinted(from+" must be a JSON object, got "+wire.Excerpt(bytes.TrimSpace(raw), 40), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`)
	}
	if err := eachOnce(members, from); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(raw), nil
}

// eachOnce refuses arguments of which each server would take another value.
func eachOnce(members wire.Members, from string) error {
	if name, twice := members.Duplicate(); twice {
		return fmt.Errorf("%s has the member %q twice", from, name)
	}
	return nil
}

// fromArgv is where JSON comes from that stands on the command line itself, where the
// shell may have taken its quotes.
const fromArgv = "the argument"

// input gives the text that an argument stands for: @FILE, - or itself.
func (a *app) input(arg string) (raw []byte, from string, err error) {
	raw, from, err = a.inputBytes(arg)
	if from != fromArgv {
		raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	}
	return raw, from, err
}

// inputBytes gives them as they are, not without a byte order mark.
func (a *app) inputBytes(arg string) (raw []byte, from string, err error) {
	switch {
	case arg == "-" || arg == "@-":
		raw, err = a.readInput()
		from = "standard input"
	case strings.HasPrefix(arg, "@"):
		raw, err = a.readFile(arg[1:], a.mostInput())
		from = arg[1:]
	default:
		return []byte(arg), fromArgv, nil
	}
	if most, long := errors.AsType[tooMuch](err); long {
		return nil, from, hinted(fmt.Sprintf("%s has more than %d bytes", from, most), "--max-message-size SIZE raises the limit, 0 removes it")
	}
	if err != nil {
		return nil, from, notRead("reading "+from, err, "")
	}
	return raw, from, nil
}

// An inputError is typed JSON that is none, and where it goes wrong.
type inputError struct {
	text  string
	hint  wire.Hint
	facts wire.InputFacts
}

func (e *inputError) Error() string { return e.text }

func notJSON(raw []byte, from string, bad *wire.SyntaxError) error {
	var hint wire.Hint
	switch {
	case from != fromArgv || bytes.Contains(raw, []byte(`"`)):
	case !strings.Contains("{[", firstOf(string(raw))):
		hint = `pass one JSON object: '{"a":1}'`
	case bytes.Contains(raw, []byte("'")):
		hint = `JSON needs double quotes: '{"a":1}'`
	default:
		hint = `quote it for the shell: '{"a":1}'`
	}
	return &inputError{from + " is not JSON: " + bad.Error(), hint, wire.InputFacts{Raw: raw, Offset: bad.Offset}}
}

// isTyped reports whether a person types what stands on standard input.
func (a *app) isTyped() bool { return render.StyleFor(a.in, "never", a.getenv).Terminal }

// interactive reports whether a person can be asked.
func (a *app) interactive() bool {
	return !a.noInput && a.errStyle.Terminal && a.isTyped()
}

// ask puts a question to which the answer is no unless it is yes.
func (a *app) ask(ctx context.Context, question string) bool {
	return a.askAlways(ctx, question, "") == "yes"
}

// canAsk reports whether a person may be asked in the middle of a command.
func (a *app) canAsk() bool { return a.interactive() && a.getenv("CI") == "" }
