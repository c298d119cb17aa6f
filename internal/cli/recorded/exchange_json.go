package recorded

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// WriteExchange writes an exchange as one line of JSON: the row, the rules it broke, the request
// and the response, and every frame as captured.
func WriteExchange(w io.Writer, row *rows.Row, x *wire.Exchange, broken []verdict.Finding) error {
	var facts struct {
		Exchange Line              `json:"exchange"`
		Findings []findingOut      `json:"findings,omitempty"`
		Check    []verdict.Finding `json:"check,omitempty"`
	}
	facts.Check = broken
	facts.Exchange = LineOf(row)
	for _, f := range row.Findings {
		facts.Findings = append(facts.Findings, findingOut{f.Rule, f.Severity.String(), f.Pointer, f.Text})
	}
	var begin bytes.Buffer
	enc := json.NewEncoder(&begin)
	enc.SetEscapeHTML(false) // it would change the traffic
	_ = enc.Encode(facts)
	out := bufio.NewWriterSize(w, 64<<10)
	out.Write(bytes.TrimSuffix(begin.Bytes(), []byte("}\n")))
	for _, name := range []string{"request", "response"} {
		raw := []byte("null")
		if x != nil && name == "request" {
			raw = asJSONValue(x.Request.Raw)
		} else if x != nil {
			raw = asJSONValue(x.Response.Raw)
		}
		out.WriteString(`,"` + name + `":`)
		out.Write(raw)
	}
	before := `,"frames":[`
	err := row.EachFrame(func(f wire.Frame) error {
		out.WriteString(before)
		before = ","
		return capture.WriteFrame(out, f)
	})
	if before != "," {
		out.WriteString(before)
	}
	out.WriteString("]}\n")
	return cmp.Or(err, out.Flush())
}

type findingOut struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Where string `json:"where,omitempty"`
	Text  string `json:"text"`
}

// asJSONValue returns a message that is valid JSON, without line breaks, and null for any other.
// The frames contain the bytes in both cases.
func asJSONValue(raw []byte) []byte {
	if raw == nil || jsonraw.Valid(raw) != nil {
		return []byte("null")
	}
	if len(raw) < 1<<20 || bytes.ContainsAny(raw, "\r\n") {
		return jsonraw.Compact(raw)
	}
	return raw
}
