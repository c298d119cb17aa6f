package view

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"mcpc/internal/capture/filter"
)

// Powers lists the actions that an Actor allows, as set by --allow.
type Powers struct {
	Resend    bool `json:"resend"`
	Call      bool `json:"call"`
	Intercept bool `json:"intercept"`
	Mark      bool `json:"mark"`
	Export    bool `json:"export"`
	// Files is true if exports are written into the current directory. Otherwise the view receives
	// the bytes.
	Files bool `json:"files"`
}

// PowerWords returns what the powers allow that a user can give while a view is open, by their values of
// --allow.
func PowerWords() map[string]string {
	return map[string]string{
		"call":      "connect to servers, log in to them and call their tools",
		"resend":    "send recorded requests again",
		"intercept": "hold and change messages of running clients, and set faults",
	}
}

// A NotAllowed is the error of an action that the user did not allow. Power is its value of --allow.
type NotAllowed struct{ Power string }

func (n NotAllowed) Error() string { return "not allowed: start mcpc inspect with --allow=" + n.Power }

// A Question is a request of the server that waits for an answer of the user. It was sent to a call
// of mcpc itself, or to a watched client and held.
type Question struct {
	ID     string `json:"id"`
	Row    string `json:"row,omitempty"`
	Server string `json:"server"`
	// Method is "elicitation/create", "sampling/createMessage" or "roots/list".
	Method  string `json:"method"`
	Message string `json:"message"`
	// Schema describes the form to fill in, if any.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is a page to open, shown as text, if any.
	URL string `json:"url,omitempty"`
	// Params are the params of the request.
	Params json.RawMessage `json:"params,omitempty"`
	Since  time.Time       `json:"since"`
	// Until is when the question is passed on or cancelled; zero means never.
	Until time.Time `json:"until,omitzero"`
	// Watched is true if the user answers in place of a watched client.
	Watched bool `json:"watched,omitempty"`
}

// An Answer is the user's answer to a Question. Action is "accept", "decline" or "cancel".
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

// A Sent is the outcome of a request that a view sent: the key of its row once it is recorded, and
// its result. If Confirm is set, the request was not sent because the tool may change something;
// Confirm is the question to ask.
type Sent struct {
	Key     string `json:"key,omitempty"`
	Channel string `json:"channel,omitempty"`
	Text    string `json:"text,omitempty"`
	Confirm string `json:"confirm,omitempty"`
}

// RequestsOnly restricts the filter of Intercept to requests, unless the filter itself says which kinds of messages it
// is for. It returns an invalid filter unchanged.
func RequestsOnly(text string) string {
	f, err := filter.ParseLive(text, time.Time{}) // no field of a message on its way is relative to now
	if err != nil || f.Names("is") {
		return text
	}
	if strings.TrimSpace(text) == "" {
		return "is:request"
	}
	return "is:request (" + text + ")"
}

