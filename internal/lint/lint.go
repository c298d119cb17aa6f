// Package lint judges conversations between MCP clients and servers by a table of rules
// (rules.txt): it reads frames and reports verdicts and findings. It sends nothing, and judges the
// traffic of a check like the traffic of any other client. A rule that does not apply to the
// revision, the transport or the capabilities of a server is "not applicable" and never fails.
package lint

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/rules"
	"mcpc/internal/recent"
	"mcpc/internal/redact"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// Options configure a Linter.
type Options struct {
	// Run is the name of the recording in the evidence, such as "42".
	Run string
	// Tools are functions of other packages that checks need. A rule whose function is nil is not
	// run.
	Tools rules.Tools
	// Off lists the ids of rules that are not judged.
	Off []string
	// OwnClient is set if mcpc is the client. Rules about clients then do not apply.
	OwnClient bool
	// Found, if not nil, is called for each violation as soon as it is known, with a finding whose
	// only Evidence is this violation. A repeated violation has the same Fingerprint. An unchanged
	// entry of a list that is read again is judged only once.
	Found func(Finding)
	// Hide returns bytes without their secrets. If it is set, the frames contain secrets and
	// findings quote only hidden text. It is nil if a recording is judged, whose frames contain no
	// secrets; violations about a hidden value are then not reported, because the value is unknown.
	Hide func(raw []byte) []byte
	// Ended reports whether a connection was recorded to its end. If not, missing messages are not
	// judged. nil means that all connections were.
	Ended func(conn int) bool
}

// A Linter judges conversations. It is not safe for concurrent use.
type Linter struct {
	options Options
	rules   []Rule
	// ruleIndex has the index of a rule by its id. states has the same indexes as rules.
	ruleIndex    map[string]int
	states       []ruleState
	checksByKind [conv.Kinds][]boundCheck
	// conns has the connections by their number, and conversations the ones that have not ended.
	conns         recent.Map[int, *connection]
	conversations []*conversation
	// violations are the places in the current message that checks have reported.
	violations []violation
	running    runningCheck
	// onHit is recordHit, made once for all events.
	onHit func(conv.Hit)
	// seenRevs are the revisions of the events so far.
	seenRevs map[conv.Rev]bool
	// isTruncated is set during the end of a conversation that was not recorded completely.
	isTruncated bool
}

// A ruleState is what the events so far say about a rule.
type ruleState struct {
	findingList
	// judged counts the judged events.
	judged int
	// hadWrongRev, hadWrongTransport and wasUndeclared are set if the rule did not apply to an event
	// because of its revision, its transport or the server's capabilities.
	hadWrongRev, hadWrongTransport, wasUndeclared bool
	// checked is set if the rule has a check or was judged by a probe.
	checked bool
	// isOff is set if the caller switched the rule off.
	isOff bool
	// skipReason says why the rule could not be judged, exemptReason why it does not apply; "" if
	// there is no such reason.
	skipReason, exemptReason string
}

// noRule is the index of the rule of a check that only records state.
const noRule = -1

// A boundCheck is a check and the index of its rule in Linter.rules, or noRule.
type boundCheck struct {
	ruleIndex int
	check     rules.Check
}

// A runningCheck is the check that runs, and its event.
type runningCheck struct {
	bound *boundCheck
	event *conv.Event
}

// maxConversations bounds the conversations that are read at the same time.
const maxConversations = 256

// New returns a Linter for all rules.
func New(o Options) *Linter {
	l := &Linter{options: o, rules: Rules(), seenRevs: map[conv.Rev]bool{}}
	l.states = make([]ruleState, len(l.rules))
	l.onHit = l.recordHit
	l.ruleIndex = map[string]int{}
	for i, r := range l.rules {
		l.ruleIndex[r.ID] = i
		l.states[i].isOff = slices.Contains(o.Off, r.ID)
		if o.OwnClient && strings.HasPrefix(r.ID, "client-") {
			l.states[i].exemptReason = "mcpc is the client"
		}
	}
	for _, c := range rules.All(o.Tools) {
		if c.ID == "" { // it only records state
			l.checksByKind[c.Kind] = append(l.checksByKind[c.Kind], boundCheck{noRule, c})
			continue
		}
		i := l.ruleIndex[c.ID]
		l.states[i].checked = true
		l.states[i].skipReason = c.MissingTool
		if c.MissingTool == "" && !l.states[i].isOff && l.states[i].exemptReason == "" {
			l.checksByKind[c.Kind] = append(l.checksByKind[c.Kind], boundCheck{i, c})
		}
	}
	return l
}

// Tap reads the next frame; it is a wire.Tap. Runs recorded at the same time must use different
// values of Conn. A frame number that does not increase starts a new conversation.
func (l *Linter) Tap(f wire.Frame) {
	c, ok := l.conns.Lookup(f.Conn)
	if ok && f.Seq != 0 && f.Seq <= c.lastSeq {
		l.endConversation(c.conversation)
		ok = false
	}
	if !ok {
		c = &connection{conversation: l.findConversation(&f)}
		l.conns.Put(f.Conn, c)
	}
	c.lastSeq = f.Seq
	c.lastConn = f.Conn
	c.Add(f)
}

