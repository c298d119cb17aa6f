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

// metaPrefix is the prefix of the protocol's names in _meta.
const metaPrefix = conv.MetaPrefix

// Answers that several probes expect.
var (
	invalidParams  = expectation{codes: []int64{-32602}, otherSeverity: conv.Warn, text: "error -32602"}
	anyResult      = expectation{acceptsResult: true, text: "a result"}
	headerMismatch = expectation{
		codes: []int64{-32020}, statuses: []int{http.StatusBadRequest}, otherSeverity: conv.Warn,
		text: "HTTP 400 with error -32020",
	}
)

// fixedRequest returns a function for a request of a method with params.
func fixedRequest(method, params string) func(*bench) probeRequest {
	return func(*bench) probeRequest { return probeRequest{method: method, params: json.RawMessage(params)} }
}

// editedRequest returns a function for a request of plainMethod with other header fields.
func editedRequest(edits ...wire.Field) func(*bench) probeRequest {
	return func(b *bench) probeRequest { return probeRequest{method: b.plainMethod(), edits: edits} }
}

// field returns a header field for the edits of a request.
func field(name, value string) wire.Field { return wire.Field{Name: name, Value: value} }

// singleProbes returns the probes of one request each.
func singleProbes() []singleProbe {
	return []singleProbe{
		{
			id:       "L011",
			subject:  "mcpc/doesNotExist",
			request:  fixedRequest("mcpc/doesNotExist", `{}`),
			expected: expectation{codes: []int64{-32601}, text: "error -32601"},
		},
		{id: "L049", subject: "a request without clientInfo", request: withoutMetaMembers("clientInfo"), expected: anyResult},
		{id: "L063", subject: "header names in lower case", request: func(b *bench) probeRequest {
			return probeRequest{
				method: b.plainMethod(),
				edits: []wire.Field{
					field("mcp-method", b.plainMethod()), field("mcp-protocol-version", b.cleanSession.Revision()),
				},
			}
		}, expected: anyResult},
		{id: "L064", subject: "Mcp-Method in another case", request: func(b *bench) probeRequest {
			return probeRequest{method: b.plainMethod(), edits: []wire.Field{field("Mcp-Method",
				strings.ToUpper(b.plainMethod()))}}
		}, expected: headerMismatch},
		{id: "L065", subject: "Mcp-Name in base64", exempt: exemptIfNothingNamed, request: func(b *bench) probeRequest {
			return b.namedRequest(func(name string) string {
				return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
			})
		}, expected: anyResult},
		{
			id: "L066", subject: "Mcp-Name with invalid base64", exempt: exemptIfNothingNamed,
			request: func(b *bench) probeRequest {
				return b.namedRequest(func(string) string { return "=?base64?%%%?=" })
			}, expected: headerMismatch,
		},
		{
			id: "L073", subject: "Mcp-Session-Id", request: editedRequest(field("Mcp-Session-Id", "mcpc-bogus-session")),
			expected: anyResult,
		},
		{
			id: "L073", subject: "Last-Event-ID", request: editedRequest(field("Last-Event-ID", "mcpc-check")),
			expected: anyResult,
		},
		{
			id:       "L091",
			subject:  "an unknown session",
			exempt:   exemptIfSessionless,
			request:  editedRequest(field("Mcp-Session-Id", "mcpc-unknown-session")),
			expected: expectation{statuses: []int{http.StatusNotFound}, text: "HTTP 404"},
		},
		{
			id: "L090", subject: "no session id", exempt: exemptIfSessionless,
			request:  editedRequest(field("Mcp-Session-Id", "")),
			expected: expectation{statuses: []int{http.StatusBadRequest}, text: "HTTP 400"},
		},
		{
			id: "L093", subject: "MCP-Protocol-Version: banana", request: editedRequest(field("MCP-Protocol-Version", "banana")),
			expected: expectation{statuses: []int{http.StatusBadRequest}, text: "HTTP 400"},
		},
		{
			id: "L094", subject: "no MCP-Protocol-Version", request: editedRequest(field("MCP-Protocol-Version", "")),
			expected: anyResult,
		},
		{
			id:       "L123",
			subject:  "an unknown tool",
			request:  fixedRequest("tools/call", `{"name":"mcpc-no-such-tool","arguments":{}}`),
			expected: invalidParams,
		},
		{
			id:       "L125",
			subject:  "arguments in an array",
			request:  malformedCallRequest,
			expected: expectation{codes: []int64{-32602}, otherSeverity: conv.Warn, toolError: true, text: "error -32602"},
		},
		{
			id:       "L141",
			subject:  "an unknown prompt",
			request:  fixedRequest("prompts/get", `{"name":"mcpc-no-such-prompt"}`),
			expected: invalidParams,
		},
		{
			id:      "L141",
			subject: "a prompt without its arguments",
			exempt:  exemptIf("no prompt needs an argument", func(b *bench) bool { return b.lists.promptWithArguments() == "" }),
			request: func(b *bench) probeRequest {
				return probeRequest{method: "prompts/get", params: jsonraw.With(nil, "name",
					jsonraw.Quote(b.lists.promptWithArguments()))}
			},
			expected: invalidParams,
		},
		{id: "L175", subject: "the log level loud", request: func(b *bench) probeRequest {
			if b.isStateless() {
				params := json.RawMessage(`{"_meta":{"` + metaPrefix + `logLevel":"loud"}}`)
				return probeRequest{method: b.plainMethod(), params: params}
			}
			return probeRequest{method: "logging/setLevel", params: json.RawMessage(`{"level":"loud"}`)}
		}, expected: invalidParams},
		{
			id:       "L188",
			subject:  "an unknown task",
			request:  fixedRequest("tasks/get", `{"taskId":"mcpc-no-such-task"}`),
			expected: invalidParams,
		},
		{id: "L189", subject: "tasks/get with another Mcp-Name", request: func(*bench) probeRequest {
			return probeRequest{
				method: "tasks/get", params: json.RawMessage(`{"taskId":"mcpc-no-such-task"}`),
				edits: []wire.Field{field("Mcp-Name", "mcpc-other")},
			}
		}, expected: headerMismatch},
		{id: "L008", subject: "a batch of two", request: func(b *bench) probeRequest {
			return probeRequest{raw: fmt.Appendf(nil, "[%s,%s]", b.compose("ping", nil), b.compose("ping", nil))}
		}, expected: expectation{statuses: []int{http.StatusOK}, acceptsResult: true, text: "both results"}},
		{id: "L012", subject: "unreadable JSON", request: func(b *bench) probeRequest {
			return probeRequest{raw: []byte("{"), edits: b.methodHeaders("tools/list")}
		}, expected: expectation{codes: []int64{-32700}, statuses: []int{http.StatusBadRequest}, text: "error -32700"}},
		{id: "L012", subject: "a request without a method", request: func(b *bench) probeRequest {
			return probeRequest{raw: []byte(`{"jsonrpc":"2.0","id":1}`), edits: b.methodHeaders("tools/list")}
		}, expected: expectation{codes: []int64{-32600}, statuses: []int{http.StatusBadRequest}, text: "error -32600"}},
	}
}

