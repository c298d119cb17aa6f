package console

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
)

// ShowMessages shows the messages of a sampling request.
func (d *Dialog) ShowMessages(params json.RawMessage) {
	members, _ := jsonraw.Object(params)
	if system := members.Text("systemPrompt"); system != "" {
		d.Say("  system: %s", d.Line(system))
	}
	raw, _ := members.Get("messages")
	messages, _ := jsonraw.Array(raw)
	for _, m := range messages {
		message, _ := jsonraw.Object(m)
		content, _ := message.Get("content")
		for _, block := range blockTexts(content) {
			d.Say("  %s: %s", d.Line(message.Text("role")), d.Line(block))
		}
	}
	if limit, ok := members.Get("maxTokens"); ok {
		d.Say("  at most %s tokens", d.Line(string(limit)))
	}
}

// blockTexts returns the texts of a message's content. Content that is not text becomes its type in
// parentheses.
func blockTexts(content json.RawMessage) []string {
	items := []json.RawMessage{content} // content is one block, or a list of blocks
	if list, err := jsonraw.Array(content); err == nil {
		items = list
	}
	var texts []string
	for _, item := range items {
		block, _ := jsonraw.Object(item)
		text := block.Text("text")
		if kind := block.Text("type"); kind != "text" {
			text = "(" + kind + ")"
		}
		texts = append(texts, text)
	}
	return texts
}
