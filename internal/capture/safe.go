package capture

import (
	"encoding/json"
	"slices"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// Safe returns the head without what is known to be secret.
func (h Head) Safe(s *redact.Secrets) Head {
	h.Target, h.Argv, h.Command = s.Text(h.Target), s.Command(h.Argv), s.Command(h.Command)
	return h
}

// Safe returns the end without what is known to be secret.
func (e End) Safe(s *redact.Secrets) End {
	e.ID, e.Method, e.Name = json.RawMessage(s.Text(string(e.ID))), s.Text(e.Method), s.Text(e.Name)
	e.Text, e.Hint = s.Text(e.Text), s.Text(e.Hint)
	e.Findings = SafeFindings(s, e.Findings)
	return e
}

// SafeFindings returns a copy of findings without what is known to be secret.
func SafeFindings(s *redact.Secrets, findings []wire.Finding) []wire.Finding {
	findings = slices.Clone(findings)
	for i, f := range findings {
		findings[i].Text, findings[i].Want, findings[i].Got = s.Text(f.Text), s.Text(f.Want), s.Text(f.Got)
	}
	return findings
}
