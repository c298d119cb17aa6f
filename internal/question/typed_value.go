package question

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
)

// ParseTyped parses a typed text as the field's value. An option is typed as its value or its title
// or, if numbered is true, as its position in the list, from 1. Several options are separated by
// commas. The error describes a valid value.
func (f Field) ParseTyped(text string, numbered bool) (json.RawMessage, error) {
	word := strings.TrimSpace(text)
	switch f.Kind {
	case Text:
		return jsonraw.Quote(text), checkFormat(f.Format, text)
	case Number, Integer:
		return parseNumber(word, f.Kind)
	case Boolean:
		return parseBoolean(word)
	case Choice:
		value, err := f.findOption(word, numbered)
		return jsonraw.Quote(value), err
	case Choices:
		return f.parseOptionList(word, numbered)
	}
	if jsonraw.Valid([]byte(word)) == nil {
		return json.RawMessage(word), nil
	}
	return jsonraw.Quote(text), nil
}

// parseNumber returns a JSON number as typed.
func parseNumber(word string, kind Kind) (json.RawMessage, error) {
	// Of all JSON values only a number begins with a digit or a minus.
	isNumber := jsonraw.Valid([]byte(word)) == nil && strings.Contains("-0123456789", word[:1])
	if kind == Integer && (!isNumber || strings.ContainsAny(word, ".eE")) {
		return nil, errors.New("must be a whole number, such as 42")
	}
	if !isNumber {
		return nil, errors.New("must be a number, such as 42 or 0.5")
	}
	return json.RawMessage(word), nil
}

func parseBoolean(word string) (json.RawMessage, error) {
	switch strings.ToLower(word) {
	case "y", "yes", "true", "on":
		return json.RawMessage("true"), nil
	case "n", "no", "false", "off":
		return json.RawMessage("false"), nil
	}
	return nil, errors.New("must be yes or no")
}

// findOption returns the value of the option that word names: by its exact value, else by its title or
// value in any case, else by its number. The error lists the first options.
func (f Field) findOption(word string, numbered bool) (string, error) {
	for _, o := range f.Options {
		if o.Value == word {
			return o.Value, nil
		}
	}
	for _, o := range f.Options {
		if strings.EqualFold(o.Title, word) || strings.EqualFold(o.Value, word) {
			return o.Value, nil
		}
	}
	number, err := strconv.Atoi(word)
	if numbered && err == nil && number >= 1 && number <= len(f.Options) {
		return f.Options[number-1].Value, nil
	}
	const maxListed = 20
	var values []string
	for _, o := range f.Options[:min(len(f.Options), maxListed)] {
		values = append(values, o.Value)
	}
	return "", fmt.Errorf("must be one of %s", strings.Join(values, ", "))
}

// parseOptionList parses a list of options; a JSON array is returned unchanged.
func (f Field) parseOptionList(word string, numbered bool) (json.RawMessage, error) {
	if strings.HasPrefix(word, "[") && jsonraw.Valid([]byte(word)) == nil {
		return json.RawMessage(word), nil
	}
	values := []json.RawMessage{}
	for part := range strings.SplitSeq(word, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		value, err := f.findOption(part, numbered)
		if err != nil {
			return nil, err
		}
		values = append(values, jsonraw.Quote(value))
	}
	return jsonraw.List(values), nil
}

// checkFormat checks the formats of a form's fields loosely, because the server checks them again.
func checkFormat(format, text string) error {
	switch format {
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return errors.New("must be an email address, such as ada@example.com")
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return errors.New("must be a URL, such as https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return errors.New("must be a date, such as 2026-12-31")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return errors.New("must be a date and a time, such as 2026-12-31T12:00:00Z")
		}
	}
	return nil
}
