package render

import (
	"encoding/json"
	"io"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// ErrorJSON is how o ended, for a program: one JSON object without a line end,
//
//	{"error":{"kind","exit","message","hint","sent","outcome",
//	          "operation_sent","retryable","http","rpc","phase","method",
//	          "name","where","line","findings","process"}}
//
// in this order. kind, exit, message, sent, outcome, operation_sent and retryable
// always stand; the others only where there is something to say. sent is true
// where the request that failed, which method names, may have reached the server,
// operation_sent where the one may that the user asked for: a handshake and a list
// come before a call. retryable is set by the latter. http is {status,url,
// contentType,fields,body}, rpc is {code,message,data} with the bytes of data as
// they crossed.
func ErrorJSON(st Style, o wire.Outcome) []byte {
	outer := &object{}
	outer.raw("error", errorJSON(st, o))
	return outer.bytes()
}

// errorJSON is how o ended as a JSON object: what stands under "error".
func errorJSON(st Style, o wire.Outcome) []byte {
	j := &object{}
	j.text("kind", string(o.Kind))
	j.number("exit", int64(o.ExitCode()))
	j.text("message", headline(o))
	hint, _ := st.Aim.Hint(st.hintFor(o))
	j.some("hint", hint)
	j.flag("sent", o.Reached != wire.Unsent)
	j.text("outcome", o.Reached.String())
	j.flag("operation_sent", o.OperationSent())
	j.flag("retryable", o.Retryable)
	j.raw("http", httpJSON(o))
	j.raw("rpc", rpcJSON(o.RPC()))
	j.some("phase", o.Phase)
	j.some("method", o.Method)
	j.some("name", o.Name)
	j.some("where", o.Where)
	if o.Line > 0 {
		j.number("line", int64(o.Line))
	}
	j.list("findings", findingsJSON(o))
	j.raw("process", processJSON(o.Process))
	return j.bytes()
}

// FailureJSON writes how o ended as a line of JSON. On a terminal characters that hide
// are written as \u escapes, which changes no value.
func FailureJSON(w io.Writer, st Style, o wire.Outcome) {
	if o.Good() {
		return
	}
	raw := ErrorJSON(st, o)
	if st.watched() {
		raw = escapeHidden(raw)
	}
	_ = writeLine(w, raw)
}

func httpJSON(o wire.Outcome) []byte {
	h := o.HTTP
	if h == nil {
		return nil
	}
	j := &object{}
	j.number("status", int64(h.Status))
	j.some("url", h.URL)
	j.some("contentType", h.ContentType)
	var fields []json.RawMessage
	for _, f := range h.Fields {
		one := &object{}
		one.text("name", f.Name)
		one.text("value", safeField(f).Value)
		fields = append(fields, one.bytes())
	}
	j.list("fields", fields)
	body := string(h.Body)
	if body == "" && o.Message != nil && o.Message.Kind == wire.Invalid {
		body = jsonraw.Excerpt(o.Message.Raw, maxBody)
	}
	j.some("body", body)
	return j.bytes()
}

func rpcJSON(e *wire.RPCError) []byte {
	if e == nil {
		return nil
	}
	j := &object{}
	j.number("code", e.Code)
	j.text("message", e.Message)
	if e.Data != nil {
		j.raw("data", jsonraw.OneLine(e.Data))
	}
	return j.bytes()
}

// findingsJSON also has the ways in which a bad response is not a message.
func findingsJSON(o wire.Outcome) (all []json.RawMessage) {
	findings := o.Findings
	if o.Kind == wire.BadResponse && o.Message != nil {
		findings = append(findings[:len(findings):len(findings)], o.Message.Problems...)
	}
	for _, f := range findings {
		j := &object{}
		j.text("where", f.Where)
		j.text("rule", f.Rule)
		j.text("level", f.Level.String())
		j.text("text", f.Text)
		j.some("want", f.Want)
		j.some("got", f.Got)
		all = append(all, j.bytes())
	}
	return all
}

func processJSON(p *wire.ProcessFacts) []byte {
	if p == nil {
		return nil
	}
	j := &object{}
	j.some("ended", p.Ended)
	j.some("stderr", p.Stderr)
	return j.bytes()
}

// object composes a JSON object member by member, so that bytes from the wire
// can stand in it unchanged.
type object struct{ b []byte }

// raw adds a member with a value as it stands; nil adds none.
func (o *object) raw(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	if len(o.b) > 0 {
		o.b = append(o.b, ',')
	}
	o.b = append(append(o.b, jsonraw.Quote(name)...), ':')
	o.b = append(o.b, value...)
}

// text adds a member with a string.
func (o *object) text(name, value string) { o.raw(name, jsonraw.Quote(value)) }

// number adds a member with a number.
func (o *object) number(name string, value int64) { o.raw(name, strconv.AppendInt(nil, value, 10)) }

// flag adds a member with true or false.
func (o *object) flag(name string, value bool) { o.raw(name, strconv.AppendBool(nil, value)) }

// list adds a member with an array, unless it is empty.
func (o *object) list(name string, items []json.RawMessage) {
	if len(items) > 0 {
		o.raw(name, jsonraw.List(items))
	}
}

// some adds a member with a string, unless it is empty.
func (o *object) some(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

// bytes gives the object.
func (o *object) bytes() []byte { return append(append([]byte{'{'}, o.b...), '}') }
