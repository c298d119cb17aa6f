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

// typedText makes a value of a word's text, as the schema wants it in its place.
// Where a text may stand the text is what is sent: 01234 and null are texts like
// any other there, and := is the way to say something else. Digits stay as they
// are typed. The problem says what would be right, and comes with the text as a
// text; the note tells what the person may have meant.
func typedText(w Word, place validate.Expected) (value json.RawMessage, problem, note string) {
	if values := place.Values(); values != nil {
		return listedValue(w, values)
	}
	types := place.Types()
	text := json.RawMessage(jsonraw.Quote(w.Text))
	other := kindOfJSON(w.Text)
	if types == nil || slices.Contains(types, "string") {
		if other != "string" && takes(types, other) && len(types) != 1 {
			note = fmt.Sprintf(
				"%s is sent as the text %s; %s:=%s sends the %s",
				jsonraw.Excerpt(
					[]byte(w.Typed),
					60,
				),
				jsonraw.Excerpt(text, 60),
				w.Key(),
				jsonraw.Excerpt([]byte(w.Text), 60),
				other,
			)
		}
		return text, "", note
	}
	if other == "number" && slices.Contains(types, "integer") && !slices.Contains(types, "number") && !isWhole(w.Text) {
		return json.RawMessage(strings.TrimSpace(w.Text)), "must be " + examples(types, w.Key()), ""
	}
	if other != "string" && takes(types, other) {
		return json.RawMessage(strings.TrimSpace(w.Text)), "", ""
	}
	if bare := withoutZeros(w.Text); bare != "" && takes(types, "number") {
		return text, "must be a number without leading zeros: " + w.Key() + "=" + bare, ""
	}
	return text, "must be " + examples(types, w.Key()), ""
}

// isWhole reports whether a number of JSON is an integer, as 5 and 5.0 are.
func isWhole(text string) bool {
	number, ok := new(big.Float).SetString(strings.TrimSpace(text))
	return !ok || number.IsInf() || number.IsInt()
}

// withoutZeros returns a number that is written with leading zeros as JSON has it; "" for any other text.
func withoutZeros(text string) string {
	digits, negative := strings.CutPrefix(text, "-")
	bare := strings.TrimLeft(digits, "0")
	if bare == digits || bare == "" || bare[0] < '0' || bare[0] > '9' || jsonraw.Valid([]byte(bare)) != nil {
		return ""
	}
	if negative {
		return "-" + bare
	}
	return bare
}

// takes reports whether a kind of JSON is among the types. That a number has to
// be a whole one is the schema's to check.
func takes(types []string, kind string) bool {
	return types == nil || slices.Contains(types, kind) || kind == "number" && slices.Contains(types, "integer")
}

// kindOfJSON is the type of a text that is JSON, and "string" for any other, and
// for a JSON string: its quotes are not typed by chance.
func kindOfJSON(text string) string {
	if jsonraw.Valid([]byte(text)) != nil {
		return "string"
	}
	is := schema.TypeOf([]byte(strings.TrimSpace(text)))
	if is&schema.Number != 0 {
		return "number"
	}
	return is.Names()[0]
}

// examples says what may stand in a place, and shows how it is written.
func examples(types []string, key string) string {
	shown := map[string]string{
		"null": "null", "boolean": "true or false", "number": "a number, such as " + key + "=1",
		"integer": "a whole number, such as " + key + "=42",
		"array":   "a list, as " + key + "[]=… for each item or " + key + ":='[…]'", "object": "an object, as " + key + ".NAME=… or " + key + ":='{…}'",
	}
	var all []string
	for _, name := range types {
		all = append(all, shown[name])
	}
	if all == nil {
		return "no value: the schema allows none"
	}
	return strings.Join(all, ", or ")
}

// listedValue is that of an enum which reads as the text does. A text among them
// comes before a number that is written the same way.
func listedValue(w Word, values []json.RawMessage) (value json.RawMessage, problem, note string) {
	for _, v := range values {
		if text, isText := jsonraw.Text(v); isText && text == w.Text {
			return v, "", ""
		}
	}
	words := sliceutil.Map(values, PlainValue)
	if at := slices.Index(words, w.Text); at >= 0 {
		return values[at], "", ""
	}
	problem = "must be " + shortList(words)
	if near := suggest.Nearest(w.Text, words); near != "" {
		problem += " (did you mean " + near + "?)"
	}
	return jsonraw.Quote(w.Text), problem, ""
}

// PlainValue is a value as a person types it: a text without its quotes.
func PlainValue(v json.RawMessage) string {
	if text, isText := jsonraw.Text(v); isText {
		return text
	}
	return string(v)
}

// shortList is "a, b or c", of at most twenty.
func shortList(words []string) string {
	const most = 20
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" or one of %d more", len(words)-most)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
