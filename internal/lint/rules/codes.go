package rules

import (
	"slices"
	"strconv"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

var codeChecks = []Check{
	{ID: "L013", Kind: conv.OnError, Do: func(e *conv.Event) {
		code := errorCode(e)
		if wire.RangeOfCode(code) == wire.MCPCodes && code != -32042 && !slices.Contains(mcpCodes, code) {
			findCode(e, "-32020, -32021 or -32022")
		}
	}},
	{ID: "L014", Kind: conv.OnError, Do: func(e *conv.Event) {
		switch errorCode(e) {
		case -32002:
			findCode(e, "-32602 (resource not found)")
		case -32042:
			findCode(e, "an input_required result")
		}
	}},
	{ID: "L015", Kind: conv.OnError, Do: func(e *conv.Event) {
		if code := errorCode(e); wire.RangeOfCode(code) == wire.ServerCodes && code != -32002 {
			want := "a code outside -32768..-32000"
			if released, ok := preRelease[code]; ok {
				want = strconv.FormatInt(released, 10) + ", which had this number before the release"
			}
			findCode(e, want)
		}
	}},
	{ID: "L016", Kind: conv.OnError, Do: func(e *conv.Event) {
		if code := errorCode(e); wire.RangeOfCode(code) == wire.JSONRPCCodes && !slices.Contains(jsonRPCCodes, code) {
			findCode(e, "a code outside -32768..-32000")
		}
	}},
}

var (
	mcpCodes     = []int64{-32020, -32021, -32022}
	jsonRPCCodes = []int64{-32700, -32600, -32601, -32602, -32603}
	// preRelease maps codes of pre-release servers to the released codes (WIRE 15).
	preRelease = map[int64]int64{-32001: -32020, -32003: -32021, -32004: -32022}
)

// errorCode returns the code of a JSON-RPC error, 0 if the message is no error or mcpc tap made it.
func errorCode(e *conv.Event) int64 {
	if e.Message.Error == nil || e.Message.Error.IsByTap() {
		return 0
	}
	return e.Message.Error.Code
}

// findCode reports the code of an error.
func findCode(e *conv.Event, want string) {
	e.Hit(conv.Hit{
		Subject: "error " + strconv.FormatInt(errorCode(e), 10), Pointer: "/code",
		Got: strconv.FormatInt(errorCode(e), 10) + " " + e.Message.Error.Message, Want: want,
	})
}
