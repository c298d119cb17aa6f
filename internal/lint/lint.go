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
	// findings quote only hidden text. It is nil for a recording, whose frames contain no secrets;
	// violations about a hidden value are then not reported, because the value is unknown.
	Hide func(raw []byte) []byte
	// Ended reports whether a connection was recorded to its end. If not, missing messages are not
	// judged. nil means that all connections were.
	Ended func(conn int) bool
}

// A Linter judges conversations. It is not safe for concurrent use.
type Linter struct {
	options       Options
	rules         []Rule
	ruleIndex     map[string]int
	states        []ruleState
	checksByKind  [conv.Kinds][]boundCheck
	conns         recent.Map[int, *connection]
	conversations []*conversation
	violations    []violation // the violations in the current message
	running       runningCheck
	onHit         func(conv.Hit)
	seenRevs      map[conv.Rev]bool
	// isTruncated is set during the end of a conversation that was not recorded completely.
	isTruncated bool
}

// A tally is the state of a rule.
type ruleState struct {
	findingList
	// judged counts the judged events.
	judged int
	// hadWrongRev, hadWrongTransport and undeclared are set if the rule did not apply to an event
	// because of its revision, its transport or the server's capabilities.
	hadWrongRev, hadWrongTransport, wasUndeclared bool
	// checked is set if the rule has a check or was judged by a probe.
	checked bool
	// isOff is set if the caller switched the rule off.
	isOff bool
	// skipReason says why the rule could not be judged, exempt why it does not apply.
	skipReason, exemptReason string
}

// A bound is a check and the index of its rule, -1 for a check without a rule.
type boundCheck struct {
	ruleIndex int
	check     rules.Check
}

// A present is the running check and its event.
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
		if c.ID == "" {
			l.checksByKind[c.Kind] = append(l.checksByKind[c.Kind], boundCheck{-1, c})
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

// A connection is a conversation or a part of it. last is the number of its last frame.
type connection struct {
	*conversation
	lastSeq uint64
}

// findConversation returns the conversation of a new connection. Requests without a session share one
// conversation per server and revision, because a proxy sees each on its own connection.
func (l *Linter) findConversation(f *wire.Frame) *conversation {
	server := ""
	if h := f.HTTP; h != nil && h.Method == "POST" && h.Field("MCP-Protocol-Version") != "" &&
		h.Field("Mcp-Session-Id") == "" {
		server = h.Field("MCP-Protocol-Version") + " " + h.URL
	}
	if server != "" {
		isShared := func(c *conversation) bool { return c.sharedKey == server }
		if i := slices.IndexFunc(l.conversations, isShared); i >= 0 {
			return l.conversations[i]
		}
	}
	if len(l.conversations) >= maxConversations {
		l.endConversation(l.conversations[0])
	}
	c := &conversation{Conversation: conv.New(l.judgeEvent), sharedKey: server}
	c.Hide = l.options.Hide
	l.conversations = append(l.conversations, c)
	return c
}

// An opened conversation is ended by Close. server is the revision and URL of requests without a
// session, conn the connection of the last frame.
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
		b := &l.checksByKind[e.Kind][i]
		if len(b.check.Methods) > 0 && !slices.Contains(b.check.Methods, e.Method) ||
			b.check.When != nil && !b.check.When(e) {
			continue
		}
		if b.ruleIndex < 0 {
			b.check.Do(e)
			continue
		}
		t := &l.states[b.ruleIndex]
		r := &l.rules[b.ruleIndex]
		if !l.applies(t, r, e) {
			continue
		}
		if b.check.NeedsEnd && l.isTruncated {
			if t.judged > 0 {
				t.skipReason = "the recording has no end"
			}
			continue
		}
		t.judged++
		l.running = runningCheck{b, e}
		e.Hit = l.onHit
		b.check.Do(e)
	}
}

