package rows

import (
	"bytes"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/redact"
)

// Hide hides secrets that were not known when the traffic was recorded, in everything that the
// Capture returns from now on.
func (c *Capture) Hide(s *redact.Secrets) {
	c.secrets = s
	for i, h := range c.Heads {
		c.Heads[i] = h.Safe(s)
	}
	known := map[string]string{} // most texts are in many rows
	hideText := func(hideText string) string {
		safe, ok := known[hideText]
		if !ok {
			safe = s.Text(hideText)
			if len(known) < maxRemembered {
				known[hideText] = safe
			}
		}
		return safe
	}
	for _, p := range c.Pages() { // rows of packed pages are redacted when they are unpacked
		for _, r := range p.rows {
			c.altered = r.hideTexts(s, hideText) || c.altered
		}
	}
}

// Hide hides secrets in the texts of the row.
func (r *Row) Hide(s *redact.Secrets) {
	if r.hideTexts(s, s.Text) {
		r.capture.altered = true
	}
}

// hideTexts replaces the texts of the row by those without secrets, and reports whether it changed
// any. hide replaces one text; s hides the secrets of findings.
func (r *Row) hideTexts(s *redact.Secrets, hide func(text string) string) bool {
	found := false
	for _, text := range []*string{&r.Target, &r.Method, &r.Name, &r.ID, &r.Text, &r.Hint} {
		if *text == "" {
			continue
		}
		if safe := hide(*text); safe != *text {
			*text = safe
			found = true
		}
	}
	if len(r.Findings) > 0 {
		safe := capture.SafeFindings(s, r.Findings)
		found = found || !slices.Equal(safe, r.Findings)
		r.Findings = safe
	}
	return found
}

// HideAgain hides the secrets of its Capture in a row that has changed.
func (r *Row) HideAgain() {
	if s := r.capture.secrets; s != nil {
		r.Hide(s)
	}
}

// safeLine returns a line with its secrets hidden, or raw itself if it has no secrets. It replaces
// a line that cannot be parsed.
func (c *Capture) safeLine(raw []byte) []byte {
	if c.secrets == nil || c.secrets.Guess == redact.GuessNone && len(c.secrets.Find(raw)) == 0 {
		return raw
	}
	line, err := capture.ParseLine(bytes.TrimSpace(raw))
	if err != nil {
		return []byte("{\"lost\":1}\n") // secrets in a damaged line cannot be found
	}
	var out []byte
	switch {
	case line.Head != nil:
		out = capture.AppendHead(nil, line.Head.Safe(c.secrets))
	case line.Frame != nil:
		out = capture.AppendFrame(nil, c.secrets.Frame(*line.Frame))
	case line.End != nil:
		out = capture.AppendEnd(nil, line.End.Safe(c.secrets))
	default:
		return raw
	}
	if line.Mark == "" || line.Head != nil {
		return out
	}
	return capture.AddMark(out, line.Mark)
}
