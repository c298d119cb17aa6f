package trace

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// An index makes rows of the lines of a run, one after the other.
type index struct {
	capture *Capture
	head    Head
	// at is the index of the head in the capture.
	at     int
	folder wire.Folder
	// rows are those of this run, asked those of a command by the id of their last request
	// as it is written.
	rows  []*Row
	asked map[string]*Row
	// conns are what is known of each conversation of this run.
	conns map[int]*conn
	// exchanges are the rows of the folder's exchanges, bares the requests that are none,
	// by their stream.
	exchanges []*Row
	bares     map[int]*bare
	// heads are how long the lines are of those whose body is still to come.
	heads map[int64]int
	// opening is set while an initialize waits for its answer, which says more than
	// a peek tells.
	opening bool
	// gone is set once a server on stdio ended before its client did.
	gone bool
	// repeating is set while what is read was repeated from the part before.
	repeating bool
}

// A conn is what one conversation says of all its exchanges.
type conn struct {
	// era is how it was opened, or how its last request stood alone; "" where nothing
	// said so yet.
	revision, era string
	// target is the URL of its last request, for a recording of several servers.
	target string
	// streamable is set where that request was one of Streamable HTTP for certain.
	streamable bool
}

// begin notes the head of a run.
func (c *Capture) begin(h Head, at stretch) {
	if c.index != nil && c.index.head.In == "" { // what comes now is of another
		c.over[c.index.at] = true
	}
	if len(c.marked) > mostMarked {
		maps.DeleteFunc(c.marked, func(_ string, x *index) bool { return c.over[x.at] })
	}
	c.index = &index{capture: c, head: h, at: len(c.Heads), repeating: h.After > 0,
		asked: map[string]*Row{}, conns: map[int]*conn{}, heads: map[int64]int{}, bares: map[int]*bare{}}
	c.Heads, c.heads, c.over = append(c.Heads, h), append(c.heads, at), append(c.over, false)
	if h.In != "" {
		c.marked[h.In] = c.index
	}
}

// mostMarked is how many runs are remembered for what may come behind their end.
const mostMarked = 1000

// indexOf is that of the run whose lines have a mark: without one the last that began,
// nil where there is none.
func (c *Capture) indexOf(mark string) *index {
	if mark == "" {
		return c.index
	}
	return c.marked[mark]
}

// mostHeads bounds the heads whose body never comes.
const mostHeads = 20_000

func (x *index) touch(r *Row) {
	if changed := x.capture.changed; changed != nil {
		changed[r] = true
	}
}

func (x *index) newRow(at time.Time) *Row {
	r := x.rowAt(at)
	x.list(r)
	return r
}

// rowAt makes a row that is not listed yet.
func (x *index) rowAt(at time.Time) *Row {
	return &Row{Run: x.head.Run, Time: at, Target: x.head.Target, By: x.head.By,
		Channel: ChannelOpen, Exit: -1, Elsewhere: x.repeating, capture: x.capture, head: x.at}
}

func (x *index) list(r *Row) {
	r.Index = len(x.capture.rows) + 1
	if r.Run > 0 {
		r.Index = len(x.rows) + 1
	}
	x.rows, x.capture.rows = append(x.rows, r), append(x.capture.rows, r)
}

