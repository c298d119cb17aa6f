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
	options Options
	rules   []Rule
	index   map[string]int
	tallies []tally
	byKind  [conv.Kinds][]bound
	conns   recent.Map[int, *connection]
	open    []*opened
	broken  []broken // the violations in the current message
	present present
	report  func(conv.Hit)
	revs    map[conv.Rev]bool
	// cut is set during the end of a conversation that was not recorded completely.
	cut bool
}

// A tally is the state of a rule.
type tally struct {
	found
	// seen counts the judged events.
	seen int
	// wrongRev, wrongTransport and undeclared are set if the rule did not apply to an event
	// because of its revision, its transport or the server's capabilities.
	wrongRev, wrongTransport, undeclared bool
	// checked is set if the rule has a check or was judged by a probe.
	checked bool
	// off is set if the caller switched the rule off.
	off bool
	// lacks says why the rule could not be judged, exempt why it does not apply.
	lacks, exempt string
}

// A bound is a check and the index of its rule, -1 for a check without a rule.
type bound struct {
	rule  int
	check rules.Check
}

// A present is the running check and its event.
type present struct {
	bound *bound
	event *conv.Event
}

// mostConvs bounds the conversations that are read at the same time.
const mostConvs = 256

// New returns a Linter for all rules.
func New(o Options) *Linter {
	l := &Linter{options: o, rules: Rules(), revs: map[conv.Rev]bool{}}
	l.tallies = make([]tally, len(l.rules))
	l.report = l.hit
	l.index = map[string]int{}
	for i, r := range l.rules {
		l.index[r.ID] = i
		l.tallies[i].off = slices.Contains(o.Off, r.ID)
		if o.OwnClient && strings.HasPrefix(r.ID, "client-") {
			l.tallies[i].exempt = "mcpc is the client"
		}
	}
	for _, c := range rules.All(o.Tools) {
		if c.ID == "" {
			l.byKind[c.Kind] = append(l.byKind[c.Kind], bound{-1, c})
			continue
		}
		i := l.index[c.ID]
		l.tallies[i].checked = true
		l.tallies[i].lacks = c.Lacks
		if c.Lacks == "" && !l.tallies[i].off && l.tallies[i].exempt == "" {
			l.byKind[c.Kind] = append(l.byKind[c.Kind], bound{i, c})
		}
	}
	return l
}

// Tap reads the next frame; it is a wire.Tap. Runs recorded at the same time must use different
// values of Conn. A frame number that does not increase starts a new conversation.
func (l *Linter) Tap(f wire.Frame) {
	c, ok := l.conns.Lookup(f.Conn)
	if ok && f.Seq != 0 && f.Seq <= c.last {
		l.end(c.opened)
		ok = false
	}
	if !ok {
		c = &connection{opened: l.conversation(&f)}
		l.conns.Put(f.Conn, c)
	}
	c.last = f.Seq
	c.conn = f.Conn
	c.Add(f)
}

