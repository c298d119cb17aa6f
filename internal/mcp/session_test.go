package mcp

import (
	"testing"

	"mcpc/internal/wire"
)

func TestEndsSession(t *testing.T) {
	for body, want := range map[string]struct{ ended, sure bool }{
		``:                     {true, true},
		`Not Found`:            {true, true},
		`{"error":"no route"}`: {true, true},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`: {true, true},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`:                {true, true},
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`:                          {true, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}`:                   {true, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`:                   {true, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`:                   {true, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`:                   {false, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`:                   {false, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`:                   {false, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}}`:                   {false, true},
		`{"jsonrpc":"2.0","id":1,"error":{"code":404,"message":"no"}}`:                      {true, false},
	} {
		if ended, sure := EndsSession(wire.ParseMessage([]byte(body))); ended != want.ended || sure != want.sure {
			t.Errorf("%s: got %t %t, want %t %t", body, ended, sure, want.ended, want.sure)
		}
	}
	if ended, sure := EndsSession(nil); !ended || !sure {
		t.Errorf("no message: got %t %t", ended, sure)
	}
}
