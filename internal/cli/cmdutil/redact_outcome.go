package cmdutil

import (
	"slices"

	"mcpc/internal/capture/rows"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// WithoutSecrets returns an outcome that may be printed and recorded: a server's last
// stderr, a body or an error may repeat a secret. The answer on standard output is the
// user's, and is not touched.
func (f *Factory) WithoutSecrets(o wire.Outcome) wire.Outcome {
	s := &f.Secrets
	if !o.Good() {
		f.Record.WriteWaiting() // which learns the secrets in the frames that wait
	}
	if o.Message != nil {
		s.Bytes(o.Message.Raw) // learns what it hides: the text repeats it
	}
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
			facts.Fields[i].Value = s.Text(redact.RedactField(f).Value)
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

// LearnEnvironment makes the secrets of the environment known.
func (f *Factory) LearnEnvironment() {
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
}

// HideIn hides in what a recording gives out what is known by now, and was perhaps not when
// it was recorded.
func (f *Factory) HideIn(c *rows.Capture) {
	f.LearnEnvironment()
	c.Hide(&f.Secrets)
}

// HideRows does that for rows in a table, where the user names what is to be hidden.
func (f *Factory) HideRows(rows []*rows.Row) []*rows.Row {
	if len(f.redactions) > 0 {
		for _, row := range rows {
			row.Hide(&f.Secrets)
		}
	}
	return rows
}
