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

// A Request is a recorded request to send again.
type Request struct {
	Row      *rows.Row
	Exchange *wire.Exchange
	Capture  *rows.Capture
	Version  string
}

// IsBare reports whether the HTTP request contains no JSON-RPC request.
func (r Request) IsBare() bool { return r.Exchange.Request.Raw == nil }

// bareBody returns the body of a bare request.
func (r Request) bareBody() []byte {
	for _, f := range r.Exchange.OtherMessages {
		if f.Dir == wire.Sent {
			return f.Raw
		}
	}
	return nil
}

// CheckClientRequest returns an error if the row is not a request of the client.
func (r Request) CheckClientRequest() error {
	if r.Row.IsSeparate {
		return &traffic.ScriptError{Text: "it has no client request"}
	}
	if rows.IsByServer(r.Row) {
		return &traffic.ScriptError{Text: "it is a server request, not a client request"}
	}
	return nil
}

// head returns the head of the HTTP request, or nil over stdio.
func (r Request) head() *wire.HTTPHead {
	for _, f := range r.Exchange.Heads {
		if f.Dir == wire.Sent && f.Stream == r.Exchange.Request.Stream && f.HTTP != nil {
			return f.HTTP
		}
	}
	return nil
}

// OnOtherStream reports whether the response belongs on another stream than the request, as in
// HTTP+SSE: the request itself is only accepted. A resumed stream may have begun with a response.
func (r Request) OnOtherStream() bool {
	x := r.Exchange
	for _, f := range x.Heads {
		if f.Dir == wire.Received && f.Stream == x.Request.Stream && f.HTTP != nil {
			return f.HTTP.Status == http.StatusAccepted
		}
	}
	return x.Response.Raw != nil && x.Response.Stream != x.Request.Stream
}

// sessionVariable is the script variable for the session's id.
const sessionVariable = "session"

// AddCurl writes the request as a curl command, or over stdio as a pipeline. It opens a session
// first if the request belongs to one.
func AddCurl(s *traffic.Script, r Request) error {
	if err := r.CheckClientRequest(); err != nil {
		return err
	}
	head := r.head()
	if r.Exchange.Request.Stream == 0 {
		r.addPipeline(s)
		return nil
	}
	if head == nil {
		return &traffic.ScriptError{Text: "its HTTP request headers were not recorded"}
	}
	if r.IsBare() {
		return s.Curl(traffic.HTTPRequest{Method: head.Method, URL: head.URL, Fields: head.Fields, Body: r.bareBody()}, "")
	}
	if r.OnOtherStream() {
		return r.addSSEConversation(s, head)
	}
	if len(r.Exchange.OtherMessages) > 0 && r.Row.Notes.Rounds > 0 {
		s.Comment("this is the first round: the server then requests input")
	}
	post := traffic.HTTPRequest{Method: head.Method, URL: head.URL, Fields: head.Fields, Body: r.Exchange.Request.Raw}
	if head.Field("Mcp-Session-Id") == "" {
		return s.Curl(post, "") // independent of earlier requests
	}
	// The recorded session has ended: the script opens one of its own first.
	opening := post
	initialized := post
	opening.Fields = host.WithoutFields(head.Fields, "Mcp-Session-Id", "Mcp-Protocol-Version")
	opening.Body = r.initialize()
	initialized.Body = wire.ComposeNotification("notifications/initialized", nil)
	if err := s.CurlSession(opening, sessionVariable); err != nil {
		return err
	}
	if err := s.Curl(initialized, sessionVariable); err != nil {
		return err
	}
	return s.Curl(post, sessionVariable)
}

