package question

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"mcpc/internal/jsonraw"
)

// ModelName is the model in a message that no model wrote.
const ModelName = "mcpc"

// Message returns a CreateMessageResult with the text that a user or a program wrote. A JSON object
// must have role, content and model, and is returned unchanged. Other text becomes the text of the
// assistant, cut to maxTokens words: mcpc cannot count tokens, but a text has at least as many
// tokens as words.
func Message(params json.RawMessage, written []byte) (json.RawMessage, error) {
	if members, err := jsonraw.Object(written); err == nil {
		_, hasRole := members.Get("role")
		_, hasContent := members.Get("content")
		if !hasRole || !hasContent || members.Text("model") == "" {
			return nil, errors.New("the JSON object is not a CreateMessageResult: it needs role, content and model")
		}
		return json.RawMessage(strings.TrimSpace(string(written))), nil
	}
	text, isCut := firstWords(strings.TrimRight(string(written), "\r\n"), maxTokens(params))
	reason := "endTurn"
	if isCut {
		reason = "maxTokens"
	}
	content := jsonraw.With(json.RawMessage(`{"type":"text"}`), "text", jsonraw.Quote(text))
	message := jsonraw.With(json.RawMessage(`{"role":"assistant"}`), "content", content)
	message = jsonraw.With(message, "model", jsonraw.Quote(ModelName))
	return jsonraw.With(message, "stopReason", jsonraw.Quote(reason)), nil
}

// maxTokens returns the request's limit, or -1.
func maxTokens(params json.RawMessage) int {
	limit := -1
	if json.Unmarshal(jsonraw.First(params, "maxTokens"), &limit) != nil {
		return -1
	}
	return limit
}

// firstWords returns the first maxWords words of a text, and whether it cut the text. A negative maxWords
// is no limit.
func firstWords(text string, maxWords int) (string, bool) {
	if maxWords < 0 {
		return text, false
	}
	words := 0
	inWord := false
	for i, r := range text {
		isSpace := unicode.IsSpace(r)
		if !isSpace && !inWord {
			words++
			if words > maxWords {
				return strings.TrimRightFunc(text[:i], unicode.IsSpace), true
			}
		}
		inWord = !isSpace
	}
	return text, false
}
