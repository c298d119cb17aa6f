package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// FillForm lets the user fill in the form of the request q, and returns what the user sends, or that
// the user declined or cancelled. from names the server, check checks the values. A form that cannot
// be shown is answered with its error.
func (c *Console) FillForm(
	ctx context.Context, q client.InputRequest, from string, check host.FormCheck,
) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return elicit.NoForm(err)
	}
	d := c.Dialog(ctx)
	*c.forms++
	if *c.forms > 1 {
		d.Say("") // separates it from the previous form
	}
	asked := Form{Dialog: d, Form: form, Asker: from, Broken: check}
	return client.Answer{Result: asked.Run()}
}

// FillArguments asks for the arguments of a tool that the fields of form describe. It returns nil if
// the user gives up.
func (c *Console) FillArguments(
	ctx context.Context,
	tool string,
	form question.Form,
	check host.FormCheck,
) map[string]json.RawMessage {
	d := Form{Dialog: c.Dialog(ctx), Form: form, Asker: tool, Broken: check}
	return d.Arguments()
}

// WriteMessage lets the user act as the model: it shows the sampling request q of the server from, and
// returns what the user types as the model's message, or that the user declined (client/sampling,
// "Human in the loop").
func (c *Console) WriteMessage(ctx context.Context, q client.InputRequest, from string) client.Answer {
	d := c.Dialog(ctx)
	d.Say("%s requests a model's answer (sampling):", d.Line(from))
	d.ShowMessages(q.Params)
	d.Say("Type the answer. Ctrl-D or a line with a single dot ends it;")
	d.Say("Ctrl-D on an empty answer declines, Ctrl-C ends the command.")
	var lines []string
	declined := client.Answer{
		Declined: true,
		Outcome:  wire.Outcome{Kind: wire.InputRequired, Text: "you declined " + q.Method},
	}
	for {
		text, err := d.Ask("")
		endsAnswer := errors.Is(err, io.EOF) && len(lines) > 0 // Ctrl-D before any line declines
		if text == "." || endsAnswer {
			break
		}
		if err != nil {
			return declined
		}
		lines = append(lines, text)
	}
	message, err := question.Message(q.Params, []byte(strings.Join(lines, "\n")))
	if err != nil {
		return client.Answer{
			Outcome: wire.Outcome{Kind: wire.InvalidArguments, Text: err.Error(), Hint: wire.Run("help answering")},
		}
	}
	if word, err := d.Choose("[s]end (Enter), [d]ecline", "send", "send", "decline"); err != nil || word != "send" {
		return declined
	}
	return client.Answer{Result: message}
}

// Dialog returns a dialog at the terminal. Reading a line ends with ctx: Ctrl-C ends the whole
// command, even if further questions follow.
func (c *Console) Dialog(ctx context.Context) *Dialog {
	d := &Dialog{Out: c.Stderr(), Style: c.ErrStyle, Line: c.ErrStyle.Line, Wrap: c.ErrStyle.Wrap}
	d.Next = func() (string, error) {
		text, err := c.Typist.Line(ctx)
		if err != nil {
			d.Say("") // the user typed no line end after the prompt
		}
		c.Progress.Newline()
		return text, err
	}
	return d
}
