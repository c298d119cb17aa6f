package traffic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/render/failure"
	"mcpc/internal/wire"
)

// The notes of Explain are in two tables: one for HTTP, one for the members of messages. A note
// explains what a part is for, in words that a newcomer knows, and names the common mistake.

// A noteRow has the note for the members at a path. The first row that matches counts.
type noteRow struct {
	// role and method limit the row to some messages; "" is all of them. A response has the method
	// of its request. A "*" at the end matches any suffix.
	role, method string
	// path has the names from the root of the message, with blanks between; [] is any item of an
	// array, * any name.
	path string
	// value limits the row to one value as written.
	value string
	// note is "" if it depends on the value, see valueNote.
	note string
}

// noteFor returns the note for a member the first time it is needed, then "".
func (e *explainer) noteFor(path []string, raw json.RawMessage) string {
	i := e.findRow(path, raw)
	if i < 0 {
		return ""
	}
	if memberNotes[i].note == "" {
		text := e.valueNote(path, raw)
		return e.noteOnce(text, text)
	}
	return e.noteOnce(fmt.Sprint("row ", i), memberNotes[i].note)
}

// findRow returns the index of the row for a member, or -1.
func (e *explainer) findRow(path []string, raw json.RawMessage) int {
	for i, row := range memberNotes {
		if e.matches(row, path, raw) {
			return i
		}
	}
	return -1
}

// matches reports whether a row is for the member at path of the current message.
func (e *explainer) matches(row noteRow, path []string, raw json.RawMessage) bool {
	if row.role != "" && row.role != e.role {
		return false
	}
	if row.value != "" && row.value != string(raw) {
		return false
	}
	method := e.current.Method
	if e.role == "response" { // a response names no method
		method = e.request.Method
	}
	prefix, isPrefix := strings.CutSuffix(row.method, "*")
	if isPrefix && !strings.HasPrefix(method, prefix) {
		return false
	}
	if !isPrefix && row.method != "" && row.method != method {
		return false
	}
	names := strings.Fields(row.path)
	if len(names) != len(path) {
		return false
	}
	for i, name := range names {
		if name != "*" && name != path[i] {
			return false
		}
	}
	return true
}

// valueNote returns the note that depends on the value at path, or "".
func (e *explainer) valueNote(path []string, raw json.RawMessage) string {
	switch path[len(path)-1] {
	case "id": // of a response
		if e.isUnrequested {
			return "it was sent for a message that is not a request, so it responds to nothing"
		}
		if e.current.IsResponseTo(e.request.ID) {
			return "the id of the request that this responds to"
		}
		if e.request.ID == nil {
			return "no open request has this id"
		}
		return fmt.Sprintf("not the request's id, which is %s: this is not its response", e.st.Excerpt(e.request.ID, 40))
	case "code":
		if e.current.Error != nil {
			return failure.CodeMeaning(e.current.Error.Code)
		}
	case "structuredContent":
		if render.ContentRepeats(e.current.Result, raw) {
			return "the same data, typed: the text is for a model, this is for a program; " +
				"it must match the outputSchema"
		}
		return "the result as data, for a program: it must match the outputSchema; " +
			"a server should repeat it as text in content, for older clients"
	}
	return ""
}

const (
	pipeNote    = "no HTTP: each message is one line on the server's stdin or stdout"
	eventNote   = "one message of the stream"
	eventIDNote = "event id: a client resumes after it (Last-Event-ID)"
	retryNote   = "reconnection delay in milliseconds"
)

// verbNotes are the notes for HTTP methods.
var verbNotes = map[string]string{
	http.MethodPost:   "each message to the server is a separate POST to the same URL",
	http.MethodGet:    "opens a stream for server messages",
	http.MethodDelete: "ends the session",
}

// statusNote returns the note for an HTTP status, or "".
func statusNote(code int) string {
	switch {
	case code == http.StatusAccepted:
		return "accepted: notifications and responses get no response of their own"
	case code == http.StatusOK:
		return "HTTP succeeded; a tool error also has status 200"
	case code == http.StatusUnauthorized:
		return "authentication required"
	case code == http.StatusNotFound:
		return "unknown method, unknown session, or no MCP endpoint: see the body"
	case code >= 400 && code < 500:
		return "the server rejects the request; see the JSON-RPC error in the body"
	case code >= 500:
		return "an error of the server or of a proxy in front of it"
	}
	return ""
}

const sessionLostNote = "the server does not know the session any more; " +
	"the client has to initialize again (basic/transports)"

// sessionLost reports whether a response's head shows that the server does not know the session of
// its request: status 404 to a request with a session id, without an error about the method or its
// params. A stateless request, which names its method in a header field, has no session.
func sessionLost(x *wire.Exchange, response wire.Frame) bool {
	if response.HTTP == nil || response.HTTP.Status != http.StatusNotFound {
		return false
	}
	var request *wire.HTTPHead
	for _, f := range x.Heads {
		if f.Dir == wire.Sent && f.HTTP != nil {
			request = f.HTTP
		}
	}
	if request == nil || request.Method == http.MethodDelete {
		return false
	}
	hasSession := request.Field("Mcp-Session-Id") != "" && request.Field("Mcp-Method") == ""
	if !hasSession {
		return false
	}
	ended, _ := mcp.EndsSession(wire.ParseMessage(x.Response.Raw))
	return ended
}

// fieldNotes are the notes for header fields that matter to MCP, by lower-case name.
var fieldNotes = map[string]struct{ sent, received string }{
	"accept": {"the client accepts a JSON document or an event stream", ""},
	"content-type": {
		"the body is one JSON-RPC message",
		"expected: application/json or text/event-stream",
	},
	"mcp-protocol-version": {"the protocol revision of this message", "the protocol revision of this message"},
	"mcp-session-id": {
		"the session id: sent with every request; hidden here, because it works like a password",
		"the server opened a session: the client sends this id from now on",
	},
	"mcp-method":       {"the body's method, so that a proxy can route without reading the body; both must agree", ""},
	"mcp-name":         {"the body's name or URI, for proxies; must agree with the body", ""},
	"last-event-id":    {"resume the stream after this event", ""},
	"authorization":    {"the access token, hidden", ""},
	"www-authenticate": {"", "the authentication scheme, and where to get a token"},
	"location":         {"", "another URL, which mcpc does not follow"},
	"retry-after":      {"", "how long to wait before a retry"},
	"allow":            {"", "the HTTP methods of this URL"},
}

const paramFieldNote = "an argument, for proxies: the tool's inputSchema marks it with x-mcp-header"

const sameSessionNote = "the id of the session, which the client has already"

// fieldNote returns the note for a header field, and whether the field matters.
func (e *explainer) fieldNote(d wire.Direction, f wire.Field) (note string, matters bool) {
	name := strings.ToLower(f.Name)
	if strings.HasPrefix(name, "mcp-param-") {
		return paramFieldNote, true
	}
	notes, known := fieldNotes[name]
	note = notes.sent
	if d == wire.Received {
		note = notes.received
		if name == "mcp-session-id" && e.request.Method != "initialize" {
			note = sameSessionNote
		}
		if name == "content-type" {
			note = mediaTypeNote(f.Value, note)
		}
	}
	return note, known && note != ""
}

// mediaTypeNote returns the note for the media type of a response, or otherwise for an unexpected one.
func mediaTypeNote(value, otherwise string) string {
	switch wire.MediaType(value) {
	case "text/event-stream":
		return "an event stream that ends with the response; application/json would be one JSON document"
	case "application/json":
		return "one JSON document; text/event-stream would be an event stream"
	}
	return otherwise
}
