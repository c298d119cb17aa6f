package telemetry

import "mcpc/internal/otlp"

// The convention is open-telemetry/semantic-conventions-genai, which has no release yet.
// ConventionSchema is the name of its registry on the branch that the files were read from.
// ConventionCommit is the commit of model/mcp/common.yaml, which defines the errors.
// testdata/convention.json lists the names and all files with their commits.
const (
	ConventionVersion = "1.42.0-dev"
	ConventionSchema  = "https://opentelemetry.io/schemas/gen-ai-dev/" + ConventionVersion
	ConventionCommit  = "0e5e6a8d59d38c9c19556a5164a83cc11a7d53ff"
)

// Scope returns the scope of all spans and histograms of this package.
func Scope() otlp.Scope {
	return otlp.Scope{
		Name: "mcpc", Version: ConventionVersion, SchemaURL: ConventionSchema,
		Attributes: []otlp.Attribute{text("mcpc.convention.commit", ConventionCommit)},
	}
}

// The attributes of the convention.
const (
	methodName             = "mcp.method.name"
	protocolVersion        = "mcp.protocol.version"
	sessionID              = "mcp.session.id"
	resourceURI            = "mcp.resource.uri"
	requestID              = "jsonrpc.request.id"
	jsonrpcVersion         = "jsonrpc.protocol.version"
	toolName               = "gen_ai.tool.name"
	promptName             = "gen_ai.prompt.name"
	operationName          = "gen_ai.operation.name"
	toolArguments          = "gen_ai.tool.call.arguments"
	toolResult             = "gen_ai.tool.call.result"
	promptVariable         = "gen_ai.prompt.variable." // a prefix: the name of the variable follows
	networkTransport       = "network.transport"
	networkProtocolName    = "network.protocol.name"
	networkProtocolVersion = "network.protocol.version"
	serverAddress          = "server.address"
	serverPort             = "server.port"
	statusCode             = "rpc.response.status_code"
	errorType              = "error.type"
)

// Attributes that the convention does not define. The HTTP status is from the convention for HTTP.
const (
	httpStatus = "http.response.status_code"
	// roundNumber is the number of a round of a request, from 1. roundCount is an attribute of the
	// span over all rounds.
	roundNumber = "mcpc.round"
	roundCount  = "mcpc.rounds"
	// incomplete is set if neither a response nor a reason was received.
	incomplete = "mcpc.incomplete"

	progressValue = "mcpc.progress"
	progressTotal = "mcpc.progress.total"
	logLevel      = "mcpc.log.level"
	faultRule     = "mcpc.fault.rule"
	faultAction   = "mcpc.fault.action"
	heldHow       = "mcpc.held.how"
	heldKind      = "mcpc.held.kind"
	heldFor       = "mcpc.held.duration" // in seconds
)

// The names of events other than notifications.
const (
	eventRetry  = "mcpc.retry"
	eventResume = "mcpc.resume"
	eventCut    = "mcpc.stream.cut"
	eventLate   = "mcpc.late_answer"
	eventFault  = "mcpc.fault"
	eventHeld   = "mcpc.held"
)

// isCallersError are the JSON-RPC codes of errors that the sender of the request made.
var isCallersError = map[int64]bool{-32700: true, -32600: true, -32601: true, -32602: true, -32002: true}

func text(key, value string) otlp.Attribute { return otlp.Attribute{Key: key, Value: value} }

func textIfAny(key, value string) []otlp.Attribute {
	if value == "" {
		return nil
	}
	return []otlp.Attribute{text(key, value)}
}

func number(key string, value int) otlp.Attribute {
	return otlp.Attribute{Key: key, Value: int64(value)}
}
