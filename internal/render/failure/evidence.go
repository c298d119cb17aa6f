package failure

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// These bound how much of a server's text is shown, in bytes and in lines of stderr. The
// whole of it is in the recording, and in the JSON form of the error.
const (
	maxData = 1 << 10
	// maxMessage is how much is shown of a message of several lines: the path of an invalid value can be at its end.
	maxMessage = 4 << 10
	// contextBytes is how many bytes are shown before and behind a syntax error.
	contextBytes = 40
)

// evidence writes the indented lines between what happened and the hint.
func (r *writer) evidence(o wire.Outcome) {
	switch o.Kind {
	case wire.Usage:
		if o.Input != nil {
			r.syntaxError(o.Input.Raw, int(o.Input.Offset), o.Input.Words)
		}
	case wire.RPCFailed:
		r.rpc(o)
	case wire.BadResponse:
		r.badResponse(o)
	case wire.Transport, wire.Auth, wire.Refused, wire.Timeout:
		r.http(o)
	}
	r.findings(o.Findings)
	r.process(o)
	r.delivery(o)
}

// Evidence returns the evidence of a step of a saved call that did not end well, ""
// for one that did. It omits the findings: the miss above it has them.
func Evidence(st term.Style, o wire.Outcome) string {
	if o.Good() {
		return ""
	}
	r := &writer{st: st}
	o.Findings = nil
	r.evidence(o)
	return r.b.String()
}

// rpc says what the code means, unless the caller knows more of the case, and
// shows the error's data.
func (r *writer) rpc(o wire.Outcome) {
	e := o.RPC()
	if e == nil {
		return
	}
	if o.Text != "" && o.Text != e.Message {
		r.line("%s", o.Text)
	} else {
		r.line("%s", errorMeaning(o))
	}
	if _, _, cut := strings.Cut(e.Message, "\n"); cut {
		r.line("message:")
		r.text(r.st.Excerpt([]byte(e.Message), maxMessage))
	}
	if e.Data != nil {
		r.line("data: %s", r.st.Excerpt(jsonraw.Compact(e.Data), maxData))
	}
	if o.HTTP != nil && o.HTTP.Status >= 300 {
		r.line("received with %s", HTTPStatus(o.HTTP.Status))
		for _, f := range o.HTTP.Fields {
			if f.Name == "Retry-After" {
				r.line("%s: %s", f.Name, r.st.Excerpt([]byte(f.Value), 100))
			}
		}
	}
}

func (r *writer) http(o wire.Outcome) {
	if o.HTTP == nil {
		return
	}
	if s := HTTPStatus(o.HTTP.Status); o.HTTP.Status != 0 && !strings.Contains(headline(o), s) {
		r.line("%s", s)
	}
	for _, f := range o.HTTP.Fields {
		r.line("%s: %s", f.Name, r.st.Excerpt([]byte(safeField(f).Value), 500))
	}
	r.body(o)
}

// safeField hides secrets in the query of an address to which a server sends.
func safeField(f wire.Field) wire.Field {
	if strings.EqualFold(f.Name, "location") {
		f.Value = redact.RedactURL(f.Value)
	}
	return f
}

// body shows the start of a body that was no message. A page's title says in
// three words what its markup says in two thousand.
func (r *writer) body(o wire.Outcome) {
	var body []byte
	if o.HTTP != nil && len(o.HTTP.Body) > 0 {
		body = o.HTTP.Body
	} else if o.Message != nil && o.Message.Kind == wire.Invalid {
		body = o.Message.Raw
	}
	kind := ""
	if o.HTTP != nil && o.HTTP.ContentType != "" && o.Kind != wire.BadResponse {
		kind = ", " + r.st.Excerpt([]byte(o.HTTP.ContentType), 100)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return
	}
	if found := pageTitle().FindSubmatch(body); utf8.Valid(body) && found != nil && len(found[1]) > 0 {
		r.line("page title: %s", r.st.Excerpt(found[1], 200))
	}
	r.line("body%s:", kind)
	r.text(r.st.Excerpt(body, term.MaxExcerpt))
}

