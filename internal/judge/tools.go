package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A tool is a probe that a client drives by calling it.
type tool struct {
	name, description string
	// page is the page of the list.
	page int
	// properties are the properties of the input schema, output the output schema; both may be "".
	properties, output string
	// arguments are the arguments in a script; "" means none.
	arguments string
	// isBrief lists the tool for a brief Server, too.
	isBrief bool
	// run returns the result. Nil means a text.
	run func(p *probe) string
}

// Names of tools that HTTP handles, or that are added later.
const (
	addedTool   = "added-later"
	busyTool    = "busy-503"
	limitTool   = "busy-429"
	cutTool     = "cut-stream"
	lostTool    = "lose-session"
	changeTool  = "change-list"
	doubledTool = "respond-twice"
)

// tools are the tools, in the order that drives all probes. The last one of a page is harmless: a client
// that calls it has survived the others.
var tools = []tool{
	{name: "plain", description: "Returns a text.", isBrief: true},
	{name: "progress", description: "Sends progress before its result.", run: (*probe).sendProgress},
	{name: "ping-client", description: "Sends a ping to the client.", run: (*probe).ping},
	{
		name: "unknown-messages", description: "Sends a notification and a request that no revision has.",
		run: (*probe).sendUnknown,
	},
	{name: "ask-roots", description: "Requests the roots of the client.", run: (*probe).askRoots},
	{name: "ask-sampling", description: "Requests a completion of the client's model.", run: (*probe).askSampling},
	{name: "ask-form", description: "Asks the user for a name, with a form.", run: (*probe).askForm},
	{name: "ask-url", description: "Asks the user to open a URL.", run: (*probe).askURL},
	{name: "large-result", description: "Returns a text of one megabyte.", run: largeResult},
	{name: "unknown-content", description: "Returns content of a type that no revision has.", run: unknownContent},
	{
		name: "structured-only", description: "Returns structuredContent without content.", run: structuredOnly,
		output: `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`,
	},
	{name: "null-members", description: "Returns null for optional members, and unknown members.", run: nullMembers},
	{name: "odd-text", description: "Returns a text with NUL, line separators and emoji.", run: oddText},
	{name: doubledTool, description: "Responds twice to one call.", run: (*probe).respondTwice},
	{
		name: "header-argument", description: "Has an argument that a header field repeats.", arguments: `{"region":"eu"}`,
		properties: `"region":{"type":"string","x-mcp-header":"Region"}`,
	},
	{name: changeTool, description: "Adds the tool " + addedTool + " to the list, and says so.", run: (*probe).changeList},
	{name: "silent", description: "Responds after a long time, without progress.", run: (*probe).waitSilently},
	{name: "slow-progress", description: "Responds after a long time, with progress.", run: (*probe).waitWithProgress},
	{name: busyTool, description: "Refuses the first call over HTTP with 503 and Retry-After: 1."},
	{name: limitTool, description: "Refuses the first call over HTTP with 429 and Retry-After: 1."},
	{name: cutTool, description: "Cuts the stream of the first call over HTTP before its result."},
	{name: lostTool, description: "Makes the server forget the session over HTTP, after the result."},
	{name: "finish", description: "Returns a text. It is the last probe.", isBrief: true},
	{name: "second-page", description: "Is on the second page of the list.", page: 1, isBrief: true},
	{name: addedTool, description: "Was added by " + changeTool + ".", page: 1},
	{name: "after-empty-cursor", description: "Is on a page whose cursor is empty.", page: 2, isBrief: true},
}

// A Call is a line of a script that drives all probes.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Script returns a call of each tool, in the order that drives all probes.
func Script() []Call {
	var calls []Call
	for _, t := range tools {
		if t.name == addedTool {
			continue
		}
		arguments := t.arguments
		if arguments == "" {
			arguments = "{}"
		}
		calls = append(calls, Call{t.name, json.RawMessage(arguments)})
	}
	return calls
}