// recordHit records a violation that a check reported. A check that yields reports no place that another
// check reported already.
func (l *Linter) recordHit(h conv.Hit) {
	b := l.running.bound
	e := l.running.event
	t := &l.states[b.ruleIndex]
	at := e.Pointer + h.Item + h.Pointer
	if h.Root {
		at = h.Pointer
	}
	if b.check.SkipsReported && slices.ContainsFunc(l.violations, func(p violation) bool { return p.covers(at) }) {
		return
	}
	if l.isAboutHidden(e, h, at) {
		t.skipReason = "it is about what was hidden in the recording"
		return
	}
	h.Got = l.hideSecrets(h.Got)
	h.Want = l.hideSecrets(h.Want)
	severity := cmp.Or(h.Severity, l.rules[b.ruleIndex].Severity)
	l.violations = append(l.violations, violation{at, severity == conv.Error || severity == conv.Warn && h.Pointer != ""})
	found := t.add(&l.rules[b.ruleIndex], l.options.Run, e, h)
	if l.options.Found != nil {
		l.options.Found(found)
	}
}

// isAboutHidden reports whether a violation is about a value that is hidden in the recording: the value
// at its place, or the text that it quotes.
func (l *Linter) isAboutHidden(e *conv.Event, h conv.Hit, at string) bool {
	if l.options.Hide != nil || h.AboutHidden {
		return false
	}
	if !strings.ContainsAny(h.Got, "{[") && redact.IsUnknown(h.Got) {
		return true
	}
	if e.Frame == nil || e.Frame.Hidden == 0 || e.Message == nil || h.Pointer == "" {
		return false
	}
	value, ok := jsonraw.At(e.Message.Raw, at)
	if !ok {
		return false
	}
	isWhole := strings.Contains(at, "/structuredContent") || strings.Contains(at, "Schema")
	if (conv.IsObject(value) || conv.IsArray(value)) && !isWhole {
		return false // the violation is about the members; few of them are hidden
	}
	return redact.IsUnknown(string(value))
}

// hideSecrets returns a finding's text without its secrets.
func (l *Linter) hideSecrets(text string) string {
	if l.options.Hide == nil || text == "" {
		return text
	}
	return string(l.options.Hide([]byte(text)))
}

// A broken is the place of a violation. whole is set if the violation covers everything inside of
// the place, unlike advice such as that a text is long.
type violation struct {
	pointer      string
	coversInside bool
}

// covers reports whether a violation at a place needs no second finding: the place is the same, or
// encloses the violation's, or is inside of a whole one.
func (b violation) covers(at string) bool {
	return isAtOrInside(b.pointer, at) || b.coversInside && isAtOrInside(at, b.pointer)
}

// isAtOrInside reports whether a JSON pointer equals or extends another.
func isAtOrInside(at, around string) bool {
	return len(at) >= len(around) && at[:len(around)] == around && (len(at) == len(around) || at[len(around)] == '/')
}

// applies reports whether a rule applies to an event, and records the reason if not.
func (l *Linter) applies(t *ruleState, r *Rule, e *conv.Event) bool {
	switch {
	case r.Transport != "any" && !matchesTransport(r.Transport, e):
		t.hadWrongTransport = true
	case e.Rev < r.From || e.Rev > r.To:
		t.hadWrongRev = true
	case r.Capability != "any" && e.Server.Declared && !e.Server.Has(r.Capability) &&
		!e.Server.Has("extensions", conv.MetaPrefix+r.Capability):
		t.wasUndeclared = true
	default:
		return true
	}
	return false
}

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

// Frames returns the numbered frames of exchanges, each once, in the order of their numbers. The messages of
// a batch have one number: they are joined to the one frame that was sent.
func Frames(exchanges []*wire.Exchange) (frames []wire.Frame) {
	type place struct {
		conn int
		seq  uint64
	}
	at := map[place]int{}
	add := func(all ...wire.Frame) {
		for _, f := range all {
			p := place{f.Conn, f.Seq}
			if f.Seq == 0 {
				continue
			}
			i, known := at[p]
			if !known {
				at[p] = len(frames)
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
		return append(append(append([]byte(nil), batch[:len(batch)-1]...), ','), append(item[:len(item):len(item)], ']')...)
	}
	return []byte("[" + string(batch) + "," + string(item) + "]")
}
