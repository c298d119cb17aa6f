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

// A script writes a script for `mcpc mock --script`: the server first, then a rule for each
// recorded request. It writes a comment for anything that a script cannot express.
type script struct {
	speaks       []string
	session      string
	capabilities []byte
	server       string
	tools        [][]byte
	// onlyHTTP is set if a rule has an action that only HTTP has.
	onlyHTTP bool
	out      *bufio.Writer
	// times are the numbers of requests so far, by method.
	times map[string]int
	// named returns the description of the server in a response, for a comment.
	named func(response []byte) string
}

// writeMockScript writes rows as a script. named returns the description of the server in a
// response, for a comment.
func writeMockScript(w io.Writer, rows []*rows.Row, named func(response []byte) string) error {
	s := &script{times: map[string]int{}, named: named, out: bufio.NewWriterSize(w, 64<<10)}
	for _, row := range rows {
		if err := s.learn(row); err != nil {
			return err
		}
	}
	s.head()
	for _, row := range rows {
		if err := s.add(row); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// head writes the properties of the server.
func (s *script) head() {
	s.out.WriteString("# exported by mcpc from a recording; mcpc help mock-scripts describes the format\n")
	if s.server != "" {
		fmt.Fprintf(s.out, "# the recorded server was %s; the mock calls itself mock\n", commented(s.server))
	}
	if s.onlyHTTP {
		s.out.WriteString("# for HTTP only: status and sse do not exist over stdio, and mcpc mock refuses the script " +
			"with --stdio\n")
	}
	if len(s.speaks) > 0 {
		s.out.WriteString("speaks " + strings.Join(s.speaks, " ") + "\n")
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

// learn adds the data about the server in a row to the script.
func (s *script) learn(row *rows.Row) error {
	if isWord(row.Revision) && !slices.Contains(s.speaks, row.Revision) && row.Channel == exchange.ChannelOK {
		s.speaks = append(s.speaks, row.Revision)
	}
	opens := mcp.IsOpening(row.Method)
	if !opens && !rows.IsByServer(row) && row.Status > 0 {
		s.onlyHTTP = s.onlyHTTP || row.Status != http.StatusOK || row.Notes.Notifications > 0
	}
	if rows.IsByServer(row) || row.Channel != exchange.ChannelOK || !opens && row.Method != "tools/list" {
		return nil
	}
	x, err := row.Exchange()
	switch {
	case err != nil || x == nil || x.Request.Raw == nil:
	case opens:
		s.opening(row, x)
	default:
		s.list(x)
	}
	return err
}

// add writes the rule of a row. It skips opening requests and successful lists of tools, which head
// has written.
func (s *script) add(row *rows.Row) error {
	if mcp.IsOpening(row.Method) || row.Method == "tools/list" && row.Channel == exchange.ChannelOK {
		return nil
	}
	x, err := row.Exchange()
	switch {
	case err != nil || x == nil:
	case rows.IsByServer(row):
		if !row.IsSeparate {
			s.comment(row, "the server asked; a script answers requests only")
		}
	case x.Request.Raw == nil:
	case !isWord(row.Method):
		s.comment(row, "a script has no rule for a method with this name")
	default:
		s.rule(row, x)
	}
	return err
}

// opening takes the session id, the capabilities and the description of the server from an opening
// request and its result.
func (s *script) opening(row *rows.Row, x *wire.Exchange) {
	if isWord(row.Session()) {
		s.session = row.Session()
	}
	if declared := jsonraw.First(wire.ParseMessage(x.Response.Raw).Result, "capabilities"); isObject(declared) {
		s.capabilities = declared
	}
	s.server = s.named(x.Response.Raw)
}

// list adds a page of tools. A page without a cursor replaces the earlier tools.
func (s *script) list(x *wire.Exchange) {
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

// rule writes the rule for one request: the server's notifications and its response.
func (s *script) rule(row *rows.Row, x *wire.Exchange) {
	s.times[row.Method]++
	fmt.Fprintf(s.out, "\non %s #%d\n", row.Method, s.times[row.Method])
	s.inside("# " + strings.TrimSpace(commented(row.Number()+" "+row.Name+": "+row.Channel)))
	overHTTP := len(x.Heads) > 0
	answer := wire.ParseMessage(x.Response.Raw)
	if x.Response.Raw == nil {
		if overHTTP && row.Status >= http.StatusBadRequest {
			s.inside("status " + strconv.Itoa(row.Status))
			return
		}
		s.inside("# no response was recorded")
		s.inside("hang")
		return
	}
	if overHTTP && row.Status != http.StatusOK && row.Status > 0 {
		s.inside("status " + strconv.Itoa(row.Status))
	}
	began := false
	for _, f := range x.OtherMessages {
		m := wire.ParseMessage(f.Raw)
		switch {
		case f.Dir == wire.Received && m.Kind == wire.Notification:
			if overHTTP && !began {
				s.inside("sse")
			}
			began = true
			s.inside("event " + safeText(notification(m)))
		case f.Dir == wire.Received && m.Kind == wire.Request:
			s.inside("# here the server asked " + commented(m.Method) + "; a script answers requests only")
		case f.Dir == wire.Received && len(f.Raw) > 0:
			s.inside("# here the server sent something that a script cannot express, " + strconv.Itoa(len(f.Raw)) + " bytes")
		}
	}
	switch {
	case answer.Result != nil:
		s.inside("result " + safeText(answer.Result))
	case answer.Error != nil:
		failure := jsonraw.First(x.Response.Raw, "error")
		s.inside(`json {"jsonrpc":"2.0","id":$ID,"error":` + safeText(failure) + "}")
	default:
		s.inside("# the response is not a JSON-RPC response")
		s.inside("json " + safeText(x.Response.Raw))
	}
}

// notification returns a notification of the server with tokenMark in the place of its progress
// token.
func notification(m *wire.Message) []byte {
	if jsonraw.First(m.Params, "progressToken") == nil {
		return m.Raw
	}
	marked := jsonraw.With(m.Params, "progressToken", jsonraw.Quote(tokenMark))
	return jsonraw.With(m.Raw, "params", marked)
}

// tokenMark marks the progress token until safeText replaces it with $TOKEN.
const tokenMark = "mcpc token of the request"

// safeText returns JSON on one line in which $TOKEN is the only variable.
func safeText(raw []byte) string {
	text := strings.ReplaceAll(string(jsonraw.OneLine(raw)), "$", `\u0024`)
	return strings.ReplaceAll(text, `"`+tokenMark+`"`, "$TOKEN")
}

// inside writes a line of a rule.
func (s *script) inside(line string) { s.out.WriteString("    " + line + "\n") }

// comment writes a comment about a row.
func (s *script) comment(row *rows.Row, text string) {
	fmt.Fprintf(s.out, "\n# %s: %s\n", commented(row.Number()+" "+row.Method), text)
}

// isWord reports whether a script can contain text as one word.
func isWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) &&
		text[0] != '#'
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool {
	_, err := jsonraw.Object(raw)
	return err == nil
}

// commented returns a text on one line for a comment, with spaces for control characters.
func commented(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
