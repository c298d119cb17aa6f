package recorded

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/traffic"
	"mcpc/internal/wire"
)

// A Request is a recorded request that is to be issued again.
type Request struct {
	Row      *rows.Row
	Exchange *wire.Exchange
	Capture  *rows.Capture
	Version  string
}

// IsBare reports an HTTP request that carries no request of JSON-RPC.
func (g Request) IsBare() bool { return g.Exchange.Request.Raw == nil }

// bareBody is what such a request did carry.
func (g Request) bareBody() []byte {
	for _, f := range g.Exchange.Between {
		if f.Dir == wire.Sent {
			return f.Raw
		}
	}
	return nil
}

// CheckClientRequest is the error for what a client cannot ask.
func (g Request) CheckClientRequest() error {
	if g.Row.Apart {
		return &traffic.ScriptError{Text: "it has no client request"}
	}
	if rows.ByServer(g.Row) {
		return &traffic.ScriptError{Text: "it is a server request, not a client request"}
	}
	return nil
}

// head is that of the HTTP request, nil over stdio.
func (g Request) head() *wire.HTTPHead {
	for _, f := range g.Exchange.Heads {
		if f.Dir == wire.Sent && f.Stream == g.Exchange.Request.Stream && f.HTTP != nil {
			return f.HTTP
		}
	}
	return nil
}

// OnOtherStream reports whether the answer was to come on another stream than that of the
// request, as the transport of 2024 has it: the request itself was only accepted, if
// that was still waited for. A stream that was resumed began with an answer.
func (g Request) OnOtherStream() bool {
	x := g.Exchange
	for _, f := range x.Heads {
		if f.Dir == wire.Received && f.Stream == x.Request.Stream && f.HTTP != nil {
			return f.HTTP.Status == http.StatusAccepted
		}
	}
	return x.Response.Raw != nil && x.Response.Stream != x.Request.Stream
}

// session is the variable of the session's id in a script.
const session = "session"

// AddCurl writes the request as curl sends it, or over stdio as a pipeline. A session
// is opened first where the request names one.
func AddCurl(s *traffic.Script, g Request) error {
	head := g.head()
	switch {
	case g.CheckClientRequest() != nil:
		return g.CheckClientRequest()
	case g.Exchange.Request.Stream == 0:
		g.addPipeline(s)
		return nil
	case head == nil:
		return &traffic.ScriptError{Text: "its HTTP request headers were not recorded"}
	case g.IsBare():
		return s.Curl(traffic.HTTPRequest{Method: head.Method, URL: head.URL, Fields: head.Fields, Body: g.bareBody()}, "")
	case g.OnOtherStream():
		return g.addStream(s, head)
	}
	if len(g.Exchange.Between) > 0 && g.Row.Notes.Rounds > 0 {
		s.Comment("this is the first round: the server then requests input")
	}
	post := traffic.HTTPRequest{Method: head.Method, URL: head.URL, Fields: head.Fields, Body: g.Exchange.Request.Raw}
	if head.Field("Mcp-Session-Id") == "" {
		return s.Curl(post, "") // nothing ties it to what was sent before
	}
	opening := post
	opened := post
	opening.Fields = host.WithoutFields(head.Fields, "Mcp-Session-Id", "Mcp-Protocol-Version")
	opening.Body, opened.Body = g.initialize(), wire.ComposeNotification("notifications/initialized", nil)
	if err := s.CurlSession(opening, session); err != nil {
		return err
	}
	if err := s.Curl(opened, session); err != nil {
		return err
	}
	return s.Curl(post, session)
}

// addStream writes the request as the transport of 2024 has it: a stream is opened, and
// what comes on it tells where requests go and what was answered.
func (g Request) addStream(s *traffic.Script, head *wire.HTTPHead) error {
	stream, err := g.Capture.StreamBefore(g.Row, g.Exchange.Request)
	if err != nil {
		return err
	}
	if stream == nil {
		return &traffic.ScriptError{Text: "the response came on a stream (HTTP+SSE) whose start was not recorded"}
	}
	request := traffic.HTTPRequest{Method: stream.Method, URL: stream.URL, Fields: stream.Fields}
	if err := s.CurlStream(request); err != nil {
		return err
	}
	post := traffic.HTTPRequest{Method: head.Method, URL: stream.URL, Fields: head.Fields}
	send := func(body []byte, printed bool) error {
		post.Body = body
		if err := s.CurlEndpoint(post); err != nil {
			return err
		}
		if m := wire.ParseMessage(body); m.ID != nil {
			s.AwaitResponse(m.ID, printed)
		}
		return nil
	}
	if !mcp.IsOpening(g.Row.Method) {
		err = errors.Join(send(g.initialize(), false),
			send(wire.ComposeNotification("notifications/initialized", nil), false))
	}
	return errors.Join(err, send(g.Exchange.Request.Raw, true))
}

// opening is the request that opened the conversation, and how that ended; nil where
// it was not recorded.
func (g Request) opening() (raw []byte, channel string) {
	for _, row := range g.Capture.Rows() {
		if row.Method != "initialize" || row.RunID() != g.Row.RunID() {
			continue
		}
		if x, err := row.Exchange(); err == nil && x != nil && x.Request.Conn == g.Exchange.Request.Conn {
			raw = x.Request.Raw
			channel = row.Channel
			if channel == exchange.ChannelOK {
				break
			}
		}
	}
	return raw, channel
}

