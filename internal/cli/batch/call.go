package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A batchCall is what one line of a batch asks for.
type batchCall struct {
	// echo are the members that come back with the result: key and id.
	echo []jsonraw.Member
	// method is "" for a call that has only tool and arguments.
	method, tool      string
	params, arguments json.RawMessage
}

// callMembers are those that a line may have.
var callMembers = []string{"tool", "arguments", "method", "params", "key", "id", "jsonrpc"}

// readCall reads a line. What it could read comes with an error too, so that the
// result of a bad line has the line's own key.
func readCall(raw []byte) (call batchCall, err error) {
	members, bad := jsonraw.Object(raw)
	if bad != nil && jsonraw.Valid(raw) == nil {
		return call, fmt.Errorf("not a JSON object: %s", jsonraw.Excerpt(raw, 40))
	}
	if bad != nil {
		return call, bad
	}
	for _, m := range members {
		if m.Name == "key" || m.Name == "id" {
			call.echo = append(call.echo, m)
		}
	}
	if name, twice := members.Duplicate(); twice {
		return call, fmt.Errorf("the member %q is duplicated", name)
	}
	for _, m := range members {
		if err := checkMember(m); err != nil {
			return call, err
		}
	}
	call.tool, call.method = members.Text("tool"), members.Text("method")
	call.arguments, _ = members.Get("arguments")
	call.params, _ = members.Get("params")
	switch tool, method := call.tool != "", call.method != ""; {
	case tool == method:
		return call, usage.New(
			"a call has either \"tool\" or \"method\"",
			`{"tool":"NAME","arguments":{}} or {"method":"METHOD","params":{}}`,
		)
	case tool && call.params != nil || method && call.arguments != nil:
		return call, usage.New(
			"\"arguments\" goes with \"tool\", \"params\" with \"method\"",
			`{"tool":"NAME","arguments":{}} or {"method":"METHOD","params":{}}`,
		)
	case strings.HasPrefix(call.method, "notifications/"):
		return call, usage.New("a notification has no response", wire.Run("raw")+" sends one")
	}
	return call, nil
}

// wrongMember is the error of a member that no call may have.
func checkMember(m jsonraw.Member) error {
	switch m.Name {
	case "tool", "method":
		if toolcall.TextOf(m.Value) == "" {
			return fmt.Errorf("%s is not a name: %s", m.Name, jsonraw.Excerpt(m.Value, 40))
		}
	case "arguments", "params":
		if m.Value[0] != '{' {
			return fmt.Errorf("%s is not a JSON object: %s", m.Name, jsonraw.Excerpt(m.Value, 40))
		}
	default:
		if !slices.Contains(callMembers, m.Name) {
			return unknownMemberError(m.Name)
		}
	}
	return nil
}

// unknownMember: one that is misspelled would be ignored silently.
func unknownMemberError(name string) error {
	hint := "a call has " + strings.Join(callMembers[:5], ", ") + "; put your own data into \"key\""
	switch name {
	case "args", "input":
		hint = "did you mean \"arguments\"?"
	case "name":
		hint = "put the tool's name into \"tool\""
	}
	return usage.New(
		fmt.Sprintf("a call has no member %q", name),
		suggest.DidYouMean("%s", name, callMembers, wire.Hint(hint)),
	)
}

// asTool gives the tool and the arguments of a tools/call that is written as a
// method; false for any other.
func (call *batchCall) parseToolCall() bool {
	if call.method == "" {
		return true
	}
	if call.method != "tools/call" {
		return false
	}
	members, _ := jsonraw.Object(call.params)
	call.tool = members.Text("name")
	call.arguments, _ = members.Get("arguments")
	return true
}

// do makes one call: read, checked, sent, checked.
func (b *batch) do(ctx context.Context, raw []byte) (echo []jsonraw.Member, out wire.Outcome) {
	call, err := readCall(raw)
	if err != nil {
		return call.echo, usage.Outcome(err)
	}
	if !call.parseToolCall() {
		return call.echo, b.c.Do(ctx, client.Call{Method: call.method, Params: call.params})
	}
	call.arguments = jsonraw.OrEmpty(call.arguments)
	members, _ := jsonraw.Object(call.arguments) // the schema says it where they are no object
	if err := arguments.EachOnce(members, "arguments"); err != nil {
		return call.echo, usage.Outcome(err)
	}
	o := b.call
	o.Name = call.tool
	o.Params = call.params
	o.Given = arguments.Given{Document: call.arguments}
	out, _ = toolcall.CallTool(ctx, b.c, &o)
	return call.echo, out
}
