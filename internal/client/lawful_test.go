package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/mcp"
)

// laws hold every message that the client sends in a transcript against what is
// true of all of them, whatever the transcript is about. Only what a user writes
// himself, with raw or a header field, is his own.
type laws struct {
	ids, tokens map[string]bool
	initialize  string // the id of the newest one
	stamped     bool   // the newest request was of the era without a handshake
}

func newLaws() *laws { return &laws{ids: map[string]bool{}, tokens: map[string]bool{}} }

type sentMessage struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage
	Method  *string
	Params  struct {
		Name, URI, TaskID             string
		RequestID                     json.RawMessage
		ProtocolVersion, Capabilities json.RawMessage
		ClientInfo                    json.RawMessage
		Meta                          map[string]json.RawMessage `json:"_meta"`
	}
	Result json.RawMessage
	Error  *struct {
		Code    json.Number
		Message *string
	}
}

// broken is the first law that one message breaks, or "".
func (l *laws) broken(body []byte) string {
	var m sentMessage
	switch {
	case !utf8.Valid(body):
		return "the message is no UTF-8"
	case !bytes.HasPrefix(body, []byte("{")):
		return "the message is no object"
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return err.Error()
	}
	if string(m.Version) != `"2.0"` {
		return "jsonrpc is not 2.0"
	}
	switch {
	case m.Method == nil:
		return l.brokenAnswer(m)
	case m.ID == nil:
		return l.brokenNotification(m)
	}
	return l.brokenRequest(m)
}

var (
	goodID  = regexp.MustCompile(`^(-?\d+|".*")$`)
	metaKey = regexp.MustCompile(`^([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/)?([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$`)
	// The keys that a revision gives a client to write.
	reservedKeys = "/protocolVersion /clientCapabilities /clientInfo /logLevel /related-task"
	// The codes that have one meaning each, which no client needs.
	reservedCode = regexp.MustCompile(`^-320[2-9]\d$|^-32002$`)
)

func (l *laws) brokenAnswer(m sentMessage) string {
	switch {
	case !goodID.Match(m.ID):
		return "the answer has no id"
	case l.stamped:
		return "an answer in an era that has none"
	case (m.Result == nil) == (m.Error == nil):
		return "the answer is not one of result and error"
	case m.Error == nil:
		return ""
	}
	if _, err := m.Error.Code.Int64(); err != nil || m.Error.Message == nil {
		return "the error lacks a code or a message"
	}
	if reservedCode.MatchString(m.Error.Code.String()) {
		return "the error's code is reserved"
	}
	return ""
}

func (l *laws) brokenNotification(m sentMessage) string {
	if *m.Method != "notifications/cancelled" {
		return ""
	}
	id := string(m.Params.RequestID)
	if !l.ids[id] || id == l.initialize {
		return "what is cancelled was not asked, or is initialize"
	}
	return ""
}

func (l *laws) brokenRequest(m sentMessage) string {
	id := string(m.ID)
	if !goodID.MatchString(id) || l.ids[id] {
		return "the id is no id, or was used before"
	}
	l.ids[id] = true
	if *m.Method == "initialize" {
		l.initialize = id
		if m.Params.ProtocolVersion == nil || m.Params.Capabilities == nil || m.Params.ClientInfo == nil {
			return "initialize lacks a member"
		}
	}
	if token := string(m.Params.Meta["progressToken"]); token != "" {
		if !goodID.MatchString(token) || l.tokens[token] {
			return "the progress token is none, or was used before"
		}
		l.tokens[token] = true
	}
	return l.brokenMeta(m.Params.Meta)
}

func (l *laws) brokenMeta(meta map[string]json.RawMessage) string {
	for key := range meta {
		if !metaKey.MatchString(key) {
			return "no legal key of _meta: " + key
		}
		if name, ok := strings.CutPrefix(key, "io.modelcontextprotocol"); ok && !strings.Contains(reservedKeys, name) {
			return "a made-up key of _meta: " + key
		}
	}
	if l.stamped = meta["io.modelcontextprotocol/protocolVersion"] != nil; !l.stamped {
		return ""
	}
	for _, name := range []string{"clientCapabilities", "clientInfo"} {
		if !bytes.HasPrefix(meta["io.modelcontextprotocol/"+name], []byte("{")) {
			return "_meta lacks " + name
		}
	}
	var declared struct{ Extensions map[string]json.RawMessage }
	if err := json.Unmarshal(meta["io.modelcontextprotocol/clientCapabilities"], &declared); err != nil {
		return err.Error()
	}
	for name := range declared.Extensions {
		if !metaKey.MatchString(name) || !strings.Contains(name, "/") {
			return "no legal name of an extension: " + name
		}
	}
	return ""
}

// brokenHTTP is the first law that a request of HTTP breaks, or "".
func (l *laws) brokenHTTP(method string, header http.Header, body []byte) string {
	accept := header.Get("Accept")
	if method != http.MethodPost {
		switch {
		case l.stamped:
			return "a " + method + " in an era that has none"
		case method == http.MethodGet && !strings.Contains(accept, "text/event-stream"):
			return "GET does not accept a stream"
		}
		return ""
	}
	if broken := l.broken(body); broken != "" {
		return broken
	}
	if !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") {
		return "POST does not accept both types"
	}
	return l.brokenStamps(header, body)
}

// brokenStamps compares the header with the body, in the era that has both.
func (l *laws) brokenStamps(header http.Header, body []byte) string {
	var m sentMessage
	if json.Unmarshal(body, &m) != nil || m.ID == nil || !l.stamped {
		return ""
	}
	version := fmt.Sprintf("%q", header.Get("Mcp-Protocol-Version"))
	if version != string(m.Params.Meta["io.modelcontextprotocol/protocolVersion"]) {
		return "the version header is not what _meta says"
	}
	if header.Get("Mcp-Method") != *m.Method {
		return "Mcp-Method is not the method"
	}
	name := map[string]string{
		"tools/call": m.Params.Name, "prompts/get": m.Params.Name, "resources/read": m.Params.URI,
		"tasks/get": m.Params.TaskID, "tasks/update": m.Params.TaskID, "tasks/cancel": m.Params.TaskID,
	}[*m.Method]
	if header.Get("Mcp-Name") != mcp.EncodeHeader(name) {
		return "Mcp-Name is not the name"
	}
	return ""
}

func TestLawCheckFindsViolations(t *testing.T) {
	stamps := `"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{}}`
	for _, message := range []string{
		"\xff", "[]", `[{"jsonrpc":"2.0","method":"x"}]`, `{"jsonrpc":"2.0",`, `{"method":"x"}`, `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":""}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1.5}}}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"-/x":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/mine":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v"}}}`,
		strings.Replace(`{"jsonrpc":"2.0","id":1,"method":"x","params":{`+stamps+`}}`, `Capabilities":{}`, `Capabilities":{"extensions":{"tasks":{}}}`, 1),
	} {
		if newLaws().broken([]byte(message)) == "" {
			t.Errorf("%s breaks no law", message)
		}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é",` + stamps + `}}`
	good := http.Header{"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"v"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"=?base64?w6k=?="}}
	if l := newLaws(); l.brokenHTTP("POST", good, []byte(call)) != "" || l.broken([]byte(call)) == "" || l.brokenHTTP("GET", good, nil) == "" ||
		l.broken([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)) == "" {
		t.Error("a good call, the same id again, a GET and an answer, none of which there may be here")
	}
	for name := range good {
		header := good.Clone()
		header.Set(name, "x")
		if newLaws().brokenHTTP("POST", header, []byte(call)) == "" {
			t.Errorf("%s may be anything", name)
		}
	}
}
