package view

import (
	"encoding/json"
	"slices"
)

// The kinds of offers, in the order of the lists of a Catalog.
const (
	KindTool     = "tool"
	KindPrompt   = "prompt"
	KindResource = "resource"
	KindTemplate = "template"
	KindTask     = "task"
)

// A Catalog has what a server of the Try view offers. All texts are as the server sent them.
type Catalog struct {
	// Target is the target of the server in recorded exchanges.
	Target       string      `json:"target"`
	Server       string      `json:"server"`
	Title        string      `json:"title,omitempty"`
	Version      string      `json:"version,omitempty"`
	Revision     string      `json:"revision"`
	Instructions string      `json:"instructions,omitempty"`
	Lists        []OfferList `json:"lists"`
	// NeedsLogin is what the server answered if it requires a login. The lists are then empty.
	NeedsLogin string `json:"needsLogin,omitempty"`
}

// Find returns the offer of a kind with a name, or nil.
func (c *Catalog) Find(kind, name string) *Offer {
	for _, list := range c.Lists {
		i := slices.IndexFunc(list.Offers, func(o Offer) bool { return o.Name == name })
		if list.Kind == kind && i >= 0 {
			return &list.Offers[i]
		}
	}
	return nil
}

// An OfferList has the offers of one kind. A kind that the server does not declare has no list. Error
// is the reason why the list is missing or not complete, or "".
type OfferList struct {
	Kind   string  `json:"kind"`
	Offers []Offer `json:"offers"`
	Error  string  `json:"error,omitempty"`
}

// An Offer is a tool, a prompt, a resource, a resource template or a task of a server.
type Offer struct {
	Kind string `json:"kind"`
	// Name is the name of a tool or a prompt, the URI of a resource, a URI template or the id of a task.
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	// Schema is the JSON Schema of the arguments; nil for resources and tasks.
	Schema json.RawMessage `json:"schema,omitempty"`
	// SchemaError is the reason why clients cannot use the schema of a tool, or "".
	SchemaError string `json:"schemaError,omitempty"`
	// Refused is the reason why the view cannot request it, or "".
	Refused     string `json:"refused,omitempty"`
	ReadOnly    bool   `json:"readOnly,omitempty"`
	Destructive bool   `json:"destructive,omitempty"`
	// Command is the shell command that requests it: the part before the arguments and the part after
	// them.
	Command []string `json:"command,omitempty"`
	// App is the URI of the page that shows the results of a tool, or "".
	App string `json:"app,omitempty"`
	// Last is the last good request of it in the recordings, or nil.
	Last *LastGood `json:"last,omitempty"`
	// Status is the status of a task.
	Status string `json:"status,omitempty"`
}

// A LastGood is a recorded request that succeeded: its key and its arguments. Arguments is nil if the
// request has none.
type LastGood struct {
	Key       string          `json:"key"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// A Request is a request for an offer. Target is the name of a server of Home, a URL, "demo", the
// target of a recorded exchange, or "" for the server that the view started. The arguments of a
// template are its variables.
type Request struct {
	Target    string          `json:"target"`
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// Confirmed is true if the user confirmed the question of the previous Sent.
	Confirmed bool `json:"confirmed,omitempty"`
}

// A Completion asks for values of one argument of a prompt or variable of a template, which begin
// with Value. Arguments are the values of other arguments.
type Completion struct {
	Target, Kind, Name string
	Argument, Value    string
	Arguments          json.RawMessage
}

// Completed are the values that a server suggests.
type Completed struct {
	Values []string `json:"values"`
}

// A Cancellation selects what to cancel: the running requests of the view to Target. If Kind is KindTask, the
// task with the id Name is cancelled instead.
type Cancellation struct {
	Target, Kind, Name string
}
