package share

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// A mockScript writes a script for `mcpc mock --script`: the server first, then a rule for each
// recorded request. It writes a comment for anything that a script cannot express.
type mockScript struct {
	// revisions, session, capabilities, server and tools are what the recorded server declared.
	// server is its description, for a comment.
	revisions    []string
	session      string
	capabilities []byte
	server       string
	tools        [][]byte
	// onlyHTTP is set if a rule has an action that exists over HTTP only.
	onlyHTTP bool
	out      *bufio.Writer
	// requestCounts are the numbers of requests so far, by method.
	requestCounts map[string]int
	// describeServer returns the description of the server in a response, for a comment.
	describeServer func(response []byte) string
}

// writeMockScript writes rows as a script. describeServer returns the description of the server in a
// response, for a comment.
func writeMockScript(w io.Writer, rows []*rows.Row, describeServer func(response []byte) string) error {
	s := &mockScript{requestCounts: map[string]int{}, describeServer: describeServer, out: bufio.NewWriterSize(w, 64<<10)}
	// The head of the script describes the server in all rows, so they are read twice.
	for _, row := range rows {
		if err := s.learn(row); err != nil {
			return err
		}
	}
	s.writeHead()
	for _, row := range rows {
		if err := s.writeRow(row); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// writeHead writes the lines that describe the server: revisions, session, capabilities and tools.
// It omits what was not recorded.
func (s *mockScript) writeHead() {
	s.out.WriteString("# exported by mcpc from a recording; mcpc help mock-scripts describes the format\n")
	if s.server != "" {
		fmt.Fprintf(s.out, "# the recorded server was %s; the mock calls itself mock\n", commentText(s.server))
	}
	if s.onlyHTTP {
		s.out.WriteString("# for HTTP only: status and sse do not exist over stdio, and mcpc mock refuses the script " +
			"with --stdio\n")
	}
	if len(s.revisions) > 0 {
		s.out.WriteString("speaks " + strings.Join(s.revisions, " ") + "\n")
	}
	if s.session != "" {
		s.out.WriteString("session recorded-" + s.session + "\n")
	}
	if s.capabilities != nil {
		fmt.Fprintf(s.out, "capabilities %s\n", jsonraw.Compact(s.capabilities))
	}
	for _, tool := range s.tools {
		fmt.Fprintf(s.out, "tool %s\n", jsonraw.Compact(tool))
	}
}

// learn adds to the script what a row shows about the server: its revision, whether rules need
// HTTP, and, from a successful handshake or list, its capabilities and tools.
func (s *mockScript) learn(row *rows.Row) error {
	isOpening := mcp.IsOpening(row.Method)
	isFromClient := !rows.IsByServer(row)
	hasSucceeded := row.Channel == exchange.ChannelOK
	if hasSucceeded && isWord(row.Revision) && !slices.Contains(s.revisions, row.Revision) {
		s.revisions = append(s.revisions, row.Revision)
	}
	if isFromClient && !isOpening && row.Status > 0 { // over HTTP, and not in the head of the script
		needsStatus := row.Status != http.StatusOK
		needsStream := row.Notes.Notifications > 0
		s.onlyHTTP = s.onlyHTTP || needsStatus || needsStream
	}
	describesServer := isOpening || row.Method == "tools/list"
	if !isFromClient || !hasSucceeded || !describesServer {
		return nil
	}
	x, err := row.Exchange()
	if err != nil || x == nil || x.Request.Raw == nil {
		return err
	}
	if isOpening {
		s.learnOpening(row, x)
	} else {
		s.learnTools(x)
	}
	return nil
}

// writeRow writes the rule of a row. It skips opening requests and successful lists of tools, which
// writeHead has written.
func (s *mockScript) writeRow(row *rows.Row) error {
	isToolList := row.Method == "tools/list" && row.Channel == exchange.ChannelOK
	if isToolList || mcp.IsOpening(row.Method) {
		return nil
	}
	x, err := row.Exchange()
	if err != nil || x == nil {
		return err
	}
	if rows.IsByServer(row) {
		if !row.IsSeparate {
			s.writeComment(row, "a request of the server: a script only responds to requests")
		}
		return nil
	}
	if x.Request.Raw == nil {
		return nil
	}
	if !isWord(row.Method) {
		s.writeComment(row, "a script has no rule for a method with this name")
		return nil
	}
	s.writeRule(row, x)
	return nil
}

// learnOpening takes the session id, the capabilities and the description of the server from an
// opening request and its result.
func (s *mockScript) learnOpening(row *rows.Row, x *wire.Exchange) {
	if isWord(row.Session()) {
		s.session = row.Session()
	}
	if declared := jsonraw.First(wire.ParseMessage(x.Response.Raw).Result, "capabilities"); isObject(declared) {
		s.capabilities = declared
	}
	s.server = s.describeServer(x.Response.Raw)
}

// learnTools adds a page of tools. A page without a cursor replaces the earlier tools.
func (s *mockScript) learnTools(x *wire.Exchange) {
	items, _ := jsonraw.Array(jsonraw.First(wire.ParseMessage(x.Response.Raw).Result, "tools"))
	if jsonraw.First(wire.ParseMessage(x.Request.Raw).Params, "cursor") == nil {
		s.tools = nil
	}
	for _, item := range items {
		if isObject(item) {
			s.tools = append(s.tools, item)
		}
	}
}

// writeRule writes the rule for one request: the server's notifications and its response. The rule
// applies to the same request by its number among the requests with its method. A request without a
// response gets its HTTP error status, or hangs.
func (s *mockScript) writeRule(row *rows.Row, x *wire.Exchange) {
	s.requestCounts[row.Method]++
	fmt.Fprintf(s.out, "\non %s #%d\n", row.Method, s.requestCounts[row.Method])
	s.writeRuleLine("# " + strings.TrimSpace(commentText(row.Number()+" "+row.Name+": "+row.Channel)))
	isHTTP := len(x.Heads) > 0
	if x.Response.Raw == nil {
		if isHTTP && row.Status >= http.StatusBadRequest {
			s.writeRuleLine("status " + strconv.Itoa(row.Status))
			return
		}
		s.writeRuleLine("# no response was recorded")
		s.writeRuleLine("hang")
		return
	}
	if isHTTP && row.Status != http.StatusOK && row.Status > 0 {
		s.writeRuleLine("status " + strconv.Itoa(row.Status))
	}
	s.writeEarlierMessages(x, isHTTP)
	response := wire.ParseMessage(x.Response.Raw)
	switch {
	case response.Result != nil:
		s.writeRuleLine("result " + safeText(response.Result))
	case response.Error != nil:
		failure := jsonraw.First(x.Response.Raw, "error") // as received: response.Error is decoded
		s.writeRuleLine(`json {"jsonrpc":"2.0","id":$ID,"error":` + safeText(failure) + "}")
	default:
		s.writeRuleLine("# the response is not a JSON-RPC response")
		s.writeRuleLine("json " + safeText(x.Response.Raw))
	}
}

// writeEarlierMessages writes what the server sent before its response: notifications as events,
// and comments for messages that a script cannot express. Over HTTP, events need a stream (sse).
func (s *mockScript) writeEarlierMessages(x *wire.Exchange, isHTTP bool) {
	hasEvents := false
	for _, f := range x.OtherMessages {
		if f.Dir != wire.Received {
			continue
		}
		m := wire.ParseMessage(f.Raw)
		switch {
		case m.Kind == wire.Notification:
			if isHTTP && !hasEvents {
				s.writeRuleLine("sse")
			}
			hasEvents = true
			s.writeRuleLine("event " + safeText(markToken(m)))
		case m.Kind == wire.Request:
			s.writeRuleLine("# here the server requested " + commentText(m.Method) + "; a script only responds to requests")
		case len(f.Raw) > 0:
			s.writeRuleLine("# here the server sent something that a script cannot express, " +
				strconv.Itoa(len(f.Raw)) + " bytes")
		}
	}
}

// markToken returns a notification of the server with tokenMark in the place of its progress token:
// the mock's clients will choose other tokens than the recorded client.
func markToken(m *wire.Message) []byte {
	if jsonraw.First(m.Params, "progressToken") == nil {
		return m.Raw
	}
	marked := jsonraw.With(m.Params, "progressToken", jsonraw.Quote(tokenMark))
	return jsonraw.With(m.Raw, "params", marked)
}

// tokenMark marks the progress token until safeText replaces it with $TOKEN.
const tokenMark = "mcpc token of the request"

// safeText returns JSON on one line, where $TOKEN is the only variable.
func safeText(raw []byte) string {
	text := strings.ReplaceAll(string(jsonraw.OneLine(raw)), "$", `\u0024`)
	return strings.ReplaceAll(text, `"`+tokenMark+`"`, "$TOKEN")
}

// writeRuleLine writes a line of a rule.
func (s *mockScript) writeRuleLine(line string) { s.out.WriteString("    " + line + "\n") }

// writeComment writes a comment about a row.
func (s *mockScript) writeComment(row *rows.Row, text string) {
	fmt.Fprintf(s.out, "\n# %s: %s\n", commentText(row.Number()+" "+row.Method), text)
}

// isWord reports whether a script can contain text as one word: ASCII without spaces, backslashes
// and control characters that does not begin a comment.
func isWord(text string) bool {
	if text == "" || text[0] == '#' {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' })
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool {
	_, err := jsonraw.Object(raw)
	return err == nil
}

// commentText returns a text on one line for a comment, with spaces for control characters.
func commentText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
