package render

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"mcpc/internal/wire"
)

// The notes of Explain are two tables: one for HTTP, one for the members of
// messages. A note says what a part is for, in words that a newcomer knows, and
// names the mistake that is made with it.

// A noteRow gives a note to the members that stand at a path. The first row that
// fits is taken.
type noteRow struct {
	// role and method limit the row to some messages; "" is all of them. The
	// method of a response is that of its request, and "*" ends a prefix.
	role, method string
	// path are the names from the root of the message, between blanks; [] is any
	// item of an array, * any name.
	path string
	// is limits the row to one value, as it is written.
	is   string
	note string
}

// note gives the note for a place, the first time it is seen.
func (e *explainer) note(path []string, raw json.RawMessage) string {
	i := e.find(path, raw)
	switch {
	case i < 0 || e.told[i]:
		return ""
	case memberNotes[i].note == "":
		text := e.live(path, raw)
		return e.once(text, text)
	}
	e.told[i] = true
	return memberNotes[i].note
}

// find gives the row for a place, or -1.
func (e *explainer) find(path []string, raw json.RawMessage) int {
	for i, row := range memberNotes {
		if e.fits(row, path, raw) {
			return i
		}
	}
	return -1
}

func (e *explainer) fits(row noteRow, path []string, raw json.RawMessage) bool {
	if row.role != "" && row.role != e.role || row.is != "" && row.is != string(raw) {
		return false
	}
	method := e.m.Method
	if e.role == "response" {
		method = e.request.Method
	}
	if prefix, open := strings.CutSuffix(row.method, "*"); open {
		if !strings.HasPrefix(method, prefix) {
			return false
		}
	} else if row.method != "" && row.method != method {
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

// live are the notes that depend on what stands there.
func (e *explainer) live(path []string, raw json.RawMessage) string {
	switch path[len(path)-1] {
	case "id":
		if e.unasked {
			return "it came for a message that is no request, so that it answers nothing, whatever its number"
		}
		if e.m.Answers(e.request.ID) {
			return "the number of the request: this is the answer to it"
		}
		if e.request.ID == nil {
			return "no request that waits for its answer has this number"
		}
		return fmt.Sprintf("not the request's number, which is %s: this does not answer it", e.st.excerpt(e.request.ID, 40))
	case "code":
		if e.m.Error != nil {
			return codeMeaning(e.m.Error.Code)
		}
	case "structuredContent":
		if mirrored(resultBlocks("tools/call", e.m.Result), raw) {
			return "the same data again, typed: the text is for a model, this is for a program; " +
				"it must fit the outputSchema"
		}
		return "the answer as data, for a program: it must fit the outputSchema; " +
			"a server should say the same as text in content, for clients that know only that"
	}
	return ""
}

const (
	pipeNote    = "no HTTP here: a message is one line, as to a server's standard input and from its standard output"
	eventNote   = "one message of the stream"
	eventIDNote = "a bookmark: after a break a client asks for what follows it (Last-Event-ID)"
	retryNote   = "how many milliseconds to wait before coming back"
)

func verbNote(verb string) string {
	switch verb {
	case http.MethodPost:
		return "each message to the server is a POST of its own, all to one address"
	case http.MethodGet:
		return "opens a stream for what the server sends of its own accord"
	case http.MethodDelete:
		return "ends the session"
	}
	return ""
}

func statusNote(code int) string {
	switch {
	case code == http.StatusAccepted:
		return "taken: a notification has no answer, nor has an answer, so that HTTP's word is all there is"
	case code == http.StatusOK:
		return "HTTP worked; a tool that failed comes with 200 too"
	case code == http.StatusUnauthorized:
		return "the server wants to know who asks"
	case code == http.StatusNotFound:
		return "no such method, no such session, or no MCP at this address: the body says which"
	case code >= 400 && code < 500:
		return "the server takes fault with the request; a JSON-RPC error in the body says more"
	case code >= 500:
		return "the fault is on the server's side, or of something in front of it"
	}
	return ""
}

// fieldNotes are the header fields that matter to MCP, by lower-case name: what
// they are for in a request, and in a response.
var fieldNotes = map[string]struct{ sent, received string }{
	"accept": {"the client takes one JSON document or a stream of events", ""},
	"content-type": {"the body is one JSON-RPC message",
		"one JSON document, or (event-stream) events, of which the last is the answer"},
	"mcp-protocol-version": {"the revision of MCP that this is written in", "the revision of MCP that this is written in"},
	"mcp-session-id": {"the session: shown with every request; hidden here, because it is as good as a password",
		"the server opened a session: the client shows this from now on"},
	"mcp-method":       {"\"method\" once more, so that a proxy can route without reading the body; both must agree", ""},
	"mcp-name":         {"the name of what is asked for once more, for proxies; must agree with the body", ""},
	"last-event-id":    {"pick the stream up behind this event", ""},
	"authorization":    {"the access token, hidden", ""},
	"www-authenticate": {"", "how to get in: the scheme, and where to ask for a token"},
	"location":         {"", "another address, which mcpc does not follow by itself"},
	"retry-after":      {"", "how long the server asks to be left alone"},
	"allow":            {"", "the HTTP methods that this address takes"},
}

const paramFieldNote = "an argument once more, for proxies: the tool's inputSchema marks it with x-mcp-header"

// fieldNote gives the note for a header field, and whether the field matters.
func fieldNote(d wire.Direction, f wire.Field) (note string, matters bool) {
	name := strings.ToLower(f.Name)
	if strings.HasPrefix(name, "mcp-param-") {
		return paramFieldNote, true
	}
	notes, known := fieldNotes[name]
	note = notes.sent
	if d == wire.Received {
		note = notes.received
	}
	return note, known && note != ""
}
