package capture

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// An index makes rows of the lines of a run, one after the other.
type index struct {
	capture *Capture
	head    Head
	// at is the index of the head in the capture.
	at     int
	folder wire.Correlator
	ownRows
	// conns are what is known of each conversation of this run.
	conns map[int]*conn
	// exchanges are the rows of the folder's exchanges, bares the requests that are none,
	// by their stream.
	exchanges []int32
	httpOnly  map[int]*httpOnly
	held      heldFrames
	// opening is set while an initialize waits for its answer, which says more than
	// a peek tells.
	opening bool
	probes
	// gone is set once a server on stdio ended before its client did.
	gone bool
	// finished is set on a run that was taken from an index file, which has not what is needed
	// to go on with it.
	finished bool
	// repeating is set while what is read was repeated from the part before.
	repeating bool
}

// ownRows are the numbers of rows of a run.
type ownRows struct {
	rows []int32
	// openings opened a conversation, and waiting are those that note keeps.
	openings []int32
	waiting  map[int32]struct{}
}

// A conn is what one conversation says of all its exchanges.
type conn struct {
	// number is that of the conversation in its Capture, from 1.
	number int
	// era is how it was opened, or how its last request stood alone; "" where nothing
	// said so yet.
	revision, era string
	// target is the URL of its last request, for a recording of several servers.
	target string
	// streamable is set where that request was one of Streamable HTTP for certain.
	streamable bool
	// client and server are what the two sides call themselves, session is the hash of the
	// session's id; "" where nothing said so yet.
	client, server implementation
	session        string
	// opened are the lines that opened its stream of HTTP+SSE, as long as that is open.
	opened []span
	stream int
	// head is that of its last request, and says what that says.
	head *wire.HTTPHead
	says headSays
}

// begin notes the head of a run.
func (c *Capture) begin(h Head, at span) {
	if c.index != nil && c.index.head.In == "" { // what comes now is of another
		c.over[c.index.at] = true
	}
	if len(c.marked) > mostMarked {
		maps.DeleteFunc(c.marked, func(_ string, x *index) bool { return c.over[x.at] })
	}
	c.index = &index{capture: c, head: h, at: len(c.Heads), repeating: h.After > 0,
		ownRows: ownRows{waiting: map[int32]struct{}{}}, conns: map[int]*conn{}, held: heldFrames{by: map[int64]heldFrame{}}, httpOnly: map[int]*httpOnly{}, probes: probes{newer: map[string]bool{}}}
	c.Heads, c.heads, c.over = append(c.Heads, h), append(c.heads, at), append(c.over, false)
	c.noteRepeated()
	if h.In != "" {
		c.marked[h.In] = c.index
	}
}

// mostMarked is how many runs are remembered for what may come behind their end.
const mostMarked = 1000

// indexOf is that of the run whose lines have a mark: without one the last that began,
// nil where there is none.
func (c *Capture) indexOf(mark []byte) *index {
	if len(mark) == 0 || c.index != nil && c.index.head.In == string(mark) {
		return c.index
	}
	return c.marked[string(mark)]
}

// mostHeads bounds the heads that nothing follows.
const mostHeads = 20_000

func (x *index) touch(r *Row) {
	if changed := x.capture.changed; changed != nil {
		changed[r] = true
	}
}

func (x *index) newRow(at time.Time) *Row { return x.list(x.rowAt(at)) }

// rowAt makes a row that is not listed yet.
func (x *index) rowAt(at time.Time) Row {
	return Row{Run: x.head.Run, Time: at, Target: x.head.Target, By: x.head.By,
		Channel: ChannelOpen, Exit: -1, Elsewhere: x.repeating, capture: x.capture, head: x.at}
}

// list adds a row, and returns where it is from then on.
func (x *index) list(row Row) *Row {
	r := x.capture.add(row)
	if r.Index = r.nth + 1; r.Run > 0 {
		r.Index = len(x.rows) + 1
	}
	x.rows = append(x.rows, int32(r.nth))
	return r
}