// frame gives a frame to the rows it belongs to. The frame's bytes are in m, or
// were peeked at.
func (x *index) frame(f *wire.Frame, m *wire.Message, p peeked, at stretch) {
	c := x.conns[f.Conn]
	if c == nil {
		c = &conn{}
		x.conns[f.Conn] = c
	}
	if f.Kind == wire.Head && f.Dir == wire.Sent {
		c.headed(f.HTTP)
		if len(x.heads) > mostHeads {
			clear(x.heads)
		}
		x.heads[at.at] = at.length
	}
	places := x.folder.Add(at.at, f, p.traits)
	for _, place := range places {
		line := at
		if place.Ref != at.at { // a head that waited for its body
			line = stretch{place.Ref, x.heads[place.Ref]}
			delete(x.heads, place.Ref)
		}
		if place.Role == wire.Asks {
			row := x.newRow(f.Time)
			x.exchanges = append(x.exchanges, row)
			if x.head.By == ByProxy {
				row.Target = c.target
			}
		}
		row := x.exchanges[place.Exchange]
		own, traits := m, p.traits
		if place.Item >= 0 {
			own, traits = m.Items[place.Item], p.traits.Items[place.Item]
		}
		row.take(placed{line: line, frame: f, message: own, peeked: peeked{traits, p.size, p.toolError}, Place: place, conn: c})
		x.touch(row)
		if place.Role <= wire.Continues && x.head.By == ByCommand {
			x.asked[string(own.ID)] = row
		}
		if row.Method == "initialize" {
			x.opening = row.Open()
		}
	}
	x.gone = x.gone || f.Kind == wire.Closed && f.Dir == wire.Received && f.Stream == 0
	if x.bare(f, m, p, at, places); f.Kind == wire.Head && f.Dir == wire.Sent && len(places) == 0 {
		x.bareHead(f, at)
	}
}

// headed learns from the head of a request. One that stands alone has to name its
// method there; one in a conversation that was opened before names the revision alone.
func (c *conn) headed(h *wire.HTTPHead) {
	c.target, _, _ = strings.Cut(h.URL, "?")
	c.streamable = h.Field("Mcp-Session-Id") != "" || h.Field("Mcp-Method") != ""
	if version := h.Field("Mcp-Protocol-Version"); version != "" {
		c.revision, c.era = version, "legacy"
		if h.Field("Mcp-Method") != "" {
			c.era = "modern"
		}
	}
}

// A placed is a frame that belongs to a row.
type placed struct {
	wire.Place
	line  stretch
	frame *wire.Frame
	// message is nil where the frame has none or was only peeked at.
	message *wire.Message
	peeked  peeked
	conn    *conn
}

// take folds one frame into the row.
func (r *Row) take(p placed) {
	if n := len(r.lines); n == 0 || r.lines[n-1] != p.line {
		r.lines = append(r.lines, p.line)
	}
	if p.Role != wire.Carries {
		r.Kinds = r.Kinds.With(p.frame.Kind)
	}
	if p.message != nil && p.Item <= 0 && p.Role < wire.Heads {
		r.Findings = append(r.Findings, p.message.Problems...)
	}
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
		if !r.told {
			r.answered(p)
		}
	case wire.Accompanies:
		r.accompanied(p)
	case wire.Heads:
		if p.frame.Dir == wire.Received {
			r.status(p.frame)
		}
	case wire.Resumes:
		r.Notes.Resumed++
	case wire.Surrounds:
		if p.frame.Kind == wire.Closed && p.frame.Close != nil {
			r.closed(p.frame, p.conn)
		}
	}
	r.resumable = r.resumable || p.frame.SSE != nil && p.frame.SSE.ID != nil
	if (p.Role < wire.Heads || p.frame.Kind == wire.Noise) && p.Item <= 0 {
		r.count(p.frame.Dir, p.peeked.size)
	}
	if r.Open() || p.Role == wire.Answers && !r.told || r.unanswered {
		r.Duration = max(r.Duration, p.frame.Time.Sub(r.Time))
	}
}

func (r *Row) count(dir wire.Direction, size int) {
	if dir == wire.Sent {
		r.Sent += int64(size)
	} else {
		r.Received += int64(size)
	}
}

// asked notes what the request is. Where requests stand alone each one says which
// revision it speaks.
func (r *Row) asked(p placed) {
	r.Method, r.Name, r.id = p.message.Method, nameIn(p.message), p.peeked.traits.ID
	if r.ID = string(p.message.ID); strings.HasPrefix(r.ID, `"`) {
		r.ID, _ = wire.Text(p.message.ID)
	}
	params, _ := p.message.ParamMembers()
	meta, _ := params.Get("_meta")
	if r.Method == "initialize" {
		p.conn.revision, p.conn.era = "", "legacy" // what was tried before does not hold
	}
	if version, ok := wire.Text(wire.First(meta, metaVersion)); ok {
		p.conn.revision, p.conn.era = version, "modern"
	}
	r.Era = p.conn.era
	r.Revision = p.conn.revision
}

