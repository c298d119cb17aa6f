package lint_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A transcript is a conversation as a text, one step a line:
//
//	stdio | http                       the transport; http also begins a new conversation
//	legacy REV SERVERCAPS CLIENTCAPS   initialize and its answer, initialized
//	modern SERVERCAPS                  server/discover and its answer; requests state 2026-07-28
//	client CAPS                        what later requests declare (modern)
//	> METHOD PARAMS                    a request; over HTTP a POST
//	~ METHOD PARAMS                    a notification of the client
//	= RESULT                           the client's answer to the last request of the server
//	< RESULT                           the result of the last request; modern: with what every result has
//	! ERROR                            an error for it
//	<~ METHOD PARAMS                   a notification of the server
//	<? METHOD PARAMS                   a request of the server
//	>> BYTES, << BYTES                 a message as it is
//	noise TEXT, stderr TEXT            a line that is not a message
//	with FIELD: VALUE                  a field of the next request
//	head STATUS FIELD: VALUE; ...      the head of the response, in place of the usual one
//	stream                             the response is an event stream
//	get URL, post URL BODY             an HTTP request without a message
//	body TEXT                          the body of its response
//	event id=ID retry=MS event=NAME DATA    a server-sent event as it is
//	comment                            a comment in the event stream
//	on N                               go on with stream N
//	close server|client HOW            the end of the stream or the pipe
//	+ DURATION                         time passes
//
// $D is the title, the description and the annotations of a tool, $S those and an
// inputSchema, $LONG a text of 5,000 characters, $FLOOD 25 progress notifications,
// $MANY 2,500 schemas and $TEXTS 100 strings, each with a comma.
type transcript struct {
	frames    []wire.Frame
	now       time.Time
	http      bool
	rev       string
	caps      string
	conn      int
	streams   int
	stream    int
	fields    []wire.Field
	ids, asks int
	id        string
	method    string
	headed    map[int]bool
	events    map[int]bool
}

const url = "https://mcp.example.com/mcp"

func parse(text string) (frames []wire.Frame, err error) {
	t := &transcript{now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), caps: "{}", headed: map[int]bool{}, events: map[int]bool{}}
	text = strings.ReplaceAll(text, "$LONG", strings.Repeat("word ", 1000))
	flood := ""
	for i := range 25 {
		flood += fmt.Sprintf("<~ notifications/progress {\"progressToken\":\"a\",\"progress\":%d}\n", i)
	}
	text = strings.ReplaceAll(text, "$FLOOD", flood)
	text = strings.ReplaceAll(text, "$MANY", strings.Repeat("{},", 2500))
	text = strings.ReplaceAll(text, "$TEXTS", strings.Repeat(`"a",`, 100))
	text = strings.ReplaceAll(text, "$S", `$D,"inputSchema":{"type":"object"}`)
	text = strings.ReplaceAll(text, "$D", `"title":"T","description":"Adds two numbers.","annotations":{"readOnlyHint":true}`)
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimRight(line, " "); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		t.now = t.now.Add(time.Millisecond)
		if err := t.step(word, rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return t.frames, nil
}

