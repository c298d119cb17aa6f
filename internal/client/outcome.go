package client

import (
	"encoding/json"
	"strings"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// codeInternal is the JSON-RPC code for "internal error".
const codeInternal = -32603

// outcome returns the outcome for a reply. e is nil if the era is not known; the result is not
// validated then. It also reports problems of an accepted response as findings.
func (c *connection) outcome(e era, call *Call, r reply) (o wire.Outcome) {
	o = wire.Outcome{
		Method: call.Method, Name: r.name, ID: r.id, ServerName: c.s.opt.Server.Name,
		Phase: "result", Reached: wire.Answered, Message: r.Message, HTTP: r.HTTP,
	}
	if f := r.Fault; f != nil {
		o = f.ApplyTo(o)
		hasNoResponse := f.Kind == wire.Transport || f.Kind == wire.Timeout
		o.Retryable = o.Retryable || hasNoResponse && f.Reached == wire.Unknown && isRepeatable(call.Method)
		return o
	}
	c.reportResponseProblems(r.Message)
	// Applied last: an input request without an answer may be the cause of the failure.
	defer func() { o = r.unanswered.applyTo(o) }()
	m := r.Message
	switch {
	case m == nil: // a message without a response was accepted
	case m.Error != nil && m.Kind == wire.ErrorResponse:
		o.Kind = wire.RPCFailed
		o.Text = m.Error.Message
		checkOdd(c, r, &o)
		o.Retryable = r.HTTP != nil && transport.IsOverloaded(r.HTTP.Status)
		if _, ok := c.transport().(transport.StderrSource); ok && m.Error.Code == codeInternal {
			o.Hint = "check the server's log; " + wire.Verbose(1, "its stderr")
			if call.Method == "tools/call" && m.Error.HasOwnText() {
				o.Hint = "the message comes from the server, perhaps from the tool; " +
					wire.Verbose(1, "the server's stderr")
			}
		}
	case m.Kind == wire.Response:
		o.Result = m.Result
		if e != nil {
			o.Kind, o.Text = e.validateResult(call, m)
			checkShape(c, e, call, &o)
			checkNoise(c, r, &o)
			checkOdd(c, r, &o)
		}
	default:
		o.Kind = wire.BadResponse
		o.Phase = "read"
		o.Text = transport.Mismatch(m, nil)
	}
	hasFailed := o.Kind == wire.RPCFailed || o.Kind == wire.ToolError
	if e != nil && Stateless(e.revision()) && hasFailed && failedToSendRequest(r.Message) {
		o.Hint = wire.Hint(
			"the server supports requests in older revisions only: use --protocol " + newestCommon(revisions, hasHandshake),
		)
	}
	return o
}

// reportResponseProblems reports problems of an accepted response: a duplicate member, an unpaired
// surrogate, and a byte order mark (RFC 8259, section 8.1).
func (c *connection) reportResponseProblems(m *wire.Message) {
	if m == nil {
		return
	}
	if where := m.DuplicateInResult(); m.Kind == wire.Response && where != "" {
		c.Finding(wire.Finding{
			Rule: "duplicate_member", Severity: wire.Warning, Pointer: where,
			Text: "the result has the member " + where + " twice, and parsers disagree on which one applies",
		})
	}
	for _, p := range m.Problems {
		if p.Rule == "surrogate" {
			c.Finding(p)
		}
	}
	// The stdio transport reports the byte order marks of its lines itself.
	if transport.HasByteOrderMark(m.Raw) && c.transport().Name() != transport.Stdio {
		c.warnOnce("bom", "the response begins with a byte order mark, which JSON does not allow")
	}
}

// withFailure returns o with another kind and text.
func withFailure(o wire.Outcome, kind wire.Kind, text string) wire.Outcome {
	o.Kind = kind
	o.Text = text
	return o
}

// notAnObject returns the kind and text for a result that is not an object.
func notAnObject(response *wire.Message) (wire.Kind, string) {
	return wire.BadResponse, "the result is not an object: " + jsonraw.Excerpt(response.Result, 60)
}

// validateCompleteResult checks what every revision requires of the result of a method.
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

// requireArrayOrObject checks raw, the member called name that the result of method must have: it
// returns OK for an array or a single object, and else BadResponse with a text. checkShape reports an
// object.
func requireArrayOrObject(raw json.RawMessage, method, name string) (wire.Kind, string) {
	if len(raw) > 0 && raw[0] == '{' {
		return wire.OK, ""
	}
	return requireArray(raw, method, name)
}

// requireArray checks raw, the member called name that the result of method must have: it returns OK
// for an array, and else BadResponse with a text (server/resources, server/prompts,
// server/utilities/completion).
func requireArray(raw json.RawMessage, method, name string) (wire.Kind, string) {
	if len(raw) == 0 {
		return wire.BadResponse, "the result of " + method + " has no " + name
	}
	if raw[0] != '[' {
		return wire.BadResponse, "result." + name + " of " + method + " is not an array: " + jsonraw.Excerpt(raw, 40)
	}
	return wire.OK, ""
}

// validateToolResult checks the result of a tool call: isError reports a failure of the tool, and
// content is required (server/tools, "Tool Result"). Some servers omit content if there is
// structuredContent, or send a string or a single block as content. Both are accepted; checkShape
// reports the content.
func validateToolResult(members jsonraw.Members) (wire.Kind, string) {
	content, _ := members.Get("content")
	_, structured := members.Get("structuredContent")
	if len(content) == 0 && !structured {
		return wire.BadResponse, "the result of the tool call has no content"
	}
	isUsable := len(content) > 0 && strings.ContainsRune(`[{"`, rune(content[0])) // array, block, string
	if !isUsable && !structured {
		return wire.BadResponse, "the content of the tool call is not an array"
	}
	flag, _ := members.Get("isError")
	isError, ok := wire.ParseIsError(flag)
	if !ok {
		return wire.BadResponse, "isError is neither true nor false: " + jsonraw.Excerpt(flag, 40)
	}
	if isError {
		return wire.ToolError, "the tool ran and reported a failure"
	}
	return wire.OK, ""
}

// joinOrNone returns the items separated by commas, or "none".
func joinOrNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}
