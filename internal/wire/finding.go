package wire

// A Level says how much a Finding weighs.
type Level int

// The levels of a Finding, lightest first.
const (
	Info Level = iota
	Warning
	Error
)

func (l Level) String() string { return [...]string{"info", "warning", "error"}[l] }

// MarshalText is the level by its name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the name; one that is not known is Info.
func (l *Level) UnmarshalText(name []byte) error {
	*l = map[string]Level{"warning": Warning, "error": Error}[string(name)]
	return nil
}

// RuleMore is the rule of a last finding that replaces those that could not be
// listed; its Got is how many.
const RuleMore = "more"

// Undeclared is the rule of a finding about a server's request for a capability that the client did not declare: Got is
// the method.
const Undeclared = "undeclared"

// A Finding is one rule that something on the wire did not keep. A schema
// violation and a lint result are the same thing.
type Finding struct {
	// Rule is a short stable name: "type", "required", "duplicate_member".
	Rule  string `json:"rule"`
	Level Level  `json:"level"`
	// Where is a JSON pointer (RFC 6901) into the value that was looked at;
	// "" is the whole value.
	Where string `json:"where,omitempty"`
	// Text says what is wrong, in lower case and without a full stop.
	Text string `json:"text,omitempty"`
	// Want and Got are what the rule asks for and what was found, as short
	// JSON or plain words; either may be empty.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}
