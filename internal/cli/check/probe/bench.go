package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A bench is where probes are made: a server in one revision. Clean requests go out on a
// conversation that the linter reads too, rough ones on another that is opened when it is
// needed.
type bench struct {
	*judge
	clean, rough *session
	capabilities json.RawMessage
	rev          conv.Rev
	lists        lists
	refusals     map[string]wire.Outcome // of list methods
	// discovered is the answer to server/discover, nil before it was sent, and supported are
	// the versions in it.
	discovered *answer
	supported  []string
	// handshakes is set for a server that also speaks revisions with sessions.
	acceptsHandshake bool
	// called are the tools that were called.
	called []calledTool
	// others have conversations of their own, on which probes are repeated.
	repeatBenches []*bench
}

// mostPages bounds the pages of a list.
const maxPages = 50

// declares reports a capability that the server declared.
func (b *bench) declares(path ...string) bool {
	if strings.Contains(path[0], "/") { // an extension
		path = append([]string{"extensions"}, path...)
	}
	value := conv.Inside(b.capabilities, path...)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// list fetches all lists that are declared, and adds the steps for them. The outcome is not
// good where none can be judged.
func (b *bench) fetchLists(ctx context.Context) (failed wire.Outcome) {
	b.lists = lists{}
	b.refusals = map[string]wire.Outcome{}
	state := verdict.OK
	var counts []string
	for _, k := range connect.Kinds {
		if !b.declares(k.Capability) {
			continue
		}
		items, out := b.fetchList(ctx, b.clean, k.Method)
		b.lists[k.Many] = items
		switch {
		case out.Good():
			counts = append(counts, english.Plural(len(items), k.One))
		case out.Kind == wire.RPCFailed || out.Kind == wire.BadResponse: // the rules say so
			b.refusals[k.Method] = out
			if k == connect.TemplateKind && out.RPC() != nil && out.RPC().Code == -32601 {
				counts = append(counts, "no "+k.Many)
				continue // it is optional
			}
			state = verdict.Warning
			counts = append(counts, k.Method+" failed")
		default:
			b.ladder.add("lists", verdict.Failed, failure.Headline(out), b.fixFor(out))
			return out
		}
	}
	text := cmp.Or(commaJoin(counts...), "the server declares none")
	if !b.ladder.has("schemas") {
		b.ladder.add("lists", state, text, "")
		b.ladder.addSchemas(b.lists["tools"])
	}
	return wire.Outcome{}
}

// listOne fetches a list page by page; nothing is sent again.
func (b *bench) fetchList(ctx context.Context, s *session, method string) (items []json.RawMessage, out wire.Outcome) {
	member, _ := conv.ListOf(method)
	if member == "" { // of an extension
		member, _, _ = strings.Cut(method, "/")
	}
	var params json.RawMessage
	for range maxPages {
		out = s.Do(ctx, client.Call{Method: method, Params: params, Once: true})
		if !out.Good() {
			return items, out
		}
		b.noteAnswerTime(method, out.Took)
		page, _ := jsonraw.Array(jsonraw.First(out.Result, member))
		items = append(items, page...)
		cursor := jsonraw.First(out.Result, "nextCursor")
		if _, isText := jsonraw.Text(cursor); !isText {
			return items, out
		}
		next := jsonraw.With(nil, "cursor", cursor)
		if string(next) == string(params) {
			return items, out // the linter has it
		}
		params = next
	}
	return items, out
}

// overHTTP reports a server over HTTP, streamable one over Streamable HTTP.
func (b *bench) isHTTP() bool       { return b.clean.Transport() != transport.Stdio }
func (b *bench) isStreamable() bool { return b.clean.Transport() == transport.StreamableHTTP }

// stateless reports a revision in which each request stands alone.
func (b *bench) isStateless() bool { return client.Stateless(b.clean.Revision()) }

// muted is the conversation for rough requests; a new one where the last one broke.
func (b *bench) roughSession(ctx context.Context) (*session, wire.Outcome) {
	if b.rough != nil && b.rough.broken == "" {
		return b.rough, wire.Outcome{}
	}
	if b.rough != nil && b.rough.Session != nil {
		b.rough.Close(ctx, true)
	}
	s, out := b.openLike(ctx, b.clean, true)
	b.rough = s
	if !out.Good() {
		s.broken = out.Text
		return s, out
	}
	if !b.isHTTP() && b.isStateless() { // a process may go by the first message in all that follow
		if first := b.ping(ctx, s); first.Message == nil {
			s.broken = first.Text
			return s, first
		}
	}
	return s, out
}

// revive opens the conversations again after a connection broke during a request, and reports
// whether the server answers on them. If it does not, nothing more is sent.
func (b *bench) revive(ctx context.Context, during string) bool {
	if ctx.Err() != nil || b.pacer.whyStopped() != "" {
		return true
	}
	silent := func(a answer) bool { return a.isBroken() || a.Kind == wire.Timeout }
	reviving, stop := upTo(ctx, max(b.clean.opt.Limits.Idle, maxPatience))
	defer stop()
	now := answer{Outcome: b.ping(reviving, b.clean)}
	if !silent(now) {
		return true
	}
	reviving, stop = upTo(ctx, max(b.clean.opt.Limits.Idle, maxPatience))
	defer stop()
	s, out := b.openLike(reviving, b.clean, false)
	if out.Good() { // which a revision without a handshake says before anything was sent
		if first := (answer{Outcome: b.ping(reviving, s)}); silent(first) {
			out = first.Outcome
		}
	}
	if ctx.Err() != nil {
		return true
	}
	if !out.Good() {
		if s.Session != nil {
			s.Close(context.WithoutCancel(ctx), true)
		}
		what := "ended"
		if now.Kind == wire.Timeout {
			what = "hung"
		}
		out.Text = "the server " + what + " during " + during + " and does not answer any more: " + out.Text
		b.serverEnd = out
		return false
	}
	b.clean.Close(context.WithoutCancel(ctx), true)
	b.clean = s
	return true
}

// ping sends a request that every server answers.
func (b *bench) ping(ctx context.Context, s *session) wire.Outcome {
	return s.Do(ctx, client.Call{Method: client.PingMethod(b.clean.Revision()), Once: true})
}

// fresh is a bench with conversations of its own.
func (b *bench) duplicate(ctx context.Context) (*bench, wire.Outcome) {
	s, out := b.openLike(ctx, b.clean, false)
	other := *b
	other.clean = s
	other.rough = nil
	other.discovered = nil
	other.repeatBenches = nil
	return &other, out
}

// other is one of the benches on which probes are repeated.
func (b *bench) repeatBench(ctx context.Context, i int) (*bench, wire.Outcome) {
	if i < len(b.repeatBenches) {
		return b.repeatBenches[i], wire.Outcome{}
	}
	other, out := b.duplicate(ctx)
	if out.Good() {
		b.repeatBenches = append(b.repeatBenches, other)
	}
	return other, out
}

func (b *bench) close(ctx context.Context) {
	for _, other := range b.repeatBenches {
		other.close(ctx)
	}
	for _, s := range []*session{b.rough, b.clean} {
		if s != nil && s.Session != nil {
			s.Close(context.WithoutCancel(ctx), true)
		}
	}
}

// An ask is a request of a probe. Raw replaces the message, which else has the marks of the
// revision; verb is the HTTP method, POST where it is "".
type probeRequest struct {
	method string
	params json.RawMessage
	raw    []byte
	verb   string
	edits  []wire.Field
	bare   bool
}

// An answer is what came for an ask.
type answer struct {
	wire.Outcome
	at conv.Spot
	// gone is set if the server could not be reached again after the ask.
	unreachable bool
	// hide returns bytes without their secrets.
	hide func(raw []byte) []byte
}

// answerOf returns what came last on a connection.
func (b *bench) answerOf(out wire.Outcome, s *session) answer {
	return answer{Outcome: out, at: b.lastSpot(s), hide: hidesIn(b.f)}
}

// excerpt returns the begin of bytes for a finding, without secrets.
func (a answer) excerpt(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if a.hide != nil {
		raw = a.hide(raw)
	}
	return jsonraw.Excerpt(raw, 120)
}

// status is that of HTTP; 0 over stdio, and where no response came.
func (a answer) status() int {
	if a.HTTP == nil {
		return 0
	}
	return a.HTTP.Status
}

// code is that of the JSON-RPC error; 0 where none came.
func (a answer) code() int64 {
	if a.Message == nil || a.Message.Error == nil {
		return 0
	}
	return a.Message.Error.Code
}

// result reports a result, or an array of those of a batch of two.
func (a answer) hasResult() bool {
	m := a.Message
	is := wire.Response
	return m != nil && (m.Kind == is || len(m.Items) == 2 && m.Items[0].Kind == is && m.Items[1].Kind == is)
}

// broke reports that the connection broke before an answer, or that nothing was sent.
func (a answer) isBroken() bool {
	return a.Message == nil && a.HTTP == nil && a.Kind != wire.Timeout
}

// exited reports that the request ended the server: its process exited, or it could not be
// reached again.
func (a answer) hasEndedServer() bool {
	return a.unreachable || a.Process != nil && a.Process.Ended != ""
}

// lost reports an answer that says nothing about a rule: the connection broke although the
// server goes on, or nothing more may be sent.
func (a answer) isInconclusive() bool { return a.isBroken() && !a.hasEndedServer() }

// stderr returns the end of what a server that exited wrote to standard error.
func (a answer) stderr() string {
	if a.Process == nil || !a.hasEndedServer() {
		return ""
	}
	return a.Process.Stderr
}

// String says what came, for findings.
func (a answer) String() string {
	var parts []string
	if a.status() != 0 {
		parts = append(parts, failure.HTTPStatus(a.status()))
	}
	switch {
	case a.code() != 0:
		parts = append(parts, fmt.Sprintf("error %d %q", a.code(), a.Message.Error.Message))
	case a.hasResult():
		parts = append(parts, "result "+a.excerpt(a.Message.Result))
	case a.Message != nil && len(a.Message.Raw) > 0:
		parts = append(parts, a.excerpt(a.Message.Raw))
	case a.HTTP != nil && len(a.HTTP.Body) > 0:
		parts = append(parts, a.excerpt(a.HTTP.Body))
	case a.HTTP == nil:
		parts = append(parts, a.Text)
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// compose is a request with the marks of the revision, as the client would send it.
func (b *bench) compose(method string, params json.RawMessage) []byte {
	d, _ := client.Compose(b.clean.opt, b.clean.Memory(), client.Call{Method: method, Params: params})
	return d.Message
}

// mayBeSilent makes a request of a session that the server may leave without an answer, see await.
func (b *bench) doPatiently(
	ctx context.Context,
	s *session,
	method string,
	request func(context.Context) wire.Outcome,
) (a answer, hung bool) {
	var at conv.Spot
	out, hung := b.await(ctx, method, s.opt.Limits.Idle, request, func(ctx context.Context) wire.Outcome {
		at = b.lastSpot(s)
		return b.ping(ctx, s)
	})
	a = b.answerOf(out, s)
	if at.Seq != 0 { // what came last may belong to the ping
		a.at = at
	}
	return a, hung
}

// send sends a request on a rough connection, and notes how it can be sent again.
func (b *bench) sendRough(ctx context.Context, q probeRequest) answer {
	s, out := b.roughSession(ctx)
	if !out.Good() {
		return b.answerOf(out, s)
	}
	raw := q.raw
	if raw == nil && q.verb == "" {
		raw = b.compose(q.method, q.params)
	}
	a, hung := b.doPatiently(ctx, s, q.method, func(ctx context.Context) wire.Outcome {
		if b.isStreamable() {
			return client.SendHTTP(ctx, s.Session, client.HTTPRequest{Method: q.verb, Body: raw, Edits: q.edits, Bare: q.bare})
		}
		return s.Raw(ctx, raw, q.bare)
	})
	if a.isBroken() || hung || a.Kind == wire.Timeout && b.isHTTP() {
		s.broken = a.Text
	}
	if a.isBroken() || hung {
		a.unreachable = !b.revive(ctx, cmp.Or(q.method, "a probe"))
	}
	if a.Message != nil {
		b.noteAnswerTime(q.method, a.Took)
	}
	return b.recordRepeat(a, q, b.clean.Revision())
}

// noted keeps how the request of an answer is sent again: with --protocol and a revision.
func (b *bench) recordRepeat(a answer, q probeRequest, revision string) answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	words := repeatWordsFor(q, revision)
	if words != "" && a.Kind == wire.Timeout {
		words += " --timeout " + max(a.Took.Round(time.Second), time.Second).String()
	}
	b.probed[a.at] = probedRequest{b.clean.Revision(), words}
	return a
}

// repeatWords are the words of the mcpc command that sends the same request; "" where none
// does.
func repeatWordsFor(q probeRequest, revision string) string {
	if q.verb != "" {
		return ""
	}
	alien := func(e wire.Field) bool { return e.Name == "Mcp-Session-Id" && e.Value != "" }
	if !client.Stateless(revision) && slices.ContainsFunc(q.edits, alien) { // no session is opened with that
		q = probeRequest{raw: wire.ComposeRequest(json.RawMessage("1"), q.method, q.params), bare: true,
			edits: append([]wire.Field{field("MCP-Protocol-Version", revision)}, q.edits...)}
		revision = client.Revisions()[slices.IndexFunc(client.Revisions(), client.Stateless)]
	}
	words := []string{"raw", "--protocol", revision}
	for _, e := range q.edits {
		words = append(words, "-H", shellwords.Quote(e.Name+": "+e.Value))
	}
	if q.bare {
		words = append(words, "--no-stamp")
	}
	if q.raw != nil {
		return strings.Join(append(words, "--bytes", shellwords.Quote(string(q.raw))), " ")
	}
	words = append(words, shellwords.Quote(q.method))
	if q.params != nil {
		words = append(words, shellwords.Quote(string(q.params)))
	}
	return strings.Join(words, " ")
}

// lists are the entries that a server listed, by what they are called: "tools", "templates".
type lists map[string][]json.RawMessage

// names are the names of the entries of a list.
func (l lists) names(list, key string) (names []string) {
	for _, item := range l[list] {
		if name, ok := jsonraw.Text(jsonraw.First(item, key)); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