// frame gives a frame to the rows it belongs to. The frame's bytes are in m, or
// were peeked at.
func (x *index) frame(f *wire.Frame, m *wire.Message, p *peeked, at span) {
	c := x.conns[f.Conn]
	if c == nil {
		c = x.capture.newConn()
		x.conns[f.Conn] = c
	}
	if f.Kind == wire.Head && f.Dir == wire.Sent {
		c.headed(f.HTTP)
	}
	places := x.folder.Add(at.at, f, &p.traits)
	if len(places) == 0 && f.Stream > 0 && (f.Kind != wire.Event || !f.SSE.Comment) {
		x.held.hold(f, at, p.size)
	}
	var own *Row // of the frame
	for _, place := range places {
		if place.Role == wire.Asks || place.Role == wire.Begins {
			x.exchanges = append(x.exchanges, int32(x.begun(f, place).nth))
		}
		row := x.capture.at(int(x.exchanges[place.Exchange]))
		part := &placed{line: at, frame: f, message: m, peeked: p, size: p.size, Place: place, conn: c}
		if place.Ref != at.at {
			was := x.held.by[place.Ref]
			if was.frame == nil {
				continue
			}
			part.line, part.frame, part.message, part.peeked, part.size = was.line, was.frame, nil, &noneRead, was.size
		}
		if place.Item >= 0 {
			item := *p
			item.traits = p.traits.Items[place.Item]
			part.message, part.peeked = m.Items[place.Item], &item
			part.items = len(p.traits.Items)
		}
		if place.Same > 0 {
			row.SameAs = x.capture.at(int(x.exchanges[place.Same-1])).named()
		}
		if place.Role == wire.Concerns {
			own.within(row, place)
		} else {
			own = row
		}
		row.apply(part)
		x.probed(row, part)
		x.touch(row)
		x.note(row, place.Role)
		if handshake[row.Method] {
			x.opening = row.Open()
		}
	}
	x.held.letGo(places, at)
	if f.Kind == wire.Event && f.SSE != nil && f.SSE.Event == "endpoint" {
		c.session = hashIn(string(f.Raw))
		x.endpoint(c)
		x.streams(c, f.Stream)
	}
	if f.Kind == wire.Closed && f.Stream > 0 && f.Stream == c.stream {
		c.opened = nil
	}
	x.gone = x.gone || f.Kind == wire.Closed && f.Dir == wire.Received && f.Stream == 0
	if x.addToHTTPOnly(f, m, p, at, places); f.Kind == wire.Head && f.Dir == wire.Sent && len(places) == 0 {
		x.beginHTTPOnly(f, at)
	}
}

// begun makes the row of an exchange, or of a stream or pipe, from its first frame.
func (x *index) begun(f *wire.Frame, place wire.Place) *Row {
	row := x.newRow(f.Time)
	row.Dir, row.Conn, row.conn = f.Dir, f.Conn, x.conns[f.Conn]
	if x.head.between() {
		row.Target = x.conns[f.Conn].target
	}
	if place.Role == wire.Asks {
		return row
	}
	row.Apart, row.Method = true, MethodPipe
	if f.Stream > 0 && f.Dir == wire.Received {
		row.Method = MethodStream
	}
	if first := x.held.by[place.Ref].frame; first != nil {
		row.Time = first.Time
	}
	c := x.conns[f.Conn]
	row.Era, row.Revision = c.era, c.revision
	return row
}

// A headSays is what the head of a request says of its conversation.
type headSays struct {
	target, session, revision, era string
	streamable                     bool
}

// headed learns from the head of a request. One that stands alone has to name its
// method there; one in a conversation that was opened before names the revision alone.
// Heads alike are mostly the same one.
func (c *conn) headed(h *wire.HTTPHead) {
	if c.head != h {
		c.head, c.says = h, headSays{era: "legacy"}
		c.says.target, _, _ = strings.Cut(h.URL, "?")
		id, method := h.Field("Mcp-Session-Id"), h.Field("Mcp-Method")
		c.says.streamable = id != "" || method != ""
		if id != "" {
			c.says.session = hashIn(id)
		}
		if c.says.revision = h.Field("Mcp-Protocol-Version"); method != "" {
			c.says.era = "modern"
		}
	}
	c.target, c.streamable, c.session = c.says.target, c.says.streamable, cmp.Or(c.says.session, c.session)
	if c.says.revision != "" {
		c.revision, c.era = c.says.revision, c.says.era
	}
}

// A placed is a frame that belongs to a row.
type placed struct {
	wire.Place
	line  span
	frame *wire.Frame
	// message is nil where the frame has none or was only peeked at.
	message *wire.Message
	peeked  *peeked
	// size is how many bytes crossed.
	size int
	// items is how many messages there are in the array that has the message; 0 if none has.
	items int
	conn  *conn
}

// noneRead is what is known of a frame without a message.
var noneRead peeked

// apply folds one frame into the row.
func (r *Row) apply(p *placed) {
	if p.Role == wire.Begins {
		return // it has a place of its own
	}
	r.lines.add(newRowLine(p.line, p.Place))
	if p.Role != wire.Carries {
		r.Kinds = r.Kinds.With(p.frame.Kind)
	}
	if p.message != nil && p.Item <= 0 && p.Role < wire.Heads {
		r.Findings = append(r.Findings, p.message.Problems...)
	}
	if p.message != nil && p.message.Kind == wire.Notification && p.Role != wire.Concerns {
		r.notified(p.message.Method)
	}
	r.fold(p)
	// The head of a 202 is not the first of the answer, which comes elsewhere.
	if r.First == 0 && !r.Apart && p.frame.Dir != r.Dir && (p.frame.HTTP == nil || p.frame.HTTP.Status != http.StatusAccepted) && (p.Role == wire.Heads || p.Role == wire.Answers || p.Role == wire.Accompanies) {
		r.First = max(p.frame.Time.Sub(r.Time)-r.Held, 1)
	}
	r.resumable = r.resumable || p.frame.SSE != nil && p.frame.SSE.ID != nil
	if (p.Role < wire.Heads || p.Role == wire.Cancels || p.frame.Kind == wire.Noise) && p.Item <= 0 {
		r.count(p.frame.Dir, p.size)
	}
	if (r.Open() || r.Apart) && p.Role != wire.Concerns || p.Role == wire.Answers && !r.told && r.Cancel == nil || r.unanswered {
		r.Duration = max(r.Duration, p.frame.Time.Sub(r.Time)-r.Held)
	}
}