// addSSEConversation writes the request for HTTP+SSE: it opens a stream, which names the endpoint
// and carries the responses.
func (r Request) addSSEConversation(s *traffic.Script, head *wire.HTTPHead) error {
	stream, err := r.Capture.StreamBefore(r.Row, r.Exchange.Request)
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
	const printed = true // the response of a handshake is only awaited
	send := func(body []byte, isPrinted bool) error {
		post.Body = body
		if err := s.CurlEndpoint(post); err != nil {
			return err
		}
		if m := wire.ParseMessage(body); m.ID != nil {
			s.AwaitResponse(m.ID, isPrinted)
		}
		return nil
	}
	if !mcp.IsOpening(r.Row.Method) {
		err = errors.Join(send(r.initialize(), !printed),
			send(wire.ComposeNotification("notifications/initialized", nil), !printed))
	}
	return errors.Join(err, send(r.Exchange.Request.Raw, printed))
}

// opening returns the request that opened the conversation, and its channel. It prefers a handshake
// that succeeded, and otherwise returns the last one. raw is nil if none was recorded.
func (r Request) opening() (raw []byte, channel string) {
	for _, row := range r.Capture.Rows() {
		if row.Method != "initialize" || row.RunID() != r.Row.RunID() {
			continue
		}
		if x, err := row.Exchange(); err == nil && x != nil && x.Request.Conn == r.Exchange.Request.Conn {
			raw = x.Request.Raw
			channel = row.Channel
			if channel == exchange.ChannelOK {
				break
			}
		}
	}
	return raw, channel
}

// initialize returns the request that opened the conversation, or an equivalent one if an earlier
// run opened it.
func (r Request) initialize() []byte {
	if raw, channel := r.opening(); channel == exchange.ChannelOK {
		return raw
	}
	revision := r.Row.Revision
	if revision == "" { // not recorded: the newest with a handshake
		newest := slices.IndexFunc(client.Revisions(), func(known string) bool { return !client.Stateless(known) })
		revision = client.Revisions()[newest]
	}
	params := jsonraw.With(nil, "protocolVersion", jsonraw.Quote(revision))
	params = jsonraw.With(params, "capabilities", json.RawMessage("{}"))
	clientInfo := jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote("mcpc")), "version", jsonraw.Quote(r.Version))
	return wire.ComposeRequest(json.RawMessage("0"), "initialize", jsonraw.With(params, "clientInfo", clientInfo))
}

// followsHandshake reports whether a handshake precedes the request on a pipe. A refused handshake
// is not repeated, and no handshake is invented for a client that did not send one.
func (r Request) followsHandshake() bool {
	if client.Stateless(r.Row.Revision) || mcp.IsOpening(r.Row.Method) {
		return false
	}
	raw, channel := r.opening()
	if raw == nil {
		return r.Row.By == capture.ByCommand // the command used a session that was opened earlier
	}
	return channel == exchange.ChannelOK || channel == exchange.ChannelOpen
}

// addPipeline writes the request as a pipeline into the server's command.
func (r Request) addPipeline(s *traffic.Script) {
	messages := [][]byte{r.Exchange.Request.Raw}
	if r.followsHandshake() {
		messages = [][]byte{
			r.initialize(),
			wire.ComposeNotification("notifications/initialized", nil),
			r.Exchange.Request.Raw,
		}
	}
	s.Comment("read it before you run it: the last line starts the recorded command")
	s.CommandStdio(messages, r.command(s))
}

// command returns the command of the stdio server as shell words, or a variable if it is unknown.
func (r Request) command(s *traffic.Script) string {
	argv := r.ServerArgv()
	if argv == nil {
		s.Comment("the recording has no command for " + r.Row.Target + ": set MCPC_COMMAND to it")
		return `sh -c "$MCPC_COMMAND"`
	}
	return s.Argv(argv)
}

// ServerArgv returns the command of the stdio server, or nil if it is unknown.
func (r Request) ServerArgv() []string {
	if r.Row.Target == connect.DemoEndpoint && !r.isForLaterRunFile() {
		return []string{"mcpc", "demo", "--stdio"}
	}
	head := r.Row.Head()
	if dash := slices.Index(head.Argv, "--"); dash >= 0 && dash+1 < len(head.Argv) {
		return head.Argv[dash+1:]
	}
	if r.isForLaterRunFile() || len(head.Command) == 0 {
		return nil
	}
	return head.Command
}

