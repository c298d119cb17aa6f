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

// RuleMore is the rule of a last finding that stands for more than could be
// listed; its Got is how many.
const RuleMore = "more"

// A Finding is one rule that something on the wire did not keep. A schema
// violation and a lint result are the same thing.
type Finding struct {
	// Rule is a short stable name: "type", "required", "duplicate_member".
	Rule  string
	Level Level
	// Where is a JSON pointer (RFC 6901) into the value that was looked at;
	// "" is the whole value.
	Where string
	// Text says what is wrong, in lower case and without a full stop.
	Text string
	// Want and Got are what the rule asks for and what stands there, as short
	// JSON or plain words; either may be empty.
	Want, Got string
}
