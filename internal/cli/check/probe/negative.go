package probe

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// meta begins the names that the protocol has in _meta.
const meta = conv.MetaPrefix

// The wants of several probes.
var (
	invalidParams = want{codes: []int64{-32602}, otherSeverity: conv.Warn, text: "error -32602"}
	anyResult     = want{result: true, text: "a result"}
	badHeader     = want{
		codes: []int64{-32020}, statuses: []int{http.StatusBadRequest}, otherSeverity: conv.Warn,
		text: "HTTP 400 with error -32020",
	}
)

// call asks a method with params.
func methodCall(method, params string) func(*bench) probeRequest {
	return func(*bench) probeRequest { return probeRequest{method: method, params: json.RawMessage(params)} }
}

// edited asks a list with other header fields.
func editedList(edits ...wire.Field) func(*bench) probeRequest {
	return func(b *bench) probeRequest { return probeRequest{method: b.plainMethod(), edits: edits} }
}

func field(name, value string) wire.Field { return wire.Field{Name: name, Value: value} }

// singles are the probes of one request each.
var singleProbes = []single{
	{
		id:      "L011",
		subject: "mcpc/doesNotExist",
		request: methodCall("mcpc/doesNotExist", `{}`),
		want:    want{codes: []int64{-32601}, text: "error -32601"},
	},
	{id: "L049", subject: "a request without clientInfo", request: withoutMetaMembers("clientInfo"), want: anyResult},
	{id: "L063", subject: "header names in lower case", request: func(b *bench) probeRequest {
		return probeRequest{
			method: b.plainMethod(),
			edits:  []wire.Field{field("mcp-method", b.plainMethod()), field("mcp-protocol-version", b.clean.Revision())},
		}
	}, want: anyResult},
	{id: "L064", subject: "Mcp-Method in another case", request: func(b *bench) probeRequest {
		return probeRequest{method: b.plainMethod(), edits: []wire.Field{field("Mcp-Method", strings.ToUpper(b.plainMethod()))}}
	}, want: badHeader},
	{id: "L065", subject: "Mcp-Name in base64", exempt: exemptIfNothingNamed, request: func(b *bench) probeRequest {
		return b.namedRequest(
			func(name string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?=" },
		)
	}, want: anyResult},
	{id: "L066", subject: "Mcp-Name with invalid base64", exempt: exemptIfNothingNamed, request: func(b *bench) probeRequest {
		return b.namedRequest(func(string) string { return "=?base64?%%%?=" })
	}, want: badHeader},
	{id: "L073", subject: "Mcp-Session-Id", request: editedList(field("Mcp-Session-Id", "mcpc-bogus-session")), want: anyResult},
	{id: "L073", subject: "Last-Event-ID", request: editedList(field("Last-Event-ID", "mcpc-check")), want: anyResult},
	{
		id:      "L091",
		subject: "an unknown session",
		exempt:  exemptIfSessionless,
		request: editedList(field("Mcp-Session-Id", "mcpc-unknown-session")),
		want:    want{statuses: []int{http.StatusNotFound}, text: "HTTP 404"},
	},
	{id: "L090", subject: "no session id", exempt: exemptIfSessionless, request: editedList(field("Mcp-Session-Id", "")),
		want: want{statuses: []int{http.StatusBadRequest}, text: "HTTP 400"}},
	{id: "L093", subject: "MCP-Protocol-Version: banana", request: editedList(field("MCP-Protocol-Version", "banana")),
		want: want{statuses: []int{http.StatusBadRequest}, text: "HTTP 400"}},
	{id: "L094", subject: "no MCP-Protocol-Version", request: editedList(field("MCP-Protocol-Version", "")), want: anyResult},
	{
		id:      "L123",
		subject: "an unknown tool",
		request: methodCall("tools/call", `{"name":"mcpc-no-such-tool","arguments":{}}`),
		want:    invalidParams,
	},
	{
		id:      "L125",
		subject: "arguments in an array",
		request: malformedCall,
		want:    want{codes: []int64{-32602}, otherSeverity: conv.Warn, toolError: true, text: "error -32602"},
	},
	{
		id:      "L141",
		subject: "an unknown prompt",
		request: methodCall("prompts/get", `{"name":"mcpc-no-such-prompt"}`),
		want:    invalidParams,
	},
	{
		id:      "L141",
		subject: "a prompt without its arguments",
		exempt:  exemptIf("no prompt needs an argument", func(b *bench) bool { return b.lists.promptWith(true) == "" }),
		request: func(b *bench) probeRequest {
			return probeRequest{method: "prompts/get", params: jsonraw.With(nil, "name", jsonraw.Quote(b.lists.promptWith(true)))}
		},
		want: invalidParams,
	},
	{id: "L175", subject: "the log level loud", request: func(b *bench) probeRequest {
		if b.isStateless() {
			return probeRequest{method: b.plainMethod(), params: json.RawMessage(`{"_meta":{"` + meta + `logLevel":"loud"}}`)}
		}
		return probeRequest{method: "logging/setLevel", params: json.RawMessage(`{"level":"loud"}`)}
	}, want: invalidParams},
	{
		id:      "L188",
		subject: "an unknown task",
		request: methodCall("tasks/get", `{"taskId":"mcpc-no-such-task"}`),
		want:    invalidParams,
	},
	{id: "L189", subject: "tasks/get with another Mcp-Name", request: func(*bench) probeRequest {
		return probeRequest{
			method: "tasks/get", params: json.RawMessage(`{"taskId":"mcpc-no-such-task"}`),
			edits: []wire.Field{field("Mcp-Name", "mcpc-other")},
		}
	}, want: badHeader},
	{id: "L008", subject: "a batch of two", request: func(b *bench) probeRequest {
		return probeRequest{raw: fmt.Appendf(nil, "[%s,%s]", b.compose("ping", nil), b.compose("ping", nil))}
	}, want: want{statuses: []int{http.StatusOK}, result: true, text: "both results"}},
	{id: "L012", subject: "unreadable JSON", request: func(b *bench) probeRequest {
		return probeRequest{raw: []byte("{"), edits: b.marks("tools/list")}
	}, want: want{codes: []int64{-32700}, statuses: []int{http.StatusBadRequest}, text: "error -32700"}},
	{id: "L012", subject: "a request without a method", request: func(b *bench) probeRequest {
		return probeRequest{raw: []byte(`{"jsonrpc":"2.0","id":1}`), edits: b.marks("tools/list")}
	}, want: want{codes: []int64{-32600}, statuses: []int{http.StatusBadRequest}, text: "error -32600"}},
}

// negativeProbes send malformed requests, those of most value first.
var negativeProbes = []probe{
	{rules: []string{"L046", "L047"}, run: unsupportedVersion},
	{rules: []string{"L048"}, run: withoutMeta},
	{rules: []string{"L053"}, run: removedMethods},
	{rules: []string{"L061"}, run: missingHeaders},
	{rules: []string{"L062"}, run: otherHeaders},
	{rules: []string{"L145"}, run: badCursor},
	{rules: []string{"L083"}, run: foreignOrigin},
	{rules: []string{"L086"}, run: singleMediaType},
	{rules: []string{"L052"}, exempt: exemptIfHandshakes, run: initializeRefused},
	{rules: []string{"L057"}, run: listsOfSecondSession},
}

// plainMethod is a request without a name that every server of its kind answers.
func (b *bench) plainMethod() string {
	if b.declares("tools") {
		return "tools/list"
	}
	if b.isStateless() {
		return "server/discover"
	}
	return "ping"
}

// marks are the header fields that name a method, in the revisions that have them.
func (b *bench) marks(method string) []wire.Field {
	if !b.isStateless() || !b.isStreamable() {
		return nil
	}
	return []wire.Field{field("Mcp-Method", method), field("MCP-Protocol-Version", b.clean.Revision())}
}

// promptWith is a prompt that has required arguments, or none; "" where there is none.
func (l lists) promptWith(required bool) string {
	for _, prompt := range l["prompts"] {
		arguments, _ := jsonraw.Array(jsonraw.First(prompt, "arguments"))
		needs := slices.ContainsFunc(arguments,
			func(a json.RawMessage) bool { return string(jsonraw.First(a, "required")) == "true" })
		if name, ok := jsonraw.Text(jsonraw.First(prompt, "name")); ok && needs == required {
			return name
		}
	}
	return ""
}

// noNamed holds if there is no request with a name that changes nothing.
var exemptIfNothingNamed = exemptIf("there is no prompt without arguments and no resource", func(b *bench) bool {
	return b.lists.promptWith(false) == "" && len(b.lists.names("resources", "uri")) == 0
})

// named is a request for a prompt or a resource, with another Mcp-Name.
func (b *bench) namedRequest(header func(name string) string) probeRequest {
	if name := b.lists.promptWith(false); name != "" {
		return probeRequest{
			method: "prompts/get", params: jsonraw.With(nil, "name", jsonraw.Quote(name)),
			edits: []wire.Field{field("Mcp-Name", header(name))},
		}
	}
	uri := b.lists.names("resources", "uri")[0]
	return probeRequest{
		method: "resources/read", params: jsonraw.With(nil, "uri", jsonraw.Quote(uri)),
		edits: []wire.Field{field("Mcp-Name", header(uri))},
	}
}

// lessMeta asks without members of _meta.
func withoutMetaMembers(names ...string) func(*bench) probeRequest {
	return func(b *bench) probeRequest {
		raw := b.compose(b.plainMethod(), nil)
		params := jsonraw.First(raw, "params")
		marks := jsonraw.First(params, "_meta")
		for _, name := range names {
			marks = jsonraw.Without(marks, meta+name)
		}
		return probeRequest{raw: jsonraw.With(raw, "params", jsonraw.With(params, "_meta", marks)), edits: b.marks(b.plainMethod())}
	}
}

// takesHandshake reports a server that also speaks revisions with sessions. It may list those
// that it speaks without any only.
func detectHandshake(ctx context.Context, b *bench) bool {
	handshake := func(v string) bool { return !client.Stateless(v) }
	if slices.ContainsFunc(b.supported, handshake) {
		return true
	}
	all := client.Revisions()
	a, _ := b.initialize(ctx, all[slices.IndexFunc(all, handshake)])
	return a.hasResult()
}

// malformedCall has arguments that are an array, for a tool that only reads, else for none.
func malformedCall(b *bench) probeRequest {
	name := "mcpc-no-such-tool"
	for _, tool := range b.lists["tools"] {
		if mcp.ToolHints(tool).OnlyReads() {
			name, _ = jsonraw.Text(jsonraw.First(tool, "name"))
			break
		}
	}
	return probeRequest{method: "tools/call", params: fmt.Appendf(nil, `{"name":%s,"arguments":[]}`, jsonraw.Quote(name))}
}

// ancient is a version that no server supports.
const unsupportedRevision = "1900-01-01"

// refusal says what has to come for a request that is refused with HTTP 400.
func refusal(b *bench, code int) string {
	if b.isHTTP() {
		return fmt.Sprintf("error %d and HTTP 400", code)
	}
	return fmt.Sprintf("error %d", code)
}

func unsupportedVersion(ctx context.Context, b *bench) (misses []miss) {
	params := json.RawMessage(`{"_meta":{"` + meta + `protocolVersion":"` + unsupportedRevision + `"}}`)
	a := b.sendRough(ctx, probeRequest{method: b.plainMethod(), params: params})
	if a.code() != -32022 || a.status() != 0 && a.status() != http.StatusBadRequest {
		return []miss{newMiss("L046", "version "+unsupportedRevision, a, refusal(b, -32022))}
	}
	data := a.Message.Error.Data
	theirs := stringsIn(data, "supported")
	if requested, _ := jsonraw.Text(jsonraw.First(data, "requested")); requested != unsupportedRevision || len(theirs) == 0 {
		m := newMiss("L046", "version "+unsupportedRevision, a, "data with supported and requested")
		m.pointer = "/error/data"
		misses = append(misses, m)
	}
	if x, y := slices.Sorted(slices.Values(theirs)), slices.Sorted(slices.Values(b.supported)); len(theirs) > 0 &&
		!slices.Equal(x, y) {
		m := newMiss("L047", "version "+unsupportedRevision, a, commaJoin(y...))
		m.pointer, m.got = "/error/data/supported", commaJoin(x...)
		misses = append(misses, m)
	}
	return misses
}

func withoutMeta(ctx context.Context, b *bench) (misses []miss) {
	all := func(b *bench) probeRequest {
		raw := jsonraw.Without(b.compose(b.plainMethod(), nil), "params")
		return probeRequest{raw: raw, edits: b.marks(b.plainMethod())}
	}
	for _, q := range []struct {
		subject string
		ask     func(*bench) probeRequest
		bare    bool // of another revision, where nothing else says which
	}{
		{"no _meta", all, true},
		{"no protocolVersion", withoutMetaMembers("protocolVersion"), true},
		{"no clientCapabilities", withoutMetaMembers("clientCapabilities"), false},
	} {
		if q.bare && !b.isHTTP() && b.acceptsHandshake {
			continue
		}
		a := b.sendRough(ctx, q.ask(b))
		good := a.status() == 0 || a.status() == http.StatusBadRequest
		if a.code() == -32602 && good {
			continue
		}
		m := newMiss("L048", q.subject, a, refusal(b, -32602))
		if a.code() == -32020 && good { // a header field without its counterpart
			m.severity = conv.Info
		}
		misses = append(misses, m)
	}
	return misses
}

func removedMethods(ctx context.Context, b *bench) (misses []miss) {
	for _, method := range []string{
		"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"tasks/list", "tasks/result",
	} {
		if method == "initialize" && b.acceptsHandshake {
			continue // it opens a session of another revision
		}
		if a := b.sendRough(ctx, probeRequest{method: method, params: json.RawMessage(`{}`)}); a.code() != -32601 {
			misses = append(misses, newMiss("L053", method, a, "error -32601"))
		}
	}
	return misses
}

func missingHeaders(ctx context.Context, b *bench) (misses []miss) {
	asks := map[string]probeRequest{"Mcp-Method": {method: b.plainMethod()}}
	if !b.acceptsHandshake {
		asks["MCP-Protocol-Version"] = probeRequest{method: b.plainMethod()} // which older revisions may lack
	}
	if exemptIfNothingNamed(b) == "" {
		asks["Mcp-Name"] = b.namedRequest(func(string) string { return "" })
	}
	for _, name := range []string{"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		q, ok := asks[name]
		if !ok {
			continue
		}
		q.edits = []wire.Field{field(name, "")}
		if a := b.sendRough(ctx, q); !badHeader.accepts(a) {
			misses = append(misses, lessSevereIfRefused(newMiss("L061", "no "+name, a, badHeader.text), a))
		}
	}
	return misses
}

// refusedOtherwise weighs a request that was refused with another error less.
func lessSevereIfRefused(m miss, a answer) miss {
	if a.code() != 0 {
		m.severity = conv.Warn
	}
	return m
}

func otherHeaders(ctx context.Context, b *bench) (misses []miss) {
	other := "ping"
	for _, revision := range client.Revisions() {
		if revision != b.clean.Revision() {
			other = revision
			break
		}
	}
	asks := []probeRequest{
		{method: b.plainMethod(), edits: []wire.Field{field("Mcp-Method", "mcpc/other")}},
		{method: b.plainMethod(), edits: []wire.Field{field("MCP-Protocol-Version", other)}},
	}
	if exemptIfNothingNamed(b) == "" {
		asks = append(asks, b.namedRequest(func(string) string { return "mcpc-other" }))
	}
	for _, q := range asks {
		if a := b.sendRough(ctx, q); !badHeader.accepts(a) {
			misses = append(misses, lessSevereIfRefused(newMiss("L062", "another "+q.edits[0].Name, a, badHeader.text), a))
		}
	}
	return misses
}

func badCursor(ctx context.Context, b *bench) (misses []miss) {
	for _, k := range connect.Kinds {
		if !b.declares(k.Capability) || k.Method == connect.TemplateKind.Method || b.refusals[k.Method].Kind != wire.OK {
			continue
		}
		a := b.sendRough(ctx, probeRequest{method: k.Method, params: json.RawMessage(`{"cursor":"mcpc-bogus"}`)})
		if !invalidParams.accepts(a) {
			misses = append(misses, newMiss("L145", k.Method, a, invalidParams.text))
		}
	}
	return misses
}

func foreignOrigin(ctx context.Context, b *bench) []miss {
	a := b.sendRough(ctx, probeRequest{method: b.plainMethod(), edits: []wire.Field{field("Origin", "http://evil.example")}})
	refused := a.status() == http.StatusForbidden || b.rev <= conv.R25a && a.status() >= 400
	if refused {
		return nil
	}
	return []miss{newMiss("L083", "Origin: http://evil.example", a, "HTTP 403")}
}

func singleMediaType(ctx context.Context, b *bench) (misses []miss) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		a := b.sendRough(ctx, probeRequest{method: b.plainMethod(), edits: []wire.Field{field("Accept", kind)}})
		if a.status() >= 500 || a.Kind == wire.Timeout {
			misses = append(misses, newMiss("L086", "Accept: "+kind, a, "a response, HTTP 406 or 400"))
		}
	}
	return misses
}

