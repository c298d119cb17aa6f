package cmdutil

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/usage"
)

// A redaction is a line of the file of --redact-file: a value or a pattern.
type redaction struct {
	line    int
	value   string
	pattern *regexp.Regexp
}

const (
	// maxRedactFile limits the size of the file, in bytes.
	maxRedactFile = 16 << 20
	// minValue is the minimum length of a value: a shorter one is often a part of other words.
	// Values of at least minEncoded bytes are also found in other encodings, such as base64.
	minValue   = 4
	minEncoded = 8
)

// ReadRedactFile hides what the file of --redact-file lists, before anything else is read. A file
// that cannot be read or parsed is an error: the user would not notice otherwise.
func (f *Factory) ReadRedactFile() error {
	if f.redactions != nil {
		return nil
	}
	raw, err := f.Env.ReadFile(f.RedactFile, maxRedactFile)
	if err != nil {
		return usage.NotRead("--redact-file "+f.RedactFile, err, "")
	}
	f.redactions = []redaction{} // not nil: the file is not read again
	const byteOrderMark = "\xEF\xBB\xBF"
	text := strings.TrimPrefix(string(raw), byteOrderMark)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		r, problem := parseRedaction(line)
		if problem != "" {
			return usage.New(fmt.Sprintf("--redact-file %s:%d: %s", f.RedactFile, i+1, problem),
				"each line is a value, a \"JSON string\", a /regular expression/ or a # comment")
		}
		r.line = i + 1
		f.redactions = append(f.redactions, r)
		r.applyTo(f)
	}
	return nil
}

// applyTo makes f hide the value or what matches the pattern.
func (r redaction) applyTo(f *Factory) {
	if r.pattern != nil {
		f.Secrets.Hide(r.pattern)
	} else if len(r.value) < minEncoded {
		f.Secrets.Hide(regexp.MustCompile(regexp.QuoteMeta(r.value)))
	} else {
		f.Secrets.Learn(r.value)
	}
}

// parseRedaction parses a line that is not empty. problem is "" or describes the fault, without the
// value.
func parseRedaction(line string) (r redaction, problem string) {
	pattern, flags := cutPattern(line)
	if !utf8.ValidString(line) {
		return r, "not UTF-8"
	}
	if pattern != "" {
		compiled, err := regexp.Compile(flags + pattern)
		if err != nil {
			reason := "it is too large" // err contains the pattern
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
	}
	if line[0] == '"' {
		value, ok := jsonraw.Text([]byte(line))
		if !ok {
			return r, "not a JSON string"
		}
		r.value = value
	} else {
		r.value = line
	}
	if len(r.value) < minValue {
		return r, fmt.Sprintf("a value needs at least %d characters", minValue)
	}
	return r, ""
}

// cutPattern returns the expression of a line /.../ or /.../i and its flags. Returns "" if the line
// is no pattern.
func cutPattern(line string) (pattern, flags string) {
	line, ignoresCase := strings.CutSuffix(line, "/i")
	if ignoresCase {
		line += "/" // CutSuffix cut it off with the i
		flags = "(?i)"
	}
	if len(line) < 3 || line[0] != '/' || line[len(line)-1] != '/' {
		return "", ""
	}
	return line[1 : len(line)-1], flags
}

// RedactionFor returns the number of the first line of --redact-file that hides a secret, or 0.
func (f *Factory) RedactionFor(secret string) int {
	for _, r := range f.redactions {
		isMatched := r.pattern != nil && r.pattern.MatchString(secret)
		if r.value == secret || isMatched {
			return r.line
		}
	}
	return 0
}
