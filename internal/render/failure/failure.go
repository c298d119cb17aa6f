// Package failure writes failed outcomes: for a person a headline, evidence and a hint, for a
// program one JSON object. It also writes warnings, notes and the table of exit codes.
package failure

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// A failure for a person is the line `mcpc: what (where)`, then indented lines of evidence if there are
// any, and last the line `hint: what to do next`. The first line names the channel, because people
// confuse the channels. All text is sanitized, for a pipe too.

// maxFindings is how many findings are listed; the rest is counted.
const maxFindings = 20

// Write writes a failed outcome for a person; nothing if o is OK.
func Write(w io.Writer, st term.Style, o wire.Outcome) {
	if o.OK() {
		return
	}
	r := &writer{st: st}
	text := st.Line(linePrefix(o) + shortHeadline(st, o) + placeSuffix(o))
	r.b.WriteString(st.Paint(term.Bold+";"+term.Red, "mcpc:") + " " + st.WrapIndented(text, 6, 6) + "\n")
	r.writeEvidence(o)
	if hint := HintFor(st, o); hint != "" {
		Hint(&r.b, st, hint)
	}
	_, _ = w.Write(r.b.Bytes())
}

// Hint writes one line about what to do next.
func Hint(w io.Writer, st term.Style, hint wire.Hint) {
	text, hasCommand := st.Hints.Text(hint)
	text = st.Line(text)
	// A command stays on one line, so that it can be copied.
	if !hasCommand {
		text = st.WrapIndented(text, 6, 6)
	}
	_, _ = io.WriteString(w, st.Paint(term.Cyan, "hint:")+" "+text+"\n")
}

// Warn writes one line about a problem that did not stop the command.
func Warn(w io.Writer, st term.Style, text string) {
	text = st.WrapIndented(st.Line(text), 15, 6)
	_, _ = io.WriteString(w, speaker(st)+st.Paint(term.Yellow, "warning:")+" "+text+"\n")
}

// Note writes one line about something that mcpc did or decided by itself.
func Note(w io.Writer, st term.Style, text string) {
	text = st.WrapIndented(st.Line(text), 12, 6)
	_, _ = io.WriteString(w, speaker(st)+st.Paint(term.Dim, "note:")+" "+text+"\n")
}

// speaker returns the start of a warning or note: mcpc, and the server of the style, if there is one.
func speaker(st term.Style) string {
	if st.Server == "" {
		return "mcpc: "
	}
	return "mcpc: " + st.Server + ": "
}

// writer collects the text of one failure, which is written in one call so that no other output
// gets between its lines.
type writer struct {
	st term.Style
	b  bytes.Buffer
}

func (r *writer) writeLine(format string, args ...any) {
	r.b.WriteString("  " + r.st.WrapIndented(r.st.Line(fmt.Sprintf(format, args...)), 2, 4) + "\n")
}

// writeText adds a text that mcpc did not write, such as a body or stderr, line by line.
func (r *writer) writeText(s string) {
	s = strings.TrimRight(r.st.Block(s), "\r\n")
	for line := range strings.SplitSeq(s, "\n") {
		r.b.WriteString("  " + r.st.Paint(term.Dim, "| ") + strings.TrimSuffix(line, "\r") + "\n")
	}
}

// writeFindings adds at most maxFindings findings.
func (r *writer) writeFindings(findings []wire.Finding) {
	for i, f := range findings {
		if f.Rule == wire.RuleMore { // the last: Got is the number of violations that the validation left out
			r.writeLine("%s and %s more", r.st.Ellipsis(), f.Got)
			return
		}
		if i == maxFindings {
			r.writeLine("%s and %d more", r.st.Ellipsis(), len(findings)-i)
			return
		}
		r.writeLine("%s", Finding(r.st, f))
	}
}

