package render

import (
	"bytes"
	"encoding/json"
	"reflect"

	"mcpc/internal/jsonraw"
)

// repeatedIn says whether a text block says the same as structuredContent, which
// servers do for clients that know no structured content (server/tools,
// "Structured Content"). Then a reader wants it once.
func repeatedIn(blocks []block, structured json.RawMessage) bool {
	var texts []string
	for _, b := range blocks {
		if b.kind == textBlock {
			text := b.wholeText()
			texts = append(texts, text)
			if sameJSON([]byte(text), structured) {
				return true
			}
		}
	}
	return len(texts) > 0 && wrapsResult(texts, structured)
}

// ContentRepeats reports that a text of a tool's result says the same as structuredContent.
func ContentRepeats(result, structured json.RawMessage) bool {
	return repeatedIn(resultBlocks("tools/call", result), structured)
}

// wrapsResult knows the Python SDK's habit: what is not an object is wrapped as
// {"result": …}, and a list has one text block for each of its items.
func wrapsResult(texts []string, structured json.RawMessage) bool {
	members, err := jsonraw.Object(structured)
	if err != nil || len(members) != 1 || members[0].Name != "result" {
		return false
	}
	value := members[0].Value
	if len(texts) == 1 && sameValue(texts[0], value) {
		return true
	}
	items, err := jsonraw.Array(value)
	if err != nil || len(items) != len(texts) {
		return false
	}
	for i, item := range items {
		if !sameValue(texts[i], item) {
			return false
		}
	}
	return true
}

func sameValue(text string, value json.RawMessage) bool {
	if s, ok := jsonraw.Text(value); ok && s == text {
		return true
	}
	return sameJSON([]byte(text), value)
}

// maxCompared bounds what is decoded for a comparison that only saves a reader
// from seeing something twice.
const maxCompared = 4 << 20

// sameJSON compares two documents as values: white space, the order of members
// and the spelling of numbers and strings do not count; the numbers are exact.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return len(a) > 0
	}
	if len(a) > maxCompared || len(b) > maxCompared || jsonraw.Valid(a) != nil || jsonraw.Valid(b) != nil {
		return false
	}
	return reflect.DeepEqual(decodeCanonical(a), decodeCanonical(b))
}

// decode gives a valid document with canonical numbers.
func decodeCanonical(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v)
	return canonicalNumbers(v)
}

func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = canonicalNumbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = canonicalNumbers(v[i])
		}
	case json.Number:
		return json.Number(jsonraw.PlainNumber(string(v)))
	}
	return v
}