func (t *transcript) step(word, rest string) error {
	switch word {
	case "stdio", "http":
		if t.http = word == "http"; len(t.frames) > 0 {
			t.conn++
		}
	case "legacy":
		t.legacy(rest)
	case "modern":
		t.rev = conv.Rev20260728.String()
		t.request("server/discover", "{}")
		t.result(`{"supportedVersions":["2026-07-28"],"capabilities":` + cmp.Or(rest, "{}") + `}`)
	case "client":
		t.caps = rest
	case ">":
		method, params, _ := strings.Cut(rest, " ")
		t.request(method, cmp.Or(params, "{}"))
	case "~":
		method, params, _ := strings.Cut(rest, " ")
		t.send(string(wire.ComposeNotification(method, raw(params))))
	case "=":
		t.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","result":%s}`, t.asks, rest))
	case "<":
		t.result(rest)
	case "!":
		t.receive(`{"jsonrpc":"2.0","id":`+t.id+`,"error":`+rest+`}`, true)
	case "<~":
		method, params, _ := strings.Cut(rest, " ")
		t.receive(string(wire.ComposeNotification(method, raw(params))), false)
	case "<?":
		method, params, _ := strings.Cut(rest, " ")
		t.asks++
		t.receive(string(wire.ComposeRequest(raw(fmt.Sprintf(`"s%d"`, t.asks)), method, raw(cmp.Or(params, "{}")))), false)
	case ">>":
		t.send(unescape(rest))
	case "<<":
		t.receive(unescape(rest), false)
	case "noise":
		t.add(wire.Frame{Kind: wire.Noise, Dir: wire.Received, Raw: []byte(unescape(rest))})
	case "stderr":
		t.add(wire.Frame{Kind: wire.Stderr, Dir: wire.Received, Raw: []byte(rest)})
	case "+":
		d, err := time.ParseDuration(rest)
		t.now = t.now.Add(d)
		return err
	case "close":
		by, how, _ := strings.Cut(rest, " ")
		side := wire.Received
		if by == "client" {
			side = wire.Sent
		}
		t.add(wire.Frame{Kind: wire.Closed, Dir: side, Close: &wire.CloseFacts{By: side, How: cmp.Or(how, "end")}})
	default:
		return t.httpStep(word, rest)
	}
	return nil
}

func (t *transcript) httpStep(word, rest string) error {
	switch word {
	case "with":
		name, value, _ := strings.Cut(rest, ": ")
		t.fields = append(t.fields, wire.Field{Name: name, Value: value})
	case "head":
		status, fields, _ := strings.Cut(rest, " ")
		number, err := strconv.Atoi(status)
		if err != nil {
			return err
		}
		t.head(number, fields)
	case "stream":
		t.head(200, "Content-Type: text/event-stream; X-Accel-Buffering: no")
	case "get":
		t.open("GET", cmp.Or(rest, url), wire.Field{Name: "Accept", Value: "text/event-stream"})
	case "fetch":
		t.open("GET", rest)
	case "post":
		where, body, _ := strings.Cut(rest, " ")
		t.open("POST", where)
		t.add(wire.Frame{Kind: wire.Body, Raw: []byte(body)})
	case "body":
		t.add(wire.Frame{Kind: wire.Body, Dir: wire.Received, Raw: []byte(rest)})
	case "on":
		n, err := strconv.Atoi(rest)
		t.stream = n
		return err
	case "event", "comment":
		facts := &sse.Facts{IsComment: word == "comment"}
		for {
			key, after, ok := strings.Cut(rest, "=")
			value, more, _ := strings.Cut(after, " ")
			switch {
			case ok && key == "id":
				facts.ID = &value
			case ok && key == "retry":
				ms, _ := strconv.Atoi(value)
				facts.Retry = new(time.Duration(ms) * time.Millisecond)
			case ok && key == "event":
				facts.Event = value
			default:
				t.add(wire.Frame{Kind: wire.Event, Dir: wire.Received, Raw: []byte(rest), SSE: facts})
				return nil
			}
			rest = more
		}
	default:
		return fmt.Errorf("unknown step %q", word)
	}
	return nil
}

func (t *transcript) legacy(rest string) {
	words := strings.Fields(rest)
	for len(words) < 3 {
		words = append(words, "{}")
	}
	t.rev = ""
	t.request("initialize", `{"protocolVersion":"`+words[0]+`","capabilities":`+words[2]+`,"clientInfo":{"name":"c","version":"1"}}`)
	t.result(`{"protocolVersion":"` + words[0] + `","capabilities":` + words[1] + `,"serverInfo":{"name":"s","version":"1"}}`)
	t.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if t.http {
		t.head(202, "")
	}
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// unescape makes bytes of \xNN.
func unescape(text string) string {
	if !strings.Contains(text, `\x`) {
		return text
	}
	quoted, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(text, `\x`, "\x00"), `"`, `\"`) + `"`)
	if err != nil {
		return text
	}
	out := ""
	for i, part := range strings.Split(quoted, "\x00") {
		if i > 0 {
			b, err := strconv.ParseUint(part[:min(2, len(part))], 16, 8)
			if err != nil {
				return text
			}
			out += string([]byte{byte(b)})
			part = part[min(2, len(part)):]
		}
		out += part
	}
	return out
}