// notified adds the method of a notification to Notified.
func (r *Row) notified(method string) {
	if len(r.Notified) < maxNotified && !slices.Contains(r.Notified, method) {
		r.Notified = append(r.Notified, method)
	}
}

// fold does with a frame what its role asks for.
func (r *Row) fold(p *placed) {
	switch p.Role {
	case wire.Asks:
		r.asked(p)
	case wire.Repeats:
		r.Notes.Retries++
		r.reopen()
	case wire.Continues:
		r.Notes.Rounds++
		r.reopen()
	case wire.Answers:
		switch {
		case r.Cancel != nil:
			r.Cancel.Late = true
		case !r.told:
			r.answered(p)
		}
	case wire.Accompanies:
		r.accompanied(p)
	case wire.Cancels:
		r.cancelled(Cancel{By: p.frame.Dir, Why: reasonIn(p.message)}, p.frame.Time)
	case wire.Ends:
		r.connectionEnded(p.frame)
	case wire.Concerns:
		r.concerned(p)
	case wire.Heads:
		if p.frame.Dir == wire.Received {
			r.status(p.frame)
		}
	case wire.Resumes:
		r.lastSent = 0 // what follows is not about that message
		if r.Notes.Resumed++; r.Cancel != nil && r.Cancel.closed {
			r.reopen()
		}
	case wire.Surrounds:
		switch {
		case p.frame.Unread != "":
			r.unreadable(p.frame)
		case p.frame.Kind == wire.Closed && p.frame.Close != nil:
			r.closed(p.frame, p.conn)
		case p.frame.Held != nil:
			r.heldBack(p.frame)
		}
	}
}

// mostSize is a size that no message has. A capture that says more would make sums overflow.
const mostSize = 1 << 30

func (r *Row) count(dir wire.Direction, size int) {
	size = min(size, mostSize)
	if dir == wire.Sent {
		r.lastSent = int64(size)
		r.Sent += r.lastSent
	} else {
		r.Received += int64(size)
	}
}

// asked notes what the request is. Where requests stand alone each one says which
// revision it speaks.
func (r *Row) asked(p *placed) {
	r.Method, r.Name = p.message.Method, nameIn(p.message)
	if r.ID = string(p.message.ID); strings.HasPrefix(r.ID, `"`) {
		r.ID, _ = jsonraw.Text(p.message.ID)
	}
	params, _ := p.message.ParamMembers()
	meta, _ := params.Get("_meta")
	if r.Method == "initialize" {
		p.conn.revision, p.conn.era = "", "legacy" // what was tried before does not hold
		who, _ := params.Get("clientInfo")
		p.conn.client = implementationIn(who)
	}
	if p.conn.client == (implementation{}) {
		p.conn.client = implementationIn(jsonraw.First(meta, metaPrefix+"clientInfo"))
	}
	if version, ok := jsonraw.Text(jsonraw.First(meta, metaVersion)); ok {
		p.conn.revision, p.conn.era = version, "modern"
	}
	r.Era = p.conn.era
	r.Revision = p.conn.revision
}

const (
	metaPrefix  = "io.modelcontextprotocol/"
	metaVersion = metaPrefix + "protocolVersion"
)

// nameIn is what a request is about.
func nameIn(m *wire.Message) string {
	params, _ := m.ParamMembers()
	for _, name := range []string{"name", "uri", "taskId"} {
		if text := params.Text(name); text != "" {
			return text
		}
	}
	ref, there := params.Get("ref")
	if !there {
		return ""
	}
	members, _ := jsonraw.Object(ref)
	return cmp.Or(members.Text("name"), members.Text("uri"))
}

// reopen is for a request that was sent again, or goes on.
func (r *Row) reopen() {
	r.Channel, r.Exit, r.Text, r.unanswered, r.Cancel = ChannelOpen, -1, "", false, nil
}

func (r *Row) settle(kind wire.Kind) {
	r.Channel, r.Exit, r.Text = cmp.Or(string(kind), ChannelOK), kind.ExitCode(), ""
}

// settleOpen is the ending of a row that has no answer, and what is said of it: an
// answer may still come.
func (r *Row) settleOpen(kind wire.Kind, text string) {
	if r.Open() {
		r.unanswered = true
		r.settle(kind)
		r.Text = text
	}
}
