package view

import (
	"context"
	"encoding/json"
	"time"
)

// Powers say what an Actor may do; Allow is what --allow named.
type Powers struct {
	Resend    bool `json:"resend"`
	Call      bool `json:"call"`
	Intercept bool `json:"intercept"`
	Mark      bool `json:"mark"`
	Export    bool `json:"export"`
	// Files reports that exports are written into the current directory; elsewhere the
	// view gets the bytes.
	Files bool `json:"files"`
}

// A Question is a request of the server that waits for an answer: of a call of mcpc's own, or a
// held one of a watched client.
type Question struct {
	ID     string `json:"id"`
	Row    string `json:"row,omitempty"`
	Server string `json:"server"`
	// Method is "elicitation/create", "sampling/createMessage" or "roots/list".
	Method  string `json:"method"`
	Message string `json:"message"`
	// Schema is of a form; URL of a page to open, shown as text.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`
	// Params are those of the request, as JSON.
	Params json.RawMessage `json:"params,omitempty"`
	Since  time.Time       `json:"since"`
	// Until is when it is let through or cancelled; zero for never.
	Until time.Time `json:"until,omitzero"`
	// Watched is set where the answer is given in the place of a watched client.
	Watched bool `json:"watched,omitempty"`
}

// An Answer is that of the user: Action is "accept", "decline" or "cancel".
type Answer struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// A Held is a message that waits to be released.
type Held struct {
	ID     string    `json:"id"`
	Row    string    `json:"row,omitempty"`
	Client string    `json:"client"`
	Server string    `json:"server"`
	Dir    string    `json:"dir"`
	Method string    `json:"method"`
	Name   string    `json:"name,omitempty"`
	Text   string    `json:"text"` // the message, secrets masked
	Masked int       `json:"masked,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// A Call is a tool call to send; Target is that of a Tool, or of a row to send again.
type Call struct {
	Target    string          `json:"target"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// Confirmed is set where the user said yes to a tool that may change something.
	Confirmed bool `json:"confirmed,omitempty"`
}

// A Sent is what became of a request that a view sent: the key of its row once it is recorded,
// and how it ended. Confirm is the question to ask where it was not sent because the tool may
// change something.
type Sent struct {
	Key     string `json:"key,omitempty"`
	Channel string `json:"channel,omitempty"`
	Text    string `json:"text,omitempty"`
	Confirm string `json:"confirm,omitempty"`
}

// An Export says what to write: Form is "bundle", "har", "markdown", "jsonl", "saved" or "html".
type Export struct {
	Query
	Form string `json:"form"`
	// Marked selects the marked rows of the query.
	Marked bool `json:"marked,omitempty"`
}

// An Exported is what an export has, or would have: how many rows, how many secrets are hidden,
// and the words in it that still look like one. File is the name of the file, and Data its
// bytes where the view has to save it.
type Exported struct {
	Rows   int      `json:"rows"`
	Hidden int      `json:"hidden"`
	Doubts []string `json:"doubts,omitempty"`
	File   string   `json:"file,omitempty"`
	Data   []byte   `json:"-"`
	Type   string   `json:"-"` // the media type
}

// An Actor is what views do. Errors are for the user as they are.
type Actor interface {
	Powers() Powers
	Questions() []Question
	Answer(ctx context.Context, id string, a Answer) error
	Held() []Held
	// Intercept holds the messages that a filter wants, from now on; "" is every message,
	// and on=false holds nothing and releases all.
	Intercept(ctx context.Context, on bool, filter string) error
	// Release lets a message go, edited where text is not "".
	Release(ctx context.Context, id, text string) error
	Drop(ctx context.Context, id string) error
	// Reveal returns a held message with its secrets.
	Reveal(ctx context.Context, id string) (string, error)
	// Resend sends a recorded request again, with another message where message is not nil.
	Resend(ctx context.Context, key string, message json.RawMessage, confirmed bool) (Sent, error)
	Call(ctx context.Context, c Call) (Sent, error)
	Mark(key string, mark bool, note string) error
	// Copy returns an exchange as text: "mcpc", "curl", "markdown", "json" or "request".
	Copy(ctx context.Context, key, form string) (string, error)
	// Preview says what an export would have; Export makes it.
	Preview(ctx context.Context, e Export) (Exported, error)
	Export(ctx context.Context, e Export) (Exported, error)
}
