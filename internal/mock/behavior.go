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

// How a well-behaved server answers, for everything that a script leaves alone.
// The revisions stand here as data that a script names, newest first.
var revisions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// alone reports whether every request of the revision stands alone.
func alone(revision string) bool { return revision >= revisions[0] }

// An answer is what a well-behaved server says to one request.
type answer struct {
	message []byte
	status  int
	// session is set on the answer that opens one.
	session string
}

// wellBehaved answers m as a server of the script's revisions.
func (s *Script) wellBehaved(m *wire.Message) answer {
	if m.Kind != wire.Request {
		return answer{status: 202}
	}
	switch m.Method {
	case "server/discover":
		return s.discover(m)
	case "initialize":
		return s.initialize(m)
	case "ping":
		return s.result(m, `{}`)
	case "tools/list":
		return s.result(m, `{"tools":`+string(jsonraw.List(s.Tools))+s.newest(`,"resultType":"complete","ttlMs":0,"cacheScope":"private"`)+`}`)
	case "tools/call":
		return s.called(m)
	}
	return s.refuse(m, -32601, "Method not found", "")
}

// modern reports a script that speaks a revision in which every request stands alone.
func (s *Script) modern() bool { return slices.ContainsFunc(s.Speaks, alone) }

func (s *Script) discover(m *wire.Message) answer {
	if !s.modern() {
		return s.refuse(m, -32601, "Method not found", "")
	}
	versions, _ := json.Marshal(s.Speaks)
	return s.result(m, `{"supportedVersions":`+string(versions)+`,"capabilities":`+string(s.Capabilities)+`,`+
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mock","version":"1"}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
}

func (s *Script) initialize(m *wire.Message) answer {
	revision := ""
	params, _ := jsonraw.Object(m.Params)
	for _, ours := range s.Speaks {
		if !alone(ours) && (revision == "" || ours == params.Text("protocolVersion")) {
			revision = ours
		}
	}
	if revision == "" {
		supported, _ := json.Marshal(s.Speaks)
		return s.refuse(m, -32022, "Unsupported protocol version", `{"supported":`+string(supported)+`}`)
	}
	a := s.result(m, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"mock","version":"1"}}`, revision, s.Capabilities))
	a.session = s.Session
	return a
}

// called answers any tool with the arguments it got.
func (s *Script) called(m *wire.Message) answer {
	params, _ := jsonraw.Object(m.Params)
	name := params.Text("name")
	for _, raw := range s.Tools {
		if tool, bad := mcp.ParseTool(raw); bad == nil && tool.Name == name {
			return s.result(m, `{"content":[{"type":"text","text":`+string(jsonraw.Quote(string(params.Value("arguments"))))+`}]`+s.newest(`,"resultType":"complete"`)+`}`)
		}
	}
	return s.refuse(m, -32602, "Unknown tool: "+name, "")
}

// newest gives members that only the newest revision has.
func (s *Script) newest(members string) string {
	if !s.modern() {
		return ""
	}
	return members
}

func (s *Script) result(m *wire.Message, result string) answer {
	return answer{message: wire.ComposeResult(m.ID, json.RawMessage(result)), status: 200}
}

func (s *Script) refuse(m *wire.Message, code int64, message, data string) answer {
	status := 200
	switch {
	case s.modern() && code == -32601:
		status = 404
	case code == -32022:
		status = 400
	}
	return answer{message: failure(m, code, message, data), status: status}
}

// failure is the error that answers m; data is JSON, or "" for none.
func failure(m *wire.Message, code int64, message, data string) []byte {
	raw := wire.ComposeError(m.ID, code, message)
	if data != "" {
		raw = append(bytes.TrimSuffix(raw, []byte("}}")), `,"data":`+data+`}}`...)
	}
	return raw
}

// expand puts the parts of a request into a text of the script: $ID, $METHOD,
// $NAME, $TOKEN and $CURSOR, of its header $VERSION, $PORT (to which it was
// sent) and ${FIELD}, the values of any field.
func expand(text string, m *wire.Message, header http.Header) string {
	if !strings.Contains(text, "$") {
		return text
	}
	params, _ := jsonraw.Object(m.Params)
	token := jsonraw.First(params.Value("_meta"), "progressToken")
	_, port, _ := net.SplitHostPort(header.Get("Host"))
	text = fieldInText().ReplaceAllStringFunc(text, func(field string) string {
		return strings.Join(header.Values(field[len("${"):len(field)-len("}")]), ", ")
	})
	return strings.NewReplacer("$ID", string(m.ID), "$METHOD", m.Method, "$NAME", params.Text("name"),
		"$TOKEN", string(token), "$CURSOR", params.Text("cursor"),
		"$VERSION", header.Get("MCP-Protocol-Version"), "$PORT", port).Replace(text)
}

var fieldInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z0-9-]+\}`) })
