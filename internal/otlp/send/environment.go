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

// An environment reads the OTEL_* variables. As the OpenTelemetry specification requires, an empty
// variable counts as unset, and an invalid one is ignored with a warning.
type environment struct {
	getenv   func(string) string
	warnings []string
}

// value returns the value of a variable without surrounding spaces.
func (e *environment) value(name string) string { return strings.TrimSpace(e.getenv(name)) }

// warn adds a warning unless it is already there, because several settings may read one variable.
func (e *environment) warn(text string) {
	if !slices.Contains(e.warnings, text) {
		e.warnings = append(e.warnings, text)
	}
}

// lookup returns the value of the first variable that is set and valid, or otherwise.
func lookup[T any](e *environment, names []string, parse func(string) (T, error), fallback T) T {
	for _, name := range names {
		text := e.value(name)
		if text == "" {
			continue
		}
		v, err := parse(text)
		if err == nil {
			return v
		}
		e.warn(fmt.Sprintf("ignored %s=%q: %v", name, text, err))
	}
	return fallback
}

// signalVariables returns the variable for a signal, TRACES or METRICS, and then the variable for all
// signals.
func signalVariables(signal, option string) []string {
	return []string{"OTEL_EXPORTER_OTLP_" + signal + "_" + option, "OTEL_EXPORTER_OTLP_" + option}
}

// parseMilliseconds parses a number of milliseconds. 0 is valid.
func parseMilliseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("it must be a number of milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}

// rejectZero returns a function that parses like read and returns an error for 0.
func rejectZero[T int | time.Duration](parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		v, err := parse(text)
		if err == nil && v == 0 {
			err = errors.New("it must be more than 0")
		}
		return v, err
	}
}

// parseInteger parses a whole number.
func parseInteger(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("it must be a whole number")
	}
	return int(n), nil
}

// parseOneOf returns a function that parses a word from a set, in any case.
func parseOneOf[T any](words map[string]T) func(string) (T, error) {
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

// parseExporters parses OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER, a list. It reports whether the
// list has OTLP.
func parseExporters(text string) (bool, error) {
	names := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(names, "otlp") {
		return true, nil
	}
	if slices.Equal(names, []string{"none"}) {
		return false, nil
	}
	return false, errors.New("mcpc supports none, otlp")
}

// parseAttributes parses OTEL_RESOURCE_ATTRIBUTES: name=value,name=value, with percent-encoding. An
// invalid pair makes the whole value invalid.
func parseAttributes(text string) (all []otlp.Attribute, err error) {
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

// setAttribute adds an attribute and removes an earlier one with the same name.
func setAttribute(all []otlp.Attribute, name string, value any) []otlp.Attribute {
	all = slices.DeleteFunc(all, func(a otlp.Attribute) bool { return a.Key == name })
	return append(all, otlp.Attribute{Key: name, Value: value})
}

// readHeaders returns the header fields of a signal: name=value,name=value, with percent-encoding in
// the values. It ignores invalid pairs with a warning. Warnings contain no values, because values
// are secrets.
func (e *environment) readHeaders(signal string) http.Header {
	header := http.Header{}
	for _, variable := range signalVariables(signal, "HEADERS") {
		text := e.value(variable)
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
