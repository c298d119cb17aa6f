package host

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Answers are the flags that say how to answer a server's requests. A session remembers them.
type Answers = state.Answering

// IsZero reports whether no flag is set.
func IsZero(f Answers) bool { return reflect.ValueOf(f).IsZero() }

// AuthFlags are the authorization flags of all commands.
type AuthFlags struct {
	Account   string
	TokenFile string
	NoPrompt  bool
}

// Fields returns the header fields of --header-file and -H.
func (e *Env) Fields() ([]wire.Field, error) {
	if err := readHeaderFiles(e); err != nil {
		return nil, err
	}
	return e.TypedFields()
}

// readHeaderFiles puts the fields of --header-file before the fields of -H, which replace them.
// Values from a file are secrets, unlike values on the command line.
func readHeaderFiles(e *Env) error {
	if len(e.HeaderFiles) == 0 { // connections of serve share e: a later attempt must not write to it
		return nil
	}
	var lines []string
	for _, name := range e.HeaderFiles {
		raw, err := e.ReadFile(name, MostSecret)
		if err != nil {
			return usage.NotRead("--header-file "+name, err, "")
		}
		text := string(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))) // editors write a byte order mark
		for i, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			field, err := headerField(line)
			if err != nil {
				return usage.New(fmt.Sprintf("--header-file %s, line %d: not a header field", name, i+1), "a line is 'Name: value'")
			}
			e.Secrets.LearnField(field)
			e.Secrets.Learn(field.Value)
			lines = append(lines, line)
		}
	}
	e.Headers = append(lines, e.Headers...)
	e.HeaderFiles = nil // a second call reads no file again: it may be a pipe
	return nil
}

// TypedFields parses the fields of -H.
func (e *Env) TypedFields() ([]wire.Field, error) {
	var fields []wire.Field
	for _, h := range e.Headers {
		field, err := headerField(h)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// headerField parses "Name: value". The value may be empty.
func headerField(line string) (wire.Field, error) {
	name, value, ok := strings.Cut(line, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return wire.Field{}, usage.New(fmt.Sprintf("not a header field: %q", line), "write it as 'Name: value'")
	}
	if strings.ContainsAny(line, "\r\n\x00") { // would begin another field
		return wire.Field{}, usage.New(
			fmt.Sprintf("a header field contains a line break: %q", line),
			"write each field as its own -H 'Name: value'",
		)
	}
	return wire.Field{Name: name, Value: strings.TrimSpace(value)}, nil
}
