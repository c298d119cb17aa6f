package mock

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// The limits of the values that are looked for: the characters that a text needs so that it is hardly
// the same by chance, and the number of values in one request.
const (
	minValue  = 4
	maxValues = 200
)

// valuesOf returns the values in the data of a request that may come from an earlier response, sorted: texts
// of at least minValue characters, texts and numbers of a member that identifies something, and the
// segments of a URI that have a digit.
func valuesOf(m *wire.Message) []string {
	var values []string
	for _, name := range []string{"arguments", "uri"} {
		if n, err := jsonvalue.Parse(jsonraw.First(m.Params, name)); err == nil {
			values = appendValues(values, name, n)
		}
	}
	uri := jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri"))
	for _, segment := range strings.FieldsFunc(uri, func(r rune) bool { return strings.ContainsRune(":/?#&=", r) }) {
		if len(segment) >= minValue && strings.ContainsAny(segment, "0123456789") && len(values) < maxValues {
			values = append(values, segment)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// appendValues appends the values of valuesOf in n, the value of the member name.
func appendValues(values []string, name string, n *jsonvalue.Node) []string {
	for _, kid := range n.Kids {
		kidName := kid.Name
		if n.Kind == jsonvalue.Array {
			kidName = strings.TrimSuffix(name, "s") // such as ids
		}
		values = appendValues(values, kidName, kid)
	}
	isText := n.Kind == jsonvalue.String && n.Text != ""
	identifies := slices.ContainsFunc([]string{"id", "name", "key"}, func(end string) bool {
		return strings.HasSuffix(strings.ToLower(name), end)
	})
	isID := identifies && (isText || n.Kind == jsonvalue.Number)
	isLong := isText && utf8.RuneCountInString(n.Text) >= minValue
	if (isID || isLong) && len(values) < maxValues {
		return append(values, textOf(n))
	}
	return values
}

// textOf returns a text, or a number as it is written.
func textOf(n *jsonvalue.Node) string {
	if n.Kind == jsonvalue.Number {
		return string(n.Raw)
	}
	return n.Text
}

// isWordRune reports whether a character may be part of a word.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}

// textsOf returns the texts and numbers in a value, each followed by NUL.
func textsOf(raw json.RawMessage) string {
	n, err := jsonvalue.Parse(raw)
	if err != nil {
		return ""
	}
	var b strings.Builder
	addTexts(&b, n)
	return b.String()
}

// addTexts adds the texts of textsOf in n.
func addTexts(b *strings.Builder, n *jsonvalue.Node) {
	if n.Kind == jsonvalue.String || n.Kind == jsonvalue.Number {
		b.WriteString(textOf(n) + "\x00")
	}
	for _, kid := range n.Kids {
		addTexts(b, kid)
	}
}

// hasWord reports whether a text has the value as words.
func hasWord(text, value string) bool { return indexWord(text, value) >= 0 }

// indexWord returns the index of the value in a text, or -1. No part of a word may precede or follow it.
func indexWord(text, value string) int {
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return -1
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(value):])
		if !isWordRune(before) && !isWordRune(after) {
			return at
		}
		from = at + 1
	}
}

// counterpart returns what a present result has in the place of a value in the recorded result, or "".
func counterpart(recorded, present json.RawMessage, value string) string {
	was, err := jsonvalue.Parse(recorded)
	if err != nil {
		return ""
	}
	is, err := jsonvalue.Parse(present)
	if err != nil {
		return ""
	}
	return nodeCounterpart(was, is, value)
}

// nodeCounterpart returns the same as counterpart for parsed values.
func nodeCounterpart(was, is *jsonvalue.Node, value string) string {
	for i, kid := range was.Kids {
		var other *jsonvalue.Node
		if was.Kind == jsonvalue.Object {
			other = is.Member(kid.Name)
		} else if i < len(is.Kids) {
			other = is.Kids[i]
		}
		if other == nil {
			continue
		}
		if found := nodeCounterpart(kid, other, value); found != "" {
			return found
		}
	}
	isComparable := is.Kind == jsonvalue.String || is.Kind == jsonvalue.Number
	if !was.IsLeaf() || !isComparable {
		return ""
	}
	if textOf(was) == value {
		return textOf(is)
	}
	if strings.HasPrefix(strings.TrimSpace(was.Text), "{") || strings.HasPrefix(strings.TrimSpace(was.Text), "[") {
		if found := counterpart(json.RawMessage(was.Text), json.RawMessage(is.Text), value); found != "" {
			return found
		}
	}
	return textCounterpart(was.Text, is.Text, value)
}

// textCounterpart returns what a present text has in the place of a value in a recorded text, or "": it
// compares the lines with the same number, whole or word by word.
func textCounterpart(was, is, value string) string {
	lines := strings.Split(is, "\n")
	for i, line := range strings.Split(was, "\n") {
		at := indexWord(line, value)
		if at < 0 || i >= len(lines) {
			continue
		}
		before := line[:at]
		after := line[at+len(value):]
		rest, hasBefore := strings.CutPrefix(lines[i], before)
		found, hasAfter := strings.CutSuffix(rest, after)
		if hasBefore && hasAfter {
			return found
		}
		isSeparator := func(r rune) bool { return !isWordRune(r) }
		words := strings.FieldsFunc(line, isSeparator)
		presentWords := strings.FieldsFunc(lines[i], isSeparator)
		if n := slices.Index(words, value); n >= 0 && len(words) == len(presentWords) {
			return presentWords[n]
		}
	}
	return ""
}