// A FaultKind is a fault that a view can set for the next request like an exchange. HTTP and Stdio are
// the actions of the fault rule; "" means that the transport has no such fault. The empty kind removes
// the faults of the view.
type FaultKind struct {
	// Letter is the key in the menu.
	Letter string `json:"key"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	HTTP   string `json:"-"`
	Stdio  string `json:"-"`
}

// FaultKinds returns the entries of the menu of faults, in order.
func FaultKinds() []FaultKind {
	const (
		delay     = "delay 5s"
		drop      = "drop request"
		rpcError  = `rpc -32603 "fault of mcpc inspect"`
		noMembers = "replace .result {}"
	)
	return []FaultKind{
		{"d", "delay", "delay the response by 5 s", delay, delay},
		{"r", "drop", "drop the request, so that no response comes", drop, drop},
		{"5", "503", "respond with HTTP 503", "status 503 retry-after 1", ""},
		{"c", "cut", "cut the response after 20 bytes", "cut after 20 bytes", "truncate 20"},
		{"e", "error", "respond with a JSON-RPC error", rpcError, rpcError},
		{"w", "wrong", "replace the result by {}", noMembers, noMembers},
		{"o", "", "remove the faults that this view has set", "", ""},
	}
}

// An ArmedFault is a fault that the view has set, and that no request has got yet. Kind and Name are those of
// its FaultKind, Request is its method and name.
type ArmedFault struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Request string `json:"request"`
}

// A Fault is a fault for the next request with a method and a name. Key is the key of an exchange of
// the running command that gets the fault; Target finds the command if that exchange's command has ended.
type Fault struct {
	Kind   string `json:"kind"`
	Method string `json:"method"`
	Name   string `json:"name"`
	Target string `json:"target"`
	Key    string `json:"key"`
	// ID is the ArmedFault to remove, if Kind is empty. Without an ID all are removed.
	ID string `json:"id,omitempty"`
}

// An Export selects what to write. Form is "bundle", "har", "markdown", "jsonl", "saved" or "html".
type Export struct {
	Query
	Form string `json:"form"`
	// Marked restricts the export to the marked rows.
	Marked bool `json:"marked,omitempty"`
}

// An Exported describes a finished or planned export: the number of rows and of hidden secrets, and
// words that may still be secrets. File is the name of the file. Data is its contents if the view
// has to save it.
type Exported struct {
	Rows   int      `json:"rows"`
	Hidden int      `json:"hidden"`
	Doubts []string `json:"doubts,omitempty"`
	File   string   `json:"file,omitempty"`
	Data   []byte   `json:"-"`
	Type   string   `json:"-"` // the media type
}

// An Actor carries out the actions of views. Its errors are shown to the user unchanged.
type Actor interface {
	Powers() Powers
	Questions() []Question
	Answer(ctx context.Context, id string, a Answer) error
	Held() []Held
	// Intercept starts to hold the messages that match a filter; the empty filter matches every
	// message. If on is false, it stops holding and releases all messages.
	Intercept(ctx context.Context, on bool, filter string) error
	// Release sends a held message, replaced by text unless text is empty.
	Release(ctx context.Context, id, text string) error
	Drop(ctx context.Context, id string) error
	// Reveal returns a held message with its secrets.
	Reveal(ctx context.Context, id string) (string, error)
	// SetFault sets a fault, or removes one or all faults of the view if its kind is empty. It returns what it
	// did, as a text for the user.
	SetFault(ctx context.Context, f Fault) (string, error)
	// Faults returns the faults of the view that no request has got yet.
	Faults() []ArmedFault
	// Resend sends a recorded request again. A non-nil message replaces the recorded one.
	Resend(ctx context.Context, key string, message json.RawMessage, confirmed bool) (Sent, error)
	// Catalog connects to a server and lists what it offers. The user named the server, so the view may
	// send requests to it from now on.
	Catalog(ctx context.Context, target string) (Catalog, error)
	// Request sends a request for an offer of a server.
	Request(ctx context.Context, r Request) (Sent, error)
	Complete(ctx context.Context, c Completion) (Completed, error)
	// Subscribe starts or ends the subscription to a resource, whose updates are rows.
	Subscribe(ctx context.Context, target, uri string, on bool) error
	Cancel(ctx context.Context, c Cancellation) error
	// Step returns a request as a file of saved calls with one step. If file is not "", it appends the
	// step to that file in the current directory.
	Step(ctx context.Context, r Request, file string) (SavedStep, error)
	// Servers returns the servers of the Home view.
	Servers() []Server
	// CheckServers asks the servers in the background; Servers returns the results.
	CheckServers() error
	// Login starts a login at a server, in the form of -s. LoginState returns the newest login as it is
	// now, or nil, and CancelLogin ends it.
	Login(target string, confirmed bool) (Sent, error)
	LoginState() *Login
	CancelLogin(target string) error
	// ServerOutput returns the last lines that the server of the view wrote to standard error, without secrets.
	ServerOutput() []string
	// App reads the page of a tool, ready to be shown.
	App(ctx context.Context, o AppOpening) (App, error)
	// AppRequest sends a request of a shown page to its server.
	AppRequest(ctx context.Context, r AppRequest) (AppResponse, error)
	Mark(key string, mark bool, note string) error
	// Copy returns an exchange as text. form is "mcpc", "curl", "markdown", "json" or "request".
	Copy(ctx context.Context, key, form string) (string, error)
	// Preview describes what Export would write.
	Preview(ctx context.Context, e Export) (Exported, error)
	Export(ctx context.Context, e Export) (Exported, error)
}

// StepFile is the name of a file of saved calls that views propose.
const StepFile = "calls.mcpc.yaml"

// A SavedStep is a request as a step of a file of saved calls.
type SavedStep struct {
	// Text is the text of a whole file, or the text that was appended to a file.
	Text string `json:"text"`
	// Run is the command that runs the file, StepFile if none was named.
	Run string `json:"run"`
}
