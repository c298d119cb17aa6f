package client

import (
	"encoding/json"
	"strings"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// codeInternal is JSON-RPC's "internal error".
const codeInternal = -32603

// outcome turns a reply into the one ending of its exchange. e may be nil,
// where the era was never found.
func (c *connection) outcome(e era, call *Call, r reply) (o wire.Outcome) {
	o = wire.Outcome{Method: call.Method, Name: r.name, ID: r.id, Where: c.s.opt.Server.Name,
		Phase: "result", Reached: wire.Answered, Message: r.Message, HTTP: r.HTTP}
	if f := r.Fault; f != nil {
		o = f.ApplyTo(o)
		broke := f.Kind == wire.Transport || f.Kind == wire.Timeout
		o.Retryable = o.Retryable || broke && f.Reached == wire.Unknown && isRepeatable(call.Method)
		return o
	}
	c.reportResponseProblems(r.Message)
	defer func() { o = r.unanswered.applyTo(o) }()
	switch m := r.Message; {
	case m == nil:
	case m.Error != nil && m.Kind == wire.ErrorResponse:
		o.Kind = wire.RPCFailed
		o.Text = m.Error.Message
		checkOdd(c, r, &o)
		o.Retryable = r.HTTP != nil && transport.IsOverloaded(r.HTTP.Status)
		if _, ok := c.transport().(transport.StderrSource); ok && m.Error.Code == codeInternal {
			o.Hint = "check the server's log; -v shows its stderr"
			if call.Method == "tools/call" && m.Error.HasOwnText() {
				o.Hint = "the text is the server's own, perhaps the tool's; -v shows the server's stderr"
			}
		}
	case m.Kind == wire.Response:
		o.Result = m.Result
		if e != nil {
			o.Kind, o.Text = e.validateResult(call, m)
			checkShape(c, e, call.Method, &o)
			checkNoise(c, r, &o)
			checkOdd(c, r, &o)
		}
	default:
		o.Kind, o.Phase, o.Text = wire.BadResponse, "read", transport.Mismatch(m, nil)
	}
	if e != nil && Stateless(e.revision()) && (o.Kind == wire.RPCFailed || o.Kind == wire.ToolError) &&
		failedToAsk(r.Message) {
		o.Hint = wire.Hint(
			"the server supports requests in older revisions only: use --protocol " + newest(revisions, handshake),
		)
	}
	return o
}

// markFound tells of what is odd in an answer that is taken: a member that stands twice, half
// a surrogate pair, and a byte order mark, which is ignored (RFC 8259, section 8.1).
func (c *connection) reportResponseProblems(m *wire.Message) {
	if m != nil {
		if where := m.DuplicateInResult(); m.Kind == wire.Response && where != "" {
			c.Finding(wire.Finding{Rule: "duplicate_member", Level: wire.Warning, Where: where,
				Text: "the result has the member " + where + " twice, and parsers disagree on which one applies"})
		}
		for _, p := range m.Problems {
			if p.Rule == "surrogate" {
				c.Finding(p)
			}
		}
	}
	if m != nil && transport.HasByteOrderMark(m.Raw) && c.transport().Name() != transport.Stdio { // which reports its lines
		c.warnOnce("bom", "the response begins with a byte order mark, which JSON does not allow")
	}
}

// ended is an outcome that looked good and is not.
func withFailure(o wire.Outcome, kind wire.Kind, text string) wire.Outcome {
	o.Kind = kind
	o.Text = text
	return o
}

func notAnObject(response *wire.Message) (wire.Kind, string) {
	return wire.BadResponse, "the result is not an object: " + jsonraw.Excerpt(response.Result, 60)
}

// settleResult judges a complete result by what every revision asks of it.
func validateCompleteResult(method string, members jsonraw.Members) (wire.Kind, string) {
	switch method {
	case "tools/call":
		return validateToolResult(members)
	case "resources/read":
		contents, _ := members.Get("contents")
		return requireArrayOrObject(contents, method, "contents")
	case "prompts/get":
		messages, _ := members.Get("messages")
		return requireArrayOrObject(messages, method, "messages")
	case "completion/complete":
		completion, _ := members.Get("completion")
		return requireArray(jsonraw.First(completion, "values"), method, "values")
	}
	return wire.OK, ""
}

// listIn is arrayIn for lists in whose place one item is taken, too: the check of the shape reports that.
func requireArrayOrObject(raw json.RawMessage, method, name string) (wire.Kind, string) {
	if len(raw) > 0 && raw[0] == '{' {
		return wire.OK, ""
	}
	return requireArray(raw, method, name)
}

// arrayIn holds a result to the one array that it cannot do without
// (server/resources, server/prompts, server/utilities/completion).
func requireArray(raw json.RawMessage, method, name string) (wire.Kind, string) {
	if len(raw) == 0 {
		return wire.BadResponse, "the result of " + method + " has no " + name
	}
	if raw[0] != '[' {
		return wire.BadResponse, "result." + name + " of " + method + " is not an array: " + jsonraw.Excerpt(raw, 40)
	}
	return wire.OK, ""
}

// settleToolCall: isError is the tool's own failure, and content must be there
// (server/tools, "Tool Result"). A result that only lacks content beside its
// structuredContent is taken, because real servers send it, and so is a text or one block in place of the array: the
// check of the shape reports that.
func validateToolResult(members jsonraw.Members) (wire.Kind, string) {
	content, _ := members.Get("content")
	_, structured := members.Get("structuredContent")
	if len(content) == 0 && !structured {
		return wire.BadResponse, "the result of the tool call has no content"
	}
	if len(content) > 0 && !strings.ContainsRune(`[{"`, rune(content[0])) && !structured {
		return wire.BadResponse, "the content of the tool call is not an array"
	}
	flag, _ := members.Get("isError")
	switch isError, ok := wire.ParseIsError(flag); {
	case !ok:
		return wire.BadResponse, "isError is neither true nor false: " + jsonraw.Excerpt(flag, 40)
	case isError:
		return wire.ToolError, "the tool ran and reported a failure"
	}
	return wire.OK, ""
}

func joinOrNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}
