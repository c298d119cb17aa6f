package main

import (
	"encoding/json"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// withoutSecrets is an outcome as it may be told and kept: a server's last words, a
// body or an error may repeat what nobody wants in a log. The answer on standard
// output is the user's, and is not touched.
func (a *app) withoutSecrets(o wire.Outcome) wire.Outcome {
	s := &a.secrets
	o.Text, o.Hint = s.Text(o.Text), wire.Hint(s.Text(string(o.Hint)))
	o.Method, o.Name, o.Where = s.Text(o.Method), s.Text(o.Name), s.Text(o.Where)
	if o.Process != nil {
		process := *o.Process
		process.Stderr = s.Text(process.Stderr)
		o.Process = &process
	}
	if o.HTTP != nil {
		facts := *o.HTTP
		facts.URL, facts.ContentType = s.Text(facts.URL), s.Text(facts.ContentType)
		facts.Body, _ = s.Bytes(facts.Body)
		facts.Fields = slices.Clone(facts.Fields)
		for i, f := range facts.Fields {
			facts.Fields[i].Value = s.Text(wire.RedactField(f).Value)
		}
		o.HTTP = &facts
	}
	if o.Message != nil && o.Result == nil {
		if safe, n := s.Bytes(o.Message.Raw); n > 0 {
			o.Message = wire.ParseMessage(safe)
		}
	}
	if o.Input != nil {
		if safe, n := s.Bytes(o.Input.Raw); n > 0 { // of which the bytes are no longer those that were typed
			before, _ := s.Bytes(o.Input.Raw[:min(o.Input.Offset, int64(len(o.Input.Raw)))])
			o.Input = &wire.InputFacts{Raw: safe, Offset: int64(min(len(before), len(safe))), Words: true}
		}
	}
	o.Findings = slices.Clone(o.Findings)
	for i, f := range o.Findings {
		o.Findings[i].Text, o.Findings[i].Got = s.Text(f.Text), s.Text(f.Got)
	}
	return o
}

// kept is what a server said of itself as it may be kept: it may say again what it was
// sent.
func (a *env) kept(info client.Info) client.Info {
	for _, raw := range []*json.RawMessage{&info.Capabilities, &info.ServerInfo} {
		if safe, n := a.secrets.Bytes(*raw); n > 0 {
			if *raw = safe; wire.Valid(safe) != nil {
				*raw = nil
			}
		}
	}
	info.Instructions = a.secrets.Text(info.Instructions)
	return info
}

// withholding says that from now on nothing is shown or recorded of what crosses.
func (a *app) withholding() {
	render.Warn(a.stderr(), a.errStyle, "more secrets than mcpc can track: message texts are hidden in the recording from here on")
}

// hideIn hides in what a recording gives out what is known by now, and was perhaps not when
// it was recorded.
func (a *app) hideIn(c *trace.Capture) {
	if a.environ != nil {
		a.secrets.LearnEnvironment(a.environ())
	}
	c.Hide(&a.secrets)
}

// hideRows does that for rows in a table, where the user names what is to be hidden.
func (a *app) hideRows(rows []*trace.Row) []*trace.Row {
	if len(a.redactions) > 0 {
		for _, row := range rows {
			row.Hide(&a.secrets)
		}
	}
	return rows
}
