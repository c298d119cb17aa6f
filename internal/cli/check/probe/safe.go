package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/client/process"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// safeProbes returns the probes that send well-formed requests that change nothing.
func safeProbes() []probe {
	return []probe{
		{rules: []string{"L035"}, run: probeDeclaredLists},
		{rules: []string{"L036"}, run: probeUndeclaredLists},
		{rules: []string{"L039"}, exempt: exemptIf("it lists no prompt", func(b *bench) bool {
			return len(b.lists["prompts"]) == 0
		}), run: probeCompletion},
		{rules: []string{"L043", "L044"}, run: probeDiscover},
		{rules: []string{"L027", "L028", "L092"}, run: probeVersions},
		{rules: []string{"L031"}, run: probePing},
		{rules: []string{"L034"}, exempt: exemptIfSessionless, run: probeUninitialized},
		{rules: []string{"L071"}, exempt: exemptIfHandshakes, run: probeGetAndDelete},
		{rules: []string{"L095"}, run: probeGetStream},
		{rules: []string{"L082"}, exempt: exemptIfStateless, run: probeNotification},
		{rules: []string{"L084"}, exempt: exemptIfRemote, run: probeOtherAddresses},
		{rules: []string{"L085"}, exempt: exemptIf("the server is on this machine", func(b *bench) bool {
			return cmdutil.IsLocal(b.cleanSession.options.Server.URL)
		}), run: judgeAccess},
		{rules: []string{"L115"}, run: probeListOrder},
		{rules: []string{"L135", "L136", "L137"}, run: probeMissingResource},
		{rules: []string{"skills-content"}, exempt: exemptIf("it lists no skill", func(b *bench) bool {
			return len(b.lists["skills"]) == 0
		}), run: readSkillFiles},
		{rules: []string{"L177"}, exempt: exemptIfNothingChanges, run: probeSubscription},
		{rules: []string{"L150"}, exempt: exemptIf("the server lists no tools over HTTP", func(b *bench) bool {
			return !b.isHTTP() || !b.declares("tools")
		}), run: probePublicList},
		{rules: []string{"L022"}, exempt: exemptIfNotChild, run: probeExit},
	}
}

// withoutProbe says why check has no probe for some rules, by their id.
var withoutProbe = map[string]string{
	"L080": "needs another tool that shows whether a slow one still works",
	"L101": "needs a stream that breaks off",
	"L140": "would read files of the server's machine",
	"L207": "needs a token for another server",
	"L208": "would put a token into a URL, which servers log",
}

// exemptIf returns a condition of a probe: if holds reports true, the probe does not apply, and why
// is the reason.
func exemptIf(why string, holds func(b *bench) bool) func(b *bench) string {
	return func(b *bench) string {
		if holds(b) {
			return why
		}
		return ""
	}
}

// callClean makes a call on the clean session. It opens the session again if it broke; during names
// the call in the error of a server that does not answer any more.
func (b *bench) callClean(ctx context.Context, c client.Call, during string) answer {
	a := b.newAnswer(b.cleanSession.Do(ctx, c), b.cleanSession)
	if a.Message != nil {
		b.noteAnswerTime(c.Method, a.Took)
	}
	if a.isBroken() {
		a.unreachable = !b.revive(ctx, during)
	}
	return a
}

// requestClean sends a request once on the clean session.
func (b *bench) requestClean(ctx context.Context, method string, params json.RawMessage) answer {
	return b.callClean(ctx, client.Call{Method: method, Params: params, Once: true}, method)
}

// probeDeclaredLists fetches the lists that failed before. A server must answer the lists of the
// capabilities that it declares.
func probeDeclaredLists(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, k := range connect.Kinds {
		if _, refused := b.refusals[k.Method]; !refused {
			continue
		}
		a := b.requestClean(ctx, k.Method, nil)
		if !a.hasResult() && k.Method != connect.TemplateKind.Method { // templates are optional
			misses = append(misses, newMiss("L035", k.Method, a, "a list: the server declares "+k.Capability))
		}
	}
	return misses
}

