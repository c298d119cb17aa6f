// Package saved parses and writes files of calls: a server, variables, and steps with the
// expected outcome of each. It reads a file as JSON and replaces references to variables.
// It does not run steps and does not compare results with expectations.
package saved

import (
	"encoding/json"
	"time"

	"mcpc/internal/wire"
)

// A File has calls for one server, which are made in one session.
type File struct {
	// Name is the file's own name, or "".
	Name string
	// Server is a target as in -s, Command a command as after --. At most one is set. Both and the
	// values of Headers may contain references.
	Server   string
	Command  []string
	Protocol string
	Headers  []wire.Field
	// Answer is the answer to the server's requests, as in --answer: an object, a text, or a list
	// of them. It may contain references. It is nil without an answer.
	Answer json.RawMessage
	// Answering are the other flags that answer the server's requests.
	Answering Answering
	// Vars are the file's variables, as written.
	Vars  []Var
	Steps []Step
}

// Answering are flags that say how to answer the server's requests. The texts may contain
// references.
type Answering struct {
	Defaults, Decline              bool
	OnElicit, Sampling, OnSampling string
	Roots, Extensions              []string
}

// Commands reports whether the flags name a command to run.
func (a Answering) Commands() bool { return a.OnElicit != "" || a.OnSampling != "" }

// A Var is a variable and its value.
type Var struct {
	Name  string
	Value json.RawMessage
}

// A Verb is what a step does.
type Verb string

// The verbs, named like the mcpc commands that do the same.
const (
	Call   Verb = "call"
	Read   Verb = "read"
	Prompt Verb = "prompt"
	List   Verb = "list"
	Raw    Verb = "raw"
)

var verbs = []Verb{Call, Read, Prompt, List, Raw}

// A Step is one request and what is expected of it.
type Step struct {
	// At is the JSON pointer of the step in its file.
	At string
	// Name is the step's own name, or its verb and subject. It is unique in the file.
	Name string
	Verb Verb
	// Subject is a tool, a URI, a prompt, what to list, or a method.
	Subject string
	// Args are the arguments, the values of a template, or the params of a method. They may contain
	// references. Args is nil without arguments. ArgsAt is their JSON pointer.
	Args   json.RawMessage
	ArgsAt string
	// Loose disables the validation of arguments and result.
	Loose   bool
	Capture []Capture
	Expect  Expect
}

// A Capture is a variable that gets its value from a result.
type Capture struct {
	At, Name string
	// Query is a jq expression.
	Query string
}

// An Expect is the expected outcome of a step.
type Expect struct {
	At string
	// Kind is the expected kind of outcome, Exit the expected exit code, or -1 for the code of Kind. If
	// the file names neither, the step must succeed.
	Kind wire.Kind
	Exit int
	// Texts must occur in the printed output. Queries are jq expressions that must return true.
	Texts, Queries []Wanted
	// Result is the expected part of the result, with Any for any value. It may contain references. It
	// is nil if nothing is expected.
	Result   json.RawMessage
	ResultAt string
	// Within limits the time of the response, 0 means no limit.
	Within   time.Duration
	WithinAt string
}

// Any matches any value in an expected result.
const Any = "..."

// A Wanted is an expected text and its JSON pointer.
type Wanted struct{ At, Text string }

// A Problem is a fault in a file and its place.
type Problem struct {
	// At is a JSON pointer. OnName is set if the problem is in the member's name and not in its
	// value.
	At     string
	OnName bool
	// Mild is set if the file can be used despite the problem, Unset for a variable without a value.
	Mild, Unset bool
	Text        string
	// Got is an unknown word and Known the words that are allowed. Both are empty for other problems.
	Got   string
	Known []string
	// Hint is the remedy, or "".
	Hint string
}
