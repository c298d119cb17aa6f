// Command server responds to MCP requests as fast as possible, so that a measurement shows the cost
// of the client. It serves Streamable HTTP at /mcp, in both eras unless -legacy is set, and
// HTTP+SSE at /sse. Every tool adds a and b. Flags set the size of the responses.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The revisions that the server supports: one of each era.
const (
	legacyRevision = "2025-11-25"
	modernRevision = "2026-07-28"
)

type server struct {
	legacy bool
	// delay is the time before each response.
	delay time.Duration
	// text is the number of bytes in the text of a call, or 0 for the sum. events is the number of
	// progress notifications before the result. sse is set if the response to a call is a stream.
	text, events int
	sse          bool
	// pages are the tools of each page with its cursor.
	pages   [][]byte
	streams streams
}

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	s := &server{}
	flag.BoolVar(&s.legacy, "legacy", false, "speak "+legacyRevision+" only")
	flag.DurationVar(&s.delay, "delay", 0, "time before each answer")
	flag.IntVar(&s.text, "text", 0, "bytes of text in the result of a call")
	flag.IntVar(&s.events, "events", 0, "progress notifications before the result of a call")
	flag.BoolVar(&s.sse, "sse", false, "answer calls with a stream of events")
	tools := flag.Int("tools", 10, "tools in the list")
	pages := flag.Int("pages", 1, "pages of the list")
	flag.Parse()
	s.pages = listPages(*tools, *pages)
	log.Fatal(http.ListenAndServe(net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)), s))
}

// A request has the members of a request that the server reads.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Cursor    string
		Arguments struct{ A, B float64 }
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	// modern is set if the request belongs to the modern era.
	modern bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.delay)
	var req request
	modern := r.Header.Get("MCP-Protocol-Version") == modernRevision
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/sse":
		s.streams.serve(w, r)
	case r.Method == http.MethodDelete:
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case json.NewDecoder(r.Body).Decode(&req) != nil:
		w.WriteHeader(http.StatusBadRequest)
	case s.legacy && modern:
		// A server on the TypeScript SDK responds with this error.
		refuse(w, http.StatusBadRequest, nil, -32000, "Bad Request: Server not initialized")
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case strings.HasPrefix(r.URL.Path, messagePath):
		w.WriteHeader(http.StatusAccepted)
		s.streams.send(r.URL.Path, func(w http.ResponseWriter) { s.answer(w, req) })
	default:
		req.modern = modern
		s.answer(w, req)
	}
}

// answer responds to one request by its method.
func (s *server) answer(w http.ResponseWriter, req request) {
	switch {
	case req.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "bench")
		s.writeResult(w, req, `{"protocolVersion":"`+legacyRevision+`","capabilities":{"tools":{}},`+
			`"serverInfo":{"name":"bench","version":"1"}}`)
	case req.Method == "server/discover" && req.modern:
		s.writeResult(w, req, req.resultStart(true)+`"supportedVersions":["`+modernRevision+`"],"capabilities":{"tools":{}},`+
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1"}}}`)
	case req.Method == "tools/list":
		s.listTools(w, req)
	case req.Method == "tools/call":
		s.callTool(w, req)
	default:
		refuse(w, http.StatusNotFound, req.ID, -32601, "Method not found")
	}
}

// resultStart returns the start of a result. It has additional members in the modern era, and two
// more if the client may cache the result.
func (r request) resultStart(cacheable bool) string {
	switch {
	case !r.modern:
		return `{`
	case cacheable:
		return `{"resultType":"complete","ttlMs":3600000,"cacheScope":"private",`
	}
	return `{"resultType":"complete",`
}

func (s *server) listTools(w http.ResponseWriter, req request) {
	page := 0
	if req.Params.Cursor != "" {
		page, _ = strconv.Atoi(req.Params.Cursor)
	}
	if page < 0 || page >= len(s.pages) {
		refuse(w, http.StatusBadRequest, req.ID, -32602, "no such cursor")
		return
	}
	s.writeResult(w, req, req.resultStart(true)+string(s.pages[page]))
}

// writeResult writes a response in one body with its length.
func (s *server) writeResult(w http.ResponseWriter, req request, result string) {
	body := `{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":` + result + `}`
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write([]byte(body))
}

func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(
		[]byte(
			`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":` + strconv.Itoa(code) + `,"message":"` + text + `"}}`,
		),
	)
}
