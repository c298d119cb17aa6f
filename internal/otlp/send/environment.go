package send

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// An environment reads the OTEL_* variables. As the specification of OpenTelemetry demands, an
// empty one is not set, and one that cannot be read is ignored with a warning.
type environment struct {
	getenv   func(string) string
	warnings []string
}

// get returns a variable without blanks around it.
func (e *environment) get(name string) string { return strings.TrimSpace(e.getenv(name)) }

// warn notes a warning; several settings may read one variable.
func (e *environment) warn(text string) {
	if !slices.Contains(e.warnings, text) {
		e.warnings = append(e.warnings, text)
	}
}

// lookup reads the first of the variables that is set and can be read; without one it returns
// the default.
func lookup[T any](e *environment, names []string, read func(string) (T, error), otherwise T) T {
	for _, name := range names {
		text := e.get(name)
		if text == "" {
			continue
		}
		v, err := read(text)
		if err == nil {
			return v
		}
		e.warn(fmt.Sprintf("ignored %s=%q: %v", name, text, err))
	}
	return otherwise
}

// forSignal names the variable of a signal, TRACES or METRICS, and the one of all signals, which
// the first overrides.
func forSignal(signal, option string) []string {
	return []string{"OTEL_EXPORTER_OTLP_" + signal + "_" + option, "OTEL_EXPORTER_OTLP_" + option}
}

// milliseconds reads a duration or a timeout; 0 is valid.
func milliseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("it must be a number of milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}

// positive refuses zero.
func positive[T int | time.Duration](read func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		v, err := read(text)
		if err == nil && v == 0 {
			err = errors.New("it must be more than 0")
		}
		return v, err
	}
}

func integer(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("it must be a whole number")
	}
	return int(n), nil
}

// oneOf reads a word of a set, in any case.
func oneOf[T any](words map[string]T) func(string) (T, error) {
	return func(text string) (v T, err error) {
		v, known := words[strings.ToLower(text)]
		if !known {
			names := make([]string, 0, len(words))
			for name := range words {
				names = append(names, name)
			}
			slices.Sort(names)
			err = errors.New("mcpc supports " + strings.Join(names, ", "))
		}
		return v, err
	}
}

// exporter reads OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER, a list: whether OTLP is in it.
func exporter(text string) (on bool, err error) {
	names := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(names, "otlp") {
		return true, nil
	}
	if slices.Equal(names, []string{"none"}) {
		return false, nil
	}
	return false, errors.New("mcpc supports none, otlp")
}

// attributes reads OTEL_RESOURCE_ATTRIBUTES: name=value,name=value, with percent-encoding. One
// pair that cannot be read makes the whole value invalid.
func attributes(text string) (all []otlp.Attribute, err error) {
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		name, nameErr := url.PathUnescape(strings.TrimSpace(name))
		value, valueErr := url.PathUnescape(strings.TrimSpace(value))
		if !found || name == "" || nameErr != nil || valueErr != nil {
			return nil, errors.New("it must be name=value,name=value, with percent-encoding")
		}
		all = setAttribute(all, name, value)
	}
	return all, nil
}

// setAttribute adds an attribute, in place of one with the same name.
func setAttribute(all []otlp.Attribute, name string, value any) []otlp.Attribute {
	all = slices.DeleteFunc(all, func(a otlp.Attribute) bool { return a.Key == name })
	return append(all, otlp.Attribute{Key: name, Value: value})
}

// headers reads the header fields of a signal: name=value,name=value, the values with
// percent-encoding. Warnings do not quote them, as they are secrets.
func (e *environment) headers(signal string) http.Header {
	header := http.Header{}
	for _, variable := range forSignal(signal, "HEADERS") {
		text := e.get(variable)
		if text == "" {
			continue
		}
		for pair := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			name, value, found := strings.Cut(pair, "=")
			name = strings.TrimSpace(name)
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if !found || err != nil || !wire.IsToken(name) || strings.ContainsFunc(value, unicode.IsControl) {
				e.warn("ignored a part of " + variable + ": each part must be name=value, with percent-encoding")
				continue
			}
			header.Set(name, value)
		}
		break
	}
	return header
}