// initialize is the request that opened the conversation, or where a run before
// did that, one like it.
func (g Request) initialize() []byte {
	if raw, channel := g.opening(); channel == exchange.ChannelOK {
		return raw
	}
	revision := g.Row.Revision
	for _, known := range client.Revisions() {
		if revision == "" && !client.Stateless(known) {
			revision = known
		}
	}
	params := jsonraw.With(nil, "protocolVersion", jsonraw.Quote(revision))
	params = jsonraw.With(params, "capabilities", json.RawMessage("{}"))
	who := jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote("mcpc")), "version", jsonraw.Quote(g.Version))
	return wire.ComposeRequest(json.RawMessage("0"), "initialize", jsonraw.With(params, "clientInfo", who))
}

// shaken reports whether on a pipe the request follows a handshake. One that a server
// refused is not repeated, nor is one made up for a client that sent none.
func (g Request) shaken() bool {
	if client.Stateless(g.Row.Revision) || mcp.IsOpening(g.Row.Method) {
		return false
	}
	raw, channel := g.opening()
	if raw == nil {
		return g.Row.By == capture.ByCommand // a server that was kept, and opened before
	}
	return channel == exchange.ChannelOK || channel == exchange.ChannelOpen
}

func (g Request) addPipeline(s *traffic.Script) {
	messages := [][]byte{g.Exchange.Request.Raw}
	if g.shaken() {
		messages = [][]byte{
			g.initialize(),
			wire.ComposeNotification("notifications/initialized", nil),
			g.Exchange.Request.Raw,
		}
	}
	s.Comment("read it before you run it: the last line starts the recorded command")
	s.CommandStdio(messages, g.command(s))
}

// command is that of a stdio server, as far as the recording knows it.
func (g Request) command(s *traffic.Script) string {
	argv := g.ServerArgv()
	if argv == nil {
		s.Comment("the recording has no command for " + g.Row.Target + ": set MCPC_COMMAND to it")
		return `sh -c "$MCPC_COMMAND"`
	}
	return s.Argv(argv)
}

// ServerArgv is the command of a stdio server; nil where it is not known.
func (g Request) ServerArgv() []string {
	if g.Row.Target == connect.DemoEndpoint && !g.ofNextFile() {
		return []string{"mcpc", "demo", "--stdio"}
	}
	head := g.Row.Head()
	if at := slices.Index(head.Argv, "--"); at >= 0 && at+1 < len(head.Argv) {
		return head.Argv[at+1:]
	}
	if g.ofNextFile() || len(head.Command) == 0 {
		return nil
	}
	return head.Command
}

// ofNextFile reports a request of a run of several files that is not of the first one: the
// server of that alone is recorded.
func (g Request) ofNextFile() bool { return g.Exchange.Request.Conn > 0 && g.Had("run") }

// Address is what -s takes to mean the recorded server, "" where only a command
// does.
func (g Request) Address() string {
	target := g.Row.Target
	if _, link, ok := strings.Cut(target, ", "); ok && IsAddress(link) {
		target = link // of a session, "name, URL"
	}
	head := g.head()
	if !g.ofNextFile() &&
		(target == connect.DemoEndpoint || IsAddress(target) && (head == nil || g.Row.By == capture.ByCommand)) {
		return target
	}
	if head != nil && IsAddress(head.URL) {
		return head.URL
	}
	if g.ServerArgv() == nil && !g.ofNextFile() && !strings.HasPrefix(target, "-") {
		return target // a session's name
	}
	return ""
}

func IsAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// Params are those of the request without the marks that every client puts on its
// own.
func (g Request) Params() json.RawMessage {
	m := wire.ParseMessage(g.Exchange.Request.Raw)
	if jsonraw.First(m.Params, "inputResponses") != nil && !host.IsZero(g.Answering()) {
		m.Params = jsonraw.Without(jsonraw.Without(m.Params, "inputResponses"), "requestState") // the flags answer anew
	}
	return WithoutMarks(m)
}

// WithoutMarks are the params of a request without the marks that every client puts on its own.
func WithoutMarks(m *wire.Message) json.RawMessage {
	members, err := m.ParamMembers()
	if err != nil {
		return m.Params
	}
	raw, there := members.Get("_meta")
	meta, bad := jsonraw.Object(raw)
	if !there || bad != nil {
		return m.Params
	}
	rest := raw
	for _, member := range meta {
		if member.Name == "progressToken" || strings.HasPrefix(member.Name, "io.modelcontextprotocol/") {
			rest = jsonraw.Without(rest, member.Name)
		}
	}
	if left, _ := jsonraw.Object(rest); len(left) > 0 {
		return jsonraw.With(m.Params, "_meta", rest)
	}
	rest = jsonraw.Without(m.Params, "_meta")
	if left, _ := jsonraw.Object(rest); len(left) == 0 {
		return nil
	}
	return rest
}

// asToolCall gives name and arguments where the params have nothing else.
func asToolCall(method string, params json.RawMessage) (name string, arguments json.RawMessage, ok bool) {
	members, err := jsonraw.Object(params)
	if err != nil || method != "tools/call" || len(members) > 2 {
		return "", nil, false
	}
	name = members.Text("name")
	given, there := members.Get("arguments")
	arguments = jsonraw.OrEmpty(given)
	_, bad := jsonraw.Object(arguments)
	return name, arguments, bad == nil && name != "" && (there || len(members) == 1)
}

// SavedKinds are those of a request that a step may expect: what became of it at the
// server, or on the way.
var SavedKinds = []wire.Kind{wire.OK, wire.ToolError, wire.RPCFailed, wire.OutputInvalid, wire.InputRequired,
	wire.Auth, wire.Transport, wire.BadResponse, wire.Timeout}
