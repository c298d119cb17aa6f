package clients

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Reader reads the conversations of captures. The zero value is ready to use.
type Reader struct {
	// ClientsEnded says that the clients have ended. What they have not done by the end of their
	// conversations, they did not do.
	ClientsEnded bool

	found map[recordingID]*recording
}

// A recordingID identifies a run with all of its parts, or a recording in a capture that is no run.
type recordingID struct {
	path    string
	index   int
	run     int
	started int64
}

// A recording has the events of a recording by part, in no order, and the numbers of the selected
// conversations.
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

// An owner is a row that a line belongs to, with the place of the line's message there.
type owner struct {
	row  *listedRow
	role wire.Role
	item int32
}

// Add reads a capture. It selects the conversations with a row for which selects returns true.
func (r *Reader) Add(c *rows.Capture, selects func(*rows.Row) bool) error {
	recordings := make([]*recording, len(c.Heads))
	parts := make([]*part, len(c.Heads))
	for i, h := range c.Heads {
		recordings[i] = r.recordingOf(c, i)
		parts[i] = &part{run: h.Run, heads: map[headKey]*wire.HTTPHead{}}
		recordings[i].parts = append(recordings[i].parts, parts[i])
	}
	owners := map[int64][]owner{} // by the offset of the line
	for _, page := range c.Pages() {
		page.Select(func(row *rows.Row) bool {
			listed := &listedRow{number: row.Number(), isElsewhere: row.ListedElsewhere}
			for offset, place := range row.Places() {
				if !place.IsGuess {
					owners[offset] = append(owners[offset], owner{listed, place.Role, int32(place.Item)})
				}
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
	newest := map[exchange.Implementation]*Conversation{}
	waits := map[exchange.Implementation]time.Duration{}
	for _, c := range all {
		c.hasEnded = r.ClientsEnded
		if before := newest[c.Client]; before != nil {
			before.next = c
			c.previous = before
		}
		newest[c.Client] = c
		if wait := waits[c.Client]; c.shortestWait > 0 && (wait == 0 || c.shortestWait < wait) {
			waits[c.Client] = c.shortestWait
		}
	}
	for _, c := range all {
		c.shortestWait = waits[c.Client]
	}
	return all
}

// A groupID identifies a conversation. With a handshake it is that of the recording. Requests
// without one may have any connection: those of a client to a server are one conversation until the
// client begins again.
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

// add adds a request. A client begins again with server/discover, or with the id that it began with
// before.
func (b *beginning) add(request *Event) {
	id := request.Message.ID
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

// conversations returns the selected conversations. It leaves out those without a request of the
// client.
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
		if e.isRequest() && e.Exchange != "" {
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
	head := headKey{f.Conn, f.Stream, f.Dir}
	switch f.Kind {
	case wire.Head:
		p.heads[head] = f.HTTP
		isRefused := f.Dir == wire.Received && f.HTTP != nil && f.HTTP.Status >= 400
		if isRefused || f.Dir == wire.Sent && f.HTTP != nil && f.HTTP.Method != "POST" {
			p.addEvent(f, nil, owners, noItem)
		}
	case wire.Closed:
		f.HTTP = p.heads[headKey{f.Conn, f.Stream, wire.Received}]
		p.addEvent(f, nil, owners, noItem)
		delete(p.heads, headKey{f.Conn, f.Stream, wire.Sent})
		delete(p.heads, headKey{f.Conn, f.Stream, wire.Received})
	case wire.Body, wire.Event:
		f.HTTP = p.heads[head]
		m := wire.ParseMessage(raw)
		if !f.SSE.MayCarryMessage() || m.Kind == wire.Invalid {
			if f.SSE != nil && (f.SSE.ID != nil || f.SSE.Event == "endpoint") {
				p.addEvent(f, nil, owners, noItem)
			}
			return
		}
		for i, item := range m.Items {
			p.addEvent(f, item, owners, i)
		}
		if m.Kind != wire.Batch {
			p.addEvent(f, m, owners, noItem)
		}
	}
}

// noItem is the item of a frame that is not part of a batch.
const noItem = -1

// addEvent adds an event of a line that belongs to owners. m is its message, or nil, and item the
// index in a batch, or noItem. It leaves out events that another part of the recording has.
func (p *part) addEvent(f wire.Frame, m *wire.Message, owners []owner, item int) {
	e := &Event{Frame: f}
	if m != nil {
		e.setMessage(m)
	}
	row, role := ownRow(owners, item)
	if row != nil {
		e.Exchange = row.number
		e.pair(row, role)
	}
	if row == nil || !row.isElsewhere {
		p.events = append(p.events, e)
	}
}

// pair links a request with its response. role is that of the event in its row.
func (e *Event) pair(row *listedRow, role wire.Role) {
	switch role {
	case wire.RoleRequest, wire.RoleRepeat, wire.RoleContinuation:
		row.request = e
	case wire.RoleResponse:
		e.Request = row.request
		if e.Request != nil {
			e.Request.Response = e
		}
	case wire.RoleOtherMessage:
		isResponse := e.isMessage(wire.Received, wire.Response) || e.isMessage(wire.Received, wire.ErrorResponse)
		if isResponse && row.request != nil && row.request.Message.ID == e.Message.ID {
			e.answered = row.request
		}
	}
}

// ownRow returns the row that a message or another frame belongs to, and its role there. It returns
// nil if the frame belongs to no row. Of several rows, the others only refer to the frame: their
// roles are greater.
func ownRow(owners []owner, item int) (*listedRow, wire.Role) {
	var row *listedRow
	role := wire.RoleRelated
	for _, o := range owners {
		if int(o.item) == item && o.role <= role {
			row = o.row
			role = o.role
		}
	}
	return row, role
}

// payload are the members of params and results that no fact depends on, other than those in
// resultFacts, and that may be large.
var payload = []string{
	"arguments", "content", "contents", "messages", "prompts", "resources", "resourceTemplates",
	"structuredContent", "tools",
}

// setMessage sets what the event keeps of its message, so that the events of a large recording fit
// in memory.
func (e *Event) setMessage(m *wire.Message) {
	params, _ := m.ParamMembers()
	result, _ := m.ResultMembers()
	e.Message = &Message{
		Kind: m.Kind, ID: string(m.ID), Method: strings.Clone(m.Method),
		params: withoutPayload(params), result: withoutPayload(result),
	}
	if m.Error != nil {
		e.Message.code = m.Error.Code
	}
	arguments, _ := jsonraw.Object(params.Value("arguments"))
	e.Message.hasArguments = len(arguments) > 0
	e.content = m.Traits().ContentHash
	e.result = factsOfResult(result, len(m.Raw))
}

// withoutPayload returns copies of the members that are no payload.
func withoutPayload(all jsonraw.Members) jsonraw.Members {
	var kept jsonraw.Members
	for _, member := range all {
		if !slices.Contains(payload, member.Name) {
			kept = append(kept, jsonraw.Member{Name: strings.Clone(member.Name), Value: slices.Clone(member.Value)})
		}
	}
	return kept
}