// definition returns the entry of the list of tools.
func (t tool) definition() json.RawMessage {
	var b jsonraw.Builder
	b.Text("name", t.name)
	b.Text("description", t.description)
	b.Raw("inputSchema", json.RawMessage(`{"type":"object","properties":{`+t.properties+`}}`))
	if t.output != "" {
		b.Raw("outputSchema", json.RawMessage(t.output))
	}
	b.Raw("annotations", json.RawMessage(`{"readOnlyHint":true}`))
	return b.Bytes()
}

// A probe is one call of a tool.
type probe struct {
	server *Server
	ctx    context.Context
	caller mcpserver.Caller
	m      *wire.Message
	send   func([]byte)
}

// call runs a tool.
func (s *Server) call(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	name := jsonraw.TextOrRaw(jsonraw.First(m.Params, "name"))
	t := s.countCall(name)
	if t == nil {
		return mcpserver.Replying(wire.ComposeError(m.ID, -32602, "Unknown tool"))
	}
	return mcpserver.Job{MayWait: t.run != nil, Run: func(ctx context.Context, send func([]byte)) []byte {
		p := &probe{server: s, ctx: ctx, caller: c, m: m, send: send}
		result := text(t.name + " is done.")
		if t.run != nil {
			result = t.run(p)
		}
		return s.compose(c, m, result)
	}}
}

// countCall counts a call of a tool, and returns the tool. It returns nil if there is none of this name.
func (s *Server) countCall(name string) *tool {
	for i := range tools {
		t := &tools[i]
		if t.name == name && (!s.IsBrief || t.isBrief) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.called[name]++
			return t
		}
	}
	return nil
}

// text returns a result with a text.
func text(line string) string {
	return `{"content":[{"type":"text","text":` + string(jsonraw.Quote(line)) + `}]}`
}

// notify sends a notification before the response.
func (p *probe) notify(method string, params json.RawMessage) {
	p.send(wire.ComposeNotification(method, params))
}

// token returns the progress token of the call, or nil.
func (p *probe) token() json.RawMessage {
	return jsonraw.First(jsonraw.First(p.m.Params, "_meta"), "progressToken")
}

// sendProgress sends progress if the client asks for it.
func (p *probe) sendProgress() string {
	if p.token() == nil {
		return text("The client did not ask for progress.")
	}
	for i := range 3 {
		p.notifyProgress(i+1, 3)
	}
	return text("Progress was sent.")
}

// notifyProgress sends a progress notification.
func (p *probe) notifyProgress(done, total int) {
	params := fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d}`, p.token(), done, total)
	p.notify("notifications/progress", json.RawMessage(params))
}

// request sends a request to a client in a session and waits for its response. It returns what to say
// about it.
func (p *probe) request(method string, params json.RawMessage) string {
	raw, answer := p.caller.Session.Ask(method, params)
	p.send(raw)
	ctx, cancel := context.WithTimeout(p.ctx, p.server.Patience)
	defer cancel()
	select {
	case <-answer:
		return text("The client responded to " + method + ".")
	case <-ctx.Done():
		p.caller.Session.Forget(jsonraw.First(raw, "id"))
		return text("The client did not respond to " + method + ".")
	}
}

// ask asks a client that declares the capability: with a request in a session, else with a result that
// requires input.
func (p *probe) ask(method, params string, capability ...string) string {
	if !p.caller.Declares(capability...) {
		return text("The client does not declare " + strings.Join(capability, ".") + ".")
	}
	if !p.caller.Stateless {
		return p.request(method, json.RawMessage(params))
	}
	if jsonraw.First(p.m.Params, "inputResponses") != nil {
		return text("The client responded to " + method + ".")
	}
	return `{"resultType":"input_required","inputRequests":{"question":{"method":"` + method + `","params":` + params +
		`}},"requestState":"judge"}`
}

// ping pings a client in a session.
func (p *probe) ping() string {
	if p.caller.Stateless {
		return text("This revision has no ping.")
	}
	return p.request("ping", nil)
}

// sendUnknown sends messages that no revision has. Servers send no requests to clients without a session.
func (p *probe) sendUnknown() string {
	p.notify("notifications/judge/unknown", json.RawMessage(`{"reason":"The client ignores it."}`))
	if p.caller.Stateless {
		return text("A notification was sent.")
	}
	return p.request("judge/unknown", json.RawMessage(`{"reason":"The client responds with -32601."}`))
}

// askRoots requests the client's roots.
func (p *probe) askRoots() string { return p.ask("roots/list", "{}", "roots") }

// askSampling requests a completion.
func (p *probe) askSampling() string {
	return p.ask("sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"Say yes."}}],"maxTokens":10}`, "sampling")
}

