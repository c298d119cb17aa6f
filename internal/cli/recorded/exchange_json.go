package recorded

import (
	"bufio"
	"bytes"
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
	// The object stays open: the messages and frames, which may be large, are written as they are read.
	out.Write(bytes.TrimSuffix(begin.Bytes(), []byte("}\n")))
	request := []byte("null")
	response := []byte("null")
	if x != nil {
		request = asJSONValue(x.Request.Raw)
		response = asJSONValue(x.Response.Raw)
	}
	out.WriteString(`,"request":`)
	out.Write(request)
	out.WriteString(`,"response":`)
	out.Write(response)
	out.WriteString(`,"frames":[`)
	isFirst := true
	err := row.EachFrame(func(f wire.Frame) error {
		if !isFirst {
			out.WriteString(",")
		}
		isFirst = false
		return capture.WriteFrame(out, f)
	})
	out.WriteString("]}\n")
	flushErr := out.Flush()
	if err != nil {
		return err
	}
	return flushErr
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
	const maxCopied = 1 << 20 // a larger message is copied only if it has line breaks
	if len(raw) < maxCopied || bytes.ContainsAny(raw, "\r\n") {
		return jsonraw.Compact(raw)
	}
	return raw
}
