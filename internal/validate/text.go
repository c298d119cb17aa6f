package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// Limits of printed values and lists.
const (
	maxBriefBytes   = 60
	maxBriefMembers = 6
	maxBriefList    = 10
)

// brief returns a value as JSON on one line, shortened if it is long. Numbers keep their spelling.
func brief(v any) string {
	var sb strings.Builder
	writeBrief(&sb, v)
	if sb.Len() <= maxBriefBytes {
		return sb.String()
	}
	switch v := v.(type) {
	case map[string]any:
		return "an object with " + countOf(len(v), "member")
	case []any:
		return "an array of " + countOf(len(v), "item")
	}
	return sb.String()
}

// writeBrief writes a value and stops soon after maxBriefBytes.
func writeBrief(sb *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		writeBriefObject(sb, v)
	case []any:
		sb.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				sb.WriteByte(',')
			}
			writeBrief(sb, item)
			if sb.Len() > maxBriefBytes {
				return
			}
		}
		sb.WriteByte(']')
	case string:
		sb.WriteString(quote(v))
	case json.Number:
		sb.WriteString(shorten(string(v)))
	case nil:
		sb.WriteString("null")
	default:
		fmt.Fprint(sb, v)
	}
}

// writeBriefObject writes an object for writeBrief, its members by name.
func writeBriefObject(sb *strings.Builder, obj map[string]any) {
	if len(obj) > maxBriefMembers {
		// Too long on purpose: brief then returns the number of members. Sorting many names is slow.
		sb.WriteString(strings.Repeat(" ", maxBriefBytes+1))
		return
	}
	sb.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(obj)) {
		if i > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(quote(name))
		sb.WriteByte(':')
		writeBrief(sb, obj[name])
		if sb.Len() > maxBriefBytes {
			return
		}
	}
	sb.WriteByte('}')
}

// quote returns a string as JSON, shortened if it is long.
func quote(s string) string { return string(jsonraw.Quote(shorten(s))) }

// shorten cuts a long text and marks the cut.
func shorten(s string) string {
	if len(s) <= maxBriefBytes-2 { // room for two quotes
		return s
	}
	n := maxBriefBytes - 2 - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// orList joins alternatives as "a, b or c", or as "one of a, b, … (50 in all)" if there are more
// than maxBriefList. It calls print only for the alternatives that it shows: there may be a hundred
// thousand.
func orList[T any](items []T, print func(T) string) string {
	total := len(items)
	if total > maxBriefList {
		items = items[:maxBriefList-1]
	}
	printed := make([]string, len(items))
	for i, item := range items {
		printed[i] = print(item)
	}
	if total > maxBriefList {
		return fmt.Sprintf("one of %s, … (%d in all)", strings.Join(printed, ", "), total)
	}
	if last := len(printed) - 1; last > 0 {
		return strings.Join(printed[:last], ", ") + " or " + printed[last]
	}
	return strings.Join(printed, "")
}

// countOf returns a count and its noun, in the singular or plural.
func countOf[N int | string](n N, thing string) string {
	text := fmt.Sprint(n)
	if text == "1" {
		return text + " " + thing
	}
	return text + " " + thing + "s"
}

// typeName returns the JSON type of a decoded value.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
