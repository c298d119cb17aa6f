package state

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A Secret is text that must not be shown: whatever fmt verb prints it, it
// prints as "[redacted]". Convert it with string() where it is really sent.
type Secret string

// Format implements [fmt.Formatter] for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// A Session is one remembered conversation with a server.
type Session struct {
	// Name is what the user calls it, and its key in the state.
	Name string `json:"-"`

	// Key names this very conversation, for request ids and tool lists. It is
	// given by [State.Put] when empty. A session that is re-opened (a 404, a
	// second initialize) keeps its Key, so that its ids go on counting; a new
	// conversation under an old name starts with an empty one.
	Key string `json:"key"`

	// Endpoint is the URL spoken to; for stdio it is empty and Command is the
	// argument vector.
	Endpoint string   `json:"endpoint,omitempty"`
	Command  []string `json:"command,omitempty"`
	// Folder is where Command runs; a session of a time before there was one has none,
	// and its command runs wherever mcpc does.
	Folder string `json:"cwd,omitempty"`
	// From is set where both stand in another program's configuration, and are read
	// there each time: they may hold secrets, which are not copied.
	From *Origin `json:"from,omitempty"`
	// Transport is "http", "sse" or "stdio".
	Transport string `json:"transport,omitempty"`
	// Revision is the protocol revision that was agreed on.
	Revision string `json:"revision,omitempty"`
	// Pinned is set where --protocol named the revision.
	Pinned bool `json:"pinned,omitempty"`
	// SessionID is the Mcp-Session-Id, if the server gave one.
	SessionID Secret `json:"session_id,omitempty"`
	// Cookies is the Cookie field of its requests, if the server or a balancer in front of it set any.
	Cookies Secret `json:"cookies,omitempty"`

	// Capabilities and ServerInfo are the server's own JSON, with member order
	// and number text as they crossed; white space between tokens is not kept.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	ServerInfo   json.RawMessage `json:"server_info,omitempty"`
	Instructions string          `json:"instructions,omitempty"`

	// Declared are the client capabilities that the conversation was opened with,
	// as JSON; a session of a time before there were any has none.
	Declared json.RawMessage `json:"declared,omitempty"`
	// Answering is how the user wants to answer what the server asks.
	Answering *Answering `json:"answering,omitempty"`

	// Account is the user's at the server, where he named one.
	Account string `json:"account,omitempty"`
	// Reach is how the user wants the server to be reached.
	Reach *Reach `json:"reach,omitempty"`

	// Held says where the server of a stdio session lives on; nil where it does not.
	Held *KeptServer `json:"held,omitempty"`

	// NextID is the first request id that was not used yet when the session was
	// put: where [Store.Reserve] starts if it has not counted for this Key.
	NextID int64 `json:"next_id,omitempty"`

	OpenedAt time.Time `json:"opened_at,omitzero"`

	// Noise are hashes of the warnings about text on the server's stdout that were shown: each is shown once.
	Noise []string `json:"noise,omitempty"`

	// extra holds members that a newer mcpc wrote, so that an update by this
	// one does not lose them.
	extra members
}

// An Origin is where another program's configuration names a server.
type Origin struct {
	Client string `json:"client"`
	File   string `json:"file"`
	// Folder is that of the project which the file was read for.
	Folder string `json:"folder,omitempty"`
	Name   string `json:"name"`
	// Entry is the configuration that was made of a server card, as JSON, which then is not
	// read again; secrets are references in it. Of a program's file it is "".
	Entry string `json:"entry,omitempty"`
}

// An Answering holds the flags with which a session was told to answer what its
// server asks, as they were typed; paths are absolute. It is data: nothing in it
// is looked at here.
type Answering struct {
	Answers    []string `json:"answers,omitempty"`
	Defaults   bool     `json:"defaults,omitempty"`
	Decline    bool     `json:"decline,omitempty"`
	OnElicit   string   `json:"on_elicit,omitempty"`
	Sampling   string   `json:"sampling,omitempty"`
	OnSampling string   `json:"on_sampling,omitempty"`
	Roots      []string `json:"roots,omitempty"`
	// Extensions are those that the client declares, each as ID or ID=SETTINGS.
	Extensions []string `json:"extensions,omitempty"`
}

// Elicits reports that it says how forms and pages are answered.
func (a Answering) Elicits() bool { return a.Scripted() || a.Decline || a.OnElicit != "" }

// Scripted reports that it has the answers to forms.
func (a Answering) Scripted() bool { return len(a.Answers) > 0 || a.Defaults }

// Samples reports that it says how sampling is answered.
func (a Answering) Samples() bool { return a.Sampling != "" || a.OnSampling != "" }

// Over fills in from before, which may be nil, where it says nothing.
func (a Answering) Over(before *Answering) Answering {
	if before == nil {
		return a
	}
	if !a.Elicits() {
		a.Answers = before.Answers
		a.Defaults = before.Defaults
		a.Decline = before.Decline
		a.OnElicit = before.OnElicit
	}
	if !a.Samples() {
		a.Sampling = before.Sampling
		a.OnSampling = before.OnSampling
	}
	if len(a.Roots) == 0 {
		a.Roots = before.Roots
	}
	if len(a.Extensions) == 0 {
		a.Extensions = before.Extensions
	}
	return a
}

// A Reach holds the flags with which a session was told how to reach its server;
// paths are absolute. It is data, as an Answering is. Whether certificates are
// checked is not in it.
type Reach struct {
	CACert string `json:"cacert,omitempty"`
	Cert   string `json:"cert,omitempty"`
	Key    string `json:"key,omitempty"`
	// Proxy is a URL, which may hold a password, or "none".
	Proxy   Secret   `json:"proxy,omitempty"`
	Resolve []string `json:"resolve,omitempty"`
	Socket  string   `json:"unix_socket,omitempty"`
}
