package toolcall

import (
	"encoding/json"
	"fmt"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/validate"
)

// A Request is a call of a tool.
type Request struct {
	Name string
	// Given is what was typed, reading what the tool's schema makes of it.
	Given arguments.Given
	arguments.Reading
	// NoValidate sends what the schema forbids, yes what should be confirmed.
	NoValidate, Yes bool
	// Params are those of the request where they say more than name and arguments.
	Params json.RawMessage
	// Task is not 0 where the call is to become a task, for that time, or below 0 for any.
	Task time.Duration
}

// fill gives the arguments what the schema requires and has a default for, and says
// so; false where there is nothing of that. Some servers fill it in themselves, others
// refuse a call without it, and none minds its own default.
func (o *Request) fill(schema *validate.Schema) bool {
	filled, added := schema.Complete(o.Arguments)
	for _, d := range added {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%s requires %s, which was not given: sending its default %s",
			o.Name, d.Where, jsonraw.Excerpt(d.Value, 60)))
	}
	o.Arguments, o.Filled = filled, len(added) > 0
	return o.Filled
}

// ClientCall is what is asked of the server.
func (o Request) ClientCall(tool *connect.Definition) client.Call {
	var members jsonraw.Members
	params := o.Params
	if params == nil {
		members = jsonraw.Members{{Name: "name", Value: jsonraw.Quote(o.Name)}, {Name: "arguments", Value: o.Arguments}}
		params = jsonraw.Append(json.RawMessage("{}"), members...)
	} else if o.Filled {
		params = jsonraw.With(params, "arguments", o.Arguments)
	}
	call := client.Call{Method: "tools/call", Params: params, Members: members, Progress: true}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	return call
}
