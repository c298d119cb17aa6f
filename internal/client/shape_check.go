package client

import (
	"fmt"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A ShapeCheck says where a result, or the params of a notification or a request of the
// server's, are not as the revision has them; method is the message's own, or that of the
// request which it answers.
type ShapeCheck func(revision, method string, m *wire.Message) []wire.Finding

// checkShape holds a result that is to be taken against its shape. What is wrong with it
// is a finding; with Strict the result is refused.
func checkShape(c *connection, e era, method string, o *wire.Outcome) {
	check := c.s.opt.Shape
	if check == nil || o.Kind != wire.OK && o.Kind != wire.ToolError && o.Kind != wire.InputRequired {
		return
	}
	revision := e.revision()
	if method == "initialize" { // which agrees on one
		revision, _ = jsonraw.Text(jsonraw.First(o.Result, "protocolVersion"))
	}
	findings := check(revision, method, o.Message)
	if c.s.opt.isStrict() && len(findings) > 0 {
		o.Kind, o.Text, o.Findings = wire.BadResponse, "the result does not conform to revision "+revision, findings
		return
	}
	misshapen(c, "the result of "+method+" breaks "+revision, findings)
}

func (o *Options) isStrict() bool { return o.Strict != nil && o.Strict() }

// checkNoise takes no result before which there was a line that is not a message, where that
// is Strict: the line is the evidence, and not the result.
func checkNoise(c *connection, line []byte, o *wire.Outcome) {
	if line == nil || !c.s.opt.isStrict() || o.Kind != wire.OK && o.Kind != wire.ToolError && o.Kind != wire.InputRequired {
		return
	}
	o.Message, o.Kind, o.Text = nil, wire.BadResponse, "the server wrote a non-JSON-RPC line to its stdout"
	o.Hint = "over stdio, write logs to stderr: stdout is for messages only"
	o.Findings = []wire.Finding{{Rule: "stdout_noise", Level: wire.Error, Text: fmt.Sprintf("%q", jsonraw.Excerpt(line, maxNoiseShown))}}
}

// maxNoiseShown is how much is shown of a line on stdout that is not JSON-RPC.
const maxNoiseShown = 80

// checkUnasked holds a notification or a request against its shape, and tells of it once
// for each method.
func checkUnasked(c *connection, m *wire.Message) {
	if check := c.s.opt.Shape; check != nil && !m.Recurs { // whose shape is known
		if findings := check(c.revision(), m.Method, m); len(findings) > 0 && c.once.isFirst("shape "+m.Method) {
			misshapen(c, "the params of "+m.Method+" break "+c.revision(), findings)
		}
	}
}

// RuleShape is the rule of a finding about what came with a shape of its own.
const RuleShape = "shape"

func misshapen(c *connection, what string, findings []wire.Finding) {
	for _, f := range findings {
		c.Finding(wire.Finding{Rule: RuleShape, Level: min(f.Level, wire.Warning), Where: f.Where, Text: what + ": " + strings.TrimSpace(f.Where+" "+f.Text)})
	}
}