// probeUndeclaredLists fetches lists of capabilities that the server does not declare: their methods
// must be unknown.
func probeUndeclaredLists(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, k := range connect.Kinds {
		if b.declares(k.Capability) || k == connect.TemplateKind || k == connect.SkillKind {
			continue
		}
		if a := b.requestClean(ctx, k.Method, nil); a.code() != -32601 {
			want := "error -32601: the server does not declare " + k.Capability
			misses = append(misses, newMiss("L036", k.Method, a, want))
		}
	}
	return misses
}

// probeCompletion asks for completions of a prompt's argument. The server must know the method exactly
// if it declares completions.
func probeCompletion(ctx context.Context, b *bench) []miss {
	prompt := b.lists["prompts"][0]
	name, _ := jsonraw.Text(jsonraw.First(prompt, "name"))
	argument := "argument"
	if arguments, _ := jsonraw.Array(jsonraw.First(prompt, "arguments")); len(arguments) > 0 {
		argument, _ = jsonraw.Text(jsonraw.First(arguments[0], "name"))
	}
	params := fmt.Appendf(nil, `{"ref":{"type":"ref/prompt","name":%s},"argument":{"name":%s,"value":""}}`,
		jsonraw.Quote(name), jsonraw.Quote(argument))
	a := b.requestClean(ctx, "completion/complete", params)
	isDeclared := b.declares("completions")
	if isDeclared && a.code() == -32601 {
		return []miss{newMiss("L039", "completion/complete", a, "values: the server declares completions")}
	}
	if !isDeclared && a.hasResult() {
		return []miss{newMiss("L039", "completion/complete", a, "error -32601: the server does not declare completions")}
	}
	return nil
}

// probeDiscover checks the answer to server/discover, and that it lists the revision of the session.
func probeDiscover(ctx context.Context, b *bench) []miss {
	a := discoverOnce(ctx, b)
	if !a.hasResult() {
		return []miss{newMiss("L043", "server/discover", a, "a result")}
	}
	var misses []miss
	if jsonraw.First(a.Message.Result, "capabilities") == nil { // other rules judge the members of every result
		m := newMiss("L044", "server/discover", a, "the member capabilities")
		m.pointer = "/result/capabilities"
		misses = append(misses, m)
	}
	if !slices.Contains(b.supported, b.cleanSession.Revision()) {
		m := newMiss("L044", "server/discover", a, "supportedVersions with "+b.cleanSession.Revision())
		m.pointer = "/result/supportedVersions"
		misses = append(misses, m)
	}
	return misses
}

// discoverOnce sends server/discover at the first call, and returns its answer.
func discoverOnce(ctx context.Context, b *bench) answer {
	if b.discovered == nil {
		a := b.requestClean(ctx, "server/discover", nil)
		b.discovered = &a
		if a.hasResult() {
			b.supported = stringsIn(a.Message.Result, "supportedVersions")
		}
	}
	return *b.discovered
}