// title finds what a page calls itself.
var pageTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)<title>\s*(.*?)\s*</title>`) })

// badResponse shows where the bytes stop being a message.
func (r *writer) badResponse(o wire.Outcome) {
	if o.HTTP != nil {
		r.line("%s", strings.TrimRight(HTTPStatus(o.HTTP.Status)+", "+o.HTTP.ContentType, ", "))
	}
	m := o.Message
	if m == nil || len(m.Raw) == 0 || !mayBeJSON(o.HTTP) {
		r.body(o)
		return
	}
	for _, p := range m.Problems {
		if p.Level == wire.Error && !strings.Contains(o.Text, p.Text) {
			r.line("%s", Finding(r.st, p))
		}
	}
	mark := len(m.Raw) - len(bytes.TrimPrefix(m.Raw, []byte("\xEF\xBB\xBF")))
	if err := jsonraw.Valid(m.Raw[mark:]); err != nil {
		r.syntaxError(m.Raw, mark+int(err.Offset), false)
		return
	}
	r.line("it was: %s", r.st.Excerpt(jsonraw.Compact(m.Raw), maxData))
}

// saysJSON reports whether it makes sense to look for the place where a body
// stops being JSON: a page never was any.
func mayBeJSON(h *wire.HTTPFacts) bool {
	return h == nil || h.ContentType == "" ||
		strings.Contains(h.ContentType, "json") || strings.Contains(h.ContentType, "event-stream")
}

// window shows the bytes around an offset, and a caret under it; which bytes they
// are is not said of words.
func (r *writer) syntaxError(raw []byte, at int, words bool) {
	at = max(0, min(at, len(raw)))
	from := jsonraw.RuneStart(raw, max(0, at-contextBytes))
	to := jsonraw.RuneStart(raw, min(len(raw), at+contextBytes))
	before := r.st.Line(string(raw[from:at]))
	after := r.st.Line(string(raw[at:to]))
	head := fmt.Sprintf("bytes %d to %d of %d: ", from, to, len(raw))
	name := fmt.Sprint("^ byte ", at)
	if words {
		head = ""
		name = "^"
	}
	r.b.WriteString("  " + head + before + after + "\n")
	caret := strings.Repeat(" ", len(head)+term.Width(before)) + name
	r.b.WriteString("  " + r.st.Paint(term.Red, caret) + "\n")
}

// process shows how a child ended and the end of what it wrote to stderr.
func (r *writer) process(o wire.Outcome) {
	if o.Process == nil {
		return
	}
	if ended := o.Process.Ended; ended != "" && !strings.Contains(o.Text, ended) {
		r.line("the server process exited: %s", ended)
	}
	lines, total := o.Process.MainLines()
	switch {
	case total == 0:
		r.line("the server's stderr is empty")
		return
	case total > len(lines):
		r.line("the server's stderr, %d lines:", total)
	default:
		r.line("the end of the server's stderr:")
	}
	for i := range lines {
		lines[i] = r.st.Excerpt([]byte(lines[i]), 500)
	}
	r.text(strings.Join(lines, "\n"))
}

// delivery says how far it came and whether the server may have acted, where that is
// in doubt. Of many exchanges each has a fate of its own.
func (r *writer) delivery(o wire.Outcome) {
	switch o.Kind {
	case wire.Transport, wire.Timeout, wire.LocalIO, wire.Internal, wire.Signal:
	default:
		return
	}
	if o.Many || o.Reached == wire.Answered {
		return
	}
	var parts []string
	if phase := phases[o.Phase]; phase != "" && o.Took > 0 {
		parts = append(parts, "failed "+phase+" ("+term.Duration(o.Took)+")")
	} else if phase != "" {
		parts = append(parts, "failed "+phase)
	}
	parts = append(parts, deliveryText(o))
	if o.Retryable {
		parts = append(parts, "a retry is safe")
	}
	r.line("%s", strings.Join(parts, "; "))
}

// phases say what was going on in each phase of an outcome.
var phases = map[string]string{
	"arguments": "while checking the arguments", "dns": "while resolving the host name",
	"connect": "while connecting", "tls": "during the TLS handshake",
	"discover": "during protocol detection", "initialize": "during the handshake",
	"send": "while sending", "wait": "while waiting for the response", "read": "while reading the response",
	"result": "with the result", "close": "while closing",
}

// changesNothing reports whether a server does not act on requests of the method.
func isReadOnly(method string) bool { return method == "initialize" || mcp.OnlyReads(method) }

func deliveryText(o wire.Outcome) string {
	switch {
	case o.Part == wire.After:
		return "the requested operation had been sent before"
	case o.Reached == wire.Unsent:
		return "nothing was sent"
	case o.Part == wire.Before:
		return "the requested operation was not sent"
	case o.Retryable, isReadOnly(o.Method):
		return "the request was sent"
	case o.Method == "tools/call":
		return "the request was sent, so the tool may or may not have run"
	}
	return "the request was sent, and the server may have acted on it"
}
