package rows

import (
	"bytes"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/redact"
)

// Hide hides in what the Capture gives out what is known to be secret by now, and was
// perhaps not when it was recorded.
func (c *Capture) Hide(s *redact.Secrets) {
	c.secrets = s
	for i, h := range c.Heads {
		c.Heads[i] = h.Safe(s)
	}
	known := map[string]string{} // most texts stand in many rows
	hide := func(hide string) string {
		safe, ok := known[hide]
		if !ok {
			safe = s.Text(hide)
			if len(known) < maxRemembered {
				known[hide] = safe
			}
		}
		return safe
	}
	for _, p := range c.Pages() { // what is packed is hidden when it is read
		for _, r := range p.rows {
			c.altered = r.hideTexts(s, hide) || c.altered
		}
	}
}

// Hide does that for what a table shows of the row.
func (r *Row) Hide(s *redact.Secrets) {
	if r.hideTexts(s, s.Text) {
		r.capture.altered = true
	}
}

// hide reports whether there was something to hide.
func (r *Row) hideTexts(s *redact.Secrets, hide func(text string) string) (found bool) {
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

// HideAgain hides in a row that has changed what is hidden in its Capture.
func (r *Row) HideAgain() {
	if s := r.capture.secrets; s != nil {
		r.Hide(s)
	}
}

// safeLine is a line without its secrets; itself where it has none.
func (c *Capture) safeLine(raw []byte) []byte {
	if c.secrets == nil || c.secrets.Guess == redact.GuessNone && len(c.secrets.Find(raw)) == 0 {
		return raw
	}
	line, err := capture.ParseLine(bytes.TrimSpace(raw))
	if err != nil {
		return []byte("{\"lost\":1}\n") // secrets cannot be found in it
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
	if line.In == "" || line.Head != nil {
		return out
	}
	return capture.Marked(out, line.In)
}