// stringsIn returns the non-empty strings of the array that is a member of object.
func stringsIn(object json.RawMessage, name string) []string {
	items, _ := jsonraw.Array(jsonraw.First(object, name))
	var texts []string
	for _, item := range items {
		if text, ok := jsonraw.Text(item); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// oldVersion and newVersion are dates that never become a revision.
const oldVersion, newVersion = "1999-01-01", "2099-01-01"

// probeVersions opens and ends a session with each version. The server must answer a version that it
// supports with the same version, and must not answer an unknown version with itself.
func probeVersions(ctx context.Context, b *bench) []miss {
	offers := []string{oldVersion, newVersion}
	for _, revision := range client.Revisions() {
		if needsHandshake(revision) && revision != b.cleanSession.Revision() {
			offers = append(offers, revision)
		}
	}
	answers := map[string]answer{}    // by the offered version
	versionFor := map[string]string{} // the version in the result, by the offered one
	var misses []miss
	for _, offer := range offers {
		a, deleted := b.initialize(ctx, offer)
		answers[offer] = a
		if a.hasResult() {
			versionFor[offer], _ = jsonraw.Text(jsonraw.First(a.Message.Result, "protocolVersion"))
		}
		isFirst := offer == oldVersion // one DELETE is enough
		if deleted != nil && isFirst && !deleted.acceptsDelete() {
			m := newMiss("L092", "DELETE", *deleted, "HTTP 2xx or 405")
			m.severity = conv.Warn
			misses = append(misses, m)
		}
	}
	isUnknown := func(version string) bool { return version == oldVersion || version == newVersion }
	for _, offer := range offers {
		a := answers[offer]
		subject := "initialize with " + offer
		rule := "L027"
		if isUnknown(offer) {
			rule = "L028"
		}
		if a.Message == nil && a.HTTP == nil { // no answer shows nothing
			misses = append(misses, miss{id: rule, subject: subject, got: a.String(), skip: true})
		} else if isUnknown(offer) && versionFor[offer] == offer {
			misses = append(misses, newMiss(rule, subject, a, "another version, or an error"))
		}
	}
	// The server showed that it supports each version that it answered.
	for _, supported := range versionFor {
		got, isOffered := versionFor[supported]
		if isOffered && got != supported && !isUnknown(supported) {
			m := newMiss("L027", "initialize with "+supported, answers[supported], "protocolVersion "+supported)
			misses = append(misses, m)
		}
	}
	return misses
}

// acceptsDelete reports whether the answer to a DELETE of a session is allowed.
func (a answer) acceptsDelete() bool {
	return a.status()/100 == 2 || a.status() == http.StatusMethodNotAllowed
}

// initialize opens a session with a version, and ends it. ended is the answer to its DELETE; nil if
// the server gave no session id.
func (b *bench) initialize(ctx context.Context, version string) (opened answer, ended *answer) {
	raw := wire.ComposeRequest(json.RawMessage("1"), "initialize", fmt.Appendf(nil,
		`{"protocolVersion":%s,"capabilities":{},"clientInfo":{"name":"mcpc","version":%s}}`,
		jsonraw.Quote(version), jsonraw.Quote(b.f.Version)))
	if !b.isStreamable() {
		return b.sendFirst(ctx, raw), nil
	}
	before := b.pacer.facts().Session
	opened = b.sendRough(ctx, probeRequest{raw: raw, bare: true})
	id := b.pacer.facts().Session
	hasNewSession := id != "" && id != before && opened.hasResult()
	if !hasNewSession {
		return opened, nil
	}
	b.f.Secrets.Learn(id)
	sessionField := []wire.Field{field("Mcp-Session-Id", id)}
	deleted := b.sendRough(ctx, probeRequest{verb: http.MethodDelete, edits: sessionField})
	return opened, &deleted
}

// sendFirst sends a message as the first message of a new session.
func (b *bench) sendFirst(ctx context.Context, raw []byte) answer {
	opt := b.cleanSession.options
	// A session of a stateless revision begins without a request.
	for _, revision := range client.Revisions() {
		if client.Stateless(revision) {
			opt.Protocol = ""
			opt.KnownRevision = revision
			opt.SkipDiscover = true
		}
	}
	tap, connNumber := b.newConnection(b.cleanSession)
	b.mute(connNumber)
	s, out := b.open(ctx, b.cleanSession.connection, opt, connNumber, tap)
	if !out.OK() {
		return b.newAnswer(out, s)
	}
	defer s.Close(context.WithoutCancel(ctx), !endSession)
	const bare = true // without the header fields that the client adds
	a, _ := b.doPatiently(ctx, s, "", func(ctx context.Context) wire.Outcome { return s.Raw(ctx, raw, bare) })
	return b.recordRepeat(a, probeRequest{raw: raw, bare: true}, opt.KnownRevision)
}

// probePing checks that the result of ping is empty except for _meta.
func probePing(ctx context.Context, b *bench) []miss {
	a := b.requestClean(ctx, "ping", nil)
	members, err := jsonraw.Object(a.Result)
	hasOthers := slices.ContainsFunc(members, func(m jsonraw.Member) bool { return m.Name != "_meta" })
	if err == nil && a.hasResult() && !hasOthers {
		return nil
	}
	return []miss{newMiss("L031", "ping", a, "the result {}")}
}

// exemptIfSessionless exempts HTTP servers without sessions: requests before initialize are valid.
func exemptIfSessionless(b *bench) string {
	if b.isHTTP() && b.cleanSession.Memory().SessionID == "" {
		return "the server has no sessions"
	}
	return ""
}

// probeUninitialized sends tools/list before initialize, which a server must refuse.
func probeUninitialized(ctx context.Context, b *bench) []miss {
	raw := wire.ComposeRequest(json.RawMessage("1"), "tools/list", nil)
	a := b.sendFirst(ctx, raw)
	if a.hasResult() || a.isBroken() {
		return []miss{newMiss("L034", "tools/list before initialize", a, "an error")}
	}
	return nil
}

// exemptIfHandshakes exempts servers that also have sessions: there GET and DELETE are valid.
func exemptIfHandshakes(b *bench) string {
	if b.acceptsHandshake || len(b.supported) == 0 { // without a list of revisions it may have sessions
		return "the server also speaks revisions with sessions"
	}
	return ""
}

// probeGetAndDelete sends GET and DELETE, which a server without sessions must refuse.
func probeGetAndDelete(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, verb := range []string{http.MethodGet, http.MethodDelete} {
		if a := b.sendRough(ctx, probeRequest{verb: verb}); a.status() != http.StatusMethodNotAllowed {
			misses = append(misses, newMiss("L071", verb, a, "HTTP 405"))
		}
	}
	return misses
}

// probeGetStream opens a stream by GET, which a server may refuse with HTTP 405 only.
func probeGetStream(ctx context.Context, b *bench) []miss {
	a := b.sendRough(ctx, probeRequest{verb: http.MethodGet})
	if a.status() == http.StatusMethodNotAllowed {
		return nil
	}
	if a.status() == http.StatusOK && wire.MediaType(a.HTTP.ContentType) == "text/event-stream" {
		return nil
	}
	return []miss{newMiss("L095", "GET", a, "an event stream or HTTP 405")}
}

// exemptIfStateless exempts revisions whose clients send no notifications over HTTP.
func exemptIfStateless(b *bench) string {
	if b.isStateless() {
		return "clients send no notifications over HTTP in this revision"
	}
	return ""
}

// probeNotification sends a notification, which gets no response but HTTP 202.
func probeNotification(ctx context.Context, b *bench) []miss {
	raw := wire.ComposeNotification("notifications/cancelled", json.RawMessage(`{"requestId":"mcpc-check"}`))
	a := b.sendRough(ctx, probeRequest{raw: raw})
	hasBody := a.HTTP != nil && len(bytes.TrimSpace(a.HTTP.Body)) > 0
	if a.status() == http.StatusAccepted && !hasBody {
		return nil
	}
	m := newMiss("L082", "a notification", a, "HTTP 202 and no body")
	if a.status()/100 == 2 {
		m.severity = conv.Warn
	}
	return []miss{m}
}

// probeListOrder fetches the tools again: the same tools must have the same order.
func probeListOrder(ctx context.Context, b *bench) []miss {
	items, out := b.fetchList(ctx, b.cleanSession, "tools/list")
	a := b.newAnswer(out, b.cleanSession)
	if !out.OK() {
		return skipRule("L115", a.String())
	}
	before := b.lists.names("tools", "name")
	now := lists{"tools": items}.names("tools", "name")
	sortedBefore := slices.Sorted(slices.Values(before))
	sortedNow := slices.Sorted(slices.Values(now))
	if slices.Equal(sortedBefore, sortedNow) && !slices.Equal(before, now) {
		return []miss{{id: "L115", subject: "tools/list", got: commaJoin(now...), want: commaJoin(before...), spot: a.spot}}
	}
	return nil
}

// noResource is a URI that no server has.
const noResource = "mcpc-nonexistent://x"

// probeMissingResource reads a resource that does not exist. Revisions since 2026-07-28 have another
// error code for it.
func probeMissingResource(ctx context.Context, b *bench) []miss {
	a := b.requestClean(ctx, "resources/read", json.RawMessage(`{"uri":"`+noResource+`"}`))
	rule := "L136"
	code := int64(-32002)
	if b.isStateless() {
		rule = "L135"
		code = -32602
	}
	if _, refused := b.refusals[connect.ResourceKind.Method]; refused && a.code() == -32601 {
		return skipRule(rule, "the server has no resources/read") // L035 reports it
	}
	if a.code() != code {
		return []miss{newMiss(rule, "a missing resource", a, fmt.Sprintf("error %d", code))}
	}
	if uri, _ := jsonraw.Text(jsonraw.First(a.Message.Error.Data, "uri")); uri != noResource {
		m := newMiss("L137", "a missing resource", a, "data.uri "+noResource)
		m.pointer = "/error/data/uri"
		return []miss{m}
	}
	return nil
}

// maxSkills is the number of skills whose file is read.
const maxSkills = 20

// readSkillFiles reads the file SKILL.md of each skill. The linter compares the files with the list.
func readSkillFiles(ctx context.Context, b *bench) []miss {
	skills := b.lists["skills"]
	var misses []miss
	for _, s := range skills[:min(len(skills), maxSkills)] {
		uri, _ := jsonraw.Text(jsonraw.First(s, "uri"))
		params := jsonraw.With(nil, "uri", jsonraw.Quote(uri))
		if a := b.requestClean(ctx, "resources/read", params); !a.hasResult() {
			misses = append(misses, newMiss("skills-content", "skill "+uri, a, "the file"))
		}
	}
	return misses
}

// exemptIfNothingChanges exempts servers that declare no listChanged.
func exemptIfNothingChanges(b *bench) string {
	for _, k := range []string{"tools", "prompts", "resources"} {
		if b.declares(k, "listChanged") {
			return ""
		}
	}
	return "the server declares no listChanged"
}

// probeSubscription opens a subscription, and ends it as soon as the server acknowledges it.
func probeSubscription(ctx context.Context, b *bench) []miss {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Began runs on the goroutine that reads, perhaps while Listen returns for another reason.
	var isAcknowledged atomic.Bool
	filter := client.SubscriptionFilter{
		Tools:     b.declares("tools", "listChanged"),
		Prompts:   b.declares("prompts", "listChanged"),
		Resources: b.declares("resources", "listChanged"),
	}
	a, _ := b.doPatiently(ctx, b.cleanSession, "", func(ctx context.Context) wire.Outcome {
		return b.cleanSession.Listen(ctx, client.ListenRequest{
			SubscriptionFilter: filter,
			Began: func(client.SubscriptionFilter) {
				isAcknowledged.Store(true)
				stop()
			},
			Lost: func(string) { stop() },
		})
	})
	if isAcknowledged.Load() {
		return nil
	}
	return []miss{newMiss("L177", "subscriptions/listen", a, "notifications/subscriptions/acknowledged")}
}

// exemptIfNotChild exempts servers that mcpc did not start.
func exemptIfNotChild(b *bench) string {
	if len(b.cleanSession.options.Server.Command) == 0 {
		return "mcpc did not start the server's process"
	}
	return ""
}

// probeExit ends the input of a server that mcpc started, and waits until the process exits.
func probeExit(ctx context.Context, b *bench) []miss {
	s, out := b.openRough(ctx)
	if !out.OK() {
		return skipRule("L022", out.Text)
	}
	began := b.f.Now()
	s.Close(context.WithoutCancel(ctx), endSession)
	s.broken = "closed"
	if b.f.Now().Sub(began) <= process.GraceAfterEOF {
		return nil
	}
	return []miss{{
		id: "L022", subject: "the end of input", spot: b.lastSpot(s),
		got: fmt.Sprintf("not ended after %s", process.GraceAfterEOF), want: "the process exits",
	}}
}