// negativeProbes returns the probes that send malformed requests, the most valuable first.
func negativeProbes() []probe {
	return []probe{
		{rules: []string{"L046", "L047"}, run: probeUnsupportedVersion},
		{rules: []string{"L048"}, run: probeMissingMeta},
		{rules: []string{"L053"}, run: probeRemovedMethods},
		{rules: []string{"L061"}, run: probeMissingHeaders},
		{rules: []string{"L062"}, run: probeWrongHeaders},
		{rules: []string{"L145"}, run: probeInvalidCursor},
		{rules: []string{"L083"}, run: probeForeignOrigin},
		{rules: []string{"L086"}, run: probeSingleMediaType},
		{rules: []string{"L052"}, exempt: exemptIfHandshakes, run: probeRefusedInitialize},
		{rules: []string{"L057"}, run: probeListsOfSecondSession},
	}
}

// plainMethod returns a method without params that every server of this kind answers.
func (b *bench) plainMethod() string {
	if b.declares("tools") {
		return "tools/list"
	}
	if b.isStateless() {
		return "server/discover"
	}
	return "ping"
}

// methodHeaders returns the header fields that name a method; nil in revisions without such fields.
func (b *bench) methodHeaders(method string) []wire.Field {
	if !b.isStateless() || !b.isStreamable() {
		return nil
	}
	return []wire.Field{field("Mcp-Method", method), field("MCP-Protocol-Version", b.cleanSession.Revision())}
}

