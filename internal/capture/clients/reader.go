package clients

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Reader reads the conversations of captures. The zero value is ready to use.
type Reader struct{ found map[recordingID]*recording }

// A recordingID identifies a run with all of its parts, or a recording in a capture that is no run.
type recordingID struct {
	path    string
	index   int
	run     int
	started int64
}

// A recording has the events of a recording by part, in no order, and the numbers of the selected conversations.
type recording struct {
	parts    []*part
	selected map[int]bool
}

// A listedRow is what the events of a row need to know about it.
type listedRow struct {
	number string
	// isElsewhere is set if another part of the recording has the row.
	isElsewhere bool
	// request is the last request of the row, once it was read.
	request *Event
}

// An owner is a row that a line belongs to.
type owner struct {
	row   *listedRow
	place wire.Place
}

// Add reads a capture. It selects the conversations with a row for which selects returns true.
func (r *Reader) Add(c *rows.Capture, selects func(*rows.Row) bool) error {
	recordings := sliceutil.Map(c.Heads, func(capture.Head) *recording { return nil })
	parts := sliceutil.Map(c.Heads, func(h capture.Head) *part {
		return &part{run: h.Run, heads: map[headKey]*wire.HTTPHead{}}
	})
	for i := range c.Heads {
		recordings[i] = r.recordingOf(c, i)
		recordings[i].parts = append(recordings[i].parts, parts[i])
	}
	owners := map[int64][]owner{} // by the offset of the line
	for _, page := range c.Pages() {
		page.Select(func(row *rows.Row) bool {
			listed := &listedRow{number: row.Number(), isElsewhere: row.ListedElsewhere}
			for offset, place := range row.Places() {
				owners[offset] = append(owners[offset], owner{listed, place})
			}
			if row.HasConn() && selects(row) {
				recordings[row.RunIndex()].selected[row.Conn] = true
			}
			return false
		})
	}
	return c.FrameReader().Each(func(at rows.FramePlace, f wire.Frame) error {
		parts[at.RunIndex].addFrame(f, owners[at.Offset])
		return nil
	})
}

// recordingOf returns the recording of a run of the capture, given by its index in Heads.
func (r *Reader) recordingOf(c *rows.Capture, index int) *recording {
	head := c.Heads[index]
	id := recordingID{path: c.Path, index: index}
	if head.Run > 0 {
		id = recordingID{run: head.Run, started: head.Started.UnixNano()}
	}
	if head.FirstRun > 0 {
		id.run = head.FirstRun
	}
	if r.found == nil {
		r.found = map[recordingID]*recording{}
	}
	if r.found[id] == nil {
		r.found[id] = &recording{selected: map[int]bool{}}
	}
	return r.found[id]
}

// Conversations returns the selected conversations, in the order they began in.
func (r *Reader) Conversations() []*Conversation {
	var all []*Conversation
	for _, found := range r.found {
		all = append(all, found.conversations()...)
	}
	slices.SortFunc(all, func(a, b *Conversation) int {
		return cmp.Or(
			a.Events[0].Time.Compare(b.Events[0].Time),
			cmp.Compare(a.Events[0].Exchange, b.Events[0].Exchange),
			cmp.Compare(a.Client.String(), b.Client.String()),
		)
	})
	return all
}

// A groupID identifies a conversation. With a handshake it is that of the recording. Requests without one may have
// any connection: those of a client to a server are one conversation until the client begins again.
type groupID struct {
	conn   int
	url    string
	client exchange.Implementation
	begin  int // counts how often the client began
}

// A beginning is how a client without a handshake began.
type beginning struct {
	count           int
	firstID, lastID string
}

// add adds a request. A client begins again with server/discover, or with the id that it began with before.
func (b *beginning) add(request *Event) {
	id := string(request.Message.ID)
	isAgain := id == b.firstID && id != b.lastID
	if b.count == 0 || isAgain || request.method() == "server/discover" {
		b.count++
		b.firstID = id
	}
	b.lastID = id
}

// A connection is what the events of a conversation in the recording say about it.
type connection struct {
	number       int
	hasHandshake bool
	// url is the server of the first HTTP request that names its revision.
	url string
	// client is the first client.
	client exchange.Implementation
}

// conversations returns the selected conversations. It leaves out those without a request of the client.
func (r *recording) conversations() []*Conversation {
	sliceutil.Sort(r.parts, func(a, b *part) int { return a.run - b.run })
	var events []*Event
	for _, part := range r.parts {
		events = append(events, part.events...)
	}
	connections := describe(events)
	groups := map[groupID][]*Event{}
	groupOf := map[string]groupID{} // by the number of the exchange
	beginnings := map[groupID]*beginning{}
	var order []groupID
	isSelected := map[groupID]bool{}
	for _, e := range events {
		id, isKnown := groupOf[e.Exchange]
		if e.isRequest() || !isKnown {
			id = connections[e.Conn].group(e)
			if beginnings[id] == nil {
				beginnings[id] = &beginning{}
			}
			if e.isRequest() && id.url != "" {
				beginnings[id].add(e)
			}
			id.begin = beginnings[id].count
		}
		if e.isRequest() {
			groupOf[e.Exchange] = id
		}
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], e)
		isSelected[id] = isSelected[id] || r.selected[e.Conn]
	}
	var all []*Conversation
	for _, id := range order {
		if isSelected[id] && slices.ContainsFunc(groups[id], (*Event).isRequest) {
			all = append(all, newConversation(id.client, groups[id]))
		}
	}
	return all
}

