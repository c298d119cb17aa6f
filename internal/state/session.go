package state

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A Secret is a text that must not be shown: every fmt verb prints it as "[redacted]". Convert it
// with string() to send it.
type Secret string

// Format implements [fmt.Formatter] for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// A Session is a stored session with a server.
type Session struct {
	// Name is the user's name for the session. It is unique.
	Name string `json:"-"`

	// Key identifies this session for request ids and tool lists. [State.Put] sets it if it is empty. A
	// session that is opened again (after a 404, or by a second initialize) keeps its Key, so that its
	// request ids continue; a new session under an old name has a new Key.
	Key string `json:"key"`

	// Endpoint is the server's URL. For stdio it is empty, and Command is the argument vector.
	Endpoint string   `json:"endpoint,omitempty"`
	Command  []string `json:"command,omitempty"`
	// Folder is the working directory of Command. It is empty in sessions of older versions, whose
	// command runs in the current directory.
	Folder string `json:"cwd,omitempty"`
	// From is set if another program's configuration contains the server. The configuration is read for
	// each command and not copied, because it may contain secrets.
	From *Origin `json:"from,omitempty"`
	// Transport is "http", "sse" or "stdio".
	Transport string `json:"transport,omitempty"`
	// Revision is the negotiated protocol revision.
	Revision string `json:"revision,omitempty"`
	// Pinned is set if --protocol named the revision.
	Pinned bool `json:"pinned,omitempty"`
	// SessionID is the Mcp-Session-Id, or "" if the server did not send it.
	SessionID Secret `json:"session_id,omitempty"`
	// Cookies is the Cookie field for requests, or "" if the server and proxies in front of it set no
	// cookie.
	Cookies Secret `json:"cookies,omitempty"`

	// Capabilities and ServerInfo are the server's JSON, with its order of members and its text of
	// numbers, without white space between tokens.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	ServerInfo   json.RawMessage `json:"server_info,omitempty"`
	Instructions string          `json:"instructions,omitempty"`

	// Declared are the client capabilities that the session was opened with, as JSON. It is nil in
	// sessions of older versions.
	Declared json.RawMessage `json:"declared,omitempty"`
	// Answering is how to answer the server's requests, or nil.
	Answering *Answering `json:"answering,omitempty"`

	// Account is the account that the user named, or "".
	Account string `json:"account,omitempty"`
	// Reach is how to reach the server, or nil.
	Reach *Reach `json:"reach,omitempty"`

	// Held is the process that keeps the server of a stdio session running, or nil.
	Held *KeptServer `json:"held,omitempty"`

	// NextID is the first unused request id when the session was stored. [Store.Reserve] starts with it
	// if there is no counter for Key.
	NextID int64 `json:"next_id,omitempty"`

	OpenedAt time.Time `json:"opened_at,omitzero"`

	// Noise are the hashes of shown warnings about text on the server's stdout. Each is shown once.
	Noise []string `json:"noise,omitempty"`

	// extra are members that a newer mcpc wrote. An update keeps them.
	extra members
}

// An Origin is the entry of a server in another program's configuration.
type Origin struct {
	Client string `json:"client"`
	File   string `json:"file"`
	// Folder is the project directory that the file belongs to.
	Folder string `json:"folder,omitempty"`
	Name   string `json:"name"`
	// Entry is the configuration that was made of a server card, as JSON. It contains references
	// instead of secrets, and the card is not read again. It is "" if the configuration is in a
	// program's file.
	Entry string `json:"entry,omitempty"`
}

// An Answering has the flags that say how a session answers the server's requests, as they were
// typed, with absolute paths. This package does not interpret them.
type Answering struct {
	Answers    []string `json:"answers,omitempty"`
	Defaults   bool     `json:"defaults,omitempty"`
	Decline    bool     `json:"decline,omitempty"`
	OnElicit   string   `json:"on_elicit,omitempty"`
	Sampling   string   `json:"sampling,omitempty"`
	OnSampling string   `json:"on_sampling,omitempty"`
	Roots      []string `json:"roots,omitempty"`
	// Extensions are the extensions that the client declares, each as ID or ID=SETTINGS.
	Extensions []string `json:"extensions,omitempty"`
}

// Elicits reports whether the flags say how to answer forms and pages.
func (a Answering) Elicits() bool { return a.Scripted() || a.Decline || a.OnElicit != "" }

// Scripted reports whether the flags contain answers to forms.
func (a Answering) Scripted() bool { return len(a.Answers) > 0 || a.Defaults }

// Samples reports whether the flags say how to answer sampling requests.
func (a Answering) Samples() bool { return a.Sampling != "" || a.OnSampling != "" }

// Over returns a with the flags of before for each kind of request that a does not mention. before
// may be nil.
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

// A Reach has the flags that say how a session reaches its server, with absolute paths. It does not
// say whether certificates are checked. This package does not interpret the flags.
type Reach struct {
	CACert string `json:"cacert,omitempty"`
	Cert   string `json:"cert,omitempty"`
	Key    string `json:"key,omitempty"`
	// Proxy is a URL, which may contain a password, or "none".
	Proxy   Secret   `json:"proxy,omitempty"`
	Resolve []string `json:"resolve,omitempty"`
	Socket  string   `json:"unix_socket,omitempty"`
}
