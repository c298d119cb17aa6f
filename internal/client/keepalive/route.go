package keepalive

import (
	"bufio"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// Requests are mapped to users, so that several commands can speak with one server at a time: a response, and what
// belongs to a request, goes to the user that made it.

// pendingRequest is a request under way.
type pendingRequest struct {
	by    *user
	token string
	// number is when it came, among the others.
	number int
	// lasting must not be cancelled, cancelled was; opens is set for initialize.
	lasting, cancelled, opens bool
}

// maxQuestions is how many of the server's requests wait for the next user.
const maxQuestions = 32

// pass writes a line of the user's to the server, or queues it.
func (s *supervisor) pass(u *user, line []byte) {
	m := wire.ParseMessage(line)
	u.order.Lock()
	defer u.order.Unlock()
	if s.admit(u, m) {
		s.write(line)
	}
}

// admit reports whether a line may be written now. Otherwise it was queued, or it need not
// be sent any more: the request that it cancels is still queued, or the server is to end.
// Responses, cancellations and pings overtake what is queued.
func (s *supervisor) admit(u *user, m *wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancels := m.Kind == wire.Notification && m.Method == "notifications/cancelled"
	overtakes := cancels || m.Kind == wire.Response || m.Kind == wire.ErrorResponse || m.Method == "ping"
	if m.Kind == wire.Request && s.why != "" || cancels && u.unqueue(string(mcp.CancelledID(m))) {
		return false
	}
	if len(u.queued) > 0 && !overtakes || !s.mayAskLocked(u, m) {
		u.queued = append(u.queued, m)
		u.queuedBytes += len(m.Raw)
		if u.queuedBytes > maxUnread {
			u.conn.Close()
		}
		s.turn.Broadcast()
		return false
	}
	s.noteLocked(u, m)
	return true
}

// sendQueued writes the lines that a user's earlier ones had to wait with, each when it
// may be sent, until the user has gone or the server is to end.
func (s *supervisor) sendQueued(u *user) {
	for {
		u.order.Lock()
		s.mu.Lock()
		switch {
		case u.gone || s.why != "":
			s.mu.Unlock()
			u.order.Unlock()
			return
		case len(u.queued) > 0 && s.mayAskLocked(u, u.queued[0]):
			m := u.queued[0]
			u.queued, u.queuedBytes = u.queued[1:], u.queuedBytes-len(m.Raw)
			s.noteLocked(u, m)
			s.mu.Unlock()
			s.write(m.Raw)
			u.order.Unlock()
		default:
			u.order.Unlock()
			s.turn.Wait()
			s.mu.Unlock()
		}
	}
}

// noteLocked notes what a line means for the lines that follow from all users.
func (s *supervisor) noteLocked(u *user, m *wire.Message) {
	switch m.Kind {
	case wire.Batch:
		for _, item := range m.Items {
			if item.Kind == wire.Request {
				s.askLocked(u, item)
			}
		}
	case wire.Request:
		s.askLocked(u, m)
	case wire.Notification:
		if m.Method == "notifications/cancelled" {
			// He does not wait any more. What comes all the same is still his.
			if a := s.pending[string(mcp.CancelledID(m))]; a != nil && a.by == u {
				a.cancelled = true
				s.turn.Broadcast()
			}
		}
	case wire.Response, wire.ErrorResponse:
		delete(u.questions, string(m.ID))
	}
}

// mayAskLocked: a request waits for one of another user's with the same id, and where
// the server may ask back for all of them. Other messages may always be sent.
func (s *supervisor) mayAskLocked(u *user, m *wire.Message) bool {
	if m.Kind != wire.Request {
		return true
	}
	for id, a := range s.pending {
		if a.by != u && !a.cancelled && (id == string(m.ID) || s.asks && m.Method != "ping") {
			return false
		}
	}
	return true
}

func (s *supervisor) askLocked(u *user, m *wire.Message) {
	s.count++
	a := &pendingRequest{by: u, token: string(mcp.ProgressToken(m.Params)), number: s.count}
	a.lasting = mcp.IsTaskMethod(m.Method) || jsonraw.First(m.Params, "task") != nil
	if m.Method == "initialize" {
		offered := jsonraw.First(m.Params, "capabilities")
		s.asks = jsonraw.First(offered, "elicitation") != nil || jsonraw.First(offered, "sampling") != nil
		s.initialized = true
		a.lasting = true
		a.opens = true
	}
	s.pending[string(m.ID)] = a
}

// abandonLocked gives up what a user began, and gives what is to be said to the server.
func (s *supervisor) abandonLocked(u *user) (last [][]byte) {
	for id, a := range s.pending {
		if a.by != u {
			continue
		}
		delete(s.pending, id)
		s.abandoned.Put(id, true)
		if !a.cancelled && !a.lasting {
			last = append(last, wire.ComposeNotification("notifications/cancelled",
				json.RawMessage(`{"requestId":`+id+`,"reason":"the client has gone"}`)))
		}
	}
	for id, method := range u.questions {
		if s.initialized {
			last = append(last, standIn(method, json.RawMessage(id)))
		}
	}
	u.questions = nil
	return last
}

// standIn answers a server's request in place of a user that has gone or never came.
func standIn(method string, id json.RawMessage) []byte {
	if method == "ping" {
		return wire.ComposeResult(id, json.RawMessage("{}"))
	}
	return mcp.NoAnswer(method).Compose(id)
}

// handOverLocked gives a user what was kept for the next one.
func (s *supervisor) handOverLocked(u *user) {
	for line := range strings.Lines(s.keptStderr.Text()) {
		u.putLocked(markErr, []byte(strings.TrimSuffix(line, "\n")))
	}
	s.keptStderr.Reset()
	for _, line := range s.changed {
		u.putLocked(markOut, line)
	}
	clear(s.changed)
	for _, m := range s.questions {
		u.questions[string(m.ID)] = m.Method
		u.putLocked(markOut, m.Raw)
	}
	s.questions = nil
}

// write writes one line to the server. A server that no longer reads its stdin is ended.
func (s *supervisor) write(line []byte) {
	s.writing.Lock()
	_, err := s.child.Stdin.Write(append(append(make([]byte, 0, len(line)+1), line...), '\n'))
	s.writing.Unlock()
	if err != nil && !pause.Within(s.heard, time.Second) {
		s.end("it no longer reads its stdin")
	}
}

// read takes what the server says, line by line.
func (s *supervisor) read() {
	defer close(s.heard)
	for lines := bufio.NewReaderSize(s.child.Stdout, 64<<10); ; {
		line, large, err := s.readLine(lines)
		if large {
			s.tellAll(markLarge, strconv.AppendInt(nil, s.Message, 10))
		} else if len(line) > 0 {
			s.route(line)
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line without its end. Of one beyond the limit nothing is kept.
func (s *supervisor) readLine(lines *bufio.Reader) (line []byte, large bool, err error) {
	for {
		part, err := lines.ReadSlice('\n')
		if !large {
			line = append(line, part...)
		}
		if s.Message > 0 && int64(len(line)-1) > s.Message {
			line = nil
			large = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if n := len(line); n > 0 && line[n-1] == '\n' {
				line = line[:n-1]
			}
			return line, large, err
		}
	}
}

// route passes a line from the server to the users that it is for, or answers it itself.
func (s *supervisor) route(line []byte) {
	m := wire.ParseMessage(line)
	s.mu.Lock()
	reply := []byte(nil)
	var to []*user
	if m.Kind == wire.Request {
		to, reply = s.askedBackLocked(m)
	} else {
		to = s.receiversLocked(m)
	}
	for _, u := range to {
		u.putLocked(markOut, line)
	}
	s.mu.Unlock()
	if reply != nil {
		s.write(reply)
	}
}

// receiversLocked returns the users that a message is for. An array, or a line with several
// messages, is for the users of each of them.
func (s *supervisor) receiversLocked(m *wire.Message) (to []*user) {
	switch m.Kind {
	case wire.Invalid:
		items := s.messagesLocked(m.Raw)
		if len(items) == 0 {
			break
		}
		for _, item := range items {
			to = append(to, s.receiversLocked(item)...)
		}
		return slices.DeleteFunc(slices.Clone(s.users), func(u *user) bool { return !slices.Contains(to, u) })
	case wire.Notification:
		return s.concernedLocked(m)
	case wire.Request: // in an array
		return s.users
	case wire.Batch:
		for _, item := range m.Items {
			to = append(to, s.receiversLocked(item)...)
		}
		return slices.DeleteFunc(slices.Clone(s.users), func(u *user) bool { return !slices.Contains(to, u) })
	}
	return s.ownerLocked(m)
}

// messagesLocked returns the messages that users find in a line that is not one message.
func (s *supervisor) messagesLocked(line []byte) (items []*wire.Message) {
	parts := transport.SplitLine(line, func(m *wire.Message) bool {
		return s.pending[string(m.ID)] != nil && m.Answers(m.ID)
	})
	for _, part := range parts {
		if part.Message != nil {
			items = append(items, part.Message)
		}
	}
	return items
}

// ownerLocked is the user whose request m answers; none where that user has gone. A response
// to no known request is for all users: it may have lost its id.
func (s *supervisor) ownerLocked(m *wire.Message) []*user {
	id := string(m.ID)
	if other := wire.OtherID(m.ID); s.pending[id] == nil && other != nil { // which users take
		id = string(other)
	}
	if a := s.pending[id]; a != nil && len(m.ID) > 0 {
		delete(s.pending, id)
		if a.opens && m.Kind == wire.Response {
			s.opening = jsonraw.Compact(m.Result)
		}
		s.turn.Broadcast()
		return []*user{a.by}
	}
	if _, late := s.abandoned.Lookup(string(m.ID)); late {
		return nil
	}
	return s.users
}

// concernedLocked are the users that a notification is for: the one whose request it
// belongs to, by progress token or subscription, else all.
func (s *supervisor) concernedLocked(m *wire.Message) []*user {
	if a := s.pending[string(mcp.SubscriptionID(m.Params))]; a != nil {
		return []*user{a.by}
	}
	if token := jsonraw.First(m.Params, "progressToken"); token != nil {
		for _, a := range s.pending {
			if a.token == string(token) {
				return []*user{a.by}
			}
		}
	}
	if len(s.users) == 0 &&
		(m.Method == "notifications/tools/list_changed" || m.Method == "notifications/prompts/list_changed") {
		s.changed[m.Method] = m.Raw
	}
	return s.users
}

// askedBackLocked is the user that is to answer a request of the server's own: the one with
// the latest open request, or else the longest connected. Without users, after a handshake,
// it is kept for the next; reply answers a ping, and one too many.
func (s *supervisor) askedBackLocked(m *wire.Message) (to []*user, reply []byte) {
	if len(s.users) == 0 {
		if s.initialized && (m.Method == "ping" || len(s.questions) >= maxQuestions) {
			return nil, standIn(m.Method, m.ID)
		}
		if s.initialized {
			s.questions = append(s.questions, m)
		}
		return nil, nil
	}
	u := s.users[0]
	last := 0
	for _, a := range s.pending {
		if a.number > last && !a.cancelled {
			u = a.by
			last = a.number
		}
	}
	u.questions[string(m.ID)] = m.Method
	return []*user{u}, nil
}