// describe returns what events say about each connection, by its number.
func describe(events []*Event) map[int]*connection {
	connections := map[int]*connection{}
	for _, e := range events {
		c := connections[e.Conn]
		if c == nil {
			c = &connection{number: e.Conn}
			connections[e.Conn] = c
		}
		c.hasHandshake = c.hasHandshake || e.isRequest() && e.method() == "initialize"
		if c.url == "" && e.isHTTP() && e.ownRevision() != "" {
			c.url, _, _ = strings.Cut(e.HTTP.URL, "?")
		}
		if c.client == (exchange.Implementation{}) {
			c.client = e.clientName()
		}
	}
	return connections
}

// group returns the group of an event of the connection, without its begin.
func (c *connection) group(e *Event) groupID {
	client := e.clientName()
	if client == (exchange.Implementation{}) {
		client = c.client
	}
	if c.url != "" && !c.hasHandshake {
		return groupID{url: c.url, client: client}
	}
	return groupID{conn: c.number, client: client}
}

// A headKey identifies the head of an HTTP request or response.
type headKey struct {
	conn, stream int
	dir          wire.Direction
}

// A part makes events of the frames of a recording in one file.
type part struct {
	run    int
	heads  map[headKey]*wire.HTTPHead
	events []*Event
}

// addFrame adds the events of a frame whose line belongs to owners.
func (p *part) addFrame(f wire.Frame, owners []owner) {
	raw := f.Raw
	f.Raw = nil
	switch f.Kind {
	case wire.Head:
		p.heads[headKey{f.Conn, f.Stream, f.Dir}] = f.HTTP
		if f.Dir == wire.Sent && f.HTTP != nil && f.HTTP.Method != "POST" {
			p.addEvent(&Event{Frame: f}, owners, -1)
		}
	case wire.Closed:
		p.addEvent(&Event{Frame: f}, owners, -1)
		for _, dir := range []wire.Direction{wire.Sent, wire.Received} {
			delete(p.heads, headKey{f.Conn, f.Stream, dir})
		}
	case wire.Body, wire.Event:
		f.HTTP = p.heads[headKey{f.Conn, f.Stream, f.Dir}]
		m := wire.ParseMessage(raw)
		hasMessage := f.SSE.MayCarryMessage() && m.Kind != wire.Invalid
		if !hasMessage {
			if f.SSE != nil && (f.SSE.ID != nil || f.SSE.Event == "endpoint") {
				p.addEvent(&Event{Frame: f}, owners, -1)
			}
			return
		}
		for i, item := range m.Items {
			p.addEvent(&Event{Frame: f, Message: item}, owners, i)
		}
		if m.Kind != wire.Batch {
			p.addEvent(&Event{Frame: f, Message: m}, owners, -1)
		}
	}
}

// addEvent adds an event of a line that belongs to owners. item is its index in a batch, or -1. It leaves out
// events that another part of the recording has.
func (p *part) addEvent(e *Event, owners []owner, item int) {
	row, role := ownRow(owners, item)
	if row != nil {
		e.Exchange = row.number
	}
	if e.Message != nil {
		e.content = e.Message.Traits().ContentHash
		e.Message = withoutLarge(e.Message)
	}
	if e.Message != nil && row != nil {
		switch role {
		case wire.RoleRequest, wire.RoleRepeat, wire.RoleContinuation:
			row.request = e
		case wire.RoleResponse:
			e.Request = row.request
			if e.Request != nil {
				e.Request.Response = e
			}
		}
	}
	if row == nil || !row.isElsewhere {
		p.events = append(p.events, e)
	}
}

// ownRow returns the row that a message or another frame belongs to, and its role there. It returns nil if the
// frame belongs to no row. Of several rows, the others only refer to the frame: their roles are greater.
func ownRow(owners []owner, item int) (*listedRow, wire.Role) {
	var row *listedRow
	role := wire.RoleRelated
	for _, o := range owners {
		if o.place.Item == item && o.place.Role <= role && !o.place.IsGuess {
			row = o.row
			role = o.place.Role
		}
	}
	return row, role
}

const (
	// maxMessage is the size in bytes up to which messages are kept whole.
	maxMessage = 4 << 10
	// maxMember is the size in bytes of the largest member of params or result that a larger message keeps.
	maxMember = 1 << 10
)

// withoutLarge returns a message without the large members of its params and result, so that the events of
// large recordings fit in memory. No fact depends on these members.
func withoutLarge(m *wire.Message) *wire.Message {
	if len(m.Raw) <= maxMessage {
		return m
	}
	small := &wire.Message{Kind: m.Kind, ID: slices.Clone(m.ID), Method: m.Method}
	small.Params = smallMembers(m.Params)
	small.Result = smallMembers(m.Result)
	return small
}

// smallMembers returns an object with the members of an object that are not large.
func smallMembers(object []byte) json.RawMessage {
	var small jsonraw.Builder
	members, _ := jsonraw.Object(object)
	for _, member := range members {
		if len(member.Value) <= maxMember {
			small.Raw(member.Name, member.Value)
		}
	}
	return small.Bytes()
}