// isForLaterRunFile reports whether the request was sent for a later file of mcpc run: only the
// server of the first file is recorded.
func (r Request) isForLaterRunFile() bool { return r.Exchange.Request.Conn > 0 && r.HadWord("run") }

// Address returns the value of -s that names the recorded server, or "" if only a command can.
func (r Request) Address() string {
	target := r.Row.Target
	if _, link, ok := strings.Cut(target, ", "); ok && IsAddress(link) {
		target = link // of a session, "name, URL"
	}
	// For a proxy, target is not the URL to which the client sent the request: head has that.
	head := r.head()
	isOwnAddress := IsAddress(target) && (head == nil || r.Row.By == capture.ByCommand)
	if !r.isForLaterRunFile() && (target == connect.DemoEndpoint || isOwnAddress) {
		return target
	}
	if head != nil && IsAddress(head.URL) {
		return head.URL
	}
	if r.ServerArgv() == nil && !r.isForLaterRunFile() && !strings.HasPrefix(target, "-") {
		return target // a session's name
	}
	return ""
}

// IsAddress reports whether a text is an HTTP URL.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	return isHTTP && u.Host != ""
}

// Params returns the params of the request without the members that each client sets itself.
func (r Request) Params() json.RawMessage {
	m := wire.ParseMessage(r.Exchange.Request.Raw)
	if jsonraw.First(m.Params, "inputResponses") != nil && !host.IsZero(r.RecordedAnswers()) {
		// The flags answer the server requests again.
		m.Params = jsonraw.Without(jsonraw.Without(m.Params, "inputResponses"), "requestState")
	}
	return ParamsWithoutMeta(m)
}

// ParamsWithoutMeta returns the params of a request without the members of _meta that each client
// sets itself. It returns nil if nothing else is left.
func ParamsWithoutMeta(m *wire.Message) json.RawMessage {
	members, err := m.ParamMembers()
	if err != nil { // params that are no object are sent as they were
		return m.Params
	}
	meta, hasMeta := members.Get("_meta")
	metaMembers, err := jsonraw.Object(meta)
	if !hasMeta || err != nil {
		return m.Params
	}
	for _, member := range metaMembers {
		if member.Name == "progressToken" || strings.HasPrefix(member.Name, "io.modelcontextprotocol/") {
			meta = jsonraw.Without(meta, member.Name)
		}
	}
	if remaining, _ := jsonraw.Object(meta); len(remaining) > 0 {
		return jsonraw.With(m.Params, "_meta", meta)
	}
	params := jsonraw.Without(m.Params, "_meta")
	if remaining, _ := jsonraw.Object(params); len(remaining) == 0 {
		return nil
	}
	return params
}

// asToolCall returns the name and the arguments of a tool call. It returns false if the params
// contain anything else.
func asToolCall(method string, params json.RawMessage) (name string, arguments json.RawMessage, ok bool) {
	members, err := jsonraw.Object(params)
	if err != nil || method != "tools/call" || len(members) > 2 {
		return "", nil, false
	}
	name = members.Text("name")
	given, hasArguments := members.Get("arguments")
	arguments = jsonraw.OrEmpty(given)
	_, err = jsonraw.Object(arguments)
	hasOther := !hasArguments && len(members) > 1
	return name, arguments, err == nil && name != "" && !hasOther
}

// ExpectableKinds are the outcomes that a saved step can expect.
var ExpectableKinds = []wire.Kind{
	wire.OK, wire.ToolError, wire.RPCFailed, wire.OutputInvalid, wire.InputRequired,
	wire.Auth, wire.Transport, wire.BadResponse, wire.Timeout,
}
