package report

import (
	"encoding/json"

	"mcpc/internal/diff"
	"mcpc/internal/diff/accept"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
)

type jsonReport struct {
	A       string       `json:"a,omitempty"`
	B       string       `json:"b,omitempty"`
	Summary Counts       `json:"summary"`
	Changes []jsonChange `json:"changes"`
	Growth  *jsonGrowth  `json:"growth,omitempty"`
	Expired []jsonEntry  `json:"expired,omitempty"`
	Stale   []jsonEntry  `json:"stale,omitempty"`
}

type jsonChange struct {
	Rule        string          `json:"rule"`
	Level       diff.Level      `json:"level"`
	Kind        string          `json:"kind"`
	Name        string          `json:"name,omitempty"`
	Pointer     string          `json:"pointer,omitempty"`
	Text        string          `json:"text"`
	Was         json.RawMessage `json:"was,omitempty"`
	Is          json.RawMessage `json:"is,omitempty"`
	Fix         string          `json:"fix,omitempty"`
	Fingerprint string          `json:"fingerprint"`
	Accepted    string          `json:"accepted,omitempty"`
	Until       string          `json:"until,omitempty"`
}

type jsonGrowth struct {
	Was     diff.Cost  `json:"was"`
	Is      diff.Cost  `json:"is"`
	Percent float64    `json:"percent"`
	Tools   []jsonTool `json:"tools"`
}

type jsonTool struct {
	Name string    `json:"name"`
	Was  diff.Cost `json:"was"`
	Is   diff.Cost `json:"is"`
}

type jsonEntry struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule,omitempty"`
	Reason      string `json:"reason"`
	Until       string `json:"until"`
	Line        int    `json:"line"`
}

// JSON returns the report as one JSON object without a line end. The output is deterministic.
// Invisible characters are written as \u escapes.
func JSON(r Report) json.RawMessage {
	out := jsonReport{
		A:       r.A,
		B:       r.B,
		Summary: r.Count(),
		Changes: []jsonChange{},
		Expired: jsonEntries(r.Expired),
		Stale:   jsonEntries(r.Stale),
	}
	for _, c := range r.Changes {
		rule, _ := diff.RuleOf(c.Rule)
		out.Changes = append(out.Changes, jsonChange{
			Rule: c.Rule, Level: c.Level, Kind: c.Subject.Kind, Name: c.Subject.Name, Pointer: c.Pointer,
			Text: c.Text, Was: asJSON(c.Was), Is: asJSON(c.Is), Fix: rule.Fix,
			Fingerprint: c.Fingerprint, Accepted: c.Accepted, Until: c.Until,
		})
	}
	if r.Sum.Was != r.Sum.Is || len(r.Tools) > 0 {
		out.Growth = &jsonGrowth{Was: r.Sum.Was, Is: r.Sum.Is, Percent: r.Sum.Percent(), Tools: []jsonTool{}}
		for _, g := range r.Tools {
			out.Growth.Tools = append(out.Growth.Tools, jsonTool{g.Tool, g.Was, g.Is})
		}
	}
	raw, err := jsonraw.Marshal(out)
	if err != nil {
		raw = json.RawMessage("{}")
	}
	return sanitize.Bytes(raw, sanitize.JSON)
}

// asJSON returns JSON of a server as a part of the report. Invalid JSON becomes a string.
func asJSON(raw json.RawMessage) json.RawMessage {
	if raw != nil && jsonraw.Valid(raw) != nil {
		return jsonraw.Quote(string(raw))
	}
	return raw
}

// jsonEntries returns the JSON form of entries, or nil without entries.
func jsonEntries(entries []accept.Entry) []jsonEntry {
	var all []jsonEntry
	for _, e := range entries {
		all = append(all, jsonEntry{e.Fingerprint, e.Rule, e.Reason, e.Until, e.Place.Line})
	}
	return all
}
