package cmdutil

import (
	"slices"

	"mcpc/internal/capture/rows"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// WithoutSecrets returns a copy of o without secrets, to be printed and recorded. Stderr, response
// bodies and errors may repeat a secret. The result itself is left as it is: it belongs to the
// user.
func (f *Factory) WithoutSecrets(o wire.Outcome) wire.Outcome {
	s := &f.Secrets
	if !o.OK() {
		f.Record.WriteWaiting() // learns the secrets in the waiting frames
	}
	if o.Message != nil {
		s.Bytes(o.Message.Raw) // learns the message's secrets, which the text may repeat
	}
	o.Text = s.Text(o.Text)
	o.Hint = wire.Hint(s.Text(string(o.Hint)))
	o.Method = s.Text(o.Method)
	o.Name = s.Text(o.Name)
	o.ServerName = s.Text(o.ServerName)
	if o.Process != nil {
		process := *o.Process
		process.Stderr = s.Text(process.Stderr)
		o.Process = &process
	}
	if o.HTTP != nil {
		facts := *o.HTTP
		facts.URL = s.Text(facts.URL)
		facts.ContentType = s.Text(facts.ContentType)
		facts.Body, _ = s.Bytes(facts.Body)
		facts.Fields = slices.Clone(facts.Fields)
		for i, f := range facts.Fields {
			facts.Fields[i].Value = s.Text(redact.RedactField(f).Value)
		}
		o.HTTP = &facts
	}
	// A message with a result is left as it is, like the result.
	if o.Message != nil && o.Result == nil {
		if safe, n := s.Bytes(o.Message.Raw); n > 0 {
			o.Message = wire.ParseMessage(safe)
		}
	}
	if o.Input != nil {
		if safe, n := s.Bytes(o.Input.Raw); n > 0 {
			// The hidden bytes move the offset of the error, so its number would mislead: IsCommandLine
			// shows the place without it.
			before, _ := s.Bytes(o.Input.Raw[:min(o.Input.Offset, int64(len(o.Input.Raw)))])
			o.Input = &wire.InputFacts{Raw: safe, Offset: int64(min(len(before), len(safe))), IsCommandLine: true}
		}
	}
	o.Findings = slices.Clone(o.Findings)
	for i, f := range o.Findings {
		o.Findings[i].Text = s.Text(f.Text)
		o.Findings[i].Got = s.Text(f.Got)
	}
	return o
}

// LearnEnvironment makes f hide the secrets in environment variables.
func (f *Factory) LearnEnvironment() {
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
}

// HideSecretsIn makes a recording hide the secrets that are known now. They were perhaps not known
// when it was recorded.
func (f *Factory) HideSecretsIn(c *rows.Capture) {
	f.LearnEnvironment()
	c.Hide(&f.Secrets)
}

// HideSecretsInRows hides the secrets in table rows if --redact-file lists any. It modifies the rows
// and returns them.
func (f *Factory) HideSecretsInRows(rows []*rows.Row) []*rows.Row {
	if len(f.redactions) > 0 {
		for _, row := range rows {
			row.Hide(&f.Secrets)
		}
	}
	return rows
}
