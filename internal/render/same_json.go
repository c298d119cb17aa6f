package render

import (
	"bytes"
	"encoding/json"
	"reflect"

	"mcpc/internal/jsonraw"
)

// repeatedIn reports whether a text block repeats structuredContent. Servers send it for clients
// that do not know structured content (server/tools, "Structured Content"). A reader sees it once.
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
	return len(texts) > 0 && wrapsResult(texts, structured) // several texts can repeat it jointly
}

// ContentRepeats reports whether a text in a tool's result repeats structuredContent.
func ContentRepeats(result, structured json.RawMessage) bool {
	return repeatedIn(resultBlocks("tools/call", result), structured)
}

// wrapsResult reports whether structured wraps texts as the Python SDK does: a value that is not an
// object becomes {"result": …}, and a list has one text block for each item.
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

// maxCompared is the longest JSON that is compared, in bytes. A longer repetition is shown twice.
const maxCompared = 4 << 20

// sameJSON compares two documents as values: it ignores white space, the order of members and the
// spelling of numbers and strings. Numbers are exact.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return len(a) > 0
	}
	if len(a) > maxCompared || len(b) > maxCompared || jsonraw.Valid(a) != nil || jsonraw.Valid(b) != nil {
		return false
	}
	return reflect.DeepEqual(decodeCanonical(a), decodeCanonical(b))
}

// decodeCanonical decodes a valid document. Equal numbers become equal json.Numbers.
func decodeCanonical(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	_ = d.Decode(&v)
	return canonicalNumbers(v)
}

// canonicalNumbers returns a decoded value with all its numbers spelled in one way.
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