// promptWithArguments returns the name of a prompt that has required arguments, or "" if no prompt
// has.
func (l lists) promptWithArguments() string { return l.findPrompt(true) }

// promptWithoutArguments returns the name of a prompt that has no required arguments, "" if all have.
func (l lists) promptWithoutArguments() string { return l.findPrompt(false) }

// findPrompt returns the name of the first prompt that needs arguments, or that needs no arguments,
// or "" if no prompt fits.
func (l lists) findPrompt(needsArguments bool) string {
	for _, prompt := range l["prompts"] {
		arguments, _ := jsonraw.Array(jsonraw.First(prompt, "arguments"))
		hasRequired := slices.ContainsFunc(arguments,
			func(a json.RawMessage) bool { return string(jsonraw.First(a, "required")) == "true" })
		if name, ok := jsonraw.Text(jsonraw.First(prompt, "name")); ok && hasRequired == needsArguments {
			return name
		}
	}
	return ""
}

// exemptIfNothingNamed exempts servers without a prompt or a resource that namedRequest can name.
func exemptIfNothingNamed(b *bench) string {
	if b.lists.promptWithoutArguments() == "" && len(b.lists.names("resources", "uri")) == 0 {
		return "there is no prompt without arguments and no resource"
	}
	return ""
}

// namedRequest returns a request for a prompt or a resource that changes nothing. header returns
// the value of its Mcp-Name.
func (b *bench) namedRequest(header func(name string) string) probeRequest {
	if name := b.lists.promptWithoutArguments(); name != "" {
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

// withoutMetaMembers returns a function for a request of plainMethod without some members of _meta.
func withoutMetaMembers(names ...string) func(*bench) probeRequest {
	return func(b *bench) probeRequest {
		raw := b.compose(b.plainMethod(), nil)
		params := jsonraw.First(raw, "params")
		meta := jsonraw.First(params, "_meta")
		for _, name := range names {
			meta = jsonraw.Without(meta, metaPrefix+name)
		}
		return probeRequest{
			raw:   jsonraw.With(raw, "params", jsonraw.With(params, "_meta", meta)),
			edits: b.methodHeaders(b.plainMethod()),
		}
	}
}

// detectHandshake reports whether the server also speaks revisions with sessions. A server may list
// only its stateless revisions, so it gets an initialize too.
func detectHandshake(ctx context.Context, b *bench) bool {
	if slices.ContainsFunc(b.supported, needsHandshake) {
		return true
	}
	revisions := client.Revisions()
	a, _ := b.initialize(ctx, revisions[slices.IndexFunc(revisions, needsHandshake)])
	return a.hasResult()
}

// malformedCallRequest returns a call with an array as arguments, of a tool that only reads, or else
// of an unknown tool.
func malformedCallRequest(b *bench) probeRequest {
	name := "mcpc-no-such-tool"
	for _, tool := range b.lists["tools"] {
		if mcp.ToolHints(tool).OnlyReads() {
			name, _ = jsonraw.Text(jsonraw.First(tool, "name"))
			break
		}
	}
	return probeRequest{method: "tools/call", params: fmt.Appendf(nil, `{"name":%s,"arguments":[]}`, jsonraw.Quote(name))}
}

// unsupportedRevision is a version that no server supports.
const unsupportedRevision = "1900-01-01"

// refusalText returns the expected answer to a request that is refused, over HTTP with the status 400.
func refusalText(b *bench, code int) string {
	if b.isHTTP() {
		return fmt.Sprintf("error %d and HTTP 400", code)
	}
	return fmt.Sprintf("error %d", code)
}

// probeUnsupportedVersion sends a request of a version that no server supports. The error must list
// the same versions as server/discover.
func probeUnsupportedVersion(ctx context.Context, b *bench) []miss {
	params := json.RawMessage(`{"_meta":{"` + metaPrefix + `protocolVersion":"` + unsupportedRevision + `"}}`)
	a := b.sendRough(ctx, probeRequest{method: b.plainMethod(), params: params})
	hasWrongStatus := a.status() != 0 && a.status() != http.StatusBadRequest
	if a.code() != -32022 || hasWrongStatus {
		return []miss{newMiss("L046", "version "+unsupportedRevision, a, refusalText(b, -32022))}
	}
	data := a.Message.Error.Data
	supported := stringsIn(data, "supported")
	requested, _ := jsonraw.Text(jsonraw.First(data, "requested"))
	var misses []miss
	if requested != unsupportedRevision || len(supported) == 0 {
		m := newMiss("L046", "version "+unsupportedRevision, a, "data with supported and requested")
		m.pointer = "/error/data"
		misses = append(misses, m)
	}
	inError := slices.Sorted(slices.Values(supported))
	inDiscover := slices.Sorted(slices.Values(b.supported))
	if len(inError) > 0 && !slices.Equal(inError, inDiscover) {
		m := newMiss("L047", "version "+unsupportedRevision, a, commaJoin(inDiscover...))
		m.pointer = "/error/data/supported"
		m.got = commaJoin(inError...)
		misses = append(misses, m)
	}
	return misses
}

// probeMissingMeta sends requests without _meta or without a required member of it, and returns a miss
// for each that the server does not refuse with -32602. It returns a
// miss for each request that the server does not refuse as the specification requires.
func probeMissingMeta(ctx context.Context, b *bench) []miss {
	withoutMeta := func(b *bench) probeRequest {
		raw := jsonraw.Without(b.compose(b.plainMethod(), nil), "params")
		return probeRequest{raw: raw, edits: b.methodHeaders(b.plainMethod())}
	}
	requests := []struct {
		subject string
		request func(*bench) probeRequest
		// hasNoVersion is set if no member of the request has its protocol revision.
		hasNoVersion bool
	}{
		{"no _meta", withoutMeta, true},
		{"no protocolVersion", withoutMetaMembers("protocolVersion"), true},
		{"no clientCapabilities", withoutMetaMembers("clientCapabilities"), false},
	}
	var misses []miss
	for _, r := range requests {
		// Over stdio no header field has the revision either: a server that also accepts a
		// handshake may take the request for a request of an older revision.
		mayBeOlder := r.hasNoVersion && !b.isHTTP() && b.acceptsHandshake
		if mayBeOlder {
			continue
		}
		a := b.sendRough(ctx, r.request(b))
		statusFits := a.status() == 0 || a.status() == http.StatusBadRequest
		if a.code() == -32602 && statusFits {
			continue
		}
		m := newMiss("L048", r.subject, a, refusalText(b, -32602))
		if a.code() == -32020 && statusFits { // the server compares header fields with _meta first
			m.severity = conv.Info
		}
		misses = append(misses, m)
	}
	return misses
}

// probeRemovedMethods sends requests of methods that 2026-07-28 removed.
func probeRemovedMethods(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, method := range []string{
		"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"tasks/list", "tasks/result",
	} {
		if method == "initialize" && b.acceptsHandshake {
			continue // it opens a session of another revision
		}
		a := b.sendRough(ctx, probeRequest{method: method, params: json.RawMessage(`{}`)})
		if a.code() != -32601 {
			misses = append(misses, newMiss("L053", method, a, "error -32601"))
		}
	}
	return misses
}

// probeMissingHeaders sends requests without a header field that repeats a part of the body.
func probeMissingHeaders(ctx context.Context, b *bench) []miss {
	requests := map[string]probeRequest{"Mcp-Method": {method: b.plainMethod()}}
	if !b.acceptsHandshake { // in an older revision the field may be missing
		requests["MCP-Protocol-Version"] = probeRequest{method: b.plainMethod()}
	}
	if exemptIfNothingNamed(b) == "" {
		requests["Mcp-Name"] = b.namedRequest(func(string) string { return "" })
	}
	var misses []miss
	for _, name := range []string{"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		q, ok := requests[name]
		if !ok {
			continue
		}
		q.edits = []wire.Field{field(name, "")} // removes the field
		if a := b.sendRough(ctx, q); !headerMismatch.accepts(a) {
			misses = append(misses, lessSevereIfRefused(newMiss("L061", "no "+name, a, headerMismatch.text), a))
		}
	}
	return misses
}

// lessSevereIfRefused makes a miss a warning if the server refused the request with another error.
func lessSevereIfRefused(m miss, a answer) miss {
	if a.code() != 0 {
		m.severity = conv.Warn
	}
	return m
}

// probeWrongHeaders sends requests with a header field that differs from the body.
func probeWrongHeaders(ctx context.Context, b *bench) []miss {
	other := "ping" // no revision at all, if there is only one
	for _, revision := range client.Revisions() {
		if revision != b.cleanSession.Revision() {
			other = revision
			break
		}
	}
	requests := []probeRequest{
		{method: b.plainMethod(), edits: []wire.Field{field("Mcp-Method", "mcpc/other")}},
		{method: b.plainMethod(), edits: []wire.Field{field("MCP-Protocol-Version", other)}},
	}
	if exemptIfNothingNamed(b) == "" {
		requests = append(requests, b.namedRequest(func(string) string { return "mcpc-other" }))
	}
	var misses []miss
	for _, q := range requests {
		if a := b.sendRough(ctx, q); !headerMismatch.accepts(a) {
			m := newMiss("L062", "another "+q.edits[0].Name, a, headerMismatch.text)
			misses = append(misses, lessSevereIfRefused(m, a))
		}
	}
	return misses
}

// probeInvalidCursor fetches lists with a cursor that the server never gave.
func probeInvalidCursor(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, k := range connect.Kinds {
		_, failed := b.refusals[k.Method]
		isOptional := k.Method == connect.TemplateKind.Method
		if !b.declares(k.Capability) || isOptional || failed {
			continue
		}
		a := b.sendRough(ctx, probeRequest{method: k.Method, params: json.RawMessage(`{"cursor":"mcpc-bogus"}`)})
		if !invalidParams.accepts(a) {
			misses = append(misses, newMiss("L145", k.Method, a, invalidParams.text))
		}
	}
	return misses
}

// probeForeignOrigin sends a request as a page of another origin does. Servers refuse it, so that a
// web page cannot reach a server on the machine of its visitor (DNS rebinding).
func probeForeignOrigin(ctx context.Context, b *bench) []miss {
	origin := field("Origin", "http://evil.example")
	a := b.sendRough(ctx, probeRequest{method: b.plainMethod(), edits: []wire.Field{origin}})
	isRefusedInOlder := b.rev <= conv.Rev20250618 && a.status() >= 400 // these revisions name no status
	if a.status() == http.StatusForbidden || isRefusedInOlder {
		return nil
	}
	return []miss{newMiss("L083", "Origin: http://evil.example", a, "HTTP 403")}
}

// probeSingleMediaType sends requests that accept only one media type of the two that responses
// have.
func probeSingleMediaType(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, kind := range []string{"application/json", "text/event-stream"} {
		a := b.sendRough(ctx, probeRequest{method: b.plainMethod(), edits: []wire.Field{field("Accept", kind)}})
		if a.status() >= 500 || a.Kind == wire.Timeout {
			misses = append(misses, newMiss("L086", "Accept: "+kind, a, "a response, HTTP 406 or 400"))
		}
	}
	return misses
}

// probeRefusedInitialize sends initialize to a server without sessions. The error has to name the
// versions that it supports.
func probeRefusedInitialize(ctx context.Context, b *bench) []miss {
	a, _ := b.initialize(ctx, oldVersion)
	if a.code() == 0 {
		return []miss{newMiss("L052", "initialize", a, "an error that names the supported versions")}
	}
	text := string(a.Message.Error.Raw)
	if !slices.ContainsFunc(b.supported, func(version string) bool { return strings.Contains(text, version) }) {
		return []miss{newMiss("L052", "initialize", a, "an error that names the supported versions")}
	}
	return nil
}

// probeListsOfSecondSession fetches the lists in a second session: they must not depend on the session.
func probeListsOfSecondSession(ctx context.Context, b *bench) []miss {
	other, out := b.duplicate(ctx)
	if !out.OK() {
		return skipRule("L057", out.Text)
	}
	defer other.close(ctx)
	var misses []miss
	for _, k := range connect.Kinds {
		_, isListed := b.lists[k.Many]
		_, failed := b.refusals[k.Method]
		if !isListed || failed {
			continue
		}
		items, out := other.fetchList(ctx, other.cleanSession, k.Method)
		if !out.OK() {
			continue
		}
		first := slices.Sorted(slices.Values(b.lists.names(k.Many, k.Key)))
		second := lists{k.Many: items}.names(k.Many, k.Key)
		if !slices.Equal(first, slices.Sorted(slices.Values(second))) {
			misses = append(misses, miss{
				id: "L057", subject: k.Method, spot: b.lastSpot(other.cleanSession),
				got: cmp.Or(commaJoin(second...), "an empty list"), want: cmp.Or(commaJoin(first...), "an empty list"),
			})
		}
	}
	return misses
}
