package probe

import (
	"bytes"
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

// A bench runs the probes of one revision on two sessions. The linter reads cleanSession, for
// well-formed requests. It does not read roughSession, for malformed ones, which is opened at its
// first request.
type bench struct {
	*judge
	cleanSession, roughSession *session
	capabilities               json.RawMessage
	rev                        conv.Rev
	lists                      lists
	// refusals has the outcome of each list method that failed.
	refusals map[string]wire.Outcome
	// discovered is the answer to server/discover; nil until it is sent.
	discovered *answer
	// supported are the versions in discovered.
	supported []string
	// acceptsHandshake is set if a server of a stateless revision also speaks revisions with
	// sessions.
	acceptsHandshake bool
	// called are the tools that were called.
	called []calledTool
	// repeatBenches have their own sessions, on which probes are repeated.
	repeatBenches []*bench
}

// endSession is an argument of Close: the server is asked to end the session.
const endSession = true

// maxPages bounds the pages of a list.
const maxPages = 50

// declares reports whether the server declared a capability, or an extension: path[0] then has a
// slash.
func (b *bench) declares(path ...string) bool {
	if strings.Contains(path[0], "/") { // an extension
		path = append([]string{"extensions"}, path...)
	}
	value := conv.Inside(b.capabilities, path...)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// fetchLists fetches all lists that the server declares, and adds the steps lists and schemas. The
// outcome is not OK if no list can be judged.
func (b *bench) fetchLists(ctx context.Context) wire.Outcome {
	b.lists = lists{}
	b.refusals = map[string]wire.Outcome{}
	state := verdict.OK
	var counts []string
	for _, k := range connect.Kinds {
		if !b.declares(k.Capability) {
			continue
		}
		items, out := b.fetchList(ctx, b.cleanSession, k.Method)
		b.lists[k.Many] = items
		switch {
		case out.OK():
			counts = append(counts, english.Plural(len(items), k.One))
		case out.Kind == wire.RPCFailed || out.Kind == wire.BadResponse: // rules report it
			b.refusals[k.Method] = out
			isUnknownMethod := out.RPCError() != nil && out.RPCError().Code == -32601
			if k == connect.TemplateKind && isUnknownMethod {
				counts = append(counts, "no "+k.Many)
				continue // templates are optional
			}
			state = verdict.Warning
			counts = append(counts, k.Method+" failed")
		default:
			b.ladder.add("lists", verdict.Failed, failure.Headline(out), b.fixFor(out))
			return out
		}
	}
	if !b.ladder.hasStep("schemas") { // a revision judged before has added both steps
		text := "the server declares none"
		if len(counts) > 0 {
			text = commaJoin(counts...)
		}
		b.ladder.add("lists", state, text, "")
		b.ladder.addSchemas(b.lists["tools"])
	}
	return wire.Outcome{}
}

// fetchList fetches a list page by page. It retries nothing.
func (b *bench) fetchList(ctx context.Context, s *session, method string) ([]json.RawMessage, wire.Outcome) {
	member, _ := conv.ListOf(method)
	if member == "" { // a method of an extension
		member, _, _ = strings.Cut(method, "/")
	}
	var items []json.RawMessage
	var params json.RawMessage // nil requests the first page
	var out wire.Outcome
	for range maxPages {
		out = s.Do(ctx, client.Call{Method: method, Params: params, Once: true})
		if !out.OK() {
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
			return items, out // the linter reports a repeated cursor
		}
		params = next
	}
	return items, out
}

// isHTTP reports whether the server is reached over HTTP: Streamable HTTP or HTTP+SSE.
func (b *bench) isHTTP() bool { return b.cleanSession.Transport() != transport.Stdio }

// isStreamable reports whether the server is reached over Streamable HTTP.
func (b *bench) isStreamable() bool { return b.cleanSession.Transport() == transport.StreamableHTTP }

// isStateless reports whether the revision has no sessions.
func (b *bench) isStateless() bool { return client.Stateless(b.cleanSession.Revision()) }

// openRough returns the session for malformed requests. It opens a new one if the last one is
// broken.
func (b *bench) openRough(ctx context.Context) (*session, wire.Outcome) {
	if b.roughSession != nil && b.roughSession.broken == "" {
		return b.roughSession, wire.Outcome{}
	}
	if b.roughSession != nil && b.roughSession.Session != nil {
		b.roughSession.Close(ctx, endSession)
	}
	s, out := b.openMuted(ctx, b.cleanSession)
	b.roughSession = s
	if !out.OK() {
		s.broken = out.Text
		return s, out
	}
	if !b.isHTTP() && b.isStateless() { // a process may take its revision from the first message
		if first := b.ping(ctx, s); first.Message == nil {
			s.broken = first.Text
			return s, first
		}
	}
	return s, out
}

// revive opens the clean session again if it does not answer after a connection broke, and reports
// whether the server answers. during names the request, for the user. If the server does not answer,
// revive sets serverEnd, so that nothing more is sent. It also returns true if the check is stopping.
func (b *bench) revive(ctx context.Context, during string) bool {
	if ctx.Err() != nil || b.pacer.whyStopped() != "" {
		return true
	}
	isSilent := func(a answer) bool { return a.isBroken() || a.Kind == wire.Timeout }
	// As long as any probe may wait, or longer if the user's --timeout is longer.
	patience := max(b.cleanSession.options.Limits.Idle, b.pingPatience())
	pinging, stop := withPatience(ctx, patience)
	defer stop()
	oldPing := answer{Outcome: b.ping(pinging, b.cleanSession)}
	if !isSilent(oldPing) {
		return true
	}
	opening, stop := withPatience(ctx, patience)
	defer stop()
	s, out := b.openLike(opening, b.cleanSession)
	if out.OK() { // without a handshake, opening sends nothing
		if newPing := (answer{Outcome: b.ping(opening, s)}); isSilent(newPing) {
			out = newPing.Outcome
		}
	}
	if ctx.Err() != nil {
		return true
	}
	if !out.OK() {
		if s.Session != nil {
			s.Close(context.WithoutCancel(ctx), endSession)
		}
		verb := "ended"
		if oldPing.Kind == wire.Timeout {
			verb = "hung"
		}
		out.Text = "the server " + verb + " during " + during + " and does not answer any more: " + out.Text
		b.serverEnd = out
		return false
	}
	b.cleanSession.Close(context.WithoutCancel(ctx), endSession)
	b.cleanSession = s
	return true
}

// ping sends a request that every server answers.
func (b *bench) ping(ctx context.Context, s *session) wire.Outcome {
	return s.Do(ctx, client.Call{Method: client.PingMethod(b.cleanSession.Revision()), Once: true})
}

// duplicate returns a bench with the same knowledge of the server and its own sessions, on which
// nothing was sent. It must be closed.
func (b *bench) duplicate(ctx context.Context) (*bench, wire.Outcome) {
	s, out := b.openLike(ctx, b.cleanSession)
	duplicate := *b
	duplicate.cleanSession = s
	duplicate.roughSession = nil
	duplicate.discovered = nil
	duplicate.repeatBenches = nil
	return &duplicate, out
}

// repeatBench returns the bench for repeat i of a probe. It makes the bench at its first use.
func (b *bench) repeatBench(ctx context.Context, i int) (*bench, wire.Outcome) {
	if i < len(b.repeatBenches) {
		return b.repeatBenches[i], wire.Outcome{}
	}
	duplicate, out := b.duplicate(ctx)
	if out.OK() {
		b.repeatBenches = append(b.repeatBenches, duplicate)
	}
	return duplicate, out
}

func (b *bench) close(ctx context.Context) {
	for _, repeat := range b.repeatBenches {
		repeat.close(ctx)
	}
	for _, s := range []*session{b.roughSession, b.cleanSession} {
		if s != nil && s.Session != nil {
			s.Close(context.WithoutCancel(ctx), endSession)
		}
	}
}

// A probeRequest is a request of a probe.
type probeRequest struct {
	method string
	params json.RawMessage
	// raw is the message to send, or nil to send a well-formed request of method.
	raw []byte
	// verb is the HTTP method; "" means POST.
	verb string
	// edits are header fields that replace the client's; an empty value removes a field.
	edits []wire.Field
	// bare leaves out the header fields that the client adds.
	bare bool
}

// An answer is the outcome of a probe's request.
type answer struct {
	wire.Outcome
	// spot is the frame that is the evidence.
	spot conv.Spot
	// unreachable is set if the server could not be reached again after the request.
	unreachable bool
	// hide returns bytes without their secrets; nil hides nothing.
	hide func(raw []byte) []byte
}

// newAnswer returns the answer for an outcome on a session. The evidence is the session's last
// answer.
func (b *bench) newAnswer(out wire.Outcome, s *session) answer {
	return answer{Outcome: out, spot: b.lastSpot(s), hide: hidesIn(b.f)}
}

// excerpt returns the beginning of bytes for a finding, without secrets.
func (a answer) excerpt(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if a.hide != nil {
		raw = a.hide(raw)
	}
	return jsonraw.Excerpt(raw, 120)
}

// status returns the HTTP status; 0 over stdio, or if there was no response.
func (a answer) status() int {
	if a.HTTP == nil {
		return 0
	}
	return a.HTTP.Status
}

// code returns the code of the JSON-RPC error, 0 if the answer is no error.
func (a answer) code() int64 {
	if a.Message == nil || a.Message.Error == nil {
		return 0
	}
	return a.Message.Error.Code
}

// hasResult reports whether the answer is a result, or a batch of two results.
func (a answer) hasResult() bool {
	m := a.Message
	if m == nil {
		return false
	}
	isResponse := func(m *wire.Message) bool { return m.Kind == wire.Response }
	isBatch := len(m.Items) == 2 && isResponse(m.Items[0]) && isResponse(m.Items[1])
	return isResponse(m) || isBatch
}

// isBroken reports whether the connection broke before an answer, or nothing was sent.
func (a answer) isBroken() bool {
	return a.Message == nil && a.HTTP == nil && a.Kind != wire.Timeout
}

// hasEndedServer reports whether the request ended the server: its process exited, or it could not
// be reached again.
func (a answer) hasEndedServer() bool {
	return a.unreachable || a.Process != nil && a.Process.HowEnded != ""
}

// isInconclusive reports whether the answer says nothing about a rule: the connection broke
// although the server still runs, or nothing more may be sent.
func (a answer) isInconclusive() bool { return a.isBroken() && !a.hasEndedServer() }

// stderr returns the last lines that a server wrote to standard error before it exited.
func (a answer) stderr() string {
	if a.Process == nil || !a.hasEndedServer() {
		return ""
	}
	return a.Process.Stderr
}

// String describes the answer for findings.
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
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// compose returns a request as the client would send it in this revision.
func (b *bench) compose(method string, params json.RawMessage) []byte {
	d, _ := client.Compose(b.cleanSession.options, b.cleanSession.Memory(), client.Call{Method: method, Params: params})
	return d.Message
}

// doPatiently makes a request of a session that the server may leave without an answer; see await.
// hung reports that the server did not answer a ping either.
func (b *bench) doPatiently(
	ctx context.Context,
	s *session,
	method string,
	request func(context.Context) wire.Outcome,
) (a answer, hung bool) {
	var spotBeforePing conv.Spot
	out, hung := b.await(ctx, method, s.options.Limits.Idle, request, func(ctx context.Context) wire.Outcome {
		spotBeforePing = b.lastSpot(s)
		return b.ping(ctx, s)
	})
	a = b.newAnswer(out, s)
	if spotBeforePing.Seq != 0 { // the last frame now may be of the ping
		a.spot = spotBeforePing
	}
	return a, hung
}

// sendRough sends a request on the rough session, and records how to send it again.
func (b *bench) sendRough(ctx context.Context, q probeRequest) answer {
	s, out := b.openRough(ctx)
	if !out.OK() {
		return b.newAnswer(out, s)
	}
	raw := q.raw
	if raw == nil && q.verb == "" { // a GET or DELETE has no body
		raw = b.compose(q.method, q.params)
	}
	a, hung := b.doPatiently(ctx, s, q.method, func(ctx context.Context) wire.Outcome {
		if b.isStreamable() {
			return client.SendHTTP(ctx, s.Session, client.HTTPRequest{Method: q.verb, Body: raw, Edits: q.edits, Bare: q.bare})
		}
		return s.Raw(ctx, raw, q.bare)
	})
	needsRevival := a.isBroken() || hung
	timedOutOverHTTP := a.Kind == wire.Timeout && b.isHTTP()
	if needsRevival || timedOutOverHTTP {
		s.broken = a.Text
	}
	if needsRevival {
		during := "a probe"
		if q.method != "" {
			during = q.method
		}
		a.unreachable = !b.revive(ctx, during)
	}
	if a.Message != nil {
		b.noteAnswerTime(q.method, a.Took)
	}
	return b.recordRepeat(a, q, b.cleanSession.Revision())
}

// recordRepeat records how the request of an answer is sent again with --protocol revision, and
// returns the answer.
func (b *bench) recordRepeat(a answer, q probeRequest, revision string) answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	words := repeatWordsFor(q, revision)
	if words != "" && a.Kind == wire.Timeout {
		words += " --timeout " + max(a.Took.Round(time.Second), time.Second).String()
	}
	b.probed[a.spot] = probedRequest{revision: b.cleanSession.Revision(), words: words}
	return a
}

// repeatWordsFor returns the words of the mcpc command that sends the same request, "" if no
// command does.
func repeatWordsFor(q probeRequest, revision string) string {
	if q.verb != "" {
		return ""
	}
	namesSession := func(e wire.Field) bool { return e.Name == "Mcp-Session-Id" && e.Value != "" }
	// A command opens a separate session, with another id. A stateless revision opens no session:
	// the command uses it, and sends the bytes of the other revision.
	if !client.Stateless(revision) && slices.ContainsFunc(q.edits, namesSession) {
		q = probeRequest{
			raw: wire.ComposeRequest(json.RawMessage("1"), q.method, q.params), bare: true,
			edits: append([]wire.Field{field("MCP-Protocol-Version", revision)}, q.edits...),
		}
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

// lists are the entries that a server listed, by the plural name of their kind: "tools",
// "templates".
type lists map[string][]json.RawMessage

// names returns the distinct names of the entries of a list; key is the member that has the name.
func (l lists) names(list, key string) []string {
	var names []string
	for _, item := range l[list] {
		if name, ok := jsonraw.Text(jsonraw.First(item, key)); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
