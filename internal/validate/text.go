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

// How much of a value or a list is printed.
const (
	maxBriefBytes   = 60
	maxBriefMembers = 6
	maxBriefList    = 10
)

// brief prints a value as JSON on one line, or the beginning of it. Numbers
// stand as they were spelled.
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

// writeBrief stops soon after it has written too much.
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

func writeBriefObject(sb *strings.Builder, obj map[string]any) {
	if len(obj) > maxBriefMembers {
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

// quote prints the beginning of a string as JSON.
func quote(s string) string { return string(jsonraw.Quote(shorten(s))) }

// shorten shortens a text, and says so.
func shorten(s string) string {
	if len(s) <= maxBriefBytes-2 {
		return s
	}
	n := maxBriefBytes - 5
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// orList prints alternatives: "a, b or c". Those that it leaves out it does not
// print, and there may be a hundred thousand.
func orList[T any](items []T, print func(T) string) string {
	n := len(items)
	left := ""
	if n > maxBriefList {
		left = fmt.Sprintf(", … (%d in all)", n)
		items = items[:maxBriefList-1]
	}
	printed := make([]string, len(items))
	for i, item := range items {
		printed[i] = print(item)
	}
	switch last := len(printed) - 1; {
	case left != "":
		return "one of " + strings.Join(printed, ", ") + left
	case last > 0:
		return strings.Join(printed[:last], ", ") + " or " + printed[last]
	}
	return strings.Join(printed, "")
}

// countOf prints a number of things.
func countOf[N int | string](n N, thing string) string {
	text := fmt.Sprint(n)
	if text == "1" {
		return text + " " + thing
	}
	return text + " " + thing + "s"
}

// typeName is the JSON type of a decoded value.
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
