package failure

import (
	"encoding/json"
	"io"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// errorDocument returns o for a program: one JSON object without a line end,
//
//	{"error":{"kind","exit","message","hint","sent","outcome",
//	          "operation_sent","retryable","http","rpc","phase","method",
//	          "name","where","line","findings","process"}}
//
// in this order. kind, exit, message, sent, outcome, operation_sent and retryable are always
// present; the others only if they have a value. sent is true if the failed request, named by
// method, may have reached the server. operation_sent and retryable are about the operation that
// the user requested: a handshake and a list come before a call. http is
// {status,url,contentType,fields,body}, rpc is {code,message,data} with data as received.
func errorDocument(st term.Style, o wire.Outcome) []byte {
	outer := &jsonraw.Builder{}
	outer.Raw("error", JSON(st, o))
	return outer.Bytes()
}

// JSON returns o as a JSON object: the value of "error" in the document that WriteJSON writes. st is for
// the commands in the hint.
func JSON(st term.Style, o wire.Outcome) []byte {
	j := &jsonraw.Builder{}
	j.Text("kind", string(o.Kind))
	j.Number("exit", int64(o.ExitCode()))
	j.Text("message", headline(o))
	hint, _ := st.Hints.Text(HintFor(st, o))
	j.TextIfAny("hint", hint)
	j.Bool("sent", o.Reached != wire.Unsent)
	j.Text("outcome", o.Reached.String())
	j.Bool("operation_sent", o.OperationSent())
	j.Bool("retryable", o.Retryable)
	j.Raw("http", httpJSON(o))
	j.Raw("rpc", rpcJSON(o.RPCError()))
	j.TextIfAny("phase", o.Phase)
	j.TextIfAny("method", o.Method)
	j.TextIfAny("name", o.Name)
	j.TextIfAny("where", o.ServerName)
	if o.Line > 0 {
		j.Number("line", int64(o.Line))
	}
	j.ListIfAny("findings", findingsJSON(o))
	j.Raw("process", processJSON(o.Process))
	return j.Bytes()
}

// WriteJSON writes a failed outcome as a line of JSON; nothing if o is OK. On a terminal hidden
// characters are \u escapes, which change no value.
func WriteJSON(w io.Writer, st term.Style, o wire.Outcome) {
	if o.OK() {
		return
	}
	raw := errorDocument(st, o)
	if st.Pretty() {
		raw = term.EscapeHidden(raw)
	}
	_ = term.WriteLine(w, raw)
}

// httpJSON returns the HTTP response of an outcome, or nil.
func httpJSON(o wire.Outcome) []byte {
	h := o.HTTP
	if h == nil {
		return nil
	}
	j := &jsonraw.Builder{}
	j.Number("status", int64(h.Status))
	j.TextIfAny("url", h.URL)
	j.TextIfAny("contentType", h.ContentType)
	var fields []json.RawMessage
	for _, f := range h.Fields {
		field := &jsonraw.Builder{}
		field.Text("name", f.Name)
		field.Text("value", safeField(f).Value)
		fields = append(fields, field.Bytes())
	}
	j.ListIfAny("fields", fields)
	body := string(h.Body) // the start of a message that could not be parsed, if there is no body
	if body == "" && o.Message != nil && o.Message.Kind == wire.Invalid {
		body = jsonraw.Excerpt(o.Message.Raw, term.MaxExcerpt)
	}
	j.TextIfAny("body", body)
	return j.Bytes()
}

// rpcJSON returns an RPC error, or nil.
func rpcJSON(e *wire.RPCError) []byte {
	if e == nil {
		return nil
	}
	j := &jsonraw.Builder{}
	j.Number("code", e.Code)
	j.Text("message", e.Message)
	if e.Data != nil {
		j.Raw("data", jsonraw.OneLine(e.Data))
	}
	return j.Bytes()
}

// findingsJSON returns the findings, and for a bad response the problems of the message.
func findingsJSON(o wire.Outcome) []json.RawMessage {
	var written []json.RawMessage
	findings := o.Findings
	if o.Kind == wire.BadResponse && o.Message != nil {
		findings = append(findings[:len(findings):len(findings)], o.Message.Problems...)
	}
	for _, f := range findings {
		j := &jsonraw.Builder{}
		j.Text("where", f.Pointer)
		j.Text("rule", f.Rule)
		j.Text("level", f.Severity.String())
		j.Text("text", f.Text)
		j.TextIfAny("want", f.Want)
		j.TextIfAny("got", f.Got)
		written = append(written, j.Bytes())
	}
	return written
}

func processJSON(p *wire.ProcessFacts) []byte {
	if p == nil {
		return nil
	}
	j := &jsonraw.Builder{}
	j.TextIfAny("ended", p.HowEnded)
	j.TextIfAny("stderr", p.Stderr)
	return j.Bytes()
}
