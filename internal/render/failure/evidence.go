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

// Limits for a server's text in bytes. The recording and the JSON form of the error have all of it.
const (
	maxData = 1 << 10
	// maxMessage limits a message of several lines: the path of an invalid value can be at its end.
	maxMessage = 4 << 10
	// contextBytes is how many bytes are shown before and after a syntax error.
	contextBytes = 40
)

// writeEvidence writes the indented lines between the headline and the hint.
func (r *writer) writeEvidence(o wire.Outcome) {
	switch o.Kind {
	case wire.Usage:
		if o.Input != nil {
			r.writeSyntaxError(o.Input.Raw, int(o.Input.Offset), o.Input.IsCommandLine)
		}
	case wire.RPCFailed:
		r.writeRPC(o)
	case wire.BadResponse:
		r.writeBadResponse(o)
	case wire.Transport, wire.Auth, wire.Refused, wire.Timeout:
		r.writeHTTP(o)
	}
	r.writeFindings(o.Findings)
	r.writeProcess(o)
	r.writeDelivery(o)
}

// Evidence returns the evidence of a failed step of a saved call, or "". It omits the findings,
// because the report of the step has them already.
func Evidence(st term.Style, o wire.Outcome) string {
	if o.OK() {
		return ""
	}
	r := &writer{st: st}
	o.Findings = nil
	r.writeEvidence(o)
	return r.b.String()
}

// writeRPC writes the meaning of the error's code, or the text of the outcome if it has one, and the
// error's data.
func (r *writer) writeRPC(o wire.Outcome) {
	e := o.RPCError()
	if e == nil {
		return
	}
	if o.Text != "" && o.Text != e.Message {
		r.writeLine("%s", o.Text)
	} else {
		r.writeLine("%s", errorMeaning(o))
	}
	if _, _, hasMoreLines := strings.Cut(e.Message, "\n"); hasMoreLines { // the headline has the first only
		r.writeLine("message:")
		r.writeText(r.st.Excerpt([]byte(e.Message), maxMessage))
	}
	if e.Data != nil {
		r.writeLine("data: %s", r.st.Excerpt(jsonraw.Compact(e.Data), maxData))
	}
	if o.HTTP != nil && o.HTTP.Status >= 300 { // 200 says nothing about the error
		r.writeLine("received with %s", HTTPStatus(o.HTTP.Status))
		for _, f := range o.HTTP.Fields {
			if f.Name == "Retry-After" {
				r.writeLine("%s: %s", f.Name, r.st.Excerpt([]byte(f.Value), 100))
			}
		}
	}
}

// writeHTTP adds the status, the header fields and the body of an HTTP response.
func (r *writer) writeHTTP(o wire.Outcome) {
	if o.HTTP == nil {
		return
	}
	status := HTTPStatus(o.HTTP.Status)
	if o.HTTP.Status != 0 && !strings.Contains(headline(o), status) {
		r.writeLine("%s", status)
	}
	for _, f := range o.HTTP.Fields {
		r.writeLine("%s: %s", f.Name, r.st.Excerpt([]byte(safeField(f).Value), 500))
	}
	r.writeBody(o)
}

// safeField returns f, for a Location field with the secrets of the URL hidden.
func safeField(f wire.Field) wire.Field {
	if strings.EqualFold(f.Name, "location") {
		f.Value = redact.RedactURL(f.Value)
	}
	return f
}

// writeBody writes the start of a body that is not a message, and the title of an HTML page.
func (r *writer) writeBody(o wire.Outcome) {
	var body []byte
	if o.HTTP != nil && len(o.HTTP.Body) > 0 {
		body = o.HTTP.Body
	} else if o.Message != nil && o.Message.Kind == wire.Invalid {
		body = o.Message.Raw
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return
	}
	contentType := ""
	if o.HTTP != nil && o.HTTP.ContentType != "" && o.Kind != wire.BadResponse { // writeBadResponse has written it
		contentType = ", " + r.st.Excerpt([]byte(o.HTTP.ContentType), 100)
	}
	if found := pageTitle().FindSubmatch(body); utf8.Valid(body) && found != nil && len(found[1]) > 0 {
		r.writeLine("page title: %s", r.st.Excerpt(found[1], 200))
	}
	r.writeLine("body%s:", contentType)
	r.writeText(r.st.Excerpt(body, term.MaxExcerpt))
}

