package rules

import (
	"slices"
	"strconv"

	"mcpc/internal/lint/conv"
)

var codes = []Check{
	{ID: "L013", Kind: conv.OnError, Do: func(e *conv.Event) {
		code := codeOf(e)
		if code >= -32099 && code <= -32020 && code != -32042 && !slices.Contains(ownCodes, code) {
			badCode(e, "-32020, -32021 or -32022")
		}
	}},
	{ID: "L014", Kind: conv.OnError, Do: func(e *conv.Event) {
		switch codeOf(e) {
		case -32002:
			badCode(e, "-32602 (resource not found)")
		case -32042:
			badCode(e, "an input_required result")
		}
	}},
	{ID: "L015", Kind: conv.OnError, Do: func(e *conv.Event) {
		if code := codeOf(e); code >= -32019 && code <= -32000 && code != -32002 {
			want := "a code outside -32768..-32000"
			if now, ok := numberedBefore[code]; ok {
				want = strconv.FormatInt(now, 10) + ", which had this number before the release"
			}
			badCode(e, want)
		}
	}},
	{ID: "L016", Kind: conv.OnError, Do: func(e *conv.Event) {
		if code := codeOf(e); code >= -32768 && code < -32099 && !slices.Contains(jsonRPCCodes, code) {
			badCode(e, "a code outside -32768..-32000")
		}
	}},
}

var (
	ownCodes     = []int64{-32020, -32021, -32022}
	jsonRPCCodes = []int64{-32700, -32600, -32601, -32602, -32603}
	// numberedBefore are the codes of pre-release servers (WIRE 15).
	numberedBefore = map[int64]int64{-32001: -32020, -32003: -32021, -32004: -32022}
)

func codeOf(e *conv.Event) int64 {
	if e.Message.Error == nil {
		return 0
	}
	return e.Message.Error.Code
}

func badCode(e *conv.Event, want string) {
	e.Hit(conv.Hit{Subject: "error " + strconv.FormatInt(codeOf(e), 10), Pointer: "/code",
		Got: strconv.FormatInt(codeOf(e), 10) + " " + e.Message.Error.Message, Want: want})
}