const metaVersion = "io.modelcontextprotocol/protocolVersion"

// nameIn is what a request is about.
func nameIn(m *wire.Message) string {
	params, _ := m.ParamMembers()
	for _, name := range []string{"name", "uri", "taskId"} {
		if text := params.Text(name); text != "" {
			return text
		}
	}
	ref, _ := params.Get("ref")
	members, _ := wire.Object(ref)
	return or(members.Text("name"), members.Text("uri"))
}

func (r *Row) answered(p placed) {
	m, fault := p.message, r.unusable(p)
	r.unanswered = false
	switch {
	case m != nil && (r.Status == 401 || r.Status == 403):
		r.settle(wire.Auth)
	case fault != "":
		r.settle(wire.BadResponse)
		r.Text = fault
	case p.peeked.toolError:
		r.settle(wire.ToolError)
	case m == nil:
		r.settle(wire.OK)
	case m.Kind == wire.ErrorResponse:
		r.Code = m.Error.Code
		r.settle(wire.RPCFailed)
	case m.Kind == wire.Invalid && r.Status >= 300:
		r.settle(wire.Transport)
	case m.Kind == wire.Invalid:
		r.settle(wire.BadResponse)
	case p.peeked.traits.More:
		r.settle(wire.InputRequired)
	default:
		r.settle(wire.OK)
	}
	if m != nil && r.Method == "initialize" && r.Channel == ChannelOK {
		result, _ := m.ResultMembers()
		p.conn.revision = or(result.Text("protocolVersion"), p.conn.revision)
		r.Revision = p.conn.revision
	}
}

// accompanied counts what came on the way. Bytes that are no message end an
// exchange that has no better ending.
func (r *Row) accompanied(p placed) {
	if p.frame.Dir == wire.Sent {
		return
	}
	if p.peeked.traits.Reply {
		r.Orphan = true
		r.strayed = r.strayed || r.Open()
	}
	switch p.peeked.traits.Kind {
	case wire.Notification:
		r.Notes.Notifications++
	case wire.Request:
		r.Notes.Questions++
	case wire.Invalid:
		r.settleOpen(wire.BadResponse, "")
	}
}

// closed is for the end of a stream. That of a response with status 200 had to bring
// the answer, unless it can be taken up again. Over HTTP+SSE a request is only accepted
// (202), and the answer comes elsewhere.
func (r *Row) closed(f *wire.Frame, c *conn) {
	switch {
	case f.Close.How == "cut":
		r.Notes.Cuts++
		r.settleOpen(wire.Transport, f.Close.Text)
	case r.bare || f.Stream == 0 || f.Close.How != "end" || r.resumable:
	case c.streamable && (r.Status == http.StatusAccepted || r.Status == http.StatusNoContent):
		r.settleOpen(wire.BadResponse, fmt.Sprintf("HTTP %d in the place of the answer", r.Status))
	case r.Status != http.StatusOK:
	case r.strayed:
		r.settleOpen(wire.BadResponse, "the response has another id than the request")
	case r.Kinds.Has(wire.Event) || r.Kinds.Has(wire.Noise):
		r.settleOpen(wire.Transport, "the stream ended before the response")
	default:
		r.settleOpen(wire.BadResponse, "the HTTP response ended without the answer")
	}
}

func (r *Row) status(f *wire.Frame) {
	if f.HTTP == nil {
		return
	}
	if r.foreign = ""; len(f.HTTP.Fields) > 0 {
		r.foreign = foreignType(f.HTTP.Field("Content-Type"))
	}
	switch r.Status = f.HTTP.Status; {
	case r.Status == 401 || r.Status == 403:
		r.settleOpen(wire.Auth, "")
	case r.Status >= 300:
		r.settleOpen(wire.Transport, "")
	}
}

// reopen is for a request that was sent again, or goes on.
func (r *Row) reopen() {
	r.Channel, r.Exit, r.Text, r.unanswered = ChannelOpen, -1, "", false
}

func (r *Row) settle(kind wire.Kind) {
	r.Channel, r.Exit, r.Text = or(string(kind), ChannelOK), kind.ExitCode(), ""
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

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
