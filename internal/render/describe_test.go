package render

import (
	"testing"

	"mcpc/internal/mcp"
	"mcpc/internal/render/hint"
	"mcpc/internal/schema"
)

func TestExampleCall(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"get-sum", `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`, `mcpc call get-sum '{"a":1}'`},
		{"echo", `{"type":"object","properties":{"m":{"const":"it's"}},"required":["m"]}`, `mcpc call echo '{"m":"it'\''s"}'`},
		{"-x", `{"type":"object"}`, `mcpc raw tools/call '{"name":"-x","arguments":{}}'`},
		{"a b\x1b", `{"type":"object"}`, `mcpc call "$(printf 'a b\033')" '{}'`},
		{"h", "{\"const\":\"\u202e\"}", `mcpc call h '"\u202e"'`},
	} {
		if got := exampleCall((hint.Context{}), mcp.Tool{Name: c.name, InputSchema: []byte(c.schema)}, schema.Example([]byte(c.schema))); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

// If no valid example is known, the reader fills in the values.
func TestExampleCallWithPlaceholders(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"x", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}`, `mcpc call x '{"b":VALUE}'`},
		{"-x", `{"type":"object","properties":{"a\u202e":true}}`, `mcpc raw tools/call '{"name":"-x","arguments":{"a\u202e":VALUE}}'`},
		{"x", `{"minProperties":1}`, `mcpc call x '{"NAME":VALUE}'`},
	} {
		if got := exampleCall((hint.Context{}), mcp.Tool{Name: c.name, InputSchema: []byte(c.schema)}, nil); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

func TestAimNamesTheServer(t *testing.T) {
	tool := mcp.Tool{Name: "get", InputSchema: []byte(`{"type":"object"}`)}
	for _, c := range []struct {
		aim  hint.Context
		want string
	}{
		{hint.Context{}, `mcpc call get '{}'`},
		{hint.Context{ServerFlag: "-s demo"}, `mcpc -s demo call get '{}'`},
		{hint.Context{ServerCommand: "-- node a.js"}, `mcpc call get '{}' -- node a.js`},
	} {
		if got := exampleCall(c.aim, tool, []byte(`{}`)); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