// endConversation ends a conversation and judges it.
func (l *Linter) endConversation(c *conversation) {
	if i := slices.Index(l.conversations, c); i >= 0 {
		l.isTruncated = l.options.Ended != nil && !l.options.Ended(c.lastConn)
		c.End()
		l.isTruncated = false
		l.conversations = slices.Delete(l.conversations, i, i+1)
	}
}

// A connection is a conversation or a part of it. lastSeq is the number of its last frame.
type connection struct {
	*conversation
	lastSeq uint64
}

// findConversation returns the conversation of a new connection. Requests without a session share one
// conversation per server and revision, because a proxy sees each on its own connection.
func (l *Linter) findConversation(f *wire.Frame) *conversation {
	sharedKey := ""
	if h := f.HTTP; h != nil && h.Method == "POST" && h.Field("Mcp-Session-Id") == "" {
		if version := h.Field("MCP-Protocol-Version"); version != "" {
			sharedKey = version + " " + h.URL
		}
	}
	if sharedKey != "" {
		isShared := func(c *conversation) bool { return c.sharedKey == sharedKey }
		if i := slices.IndexFunc(l.conversations, isShared); i >= 0 {
			return l.conversations[i]
		}
	}
	if len(l.conversations) >= maxConversations {
		l.endConversation(l.conversations[0])
	}
	c := &conversation{Conversation: conv.New(l.judgeEvent), sharedKey: sharedKey}
	c.Hide = l.options.Hide
	l.conversations = append(l.conversations, c)
	return c
}

// A conversation is read until Close. sharedKey is the revision and URL of requests without a
// session, "" in other conversations; lastConn is the connection of the last frame.
type conversation struct {
	*conv.Conversation
	sharedKey string
	lastConn  int
}

// Close ends all conversations and judges what only their end shows. Later frames start new
// conversations.
func (l *Linter) Close() {
	for len(l.conversations) > 0 {
		l.endConversation(l.conversations[0])
	}
	l.conversations = nil
	l.conns = recent.Map[int, *connection]{}
}

// Judge judges exchanges. They lack the frames that belong to no exchange, such as a banner before
// the first request, so Tap finds more.
func Judge(exchanges []*wire.Exchange, o Options) Report {
	l := New(o)
	for _, f := range Frames(exchanges) {
		l.Tap(f)
	}
	l.Close()
	return l.Report()
}

// judgeEvent passes an event to the checks that apply to it.
func (l *Linter) judgeEvent(e *conv.Event) {
	if e.Kind == conv.OnMessage {
		l.violations = l.violations[:0]
	}
	if e.Rev != conv.Unknown {
		l.seenRevs[e.Rev] = true
	}
	for i := range l.checksByKind[e.Kind] {
		bound := &l.checksByKind[e.Kind][i]
		isOtherMethod := len(bound.check.Methods) > 0 && !slices.Contains(bound.check.Methods, e.Method)
		if isOtherMethod {
			continue
		}
		if bound.check.When != nil && !bound.check.When(e) {
			continue
		}
		if bound.ruleIndex == noRule {
			bound.check.Do(e)
			continue
		}
		state := &l.states[bound.ruleIndex]
		rule := &l.rules[bound.ruleIndex]
		if !l.applies(state, rule, e) {
			continue
		}
		if bound.check.NeedsEnd && l.isTruncated {
			if state.judged > 0 { // else the rule had nothing to judge, with or without the end
				state.skipReason = "the recording has no end"
			}
			continue
		}
		state.judged++
		l.running = runningCheck{bound, e}
		e.Hit = l.onHit
		bound.check.Do(e)
	}
}

// recordHit records a violation that the running check reported. It ignores a violation at a place that
// other checks have reported, if the check has SkipsReported.
func (l *Linter) recordHit(h conv.Hit) {
	bound := l.running.bound
	e := l.running.event
	state := &l.states[bound.ruleIndex]
	pointer := pointerOf(e, h)
	if bound.check.SkipsReported && l.hasReported(pointer) {
		return
	}
	if l.isAboutHidden(e, h, pointer) {
		state.skipReason = "it concerns values that are hidden in the recording"
		return
	}
	h.Got = l.hideSecrets(h.Got)
	h.Want = l.hideSecrets(h.Want)
	severity := h.Severity
	if severity == "" {
		severity = l.rules[bound.ruleIndex].Severity
	}
	// A warning about the whole value, such as that a text is long, says nothing about its parts.
	coversInside := severity == conv.Error || severity == conv.Warn && h.Pointer != ""
	l.violations = append(l.violations, violation{pointer, coversInside})
	found := state.add(&l.rules[bound.ruleIndex], l.options.Run, e, h)
	if l.options.Found != nil {
		l.options.Found(found)
	}
}

// hasReported reports whether a place of the current message needs no second finding.
func (l *Linter) hasReported(pointer string) bool {
	return slices.ContainsFunc(l.violations, func(v violation) bool { return v.covers(pointer) })
}

