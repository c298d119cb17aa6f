package tui

import (
	"encoding/json"
	"net/url"

	"mcpc/internal/live/view"
)

// questionForm is the form of a question. A page is never opened: its address is shown.
func questionForm(q *view.Question) *form {
	schema := q.Schema
	text := q.Message
	switch {
	case q.URL != "":
		schema = nil
		host := q.URL
		if u, err := url.Parse(q.URL); err == nil && u.Host != "" {
			host = u.Host
		}
		text += "\nasks to open a page of " + host + ", which mcpc does not open:\n" + q.URL
	case len(schema) == 0 && q.Method != "elicitation/create":
		text += "\n" + string(q.Params)
		schema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"object","title":"result","description":"the result to send"}}}`)
	}
	f := newForm(schema, nil, "Accept", "Decline", "Cancel")
	f.Title, f.Text = q.Server+" asks: "+q.Method, text
	return f
}
