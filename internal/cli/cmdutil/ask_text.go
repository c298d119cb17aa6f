package cmdutil

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// WriteMessage has the person at the terminal be the model: the request is shown, and
// what is typed is the answer, unless it is declined (client/sampling, "Human in
// the loop").
func (f *Factory) WriteMessage(ctx context.Context, q client.Asking, from string) client.Answer {
	d := f.dialog(ctx)
	d.say("%s requests a model's answer (sampling):", d.Line(from))
	d.conversation(q.Params)
	d.say("Type the answer. Ctrl-D or a line with a single dot ends it;")
	d.say("Ctrl-D on an empty answer declines, Ctrl-C ends the command.")
	var lines []string
	declined := client.Answer{Declined: true, Ending: wire.Outcome{Kind: wire.InputRequired, Text: "you declined " + q.Method}}
	for {
		text, err := d.ask("")
		if text == "." || errors.Is(err, io.EOF) && len(lines) > 0 {
			break
		}
		if err != nil {
			return declined
		}
		lines = append(lines, text)
	}
	message, err := question.Message(q.Params, []byte(strings.Join(lines, "\n")))
	if err != nil {
		return client.Answer{Ending: wire.Outcome{Kind: wire.InvalidArguments, Text: err.Error(), Hint: wire.Run("help answering")}}
	}
	if word, err := d.choose("[s]end (Enter), [d]ecline", "send", "send", "decline"); err != nil || word != "send" {
		return declined
	}
	return client.Answer{Result: message}
}

// conversation shows what a model would be given.
func (d *Dialog) conversation(params json.RawMessage) {
	members, _ := jsonraw.Object(params)
	if system := members.Text("systemPrompt"); system != "" {
		d.say("  system: %s", d.Line(system))
	}
	raw, _ := members.Get("messages")
	messages, _ := jsonraw.Array(raw)
	for _, m := range messages {
		message, _ := jsonraw.Object(m)
		content, _ := message.Get("content")
		for _, block := range blocks(content) {
			d.say("  %s: %s", d.Line(message.Text("role")), d.Line(block))
		}
	}
	if limit, ok := members.Get("maxTokens"); ok {
		d.say("  at most %s tokens", d.Line(string(limit)))
	}
}

// blocks are the texts of a message; what is no text is named.
func blocks(content json.RawMessage) (texts []string) {
	items := []json.RawMessage{content}
	if list, err := jsonraw.Array(content); err == nil {
		items = list
	}
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
