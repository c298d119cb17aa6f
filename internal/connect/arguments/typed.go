package arguments

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/validate"
)

// typedValue returns the value of a word with a type that the schema allows. If the schema allows a
// string, the value is a string, even for 01234 or null; := sends other types. Digits are kept as
// typed. If the value has no allowed type, problem says what would be right, and the value is sent
// only by a lenient reading; otherwise problem is "". note says what the user may have meant
// instead, or is "".
func typedValue(w Word, expected validate.Expected) (value json.RawMessage, problem, note string) {
	if values := expected.Values(); values != nil {
		return enumValue(w, values)
	}
	types := expected.Types()
	text := json.RawMessage(jsonraw.Quote(w.Text))
	kind := kindOfJSON(w.Text)
	if types == nil || slices.Contains(types, "string") {
		hasChoice := len(types) != 1 // a single type is "string"
		if kind != "string" && hasChoice && allows(types, kind) {
			note = fmt.Sprintf("%s is sent as the text %s; %s:=%s sends the %s",
				jsonraw.Excerpt([]byte(w.Typed), 60), jsonraw.Excerpt(text, 60),
				w.Key(), jsonraw.Excerpt([]byte(w.Text), 60), kind)
		}
		return text, "", note
	}
	wantsInteger := slices.Contains(types, "integer") && !slices.Contains(types, "number")
	if kind == "number" && wantsInteger && !isWhole(w.Text) {
		return json.RawMessage(strings.TrimSpace(w.Text)), "must be " + describeTypes(types, w.Key()), ""
	}
	if kind != "string" && allows(types, kind) {
		return json.RawMessage(strings.TrimSpace(w.Text)), "", ""
	}
	if bare := withoutZeros(w.Text); bare != "" && allows(types, "number") { // 007 is not JSON
		return text, "must be a number without leading zeros: " + w.Key() + "=" + bare, ""
	}
	return text, "must be " + describeTypes(types, w.Key()), ""
}

// isWhole reports whether a JSON number is an integer, as 5 and 5.0 are. It returns true for a number
// that is too large to tell: the schema check decides.
func isWhole(text string) bool {
	number, ok := new(big.Float).SetString(strings.TrimSpace(text))
	return !ok || number.IsInf() || number.IsInt()
}

// withoutZeros returns a number without its leading zeros, or "" if text has no leading zeros or is
// not a number.
func withoutZeros(text string) string {
	digits, negative := strings.CutPrefix(text, "-")
	bare := strings.TrimLeft(digits, "0")
	hasZeros := bare != digits
	beginsWithDigit := bare != "" && bare[0] >= '0' && bare[0] <= '9'
	if !hasZeros || !beginsWithDigit || jsonraw.Valid([]byte(bare)) != nil {
		return ""
	}
	if negative {
		return "-" + bare
	}
	return bare
}

// allows reports whether a kind of JSON is among the types. nil types allow all. The schema check
// decides whether a number is whole.
func allows(types []string, kind string) bool {
	if types == nil || slices.Contains(types, kind) {
		return true
	}
	return kind == "number" && slices.Contains(types, "integer")
}

// kindOfJSON returns the JSON type of a text. It returns "string" for text that is not JSON, and
// for a JSON string: its quotes are part of the text.
func kindOfJSON(text string) string {
	if jsonraw.Valid([]byte(text)) != nil {
		return "string"
	}
	types := schema.TypeOf([]byte(strings.TrimSpace(text)))
	if types&schema.Number != 0 {
		return "number"
	}
	return types.Names()[0]
}

// describeTypes describes the values that the types allow, with examples for the word with this key.
func describeTypes(types []string, key string) string {
	descriptions := map[string]string{
		"null":    "null",
		"boolean": "true or false",
		"number":  "a number, such as " + key + "=1",
		"integer": "a whole number, such as " + key + "=42",
		"array":   "a list, as " + key + "[]=… for each item or " + key + ":='[…]'",
		"object":  "an object, as " + key + ".NAME=… or " + key + ":='{…}'",
	}
	var all []string
	for _, name := range types {
		all = append(all, descriptions[name])
	}
	if all == nil {
		return "no value: the schema allows none"
	}
	return strings.Join(all, ", or ")
}

// enumValue returns the value of an enum that is written like the word's text. A string precedes a
// number that looks the same. If no value matches, problem lists the values, and value is the text
// as a string. note is always "".
func enumValue(w Word, values []json.RawMessage) (value json.RawMessage, problem, note string) {
	for _, v := range values {
		if text, isText := jsonraw.Text(v); isText && text == w.Text {
			return v, "", ""
		}
	}
	words := sliceutil.Map(values, PlainValue)
	if index := slices.Index(words, w.Text); index >= 0 {
		return values[index], "", ""
	}
	problem = "must be " + shortList(words)
	if near := suggest.Nearest(w.Text, words); near != "" {
		problem += " (did you mean " + near + "?)"
	}
	return jsonraw.Quote(w.Text), problem, ""
}

// PlainValue returns a value as typed: a string without its quotes.
func PlainValue(v json.RawMessage) string {
	if text, isText := jsonraw.Text(v); isText {
		return text
	}
	return string(v)
}

// shortList returns "a, b or c", with at most twenty words.
func shortList(words []string) string {
	const maxWords = 20
	if len(words) > maxWords {
		return strings.Join(words[:maxWords], ", ") + fmt.Sprintf(" or one of %d more", len(words)-maxWords)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