// isAboutHidden reports whether a violation is about a value that is hidden in the recording: the value
// at pointer in the message, or the text that it quotes.
func (l *Linter) isAboutHidden(e *conv.Event, h conv.Hit, pointer string) bool {
	if l.options.Hide != nil || h.AboutHidden {
		return false
	}
	quotesScalar := !strings.ContainsAny(h.Got, "{[")
	if quotesScalar && redact.HasHiddenParts(h.Got) {
		return true
	}
	hasHidden := e.Frame != nil && e.Frame.Hidden > 0
	if !hasHidden || e.Message == nil || h.Pointer == "" {
		return false
	}
	value, ok := jsonraw.At(e.Message.Raw, pointer)
	if !ok {
		return false
	}
	// Most violations at an object or array are about its members, and few members are hidden. A
	// violation of a schema may be about any value inside.
	isContainer := conv.IsObject(value) || conv.IsArray(value)
	dependsOnInside := strings.Contains(pointer, "/structuredContent") || strings.Contains(pointer, "Schema")
	if isContainer && !dependsOnInside {
		return false
	}
	return redact.HasHiddenParts(string(value))
}

// hideSecrets returns a finding's text without its secrets.
func (l *Linter) hideSecrets(text string) string {
	if l.options.Hide == nil || text == "" {
		return text
	}
	return string(l.options.Hide([]byte(text)))
}

// A violation is the place of a reported violation. coversInside is set if the report covers everything
// inside of the place, unlike advice such as that a text is long.
type violation struct {
	pointer      string
	coversInside bool
}

// covers reports whether a second violation needs no finding: its place is the same as the place of v,
// or encloses it, or is inside of it and v has coversInside.
func (v violation) covers(at string) bool {
	if isAtOrInside(v.pointer, at) {
		return true
	}
	return v.coversInside && isAtOrInside(at, v.pointer)
}

// isAtOrInside reports whether the JSON pointer at equals the pointer around or extends it.
func isAtOrInside(at, around string) bool {
	rest, isPrefix := strings.CutPrefix(at, around)
	return isPrefix && (rest == "" || rest[0] == '/')
}

// applies reports whether a rule applies to an event, and records the reason if not.
func (l *Linter) applies(t *ruleState, r *Rule, e *conv.Event) bool {
	switch {
	case r.Transport != "any" && !matchesTransport(r.Transport, e):
		t.hadWrongTransport = true
	case e.Rev < r.From || e.Rev > r.To:
		t.hadWrongRev = true
	case lacksCapability(r, e):
		t.wasUndeclared = true
	default:
		return true
	}
	return false
}

// matchesTransport reports whether an event is of the transport that a rule names: "stdio", "http",
// "streamable" or "sse".
func matchesTransport(transport string, e *conv.Event) bool {
	switch transport {
	case "stdio":
		return !e.HTTP
	case "sse":
		return e.SSE
	case "streamable":
		return e.HTTP && !e.SSE
	}
	return e.HTTP
}

// lacksCapability reports whether the server has declared its capabilities, without the capability
// that a rule needs.
func lacksCapability(r *Rule, e *conv.Event) bool {
	if r.Capability == "any" || !e.Server.Declared {
		return false
	}
	return !e.Server.Has(r.Capability) && !e.Server.Has("extensions", conv.MetaPrefix+r.Capability)
}

// Frames returns the numbered frames of exchanges, each once, in the order of their numbers. The messages of
// a batch have one number: they are joined to the one frame that was sent.
func Frames(exchanges []*wire.Exchange) []wire.Frame {
	type place struct {
		conn int
		seq  uint64
	}
	indexes := map[place]int{} // in frames
	var frames []wire.Frame
	add := func(some ...wire.Frame) {
		for _, f := range some {
			p := place{f.Conn, f.Seq}
			if f.Seq == 0 { // a missing message, such as a response that was not received
				continue
			}
			i, isKnown := indexes[p]
			if !isKnown {
				indexes[p] = len(frames)
				frames = append(frames, f)
			} else if string(frames[i].Raw) != string(f.Raw) {
				frames[i].Raw = joinBatch(frames[i].Raw, f.Raw)
			}
		}
	}
	for _, e := range exchanges {
		add(e.Heads...)
		add(e.Request, e.Response)
		add(e.OtherMessages...)
		add(e.Carriers...)
		add(e.NonMessages...)
	}
	sliceutil.Sort(frames, func(a, b wire.Frame) int {
		if a.Conn != b.Conn {
			return a.Conn - b.Conn
		}
		return cmp.Compare(a.Seq, b.Seq)
	})
	return frames
}

// joinBatch adds a message to a batch that was divided among exchanges, or makes a batch of two
// messages.
func joinBatch(batch, item []byte) []byte {
	if len(batch) > 0 && batch[0] == '[' {
		items := batch[:len(batch)-1]
		return slices.Concat(items, []byte(","), item, []byte("]"))
	}
	return []byte("[" + string(batch) + "," + string(item) + "]")
}
