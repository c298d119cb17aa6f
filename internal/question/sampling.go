package question

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"mcpc/internal/jsonraw"
)

// ModelName is the model of a message that no model wrote.
const ModelName = "mcpc"

// Message makes a CreateMessageResult of what a user or a program wrote. A JSON object
// is taken as it is and must have role, content and model; anything else is the text of
// the assistant. maxTokens of the request must be kept. mcpc cannot count tokens, but a
// text of more words than that certainly has more tokens, so it is cut there.
func Message(params json.RawMessage, wrote []byte) (json.RawMessage, error) {
	if members, err := jsonraw.Object(wrote); err == nil {
		_, role := members.Get("role")
		_, content := members.Get("content")
		if !role || !content || members.Text("model") == "" {
			return nil, errors.New("the JSON object is not a CreateMessageResult: it needs role, content and model")
		}
		return json.RawMessage(strings.TrimSpace(string(wrote))), nil
	}
	text, cut := firstWords(strings.TrimRight(string(wrote), "\r\n"), maxTokens(params))
	reason := "endTurn"
	if cut {
		reason = "maxTokens"
	}
	content := jsonraw.With(json.RawMessage(`{"type":"text"}`), "text", jsonraw.Quote(text))
	message := jsonraw.With(json.RawMessage(`{"role":"assistant"}`), "content", content)
	message = jsonraw.With(message, "model", jsonraw.Quote(ModelName))
	return jsonraw.With(message, "stopReason", jsonraw.Quote(reason)), nil
}

// maxTokens is the request's limit, or -1.
func maxTokens(params json.RawMessage) int {
	limit := -1
	if json.Unmarshal(jsonraw.First(params, "maxTokens"), &limit) != nil {
		return -1
	}
	return limit
}

// firstWords is the start of a text with at most so many words.
func firstWords(text string, most int) (start string, cut bool) {
	if most < 0 {
		return text, false
	}
	words, inside := 0, false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if !space && !inside {
			if words++; words > most {
				return strings.TrimRightFunc(text[:i], unicode.IsSpace), true
			}
		}
		inside = !space
	}
	return text, false
}
