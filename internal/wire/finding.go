package wire

// A Severity says how serious a Finding is.
type Severity int

// The severities of a Finding, lightest first.
const (
	Info Severity = iota
	Warning
	Error
)

func (l Severity) String() string { return [...]string{"info", "warning", "error"}[l] }

// MarshalText returns the name of the severity.
func (l Severity) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the name of a severity; an unknown name is Info.
func (l *Severity) UnmarshalText(name []byte) error {
	*l = map[string]Severity{"warning": Warning, "error": Error}[string(name)]
	return nil
}

// RuleMore is the rule of a last finding that stands for all findings that are not listed; Got is
// their number.
const RuleMore = "more"

// RuleUndeclared is the rule of a finding about a server's request for a capability that the client did
// not declare; Got is the method.
const RuleUndeclared = "undeclared"

// A Finding is one violation of a rule by a value or a message: of a schema, or of the
// specification.
type Finding struct {
	// Rule is a short stable name: "type", "required", "duplicate_member".
	Rule     string   `json:"rule"`
	Severity Severity `json:"level"`
	// Pointer is a JSON pointer (RFC 6901) into the value; "" is the whole value.
	Pointer string `json:"where,omitempty"`
	// Text describes the fault, in lower case and without a full stop.
	Text string `json:"text,omitempty"`
	// Want is what the rule requires and Got the actual value, as short JSON or words. Either may be
	// empty.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}
