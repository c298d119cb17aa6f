package wire

// A Kind names the outcome of an exchange or a command. It is the "kind" of the JSON error, and
// decides the exit code.
type Kind string

// The kinds of outcomes. OK is success.
const (
	OK               Kind = ""
	CheckFailed      Kind = "check_failed"
	NoMatch          Kind = "no_match"
	Usage            Kind = "usage"
	InvalidArguments Kind = "invalid_arguments"
	Auth             Kind = "auth"
	ToolError        Kind = "tool_error"
	RPCFailed        Kind = "rpc_error"
	Transport        Kind = "transport"
	BadResponse      Kind = "bad_response"
	Timeout          Kind = "timeout"
	OutputInvalid    Kind = "output_invalid"
	InputRequired    Kind = "input_required"
	Refused          Kind = "refused"
	LocalIO          Kind = "local_io"
	Internal         Kind = "internal"
	Signal           Kind = "signal"
)

// An ExitCode is one row of the table of exit codes.
type ExitCode struct {
	// Code is the exit status of the process. For Signal it is 128, and the number of the signal is
	// added.
	Code int
	Kind Kind
	// Channel describes the failure in a few words.
	Channel string
	// Sent answers "did my request reach the server?".
	Sent string
	// Stdout describes what is written to standard output.
	Stdout string
}

// ExitCodes is the table of exit codes, in the order of the codes. It is a part of the command line's
// contract: `mcpc help exit-codes` prints it.
var ExitCodes = []ExitCode{
	{0, OK, "success", "yes", "the result"},
	{1, CheckFailed, "a check failed", "-", "the findings"},
	{1, NoMatch, "mcpc grep found nothing", "-", "empty"},
	{2, Usage, "usage error: flags, arguments, unreadable input, invalid JSON", "mostly no", "empty"},
	{
		3,
		InvalidArguments,
		"arguments do not match the inputSchema, or the server does not list the tool " +
			"or supports no notification to listen to",
		"mostly no",
		"empty",
	},
	{4, Auth, "authentication: 401, 403, or a failed login", "yes, rejected", "empty"},
	{5, ToolError, "tool error: result.isError is true", "yes", "the result"},
	{6, RPCFailed, "protocol: a top-level JSON-RPC error", "yes", "empty; raw: the message"},
	{7, Transport, "transport: DNS, TCP, TLS, HTTP status, child process, broken stream", "see \"sent\"", "empty"},
	{8, BadResponse, "the response is not JSON, JSON-RPC or MCP, or exceeds a limit", "yes", "empty; raw: the bytes"},
	{9, Timeout, "timeout", "see \"sent\"", "empty"},
	{10, OutputInvalid, "the result does not match its outputSchema", "yes", "the result"},
	{11, InputRequired, "the server requested input and got no answer", "yes", "the request"},
	{12, Refused, "refused by mcpc's policy", "no", "empty"},
	{13, LocalIO, "local I/O: state, recording, output file, port, disk", "see \"sent\"", "the result, if any"},
	{70, Internal, "a bug in mcpc", "see \"sent\"", "-"},
	{128, Signal, "ended by signal n (128+n); Ctrl-C is 130", "unknown", "-"},
}

// Precedence orders kinds for a command with outcomes of several kinds: the first counts. The other
// kinds end a command before another can occur, or judge its result.
var Precedence = []Kind{
	Signal, Refused, Auth, Timeout, Transport, BadResponse, RPCFailed, InputRequired, OutputInvalid, ToolError,
}

// ExitCode returns the exit status of the process for k.
func (k Kind) ExitCode() int {
	for _, e := range ExitCodes {
		if e.Kind == k {
			return e.Code
		}
	}
	return Internal.ExitCode()
}