// pageTitle matches the title of an HTML page.
var pageTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)<title>\s*(.*?)\s*</title>`) })

// writeBadResponse shows where the bytes stop being a message: the position of a syntax error, the JSON
// with the problems of the message, or the start of a body that is not JSON.
func (r *writer) writeBadResponse(o wire.Outcome) {
	if o.HTTP != nil {
		r.writeLine("%s", strings.TrimRight(HTTPStatus(o.HTTP.Status)+", "+o.HTTP.ContentType, ", "))
	}
	m := o.Message
	if m == nil || len(m.Raw) == 0 || !mayBeJSON(o.HTTP) {
		r.writeBody(o)
		return
	}
	for _, p := range m.Problems { // the problems that the headline does not already name
		if p.Severity == wire.Error && !strings.Contains(o.Text, p.Text) {
			r.writeLine("%s", Finding(r.st, p))
		}
	}
	markLength := len(m.Raw) - len(bytes.TrimPrefix(m.Raw, []byte("\xEF\xBB\xBF"))) // of a byte order mark
	if err := jsonraw.Valid(m.Raw[markLength:]); err != nil {
		const isCommandLine = false
		r.writeSyntaxError(m.Raw, markLength+int(err.Offset), isCommandLine)
		return
	}
	r.writeLine("received: %s", r.st.Excerpt(jsonraw.Compact(m.Raw), maxData))
}

// mayBeJSON reports whether a body can be JSON by its content type, so that a syntax error in it
// has a position.
func mayBeJSON(h *wire.HTTPFacts) bool {
	return h == nil || h.ContentType == "" ||
		strings.Contains(h.ContentType, "json") || strings.Contains(h.ContentType, "event-stream")
}

// writeSyntaxError shows the bytes around an offset and a caret under it. It omits the positions if raw is
// from the command line.
func (r *writer) writeSyntaxError(raw []byte, offset int, isCommandLine bool) {
	offset = max(0, min(offset, len(raw)))
	start := jsonraw.RuneStart(raw, max(0, offset-contextBytes))
	end := jsonraw.RuneStart(raw, min(len(raw), offset+contextBytes))
	before := r.st.Line(string(raw[start:offset]))
	after := r.st.Line(string(raw[offset:end]))
	head := fmt.Sprintf("bytes %d to %d of %d: ", start, end, len(raw))
	label := fmt.Sprint("^ byte ", offset)
	if isCommandLine {
		head = ""
		label = "^"
	}
	r.b.WriteString("  " + head + before + after + "\n")
	caret := strings.Repeat(" ", len(head)+term.Width(before)) + label
	r.b.WriteString("  " + r.st.Paint(term.Red, caret) + "\n")
}

// writeProcess shows how a child process ended and the end of its stderr.
func (r *writer) writeProcess(o wire.Outcome) {
	if o.Process == nil {
		return
	}
	if ended := o.Process.HowEnded; ended != "" && !strings.Contains(o.Text, ended) {
		r.writeLine("the server process exited: %s", ended)
	}
	lines, total := o.Process.MainLines()
	switch {
	case total == 0:
		r.writeLine("the server's stderr is empty")
		return
	case total > len(lines):
		r.writeLine("the server's stderr, %d lines:", total)
	default:
		r.writeLine("the end of the server's stderr:")
	}
	for i := range lines {
		lines[i] = r.st.Excerpt([]byte(lines[i]), 500)
	}
	r.writeText(strings.Join(lines, "\n"))
}

// writeDelivery says whether the server may have acted on the request, if that is in doubt. It says
// nothing about an outcome of many exchanges.
func (r *writer) writeDelivery(o wire.Outcome) {
	switch o.Kind {
	case wire.Transport, wire.Timeout, wire.LocalIO, wire.Internal, wire.Signal:
		// The request may have reached the server or not.
	default:
		return // the outcome says how far the request went
	}
	if o.IsSummary || o.Reached == wire.Answered {
		return
	}
	var parts []string
	if phase := phaseTexts[o.Phase]; phase != "" && o.Took > 0 {
		parts = append(parts, "failed "+phase+" ("+term.Duration(o.Took)+")")
	} else if phase != "" {
		parts = append(parts, "failed "+phase)
	}
	parts = append(parts, deliveryText(o))
	if o.Retryable {
		parts = append(parts, "a retry is safe")
	}
	r.writeLine("%s", strings.Join(parts, "; "))
}

// phaseTexts says when an outcome of each phase failed.
var phaseTexts = map[string]string{
	"arguments": "while checking the arguments", "dns": "while resolving the host name",
	"connect": "while connecting", "tls": "during the TLS handshake",
	"discover": "during protocol detection", "initialize": "during the handshake",
	"send": "while sending", "wait": "while waiting for the response", "read": "while reading the response",
	"result": "with the result", "close": "while closing",
}

// isReadOnly reports whether a server does not act on requests of the method.
func isReadOnly(method string) bool { return method == "initialize" || mcp.OnlyReads(method) }

// deliveryText says whether the server received the request and may have acted on it.
func deliveryText(o wire.Outcome) string {
	switch {
	case o.Part == wire.AfterOperation:
		return "the requested operation had been sent before"
	case o.Reached == wire.Unsent:
		return "nothing was sent"
	case o.Part == wire.BeforeOperation:
		return "the requested operation was not sent"
	case o.Retryable, isReadOnly(o.Method):
		return "the request was sent"
	case o.Method == "tools/call":
		return "the request was sent, so the tool may or may not have run"
	}
	return "the request was sent, and the server may have acted on it"
}
