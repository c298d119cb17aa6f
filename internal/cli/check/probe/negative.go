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
	invalidParams = want{codes: []int64{-32602}, other: conv.Warn, text: "error -32602"}
	anyResult     = want{result: true, text: "a result"}
	badHeader     = want{
		codes: []int64{-32020}, statuses: []int{http.StatusBadRequest}, other: conv.Warn,
		text: "HTTP 400 with error -32020",
	}
)

// call asks a method with params.
func call(method, params string) func(*bench) ask {
	return func(*bench) ask { return ask{method: method, params: json.RawMessage(params)} }
}

// edited asks a list with other header fields.
func edited(edits ...wire.Field) func(*bench) ask {
	return func(b *bench) ask { return ask{method: b.plainMethod(), edits: edits} }
}

func field(name, value string) wire.Field { return wire.Field{Name: name, Value: value} }

// singles are the probes of one request each.
var singles = []single{
	{
		id:      "L011",
		subject: "mcpc/doesNotExist",
		ask:     call("mcpc/doesNotExist", `{}`),
		want:    want{codes: []int64{-32601}, text: "error -32601"},
	},
	{id: "L049", subject: "a request without clientInfo", ask: lessMeta("clientInfo"), want: anyResult},
	{id: "L063", subject: "header names in lower case", ask: func(b *bench) ask {
		return ask{
			method: b.plainMethod(),
			edits:  []wire.Field{field("mcp-method", b.plainMethod()), field("mcp-protocol-version", b.clean.Revision())},
		}
	}, want: anyResult},
	{id: "L064", subject: "Mcp-Method in another case", ask: func(b *bench) ask {
		return ask{method: b.plainMethod(), edits: []wire.Field{field("Mcp-Method", strings.ToUpper(b.plainMethod()))}}
	}, want: badHeader},
	{id: "L065", subject: "Mcp-Name in base64", when: noNamed, ask: func(b *bench) ask {
		return b.named(
			func(name string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?=" },
		)
	}, want: anyResult},
	{id: "L066", subject: "Mcp-Name with invalid base64", when: noNamed, ask: func(b *bench) ask {
		return b.named(func(string) string { return "=?base64?%%%?=" })
	}, want: badHeader},
	{id: "L073", subject: "Mcp-Session-Id", ask: edited(field("Mcp-Session-Id", "mcpc-bogus-session")), want: anyResult},
	{id: "L073", subject: "Last-Event-ID", ask: edited(field("Last-Event-ID", "mcpc-check")), want: anyResult},
	{
		id:      "L091",
		subject: "an unknown session",
		when:    sessionless,
		ask:     edited(field("Mcp-Session-Id", "mcpc-unknown-session")),
		want:    want{statuses: []int{http.StatusNotFound}, text: "HTTP 404"},
	},
	{id: "L090", subject: "no session id", when: sessionless, ask: edited(field("Mcp-Session-Id", "")),
		want: want{statuses: []int{http.StatusBadRequest}, text: "HTTP 400"}},
	{id: "L093", subject: "MCP-Protocol-Version: banana", ask: edited(field("MCP-Protocol-Version", "banana")),
		want: want{statuses: []int{http.StatusBadRequest}, text: "HTTP 400"}},
	{id: "L094", subject: "no MCP-Protocol-Version", ask: edited(field("MCP-Protocol-Version", "")), want: anyResult},
	{
		id:      "L123",
		subject: "an unknown tool",
		ask:     call("tools/call", `{"name":"mcpc-no-such-tool","arguments":{}}`),
		want:    invalidParams,
	},
	{
		id:      "L125",
		subject: "arguments in an array",
		ask:     malformedCall,
		want:    want{codes: []int64{-32602}, other: conv.Warn, toolError: true, text: "error -32602"},
	},
	{
		id:      "L141",
		subject: "an unknown prompt",
		ask:     call("prompts/get", `{"name":"mcpc-no-such-prompt"}`),
		want:    invalidParams,
	},
	{
		id:      "L141",
		subject: "a prompt without its arguments",
		when:    absent("no prompt needs an argument", func(b *bench) bool { return b.lists.promptWith(true) == "" }),
		ask: func(b *bench) ask {
			return ask{method: "prompts/get", params: jsonraw.With(nil, "name", jsonraw.Quote(b.lists.promptWith(true)))}
		},
		want: invalidParams,
	},
	{id: "L175", subject: "the log level loud", ask: func(b *bench) ask {
		if b.stateless() {
			return ask{method: b.plainMethod(), params: json.RawMessage(`{"_meta":{"` + meta + `logLevel":"loud"}}`)}
		}
		return ask{method: "logging/setLevel", params: json.RawMessage(`{"level":"loud"}`)}
	}, want: invalidParams},
	{
		id:      "L188",
		subject: "an unknown task",
		ask:     call("tasks/get", `{"taskId":"mcpc-no-such-task"}`),
		want:    invalidParams,
	},
	{id: "L189", subject: "tasks/get with another Mcp-Name", ask: func(*bench) ask {
		return ask{
			method: "tasks/get", params: json.RawMessage(`{"taskId":"mcpc-no-such-task"}`),
			edits: []wire.Field{field("Mcp-Name", "mcpc-other")},
		}
	}, want: badHeader},
	{id: "L008", subject: "a batch of two", ask: func(b *bench) ask {
		return ask{raw: fmt.Appendf(nil, "[%s,%s]", b.compose("ping", nil), b.compose("ping", nil))}
	}, want: want{statuses: []int{http.StatusOK}, result: true, text: "both results"}},
	{id: "L012", subject: "unreadable JSON", ask: func(b *bench) ask {
		return ask{raw: []byte("{"), edits: b.marks("tools/list")}
	}, want: want{codes: []int64{-32700}, statuses: []int{http.StatusBadRequest}, text: "error -32700"}},
	{id: "L012", subject: "a request without a method", ask: func(b *bench) ask {
		return ask{raw: []byte(`{"jsonrpc":"2.0","id":1}`), edits: b.marks("tools/list")}
	}, want: want{codes: []int64{-32600}, statuses: []int{http.StatusBadRequest}, text: "error -32600"}},
}

// negativeProbes send malformed requests, those of most value first.
var negativeProbes = []probe{
	{rules: []string{"L046", "L047"}, do: unsupportedVersion},
	{rules: []string{"L048"}, do: withoutMeta},
	{rules: []string{"L053"}, do: removedMethods},
	{rules: []string{"L061"}, do: missingHeaders},
	{rules: []string{"L062"}, do: otherHeaders},
	{rules: []string{"L145"}, do: badCursor},
	{rules: []string{"L083"}, do: foreignOrigin},
	{rules: []string{"L086"}, do: oneType},
	{rules: []string{"L052"}, when: onlyStateless, do: initializeRefused},
	{rules: []string{"L057"}, do: sameLists},
}

// plainMethod is a request without a name that every server of its kind answers.
func (b *bench) plainMethod() string {
	if b.declares("tools") {
		return "tools/list"
	}
	if b.stateless() {
		return "server/discover"
	}
	return "ping"
}

// marks are the header fields that name a method, in the revisions that have them.
func (b *bench) marks(method string) []wire.Field {
	if !b.stateless() || !b.streamable() {
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
var noNamed = absent("there is no prompt without arguments and no resource", func(b *bench) bool {
	return b.lists.promptWith(false) == "" && len(b.lists.names("resources", "uri")) == 0
})

// named is a request for a prompt or a resource, with another Mcp-Name.
func (b *bench) named(header func(name string) string) ask {
	if name := b.lists.promptWith(false); name != "" {
		return ask{
			method: "prompts/get", params: jsonraw.With(nil, "name", jsonraw.Quote(name)),
			edits: []wire.Field{field("Mcp-Name", header(name))},
		}
	}
	uri := b.lists.names("resources", "uri")[0]
	return ask{
		method: "resources/read", params: jsonraw.With(nil, "uri", jsonraw.Quote(uri)),
		edits: []wire.Field{field("Mcp-Name", header(uri))},
	}
}

// lessMeta asks without members of _meta.
func lessMeta(names ...string) func(*bench) ask {
	return func(b *bench) ask {
		raw := b.compose(b.plainMethod(), nil)
		params := jsonraw.First(raw, "params")
		marks := jsonraw.First(params, "_meta")
		for _, name := range names {
			marks = jsonraw.Without(marks, meta+name)
		}
		return ask{raw: jsonraw.With(raw, "params", jsonraw.With(params, "_meta", marks)), edits: b.marks(b.plainMethod())}
	}
}

// takesHandshake reports a server that also speaks revisions with sessions. It may list those
// that it speaks without any only.
func takesHandshake(ctx context.Context, b *bench) bool {
	handshake := func(v string) bool { return !client.Stateless(v) }
	if slices.ContainsFunc(b.supported, handshake) {
		return true
	}
	all := client.Revisions()
	a, _ := b.initialize(ctx, all[slices.IndexFunc(all, handshake)])
	return a.result()
}

// malformedCall has arguments that are an array, for a tool that only reads, else for none.
func malformedCall(b *bench) ask {
	name := "mcpc-no-such-tool"
	for _, tool := range b.lists["tools"] {
		if mcp.ToolHints(tool).OnlyReads() {
			name, _ = jsonraw.Text(jsonraw.First(tool, "name"))
			break
		}
	}
	return ask{method: "tools/call", params: fmt.Appendf(nil, `{"name":%s,"arguments":[]}`, jsonraw.Quote(name))}
}

// ancient is a version that no server supports.
const ancient = "1900-01-01"

// refusal says what has to come for a request that is refused with HTTP 400.
func refusal(b *bench, code int) string {
	if b.overHTTP() {
		return fmt.Sprintf("error %d and HTTP 400", code)
	}
	return fmt.Sprintf("error %d", code)
}

func unsupportedVersion(ctx context.Context, b *bench) (misses []miss) {
	params := json.RawMessage(`{"_meta":{"` + meta + `protocolVersion":"` + ancient + `"}}`)
	a := b.send(ctx, ask{method: b.plainMethod(), params: params})
	if a.code() != -32022 || a.status() != 0 && a.status() != http.StatusBadRequest {
		return []miss{missed("L046", "version "+ancient, a, refusal(b, -32022))}
	}
	data := a.Message.Error.Data
	theirs := textsIn(data, "supported")
	if requested, _ := jsonraw.Text(jsonraw.First(data, "requested")); requested != ancient || len(theirs) == 0 {
		m := missed("L046", "version "+ancient, a, "data with supported and requested")
		m.pointer = "/error/data"
		misses = append(misses, m)
	}
	if x, y := slices.Sorted(slices.Values(theirs)), slices.Sorted(slices.Values(b.supported)); len(theirs) > 0 &&
		!slices.Equal(x, y) {
		m := missed("L047", "version "+ancient, a, joined(y...))
		m.pointer, m.got = "/error/data/supported", joined(x...)
		misses = append(misses, m)
	}
	return misses
}

func withoutMeta(ctx context.Context, b *bench) (misses []miss) {
	all := func(b *bench) ask {
		raw := jsonraw.Without(b.compose(b.plainMethod(), nil), "params")
		return ask{raw: raw, edits: b.marks(b.plainMethod())}
	}
	for _, q := range []struct {
		subject string
		ask     func(*bench) ask
		bare    bool // of another revision, where nothing else says which
	}{
		{"no _meta", all, true},
		{"no protocolVersion", lessMeta("protocolVersion"), true},
		{"no clientCapabilities", lessMeta("clientCapabilities"), false},
	} {
		if q.bare && !b.overHTTP() && b.handshakes {
			continue
		}
		a := b.send(ctx, q.ask(b))
		good := a.status() == 0 || a.status() == http.StatusBadRequest
		if a.code() == -32602 && good {
			continue
		}
		m := missed("L048", q.subject, a, refusal(b, -32602))
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
		if method == "initialize" && b.handshakes {
			continue // it opens a session of another revision
		}
		if a := b.send(ctx, ask{method: method, params: json.RawMessage(`{}`)}); a.code() != -32601 {
			misses = append(misses, missed("L053", method, a, "error -32601"))
		}
	}
	return misses
}

func missingHeaders(ctx context.Context, b *bench) (misses []miss) {
	asks := map[string]ask{"Mcp-Method": {method: b.plainMethod()}}
	if !b.handshakes {
		asks["MCP-Protocol-Version"] = ask{method: b.plainMethod()} // which older revisions may lack
	}
	if noNamed(b) == "" {
		asks["Mcp-Name"] = b.named(func(string) string { return "" })
	}
	for _, name := range []string{"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		q, ok := asks[name]
		if !ok {
			continue
		}
		q.edits = []wire.Field{field(name, "")}
		if a := b.send(ctx, q); !badHeader.met(a) {
			misses = append(misses, refusedOtherwise(missed("L061", "no "+name, a, badHeader.text), a))
		}
	}
	return misses
}

// refusedOtherwise weighs a request that was refused with another error less.
func refusedOtherwise(m miss, a answer) miss {
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
	asks := []ask{
		{method: b.plainMethod(), edits: []wire.Field{field("Mcp-Method", "mcpc/other")}},
		{method: b.plainMethod(), edits: []wire.Field{field("MCP-Protocol-Version", other)}},
	}
	if noNamed(b) == "" {
		asks = append(asks, b.named(func(string) string { return "mcpc-other" }))
	}
	for _, q := range asks {
		if a := b.send(ctx, q); !badHeader.met(a) {
			misses = append(misses, refusedOtherwise(missed("L062", "another "+q.edits[0].Name, a, badHeader.text), a))
		}
	}
	return misses
}

func badCursor(ctx context.Context, b *bench) (misses []miss) {
	for _, k := range connect.Kinds {
		if !b.declares(k.Capability) || k.Method == connect.TemplateKind.Method || b.refusals[k.Method].Kind != wire.OK {
			continue
		}
		a := b.send(ctx, ask{method: k.Method, params: json.RawMessage(`{"cursor":"mcpc-bogus"}`)})
		if !invalidParams.met(a) {
			misses = append(misses, missed("L145", k.Method, a, invalidParams.text))
		}
	}
	return misses
}

func foreignOrigin(ctx context.Context, b *bench) []miss {
	a := b.send(ctx, ask{method: b.plainMethod(), edits: []wire.Field{field("Origin", "http://evil.example")}})
	refused := a.status() == http.StatusForbidden || b.rev <= conv.R25a && a.status() >= 400
	if refused {
		return nil
	}
	return []miss{missed("L083", "Origin: http://evil.example", a, "HTTP 403")}
}

func oneType(ctx context.Context, b *bench) (misses []miss) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		a := b.send(ctx, ask{method: b.plainMethod(), edits: []wire.Field{field("Accept", kind)}})
		if a.status() >= 500 || a.Kind == wire.Timeout {
			misses = append(misses, missed("L086", "Accept: "+kind, a, "a response, HTTP 406 or 400"))
		}
	}
	return misses
}

func initializeRefused(ctx context.Context, b *bench) []miss {
	a, _ := b.initialize(ctx, oldVersion)
	if a.code() == 0 {
		return []miss{missed("L052", "initialize", a, "an error that names the supported versions")}
	}
	raw := string(a.Message.Error.Raw)
	if !slices.ContainsFunc(b.supported, func(v string) bool { return strings.Contains(raw, v) }) {
		return []miss{missed("L052", "initialize", a, "an error that names the supported versions")}
	}
	return nil
}

func sameLists(ctx context.Context, b *bench) (misses []miss) {
	other, out := b.fresh(ctx)
	if !out.Good() {
		return skipped("L057", out.Text)
	}
	defer other.close(ctx)
	for _, k := range connect.Kinds {
		before, listed := b.lists[k.Many]
		if !listed || b.refusals[k.Method].Kind != wire.OK {
			continue
		}
		items, out := other.listOne(ctx, other.clean, k.Method)
		was := lists{k.Many: before}.names(k.Many, k.Key)
		is := lists{k.Many: items}.names(k.Many, k.Key)
		slices.Sort(was)
		if out.Good() && !slices.Equal(was, slices.Sorted(slices.Values(is))) {
			misses = append(
				misses,
				miss{
					id: "L057", subject: k.Method, got: cmp.Or(joined(is...), "an empty list"),
					want: cmp.Or(joined(was...), "an empty list"), at: b.lastOf(other.clean),
				},
			)
		}
	}
	return misses
}
