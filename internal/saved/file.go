// Package saved knows calls that are kept in a file: the server they are for, the
// variables they use, the steps in their order, and what is expected of each. It
// reads such a file as JSON and puts values in the place of variables. It does not
// know how a step is taken, nor whether what came is what was expected.
package saved

import (
	"encoding/json"
	"time"

	"mcpc/internal/wire"
)

// A File is calls for one server, taken in one conversation.
type File struct {
	// Name is what the file calls itself, "" for nothing.
	Name string
	// Server is a target as behind -s, Command one as behind --; at most one of them
	// is set. Both may hold variables, and so may the values of Headers.
	Server   string
	Command  []string
	Protocol string
	Headers  []wire.Field
	// Answer is what is answered where the server asks, as behind --answer: an object, a
	// text, or a list of them; nil for nothing. It may hold variables.
	Answer json.RawMessage
	// Answering is how else it is answered, as behind the flags of these names.
	Answering Answering
	// Vars are the file's own variables, as they were written.
	Vars  []Var
	Steps []Step
}

// Answering are flags that say how to answer what a server asks. The texts may hold
// variables.
type Answering struct {
	Defaults, Decline              bool
	OnElicit, Sampling, OnSampling string
	Roots, Extensions              []string
}

// Commands reports whether it has a command to run.
func (a Answering) Commands() bool { return a.OnElicit != "" || a.OnSampling != "" }

// A Var is a variable and its value.
type Var struct {
	Name  string
	Value json.RawMessage
}

// A Verb is what a step does.
type Verb string

// The verbs, named as the commands of mcpc that do the same.
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
	// Name is the step's own, or made of what it does; no two of a file are the same.
	Name string
	Verb Verb
	// Subject is a tool, a URI, a prompt, what is listed, or a method.
	Subject string
	// Args are the arguments, the values of a template or the params of a method, and
	// nil where none are given. They may hold variables. ArgsAt is their JSON pointer.
	Args   json.RawMessage
	ArgsAt string
	// Loose is set where arguments and result are not to be checked.
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

// Expect is what a step must come to.
type Expect struct {
	At string
	// Kind is how it must end, and Exit with which exit code, -1 for whatever Kind
	// says. Where a file says neither, that is the good ending.
	Kind wire.Kind
	Exit int
	// Texts must stand in what is printed, Queries (jq) must give true.
	Texts, Queries []Wanted
	// Result is what the result has to have, with Any for any value; nil for whatever it
	// has. It may hold variables.
	Result   json.RawMessage
	ResultAt string
	// Within is how long the answer may take, 0 for any time.
	Within   time.Duration
	WithinAt string
}

// Any matches any value in an expected result.
const Any = "..."

// A Wanted is one text that is expected, and where it stands.
type Wanted struct{ At, Text string }

// A Problem is what is wrong with a file, and where.
type Problem struct {
	// At is a JSON pointer; OnName is set where the name of that member is meant and
	// not its value.
	At     string
	OnName bool
	// Mild is set where the command can go on all the same, Unset on a variable without a value.
	Mild, Unset bool
	Text        string
	// Got is a word that is not known and Known what could stand there; both are
	// empty where it is about something else.
	Got   string
	Known []string
	// Hint says what helps; it may be empty.
	Hint string
}