// end ends a conversation and judges it.
func (l *Linter) end(c *opened) {
	if i := slices.Index(l.open, c); i >= 0 {
		l.cut = l.options.Ended != nil && !l.options.Ended(c.conn)
		c.End()
		l.cut = false
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// A connection is a conversation or a part of it. last is the number of its last frame.
type connection struct {
	*opened
	last uint64
}

// conversation returns the conversation of a new connection. Requests without a session share one
// conversation per server and revision, because a proxy sees each on its own connection.
func (l *Linter) conversation(f *wire.Frame) *opened {
	server := ""
	if h := f.HTTP; h != nil && h.Method == "POST" && h.Field("MCP-Protocol-Version") != "" &&
		h.Field("Mcp-Session-Id") == "" {
		server = h.Field("MCP-Protocol-Version") + " " + h.URL
	}
	if i := slices.IndexFunc(l.open, func(o *opened) bool { return server != "" && o.server == server }); i >= 0 {
		return l.open[i]
	}
	if len(l.open) >= mostConvs {
		l.end(l.open[0])
	}
	c := &opened{Conversation: conv.New(l.judge), server: server}
	c.Hide = l.options.Hide
	l.open = append(l.open, c)
	return c
}

// An opened conversation is ended by Close. server is the revision and URL of requests without a
// session, conn the connection of the last frame.
type opened struct {
	*conv.Conversation
	server string
	conn   int
}

// Close ends all conversations and judges what only their end shows. Later frames start new
// conversations.
func (l *Linter) Close() {
	for len(l.open) > 0 {
		l.end(l.open[0])
	}
	l.open = nil
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

// judge passes an event to the checks that apply to it.
func (l *Linter) judge(e *conv.Event) {
	if e.Kind == conv.OnMessage {
		l.broken = l.broken[:0]
	}
	if e.Rev != conv.Unknown {
		l.revs[e.Rev] = true
	}
	for i := range l.byKind[e.Kind] {
		b := &l.byKind[e.Kind][i]
		if len(b.check.Methods) > 0 && !slices.Contains(b.check.Methods, e.Method) ||
			b.check.When != nil && !b.check.When(e) {
			continue
		}
		if b.rule < 0 {
			b.check.Do(e)
			continue
		}
		t := &l.tallies[b.rule]
		r := &l.rules[b.rule]
		if !l.holds(t, r, e) {
			continue
		}
		if b.check.Whole && l.cut {
			if t.seen > 0 {
				t.lacks = "the recording has no end"
			}
			continue
		}
		t.seen++
		l.present = present{b, e}
		e.Hit = l.report
		b.check.Do(e)
	}
}

// hit records a violation that a check reported. A check that yields reports no place that another
// check reported already.
func (l *Linter) hit(h conv.Hit) {
	b := l.present.bound
	e := l.present.event
	t := &l.tallies[b.rule]
	at := e.At + h.Item + h.Pointer
	if h.Root {
		at = h.Pointer
	}
	if b.check.Yields && slices.ContainsFunc(l.broken, func(p broken) bool { return p.covers(at) }) {
		return
	}
	if l.isUnknown(e, h, at) {
		t.lacks = "it is about what was hidden in the recording"
		return
	}
	h.Got = l.hidden(h.Got)
	h.Want = l.hidden(h.Want)
	severity := cmp.Or(h.Severity, l.rules[b.rule].Severity)
	l.broken = append(l.broken, broken{at, severity == conv.Error || severity == conv.Warn && h.Pointer != ""})
	found := t.add(&l.rules[b.rule], l.options.Run, e, h)
	if l.options.Found != nil {
		l.options.Found(found)
	}
}

// isUnknown reports whether a violation is about a value that is hidden in the recording: the value
// at its place, or the text that it quotes.
func (l *Linter) isUnknown(e *conv.Event, h conv.Hit, at string) bool {
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

// hidden returns a finding's text without its secrets.
func (l *Linter) hidden(text string) string {
	if l.options.Hide == nil || text == "" {
		return text
	}
	return string(l.options.Hide([]byte(text)))
}

// A broken is the place of a violation. whole is set if the violation covers everything inside of
// the place, unlike advice such as that a text is long.
type broken struct {
	at    string
	whole bool
}

// covers reports whether a violation at a place needs no second finding: the place is the same, or
// encloses the violation's, or is inside of a whole one.
func (b broken) covers(at string) bool { return below(b.at, at) || b.whole && below(at, b.at) }

// below reports whether a JSON pointer equals or extends another.
func below(at, around string) bool {
	return len(at) >= len(around) && at[:len(around)] == around && (len(at) == len(around) || at[len(around)] == '/')
}

// holds reports whether a rule applies to an event, and records the reason if not.
func (l *Linter) holds(t *tally, r *Rule, e *conv.Event) bool {
	switch {
	case r.Transport != "any" && !transportIs(r.Transport, e):
		t.wrongTransport = true
	case e.Rev < r.From || e.Rev > r.To:
		t.wrongRev = true
	case r.Capability != "any" && e.Server.Declared && !e.Server.Has(r.Capability) &&
		!e.Server.Has("extensions", conv.MetaPrefix+r.Capability):
		t.undeclared = true
	default:
		return true
	}
	return false
}

func transportIs(transport string, e *conv.Event) bool {
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
				frames[i].Raw = join(frames[i].Raw, f.Raw)
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

// join adds a message to a batch that was divided among exchanges, or makes a batch of two
// messages.
func join(batch, item []byte) []byte {
	if len(batch) > 0 && batch[0] == '[' {
		return append(append(append([]byte(nil), batch[:len(batch)-1]...), ','), append(item[:len(item):len(item)], ']')...)
	}
	return []byte("[" + string(batch) + "," + string(item) + "]")
}