// Finding formats a finding: `/a must be number, got string`.
func Finding(s term.Style, f wire.Finding) string {
	text := s.Excerpt([]byte(f.Text), 400)
	var details []string
	if f.Want != "" && !strings.Contains(f.Text, f.Want) {
		details = append(details, "want "+s.Excerpt([]byte(f.Want), 120))
	}
	if f.Got != "" && !strings.Contains(f.Text, f.Got) {
		details = append(details, "got "+s.Excerpt([]byte(f.Got), 120))
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	if f.Pointer != "" {
		text = s.Excerpt([]byte(f.Pointer), 200) + " " + text
	}
	if f.Severity < wire.Error {
		text = f.Severity.String() + ": " + text
	}
	return text
}

// kindTexts has the label of each kind, and the text and the hint for outcomes without their own.
// rpcHeadline and argumentsHeadline have the text of the other kinds.
var kindTexts = map[wire.Kind]struct {
	label, text string
	hint        wire.Hint
}{
	wire.CheckFailed: {"check failed", "the check failed", ""},
	wire.NoMatch:     {"no match", "nothing was found", ""},
	wire.Usage:       {"", "invalid command line", ""},
	wire.Auth:        {"authorization", "the server rejected the credentials", ""},
	wire.Transport:   {"transport", "no response", ""},
	wire.ToolError:   {"", "", "tool execution error, not a protocol error; the message is on stdout"},
	wire.BadResponse: {
		"bad response",
		"the response is invalid",
		wire.Verbose(3, "the exact bytes") + "; " + wire.Run("raw") + " prints an invalid response unchanged",
	},
	wire.Timeout: {"timeout", "no response in time", "--timeout TIME waits longer"},
	wire.OutputInvalid: {
		"output invalid",
		"the result does not match the tool's outputSchema",
		"the result is on stdout; --no-validate skips this check",
	},
	wire.InputRequired: {
		"input required",
		"the server requested input and got no answer",
		"the request is on stdout; see " + wire.Run("help answering"),
	},
	wire.Refused:  {"refused by mcpc", "not allowed by its policy", ""},
	wire.LocalIO:  {"local I/O error", "reading or writing failed", ""},
	wire.Internal: {"internal error, a bug in mcpc", "unexpected state", "please report it, with the output of -vvv"},
	wire.Signal:   {"", "interrupted", ""},
}

// headline describes the outcome; it begins with the channel.
func headline(o wire.Outcome) string {
	if o.IsSummary {
		return o.Text
	}
	switch o.Kind {
	case wire.ToolError:
		if o.Text != "" && o.Result != nil && !wire.IsToolError(o.Result) {
			return "tool error: " + o.Text
		}
		return "tool error: result.isError = true"
	case wire.RPCFailed:
		return rpcHeadline(o)
	case wire.InvalidArguments:
		return argumentsHeadline(o)
	}
	texts := kindTexts[o.Kind]
	text := o.Text
	if text == "" && o.HTTP != nil && o.Kind != wire.OutputInvalid { // its status is 200
		text = "the server returned " + HTTPStatus(o.HTTP.Status)
	}
	if text == "" {
		text = texts.text
	}
	if texts.label == "" || strings.HasPrefix(text, texts.label) {
		return text
	}
	return texts.label + ": " + text
}

// rpcHeadline returns the headline for an RPC error: its code and message, or the reason of mcpc tap.
func rpcHeadline(o wire.Outcome) string {
	e := o.RPCError()
	if e == nil && o.Text == "" {
		return "protocol error: the server answered with an error"
	}
	if e == nil {
		return "protocol error: " + o.Text
	}
	if why, _ := e.TapReason(); why != "" {
		return jsonraw.Excerpt([]byte(why), maxHeadline)
	}
	return protocolError(e.Code, e.Message)
}

// maxHeadline is the maximum number of bytes of an error's message in a headline.
const maxHeadline = 500

func protocolError(code int64, message string) string {
	return fmt.Sprintf("protocol error %d %q", code, jsonraw.Excerpt([]byte(message), maxHeadline))
}

// shortHeadline returns the headline with the first line of the error's message only, because the
// evidence below it has all lines.
func shortHeadline(st term.Style, o wire.Outcome) string {
	if o.Kind != wire.RPCFailed || o.IsSummary || o.RPCError() == nil {
		return headline(o)
	}
	first, _, hasMoreLines := strings.Cut(o.RPCError().Message, "\n")
	if !hasMoreLines || o.RPCError().IsByTap() {
		return headline(o)
	}
	// A bracket at the end begins the JSON of the next lines.
	return protocolError(o.RPCError().Code, strings.TrimRight(first, " \t\r[{")+" "+st.Ellipsis())
}

// argumentsHeadline returns the headline for arguments that do not match the schema.
func argumentsHeadline(o wire.Outcome) string {
	text := o.Text
	if text == "" {
		text = "they do not match the tool's inputSchema"
	}
	if len(o.Findings) > 0 || o.Text == "" { // a text without findings is a whole sentence
		text = "invalid arguments: " + text
	}
	if o.Reached == wire.Answered && o.Phase == "arguments" {
		return text
	}
	if o.Reached != wire.Unsent { // an invalid answer to a request of the server
		return text + "; it was not sent"
	}
	if o.Method == "tools/call" {
		return text + "; the call was not sent"
	}
	return text + "; the request was not sent"
}

// linePrefix returns `line 3: ` for a line of a script, or "".
func linePrefix(o wire.Outcome) string {
	if o.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", o.Line)
}

// placeSuffix returns ` (tools/call get-sum, http://localhost:3001/mcp)`, or "".
func placeSuffix(o wire.Outcome) string {
	var parts []string
	if what := strings.TrimSpace(o.Method + " " + o.Name); what != "" {
		parts = append(parts, what)
	}
	if o.ServerName != "" {
		parts = append(parts, o.ServerName)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// HTTPStatus returns `HTTP 404 Not Found`.
func HTTPStatus(code int) string {
	return strings.TrimRight("HTTP "+strconv.Itoa(code)+" "+http.StatusText(code), " ")
}

// Headline says in one line how o ended; it begins with the channel.
func Headline(o wire.Outcome) string { return term.Line(headline(o)) }
