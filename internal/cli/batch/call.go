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

// A batchCall is the call that one line describes.
type batchCall struct {
	// echo are the members that are copied to the result: key and id.
	echo []jsonraw.Member
	// method is "" if tool and arguments are set.
	method, tool      string
	params, arguments json.RawMessage
}

// callMembers are the members that a line may have.
var callMembers = []string{"tool", "arguments", "method", "params", "key", "id", "jsonrpc"}

// readCall parses a line. If it fails, the call still has the echo, so that the result of an
// invalid line has the line's key.
func readCall(raw []byte) (call batchCall, err error) {
	members, objectErr := jsonraw.Object(raw)
	if objectErr != nil {
		if jsonraw.Valid(raw) == nil { // JSON, but no object
			return call, fmt.Errorf("not a JSON object: %s", jsonraw.Excerpt(raw, 40))
		}
		return call, objectErr // names the place of the syntax error
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
	call.tool = members.Text("tool")
	call.method = members.Text("method")
	call.arguments, _ = members.Get("arguments")
	call.params, _ = members.Get("params")
	return call, call.check()
}

// check returns an error if the members of the call do not fit each other.
func (call *batchCall) check() error {
	const example = `{"tool":"NAME","arguments":{}} or {"method":"METHOD","params":{}}`
	isTool := call.tool != ""
	isMethod := call.method != ""
	if isTool == isMethod {
		return usage.New("a call has either \"tool\" or \"method\"", example)
	}
	isMixed := isTool && call.params != nil || isMethod && call.arguments != nil
	if isMixed {
		return usage.New("\"arguments\" goes with \"tool\", \"params\" with \"method\"", example)
	}
	if strings.HasPrefix(call.method, "notifications/") {
		return usage.New("a notification has no response", wire.Run("raw")+" sends one")
	}
	return nil
}

// checkMember returns an error for a member that no call may have, by its name or its value.
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

// unknownMemberError returns the error for an unknown member. A misspelled member must not be
// ignored.
func unknownMemberError(name string) error {
	const described = 5 // id is another name of key, and jsonrpc is ignored
	hint := "a call has " + strings.Join(callMembers[:described], ", ") + "; put your own data into \"key\""
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

// parseToolCall sets the tool and the arguments of a tools/call that is written as a method, and
// reports whether the call is a tool call.
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

// do makes the call of one line: it parses, validates and sends the call, and validates the result. It
// returns the members of the line that are copied to the result, even if the line is invalid.
func (b *batch) do(ctx context.Context, raw []byte) (echo []jsonraw.Member, out wire.Outcome) {
	call, err := readCall(raw)
	if err != nil {
		return call.echo, usage.Outcome(err)
	}
	if !call.parseToolCall() {
		return call.echo, b.c.Do(ctx, client.Call{Method: call.method, Params: call.params})
	}
	call.arguments = jsonraw.OrEmpty(call.arguments)
	members, _ := jsonraw.Object(call.arguments) // the schema check refuses other values
	if err := arguments.EachOnce(members, "arguments"); err != nil {
		return call.echo, usage.Outcome(err)
	}
	o := b.call
	o.Name = call.tool
	o.Params = call.params // nil unless tools/call is written as a method, perhaps with other members
	o.Given = arguments.Given{Document: call.arguments}
	out, _ = toolcall.CallTool(ctx, b.c, &o)
	return call.echo, out
}
