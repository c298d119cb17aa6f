// Package lint judges conversations between MCP clients and servers by a table of
// rules (rules.txt): frames in, verdicts and findings out. It sends nothing; what a
// check sends, and what other clients did, is judged in the same way. A rule that does
// not hold for the revision, the transport or the capabilities of a server is not
// applicable, and never a failure.
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

// Options are what a Linter needs of its caller.
type Options struct {
	// Run names the recording in the evidence: "42".
	Run string
	// Tools are what checks need of other packages; rules that need what is nil are not
	// run.
	Tools rules.Tools
	// Off are ids of rules that are not judged.
	Off []string
	// OwnClient is set if the caller is the client, and not a user's: rules about clients do not apply.
	OwnClient bool
	// Found is called for each place where a rule is broken, as soon as that is known, with
	// a finding whose only Evidence is that place; it may be nil. A finding that is seen
	// again has the same Fingerprint. An entry of a list that is read again unchanged is
	// judged once.
	Found func(Finding)
	// Hide returns bytes without their secrets: with it frames are read as they crossed, and what findings
	// quote is hidden. It is nil for a recording, whose frames lack the secrets already: what was hidden
	// there is not known, and is no finding.
	Hide func(raw []byte) []byte
	// Ended says whether all of a connection was recorded. Where it was not, what did not
	// come is not judged. nil means that all were.
	Ended func(conn int) bool
}

// A Linter judges one or several conversations. It is not safe for use by several
// goroutines at once.
type Linter struct {
	options Options
	rules   []Rule
	index   map[string]int
	tallies []tally
	byKind  [conv.Kinds][]bound
	conns   recent.Map[int, *connection]
	open    []*opened
	broken  []broken // where rules were broken in the present message
	present present
	report  func(conv.Hit)
	revs    map[conv.Rev]bool
	// cut is set while a conversation ends of which not all was recorded.
	cut bool
}

// A tally is what is known of a rule.
type tally struct {
	found
	// seen counts the events that were judged, missed those that a gate kept away.
	seen                     int
	wrongRev, wrongTransport bool
	undeclared, checked, off bool
	// lacks says what the caller would have to provide, exempt why the rule does not hold.
	lacks, exempt string
}

// A bound check belongs to a rule.
type bound struct {
	rule  int
	check rules.Check
}

// present is the check that is running.
type present struct {
	bound *bound
	event *conv.Event
}

// mostConvs bounds the conversations that are read at the same time.
const mostConvs = 256

// New makes a Linter.
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

// Tap reads the next frame; it is a wire.Tap. Frames of runs that were recorded at the same
// time have to differ in Conn; where the numbers of frames begin again, so does the run.
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

// end ends a conversation.
func (l *Linter) end(c *opened) {
	if i := slices.Index(l.open, c); i >= 0 {
		l.cut = l.options.Ended != nil && !l.options.Ended(c.conn)
		c.End()
		l.cut = false
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// A connection is a part of a conversation, or all of it; last is the number of its last
// frame.
type connection struct {
	*opened
	last uint64
}

// conversation finds the one to which a connection belongs. Requests without a session
// belong to one conversation with their server and their revision, since a proxy sees each
// on a connection of its own.
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

// An opened conversation is one that Close will end; server is the revision and the URL
// of requests without a session, conn the connection of its last frame.
type opened struct {
	*conv.Conversation
	server string
	conn   int
}

// Close judges what only the end of the conversations shows. Frames that are added
// later begin conversations anew.
func (l *Linter) Close() {
	for len(l.open) > 0 {
		l.end(l.open[0])
	}
	l.open = nil
	l.conns = recent.Map[int, *connection]{}
}

// Judge is the report on exchanges, as wire.Fold makes them. They lack what belongs to no
// exchange, such as a banner before the first request: where there are frames, Tap sees more.
func Judge(exchanges []*wire.Exchange, o Options) Report {
	l := New(o)
	for _, f := range Frames(exchanges) {
		l.Tap(f)
	}
	l.Close()
	return l.Report()
}

// judge hands an event to the checks of its kind that hold for it.
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
		l.present, e.Hit = present{b, e}, l.report
		b.check.Do(e)
	}
}

// hit notes what a check found. A check that yields leaves places to others that
// reported them.
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
	h.Got, h.Want = l.hidden(h.Got), l.hidden(h.Want)
	severity := cmp.Or(h.Severity, l.rules[b.rule].Severity)
	l.broken = append(l.broken, broken{at, severity == conv.Error || severity == conv.Warn && h.Pointer != ""})
	found := t.add(&l.rules[b.rule], l.options.Run, e, h)
	if l.options.Found != nil {
		l.options.Found(found)
	}
}

// isUnknown reports a hit about a value of a recording in which something was hidden: the value at the
// hit's place in the message, or the text that it quotes.
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
		return false // the hit is about the members, and few members are hidden
	}
	return redact.IsUnknown(string(value))
}

// hidden returns a text of a finding without its secrets.
func (l *Linter) hidden(text string) string {
	if l.options.Hide == nil || text == "" {
		return text
	}
	return string(l.options.Hide([]byte(text)))
}

// broken is a place where a rule was broken; whole if all inside of it is covered by that:
// not by advice about an entry, such as that its texts are long.
type broken struct {
	at    string
	whole bool
}

// covers reports a place that needs no second finding: the same, one around it, or one
// inside of a whole one.
func (b broken) covers(at string) bool { return below(b.at, at) || b.whole && below(at, b.at) }

// below reports a JSON pointer that is the same as another or leads into its value.
func below(at, around string) bool {
	return len(at) >= len(around) && at[:len(around)] == around && (len(at) == len(around) || at[len(around)] == '/')
}

// holds reports whether a rule holds for an event, and notes why not.
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

// Frames are those of exchanges, each once, in the order in which they crossed.
func Frames(exchanges []*wire.Exchange) (frames []wire.Frame) {
	type place struct {
		conn int
		seq  uint64
	}
	at := map[place]int{}
	add := func(all ...wire.Frame) {
		for _, f := range all {
			p := place{f.Conn, f.Seq}
			i, twice := at[p]
			switch {
			case f.Seq == 0:
			case !twice:
				at[p] = len(frames)
				frames = append(frames, f)
			case string(frames[i].Raw) != string(f.Raw):
				frames[i].Raw = join(frames[i].Raw, f.Raw)
			}
		}
	}
	for _, e := range exchanges {
		add(e.Heads...)
		add(e.Request, e.Response)
		add(e.Between...)
		add(e.Carriers...)
		add(e.Beside...)
	}
	sliceutil.Sort(frames, func(a, b wire.Frame) int {
		if a.Conn != b.Conn {
			return a.Conn - b.Conn
		}
		return cmp.Compare(a.Seq, b.Seq)
	})
	return frames
}

// join makes the batch again that the exchanges divided. The order of its messages is
// that of the exchanges.
func join(batch, item []byte) []byte {
	if len(batch) > 0 && batch[0] == '[' {
		return append(append(append([]byte(nil), batch[:len(batch)-1]...), ','), append(item[:len(item):len(item)], ']')...)
	}
	return []byte("[" + string(batch) + "," + string(item) + "]")
}
