package wire

// A CodeRange is a range of error codes by who defines its codes.
type CodeRange int

// The ranges of 2026-07-28 basic/index, "Error Codes".
const (
	ApplicationCodes CodeRange = iota
	ServerCodes                // -32000 to -32019: servers define them
	MCPCodes                   // -32020 to -32099: reserved for MCP
	JSONRPCCodes               // -32100 to -32768: reserved for JSON-RPC
)

// RangeOfCode returns the range of an error code.
func RangeOfCode(code int64) CodeRange {
	if code <= -32000 && code >= -32019 {
		return ServerCodes
	}
	if code <= -32020 && code >= -32099 {
		return MCPCodes
	}
	if code <= -32100 && code >= -32768 {
		return JSONRPCCodes
	}
	return ApplicationCodes
}
