package client

import (
	"fmt"
	"strings"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// A ShapeCheck returns where a result, or the params of a notification or request from the server,
// differ from the schema of the revision. method is the method of m, or of the request that m
// responds to.
type ShapeCheck func(revision, method string, m *wire.Message) []wire.Finding

// checkShape checks the shape of an accepted result with Options.Shape, or with call.shape in its
// place. Problems become findings; with Strict they make the outcome a BadResponse.
func checkShape(c *connection, e era, call *Call, o *wire.Outcome) {
	check := c.s.opt.Shape
	if check != nil && call.shape != nil {
		check = call.shape
	}
	if check == nil || !isAcceptedResult(*o) {
		return
	}
	revision := e.revision()
	if call.Method == "initialize" { // the result itself names the revision
		revision, _ = jsonraw.Text(jsonraw.First(o.Result, "protocolVersion"))
	}
	findings := check(revision, call.Method, o.Message)
	if c.s.opt.isStrict() && len(findings) > 0 {
		o.Kind = wire.BadResponse
		o.Text = "the result does not conform to revision " + revision
		o.Findings = findings
		return
	}
	reportShape(c, "the result of "+call.Method+" does not conform to "+revision, findings)
}

// isAcceptedResult reports whether o has a result of the server that was accepted so far. A result
// that reports a failed tool, or requires input, is one.
func isAcceptedResult(o wire.Outcome) bool {
	return o.Kind == wire.OK || o.Kind == wire.ToolError || o.Kind == wire.InputRequired
}

// isStrict reports whether results with problems are rejected.
func (o *Options) isStrict() bool { return o.Strict != nil && o.Strict() }

// checkNoise rejects an accepted result, with Strict, if the server sent something else than a
// message before it. On a transport that stays open, the result that opens the session is not
// rejected here: openConnection rejects the whole opening, since a single rejected result would only
// start another attempt.
func checkNoise(c *connection, r reply, o *wire.Outcome) {
	noise := r.Noise
	if noise == nil && transport.HasByteOrderMark(r.Message.Raw) {
		noise = r.Message.Raw
	}
	if noise == nil || !c.s.opt.isStrict() {
		return
	}
	if c.transport().Gone() != nil && mcp.IsOpening(o.Method) {
		c.update(func(f *connectionState) { f.noise = noise })
		return
	}
	rejectNoise(c, noise, o)
}

// rejectNoise makes an accepted outcome a BadResponse because of noise, which becomes its finding;
// nil changes nothing.
func rejectNoise(c *connection, noise []byte, o *wire.Outcome) {
	if noise == nil || !isAcceptedResult(*o) {
		return
	}
	rule := "stream_noise"
	switch {
	case c.transport().Name() == transport.Stdio:
		rule = "stdout_noise"
		o.Text = "the server wrote a non-JSON-RPC line to its stdout"
		o.Hint = "over stdio, write logs to stderr: stdout is for messages only"
	case transport.HasByteOrderMark(noise):
		rule = "bom"
		o.Text = "the response begins with a byte order mark"
	default:
		o.Text = "the server sent an event that is not JSON-RPC"
		o.Hint = `on an event stream, send a comment to keep the connection alive: a line that begins with ":"`
	}
	o.Message = nil // the fault is not in the response
	o.Kind = wire.BadResponse
	shown := fmt.Sprintf("%q", jsonraw.Excerpt(noise, maxNoiseShown))
	o.Findings = []wire.Finding{{Rule: rule, Severity: wire.Error, Text: shown}}
}

// checkOdd reports, once per session and rule, problems of responses that are accepted because
// their meaning is clear: an id of another type, an array of one message, a null result or error,
// or another "jsonrpc" than "2.0". With Strict it rejects an accepted outcome.
func checkOdd(c *connection, r reply, o *wire.Outcome) {
	odd := r.Irregularity
	for _, p := range r.Message.Problems {
		if odd != nil { // the first problem is enough
			break
		}
		if p.Severity == wire.Error { // it makes the message Invalid, and is the outcome already
			continue
		}
		switch p.Rule {
		case "shape":
			odd = &wire.Finding{Rule: p.Rule, Severity: wire.Warning, Text: "the response has an unexpected member: " + p.Text}
		case "jsonrpc":
			odd = &wire.Finding{Rule: p.Rule, Severity: wire.Warning, Text: "the response is " + p.Text}
		}
	}
	if odd == nil {
		return
	}
	if !c.s.opt.isStrict() {
		if c.once.markReported("odd " + odd.Rule) {
			c.Finding(*odd)
		}
		return
	}
	if isAcceptedResult(*o) {
		o.Kind = wire.BadResponse
		o.Text = odd.Text
	}
}

// maxNoiseShown is how many bytes of a non-message are shown.
const maxNoiseShown = 80

// checkUnasked checks the shape of a notification or of a request from the server, and reports
// problems once per method.
func checkUnasked(c *connection, m *wire.Message) {
	check := c.s.opt.Shape
	if check == nil {
		return
	}
	findings := check(c.revision(), m.Method, m)
	if len(findings) > 0 && c.once.markReported("shape "+m.Method) {
		reportShape(c, "the params of "+m.Method+" do not conform to "+c.revision(), findings)
	}
}

// RuleShape is the rule of findings about the shape of a received message.
const RuleShape = "shape"

// reportShape reports shape findings as warnings at most. what introduces each text.
func reportShape(c *connection, what string, findings []wire.Finding) {
	for _, f := range findings {
		c.Finding(
			wire.Finding{
				Rule:     RuleShape,
				Severity: min(f.Severity, wire.Warning),
				Pointer:  f.Pointer,
				Text:     what + ": " + strings.TrimSpace(f.Pointer+" "+f.Text),
			},
		)
	}
}
