package telemetry

import (
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// An operation describes a request or notification by its contents.
type operation struct {
	method, tool, prompt, uri string
	// id is the id of the request, or "".
	id string
	// version is the protocol version, session the hash of the session id.
	version, session string
	// jsonrpc is the JSON-RPC version if it is not 2.0.
	jsonrpc string
	// arguments are the arguments of a tool call, variables the variables of a prompt. Both are empty
	// unless Options.Content is set.
	arguments string
	variables []otlp.Attribute
}

// maxVariables limits the variables of a prompt in a span.
const maxVariables = 64

const metaVersion = "io.modelcontextprotocol/protocolVersion"

// readOperation returns the operation of a request or notification. It updates the protocol version of
// the conversation; initialize also ends the session.
func (b *Builder) readOperation(p part) operation {
	o := operation{
		method:  cutText(p.Message.Method, maxName),
		id:      idText(p.Message.ID),
		version: p.conn.version,
		session: p.conn.session,
	}
	params, _ := p.Message.ParamMembers()
	name := cutText(params.Text("name"), maxName)
	switch p.Message.Method {
	case "tools/call":
		o.tool = name
	case "prompts/get":
		o.prompt = name
	case "completion/complete":
		if reference, _ := jsonraw.Object(params.Value("ref")); reference.Text("type") == "ref/prompt" {
			o.prompt = cutText(reference.Text("name"), maxName)
		}
	case "resources/read", "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated":
		o.uri = safeText(params.Text("uri"))
	case "initialize": // opens a session that has no id yet
		o.version = cutText(params.Text("protocolVersion"), maxName)
		o.session = ""
		b.endSession(p.conn, p.Frame.Time, false)
		p.conn.version = "" // an earlier initialize may have tried a different version
	}
	if version, ok := jsonraw.Text(jsonraw.First(params.Value("_meta"), metaVersion)); ok { // stateless, so no session
		o.version = cutText(version, maxName)
		o.session = ""
		p.conn.version = o.version
	}
	if b.options.Content {
		o.addContent(p.Message.Method, params.Value("arguments"))
	}
	return o
}

// addContent sets the arguments or variables from the params of a tool call or prompt, without
// secrets. It drops variables beyond maxVariables, and any with the key of an earlier one.
func (o *operation) addContent(method string, arguments []byte) {
	if arguments == nil {
		return
	}
	switch method {
	case "tools/call":
		o.arguments = safeContent(arguments)
	case "prompts/get":
		members, _ := jsonraw.Object(arguments)
		for _, m := range members[:min(len(members), maxVariables)] {
			var pair jsonraw.Builder // redact with the name, which may mark the value as secret
			pair.Text(m.Name, cutText(jsonraw.TextOrRaw(m.Value), maxSearched))
			safe, _ := noSecrets.Bytes(pair.Bytes())
			shown, _ := jsonraw.Object(safe)
			variable := text(promptVariable+cutText(m.Name, maxName), cutText(shown.Text(m.Name), maxContent))
			if !slices.ContainsFunc(o.variables, func(a otlp.Attribute) bool { return a.Key == variable.Key }) {
				o.variables = append(o.variables, variable)
			}
		}
	}
}

// spanName returns the name of the spans: the method with the tool, the prompt or, with withURI,
// the URI.
func (o *operation) spanName(withURI bool) string {
	if o.tool != "" {
		return o.method + " " + o.tool
	}
	if o.prompt != "" {
		return o.method + " " + o.prompt
	}
	if withURI && o.uri != "" {
		return o.method + " " + o.uri
	}
	return o.method
}

// sharedAttributes returns the attributes that spans and metrics share.
func (o *operation) sharedAttributes(c *conn, kind otlp.Kind, dir wire.Direction) []otlp.Attribute {
	all := []otlp.Attribute{text(methodName, o.method)}
	all = append(all, textIfAny(toolName, o.tool)...)
	if o.method == "tools/call" && kind != otlp.Internal {
		all = append(all, text(operationName, "execute_tool"))
	}
	all = append(all, textIfAny(promptName, o.prompt)...)
	all = append(all, textIfAny(protocolVersion, o.version)...)
	all = append(all, textIfAny(jsonrpcVersion, o.jsonrpc)...)
	if kind == otlp.Internal {
		return all
	}
	all = append(all, c.networkAttributes()...)
	if kind == otlp.Client && dir == wire.Sent {
		all = append(all, c.server.serverAttributes()...)
	}
	return all
}

// spanAttributes returns the attributes that only spans have.
func (o *operation) spanAttributes(kind otlp.Kind) []otlp.Attribute {
	all := textIfAny(sessionID, o.session)
	all = append(all, textIfAny(resourceURI, o.uri)...)
	if kind == otlp.Internal { // this span covers several requests
		return all
	}
	all = append(all, textIfAny(requestID, o.id)...)
	all = append(all, textIfAny(toolArguments, o.arguments)...)
	return append(all, o.variables...)
}

// readContexts returns the trace context in a message, and the context in the head of its HTTP request
// if both exist and differ. If only one exists, it is the first result.
func (b *Builder) readContexts(p part) (context, header Context) {
	params, _ := p.Message.ParamMembers()
	meta, _ := jsonraw.Object(params.Value("_meta"))
	context, _ = ParseContext(meta.Text("traceparent"), meta.Text("tracestate"))
	if p.Frame.Dir != wire.Sent || p.Frame.Stream == 0 {
		return context, Context{}
	}
	header = b.headContexts.Get(stream{p.Frame.Conn, p.Frame.Stream})
	if !context.IsValid() {
		return header, Context{}
	}
	if header.Trace == context.Trace && header.Span == context.Span {
		return context, Context{}
	}
	return context, header
}
