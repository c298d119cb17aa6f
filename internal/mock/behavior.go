package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// revisions are the protocol revisions that a script can name, newest first.
var revisions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// isStateless reports whether the revision has no sessions: each request is complete in itself.
func isStateless(revision string) bool { return revision >= revisions[0] }

// An answer is the response of a correct server to one message.
type answer struct {
	message []byte
	status  int
	// session is the Mcp-Session-Id, set on the response to initialize only.
	session string
}

// answerCorrectly returns the answer of a correct server that supports the script's revisions.
func (s *Script) answerCorrectly(m *wire.Message) answer {
	if m.Kind != wire.Request {
		return answer{status: 202}
	}
	switch m.Method {
	case "server/discover":
		return s.discover(m)
	case "initialize":
		return s.initialize(m)
	case "ping":
		return s.composeResult(m, `{}`)
	case "tools/list":
		newest := s.ifModern(`,"resultType":"complete","ttlMs":0,"cacheScope":"private"`)
		return s.composeResult(m, `{"tools":`+string(jsonraw.List(s.Tools))+newest+`}`)
	case "tools/call":
		return s.callTool(m)
	}
	return s.composeRefusal(m, -32601, "Method not found", "")
}

// isModern reports whether the script supports a revision without sessions.
func (s *Script) isModern() bool { return slices.ContainsFunc(s.Speaks, isStateless) }

// discover answers server/discover.
func (s *Script) discover(m *wire.Message) answer {
	if !s.isModern() {
		return s.composeRefusal(m, -32601, "Method not found", "")
	}
	versions, _ := json.Marshal(s.Speaks)
	return s.composeResult(m, `{"supportedVersions":`+string(versions)+`,"capabilities":`+string(s.Capabilities)+`,`+
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mock","version":"1"}},`+
		`"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
}

// initialize answers initialize with the requested revision, or with the first revision with
// sessions in Speaks. It refuses if Speaks has no such revision.
func (s *Script) initialize(m *wire.Message) answer {
	revision := ""
	params, _ := jsonraw.Object(m.Params)
	for _, served := range s.Speaks {
		isRequested := served == params.Text("protocolVersion")
		if !isStateless(served) && (revision == "" || isRequested) {
			revision = served
		}
	}
	if revision == "" {
		supported, _ := json.Marshal(s.Speaks)
		return s.composeRefusal(m, -32022, "Unsupported protocol version", `{"supported":`+string(supported)+`}`)
	}
	a := s.composeResult(m, fmt.Sprintf(
		`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"mock","version":"1"}}`, revision, s.Capabilities))
	a.session = s.Session
	return a
}

// callTool answers a call of a known tool with a text of its arguments.
func (s *Script) callTool(m *wire.Message) answer {
	params, _ := jsonraw.Object(m.Params)
	name := params.Text("name")
	for _, raw := range s.Tools {
		if tool, err := mcp.ParseTool(raw); err == nil && tool.Name == name {
			text := string(jsonraw.Quote(string(params.Value("arguments"))))
			newest := s.ifModern(`,"resultType":"complete"`)
			return s.composeResult(m, `{"content":[{"type":"text","text":`+text+`}]`+newest+`}`)
		}
	}
	return s.composeRefusal(m, -32602, "Unknown tool: "+name, "")
}

// ifModern returns members if the script supports a revision without sessions, else "".
func (s *Script) ifModern(members string) string {
	if !s.isModern() {
		return ""
	}
	return members
}

// composeResult answers a request with a result.
func (s *Script) composeResult(m *wire.Message, result string) answer {
	return answer{message: wire.ComposeResult(m.ID, json.RawMessage(result)), status: 200}
}

// composeRefusal answers a request with an error. data is JSON, or "" if the error has no data.
// Over HTTP an unsupported revision has the status 400 and, in the stateless era, an unknown method
// 404.
func (s *Script) composeRefusal(m *wire.Message, code int64, message, data string) answer {
	status := 200
	if code == -32022 {
		status = 400
	} else if s.isModern() && code == -32601 {
		status = 404
	}
	return answer{message: errorResponse(m, code, message, data), status: status}
}

// errorResponse returns the error response to m. data is JSON, or "" if the error has no data.
func errorResponse(m *wire.Message, code int64, message, data string) []byte {
	raw := wire.ComposeError(m.ID, code, message)
	if data != "" {
		raw = append(bytes.TrimSuffix(raw, []byte("}}")), `,"data":`+data+`}}`...)
	}
	return raw
}

// expandVariables replaces $ID, $METHOD, $NAME, $TOKEN, $CURSOR, $VERSION, $PORT and ${FIELD} in the text of
// an action by parts of the request. $PORT is the port of its Host field; ${FIELD} is any header
// field.
func expandVariables(text string, m *wire.Message, header http.Header) string {
	if !strings.Contains(text, "$") {
		return text
	}
	params, _ := jsonraw.Object(m.Params)
	token := jsonraw.First(params.Value("_meta"), "progressToken")
	_, port, _ := net.SplitHostPort(header.Get("Host"))
	text = headerVariable().ReplaceAllStringFunc(text, func(field string) string {
		return strings.Join(header.Values(field[len("${"):len(field)-len("}")]), ", ")
	})
	return strings.NewReplacer("$ID", string(m.ID), "$METHOD", m.Method, "$NAME", params.Text("name"),
		"$TOKEN", string(token), "$CURSOR", params.Text("cursor"),
		"$VERSION", header.Get("MCP-Protocol-Version"), "$PORT", port).Replace(text)
}

var headerVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z0-9-]+\}`) })