func initializeRefused(ctx context.Context, b *bench) []miss {
	a, _ := b.initialize(ctx, oldVersion)
	if a.code() == 0 {
		return []miss{newMiss("L052", "initialize", a, "an error that names the supported versions")}
	}
	raw := string(a.Message.Error.Raw)
	if !slices.ContainsFunc(b.supported, func(v string) bool { return strings.Contains(raw, v) }) {
		return []miss{newMiss("L052", "initialize", a, "an error that names the supported versions")}
	}
	return nil
}

func listsOfSecondSession(ctx context.Context, b *bench) (misses []miss) {
	other, out := b.duplicate(ctx)
	if !out.Good() {
		return skipRule("L057", out.Text)
	}
	defer other.close(ctx)
	for _, k := range connect.Kinds {
		before, listed := b.lists[k.Many]
		if !listed || b.refusals[k.Method].Kind != wire.OK {
			continue
		}
		items, out := other.fetchList(ctx, other.clean, k.Method)
		was := lists{k.Many: before}.names(k.Many, k.Key)
		is := lists{k.Many: items}.names(k.Many, k.Key)
		slices.Sort(was)
		if out.Good() && !slices.Equal(was, slices.Sorted(slices.Values(is))) {
			misses = append(
				misses,
				miss{
					id: "L057", subject: k.Method, got: cmp.Or(commaJoin(is...), "an empty list"),
					want: cmp.Or(commaJoin(was...), "an empty list"), at: b.lastSpot(other.clean),
				},
			)
		}
	}
	return misses
}