// askForm asks for a name. A client that declares only the mode with a URL is not asked.
func (p *probe) askForm() string {
	if p.caller.Declares("elicitation", "url") && !p.caller.Declares("elicitation", "form") {
		return text("The client does not declare elicitation.form.")
	}
	return p.ask("elicitation/create",
		`{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`,
		"elicitation")
}

// askURL asks to open a page.
func (p *probe) askURL() string {
	if !hasURLMode(p.caller.Revision) {
		return text("This revision has no elicitation with a URL.")
	}
	const url = `{"mode":"url","message":"Please open this page.","url":"https://example.com/judge"}`
	params := bridge.ConvertQuestion(p.caller.Stateless, "elicitation/create", json.RawMessage(url), "judge")
	return p.ask("elicitation/create", string(params), "elicitation", "url")
}

// largeResult returns a text of one megabyte.
func largeResult(*probe) string { return text(strings.Repeat("0123456789", 100_000)) }

// unknownContent returns content of a type that no revision has.
func unknownContent(*probe) string {
	return `{"content":[{"type":"judge_hologram","depth":3},{"type":"text","text":"Before this is unknown content."}]}`
}

// structuredOnly returns structuredContent without content.
func structuredOnly(*probe) string { return `{"structuredContent":{"ok":true}}` }

// nullMembers returns null for optional members, and unknown members.
func nullMembers(*probe) string {
	return `{"content":[{"type":"text","text":"Some members are null.","annotations":null,"judge":1}],` +
		`"isError":null,"structuredContent":null,"judgeExtra":{"a":[1]}}`
}

// oddText returns a text with characters that parsers of lines or C strings mistake.
func oddText(*probe) string {
	return `{"content":[{"type":"text","text":"NUL \u0000, line separator ` + "\u2028" + ` and \u2029, 👩‍🚀 é."}]}`
}

// respondTwice sends the response before the response.
func (p *probe) respondTwice() string {
	result := text("This call has two responses.")
	p.send(p.server.compose(p.caller, p.m, result))
	return result
}

// changeList adds a tool and notifies the client.
func (p *probe) changeList() string {
	p.server.mu.Lock()
	p.server.isRevised = true
	p.server.mu.Unlock()
	const changed = "notifications/tools/list_changed"
	if !p.caller.Stateless {
		p.notify(changed, nil)
	}
	p.server.hub.Publish(wire.ParseMessage(wire.ComposeNotification(changed, nil)))
	return text("The list has the tool " + addedTool + ".")
}

// waitSilently waits. If the client cancels the call meanwhile, the response is sent anyway: it is late.
func (p *probe) waitSilently() string {
	_ = pause.For(p.ctx, p.server.Slow)
	return text("This took a long time.")
}

// progressSteps is how often waitWithProgress sends progress.
const progressSteps = 20

// waitWithProgress waits, and sends progress if the client asks for it.
func (p *probe) waitWithProgress() string {
	if p.token() == nil {
		return text("The client did not ask for progress.")
	}
	for i := range progressSteps {
		if pause.For(p.ctx, p.server.Slow/time.Duration(progressSteps)) != nil {
			break
		}
		p.notifyProgress(i+1, progressSteps)
	}
	return text("This took a long time.")
}