func (t *transcript) add(f wire.Frame) {
	f.Seq, f.Time, f.Conn = uint64(len(t.frames)+1), t.now, t.conn
	if t.http {
		f.Stream = t.stream
	}
	t.frames = append(t.frames, f)
}

func (t *transcript) open(method, where string, fields ...wire.Field) {
	t.streams++
	t.stream = t.streams
	t.add(wire.Frame{Kind: wire.Head, HTTP: &wire.HTTPHead{Method: method, URL: where, Fields: append(fields, t.fields...)}})
	t.fields = nil
}

func (t *transcript) request(method, params string) {
	t.ids++
	t.id, t.method = strconv.Itoa(t.ids), method
	if t.rev != "" {
		p := raw(params)
		meta := jsonraw.OrEmpty(jsonraw.First(p, "_meta"))
		meta = jsonraw.With(meta, conv.MetaPrefix+"protocolVersion", jsonraw.Quote(t.rev))
		meta = jsonraw.With(meta, conv.MetaPrefix+"clientCapabilities", raw(t.caps))
		params = string(jsonraw.With(p, "_meta", meta))
	}
	t.send(`{"jsonrpc":"2.0","id":` + t.id + `,"method":"` + method + `","params":` + params + `}`)
}

func (t *transcript) send(message string) {
	if t.http {
		where := url
		fields := []wire.Field{{Name: "Content-Type", Value: "application/json"}}
		if t.rev != "" {
			fields = append(fields, wire.Field{Name: "MCP-Protocol-Version", Value: t.rev}, wire.Field{Name: "Mcp-Method", Value: t.method})
		}
		t.open("POST", where, fields...)
	}
	t.add(wire.Frame{Kind: wire.Body, Raw: []byte(message)})
}

var cacheable = map[string]bool{
	"server/discover": true, "tools/list": true, "prompts/list": true, "resources/list": true,
	"resources/templates/list": true, "resources/read": true,
}

func (t *transcript) result(text string) {
	result := raw(text)
	if t.rev != "" {
		fill := func(name, value string) {
			if jsonraw.First(result, name) == nil {
				result = jsonraw.With(result, name, raw(value))
			}
		}
		fill("resultType", `"complete"`)
		fill("_meta", `{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}`)
		if kind, _ := jsonraw.Text(jsonraw.First(result, "resultType")); cacheable[t.method] && kind == "complete" {
			fill("ttlMs", "60000")
			fill("cacheScope", `"private"`)
		}
	}
	t.receive(`{"jsonrpc":"2.0","id":`+t.id+`,"result":`+string(result)+`}`, true)
}

func (t *transcript) head(status int, fields string) {
	h := &wire.HTTPHead{Status: status}
	for field := range strings.SplitSeq(fields, "; ") {
		if name, value, ok := strings.Cut(field, ": "); ok {
			h.Fields = append(h.Fields, wire.Field{Name: name, Value: value})
		}
	}
	t.headed[t.stream] = true
	t.events[t.stream] = h.Field("Content-Type") == "text/event-stream"
	t.add(wire.Frame{Kind: wire.Head, Dir: wire.Received, HTTP: h})
}

// receive is a message of the server; last ends the stream of events on which it comes.
func (t *transcript) receive(message string, last bool) {
	if t.http && !t.headed[t.stream] {
		t.head(200, "Content-Type: application/json")
	}
	if t.http && t.events[t.stream] {
		t.add(wire.Frame{Kind: wire.Event, Dir: wire.Received, Raw: []byte(message), SSE: &sse.Facts{}})
		if last && t.rev != "" {
			t.step("close", "server end")
		}
		return
	}
	t.add(wire.Frame{Kind: wire.Body, Dir: wire.Received, Raw: []byte(message)})
}
