package cmdutil

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/usage"
)

// A redaction is a line of the user's file of what is to be hidden: a value or a pattern.
type redaction struct {
	line    int
	value   string
	pattern *regexp.Regexp
}

const (
	// mostRedactions bounds the file, in bytes.
	mostRedactions = 16 << 20
	// shortestValue is how long a value must be: shorter ones stand within words.
	// shortestSpelled is from where on it is found in base64 and in digits as well.
	shortestValue   = 4
	shortestSpelled = 8
)

// ReadRedactFile hides what the user's own file names, before anything else is read. A
// file that cannot be read or parsed ends the command: the user would not notice otherwise.
func (f *Factory) ReadRedactFile() error {
	if f.redactions != nil {
		return nil
	}
	raw, err := f.Env.ReadFile(f.RedactFile, mostRedactions)
	if err != nil {
		return usage.NotRead("--redact-file "+f.RedactFile, err, "")
	}
	f.redactions = []redaction{}
	for i, line := range strings.Split(string(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		r, problem := redactionOf(line)
		if problem != "" {
			return usage.New(fmt.Sprintf("--redact-file %s:%d: %s", f.RedactFile, i+1, problem),
				"each line is a value, a \"JSON string\", a /regular expression/ or a # comment")
		}
		r.line = i + 1
		f.redactions = append(f.redactions, r)
		r.hide(f)
	}
	return nil
}

// hide hides what a line names.
func (r redaction) hide(f *Factory) {
	switch {
	case r.pattern != nil:
		f.Secrets.Hide(r.pattern)
	case len(r.value) < shortestSpelled:
		f.Secrets.Hide(regexp.MustCompile(regexp.QuoteMeta(r.value)))
	default:
		f.Secrets.Learn(r.value)
	}
}

// redactionOf reads a line. What is wrong is said without the value.
func redactionOf(line string) (r redaction, problem string) {
	switch pattern, flags := asPattern(line); {
	case !utf8.ValidString(line):
		return r, "not UTF-8"
	case pattern != "":
		compiled, err := regexp.Compile(flags + pattern)
		if err != nil {
			reason := "it is too large" // said without the pattern
			if fault, ok := errors.AsType[*syntax.Error](err); ok {
				reason = fault.Code.String()
			}
			return r, "not a regular expression: " + reason
		}
		if compiled.MatchString("") {
			return r, "the pattern also matches the empty text"
		}
		r.pattern = compiled
		return r, ""
	case line[0] == '"':
		value, ok := jsonraw.Text([]byte(line))
		if !ok {
			return r, "not a JSON string"
		}
		r.value = value
	default:
		r.value = line
	}
	if len(r.value) < shortestValue {
		return r, fmt.Sprintf("a value needs at least %d characters", shortestValue)
	}
	return r, ""
}

// asPattern takes /.../ or /.../i apart; "" is no pattern.
func asPattern(line string) (pattern, flags string) {
	line, ignoring := strings.CutSuffix(line, "/i")
	if ignoring {
		line = line + "/"
		flags = "(?i)"
	}
	if len(line) < 3 || line[0] != '/' || line[len(line)-1] != '/' {
		return "", ""
	}
	return line[1 : len(line)-1], flags
}

// RedactionFor is the line of the file that names a secret; 0 where none does.
func (f *Factory) RedactionFor(secret string) int {
	at := slices.IndexFunc(f.redactions, func(r redaction) bool {
		return r.value == secret || r.pattern != nil && r.pattern.MatchString(secret)
	})
	if at < 0 {
		return 0
	}
	return f.redactions[at].line
}
