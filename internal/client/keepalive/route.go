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

// The supervisor records which user sent each request. A response, and a notification that
// belongs to a request, go to that user.

// A request is a request that waits for its response.
type request struct {
	user  *user
	token string
	// number counts the requests of all users.
	number int
	// isLasting forbids to cancel the request. isCancelled is set if its user cancelled it.
	isLasting, isCancelled, isInitialize bool
}

// maxStoredRequests limits the server's requests that are stored for the next user.
const maxStoredRequests = 32

// forward writes a user's line to the server, or queues it.
func (s *supervisor) forward(u *user, line []byte) {
	m := wire.ParseMessage(line)
	u.order.Lock()
	defer u.order.Unlock()
	if s.admit(u, m) {
		s.write(line)
	}
}

// admit reports whether a message may be written now. Otherwise it was queued, or is dropped: it
// cancels a queued request, or the server is being stopped. Responses, cancellations and pings
// overtake queued messages.
func (s *supervisor) admit(u *user, m *wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isCancellation := m.Kind == wire.Notification && m.Method == "notifications/cancelled"
	isAnswer := m.Kind == wire.Response || m.Kind == wire.ErrorResponse
	overtakes := isCancellation || isAnswer || m.Method == "ping"
	if m.Kind == wire.Request && s.stopReason != "" {
		return false
	}
	if isCancellation && u.unqueue(string(mcp.CancelledID(m))) { // the server has not seen the request
		return false
	}
	keepsOrder := len(u.queued) > 0 && !overtakes
	if keepsOrder || !s.maySendLocked(u, m) {
		u.queued = append(u.queued, m)
		u.queuedBytes += len(m.Raw)
		if u.queuedBytes > maxUnread {
			u.conn.Close() // ends serve, which removes the user
		}
		s.wake.Broadcast()
		return false
	}
	s.recordLocked(u, m)
	return true
}

// sendQueued writes a user's queued messages, each as soon as it may be sent, until the user has
// gone away or the server is being stopped.
func (s *supervisor) sendQueued(u *user) {
	for {
		u.order.Lock()
		s.mu.Lock()
		if u.isGone || s.stopReason != "" {
			s.mu.Unlock()
			u.order.Unlock()
			return
		}
		if len(u.queued) > 0 && s.maySendLocked(u, u.queued[0]) {
			m := u.queued[0]
			u.queued = u.queued[1:]
			u.queuedBytes -= len(m.Raw)
			s.recordLocked(u, m)
			s.mu.Unlock()
			s.write(m.Raw)
			u.order.Unlock()
		} else {
			u.order.Unlock() // before the wait, so that forward can queue messages
			s.wake.Wait()
			s.mu.Unlock()
		}
	}
}

// recordLocked records a message that is about to be sent: its requests, cancellations and answers.
func (s *supervisor) recordLocked(u *user, m *wire.Message) {
	switch m.Kind {
	case wire.Batch:
		for _, item := range m.Items {
			if item.Kind == wire.Request {
				s.addRequestLocked(u, item)
			}
		}
	case wire.Request:
		s.addRequestLocked(u, m)
	case wire.Notification:
		if m.Method == "notifications/cancelled" {
			// The request stays recorded: a late response still belongs to this user.
			if req := s.pending[string(mcp.CancelledID(m))]; req != nil && req.user == u {
				req.isCancelled = true
				s.wake.Broadcast()
			}
		}
	case wire.Response, wire.ErrorResponse:
		delete(u.questions, string(m.ID))
	}
}

// maySendLocked reports whether a message may be sent. A request waits while another user has a
// pending request with the same id. If the server may send requests, it also waits for all requests
// of other users, because a request from the server does not say which request caused it.
func (s *supervisor) maySendLocked(u *user, m *wire.Message) bool {
	if m.Kind != wire.Request {
		return true
	}
	waitsForAll := s.mayAsk && m.Method != "ping" // a ping causes no request of the server
	for id, other := range s.pending {
		if other.user == u || other.isCancelled { // a cancelled request may never be answered
			continue
		}
		if waitsForAll || id == string(m.ID) {
			return false
		}
	}
	return true
}

// addRequestLocked records a request that is about to be sent.
func (s *supervisor) addRequestLocked(u *user, m *wire.Message) {
	s.requestCount++
	req := &request{user: u, token: string(mcp.ProgressToken(m.Params)), number: s.requestCount}
	req.isLasting = mcp.IsTaskMethod(m.Method) || jsonraw.First(m.Params, "task") != nil
	if m.Method == "initialize" {
		offered := jsonraw.First(m.Params, "capabilities")
		s.mayAsk = jsonraw.First(offered, "elicitation") != nil || jsonraw.First(offered, "sampling") != nil
		s.initialized = true
		req.isLasting = true
		req.isInitialize = true
	}
	s.pending[string(m.ID)] = req
}

// abandonLocked removes the requests of a user. It returns the messages to send to the server:
// cancellations, and answers to the requests that the user had received.
func (s *supervisor) abandonLocked(u *user) [][]byte {
	var messages [][]byte
	for id, req := range s.pending {
		if req.user != u {
			continue
		}
		delete(s.pending, id)
		s.abandoned.Put(id, true)
		if !req.isCancelled && !req.isLasting {
			messages = append(messages, wire.ComposeNotification("notifications/cancelled",
				json.RawMessage(`{"requestId":`+id+`,"reason":"the client has gone"}`)))
		}
	}
	for id, method := range u.questions {
		if s.initialized { // without a handshake the server must not ask, and gets no answers
			messages = append(messages, substituteAnswer(method, json.RawMessage(id)))
		}
	}
	u.questions = nil
	return messages
}

// substituteAnswer returns the answer to a request from the server that no user can answer.
func substituteAnswer(method string, id json.RawMessage) []byte {
	if method == "ping" {
		return wire.ComposeResult(id, json.RawMessage("{}"))
	}
	return mcp.NoAnswer(method).Compose(id)
}

// deliverStoredLocked sends a user the messages that were stored while no user was connected, and forgets
// them: standard error, list changes and the server's requests, which this user has to answer.
func (s *supervisor) deliverStoredLocked(u *user) {
	for line := range strings.Lines(s.storedStderr.Text()) {
		u.appendLocked(markErr, []byte(strings.TrimSuffix(line, "\n")))
	}
	s.storedStderr.Reset()
	for _, line := range s.storedChanges {
		u.appendLocked(markOut, line)
	}
	clear(s.storedChanges)
	for _, m := range s.storedRequests {
		u.questions[string(m.ID)] = m.Method
		u.appendLocked(markOut, m.Raw)
	}
	s.storedRequests = nil
}

// write writes one line to the server. It stops a server that no longer reads its stdin.
func (s *supervisor) write(line []byte) {
	s.writing.Lock()
	_, err := s.child.Stdin.Write(append(append(make([]byte, 0, len(line)+1), line...), '\n'))
	s.writing.Unlock()
	if err != nil && !pause.Within(s.outputEnded, time.Second) { // else the server has exited
		s.end("it no longer reads its stdin")
	}
}

// read reads the server's standard output line by line and routes it.
func (s *supervisor) read() {
	defer close(s.outputEnded)
	for lines := bufio.NewReaderSize(s.child.Stdout, 64<<10); ; {
		line, isTooLarge, err := s.readLine(lines)
		if isTooLarge {
			s.broadcast(markLarge, strconv.AppendInt(nil, s.Message, 10))
		} else if len(line) > 0 {
			s.route(line)
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line without its newline. It returns no line, and isTooLarge, if the line exceeds the
// limit; it has read the whole line in any case. The last line may come with the error.
func (s *supervisor) readLine(lines *bufio.Reader) (line []byte, isTooLarge bool, err error) {
	for {
		part, err := lines.ReadSlice('\n')
		if !isTooLarge {
			line = append(line, part...)
		}
		if s.Message > 0 && int64(len(line)-1) > s.Message { // the newline does not count
			line = nil
			isTooLarge = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if n := len(line); n > 0 && line[n-1] == '\n' {
				line = line[:n-1]
			}
			return line, isTooLarge, err
		}
	}
}

// route passes a line from the server to its receivers, or answers it.
func (s *supervisor) route(line []byte) {
	m := wire.ParseMessage(line)
	s.mu.Lock()
	var reply []byte
	var receivers []*user
	if m.Kind == wire.Request {
		receivers, reply = s.assignRequestLocked(m)
	} else {
		receivers = s.receiversLocked(m)
	}
	for _, u := range receivers {
		u.appendLocked(markOut, line)
	}
	s.mu.Unlock()
	if reply != nil {
		s.write(reply)
	}
}

// receiversLocked returns the users that a message is for, and removes the requests that it answers. A
// batch, or a line with several messages, is for the users of each message.
func (s *supervisor) receiversLocked(m *wire.Message) []*user {
	switch m.Kind {
	case wire.Invalid:
		if items := s.messagesLocked(m.Raw); len(items) > 0 {
			return s.receiversOfAllLocked(items)
		}
	case wire.Notification:
		return s.notificationReceiversLocked(m)
	case wire.Request: // in an array
		return s.users
	case wire.Batch:
		return s.receiversOfAllLocked(m.Items)
	}
	return s.ownerLocked(m)
}

// receiversOfAllLocked returns the users that any of the messages is for, each once.
func (s *supervisor) receiversOfAllLocked(messages []*wire.Message) []*user {
	var receivers []*user
	for _, m := range messages {
		receivers = append(receivers, s.receiversLocked(m)...)
	}
	isOther := func(u *user) bool { return !slices.Contains(receivers, u) }
	return slices.DeleteFunc(slices.Clone(s.users), isOther)
}

// messagesLocked returns the messages that users find in a line that is not one message.
func (s *supervisor) messagesLocked(line []byte) []*wire.Message {
	parts := transport.SplitLine(line, func(m *wire.Message) bool {
		return s.pending[string(m.ID)] != nil && m.IsResponseTo(m.ID)
	})
	var items []*wire.Message
	for _, part := range parts {
		if part.Message != nil {
			items = append(items, part.Message)
		}
	}
	return items
}

// ownerLocked returns the user whose request m answers, and removes the request. It returns no user
// if the request was abandoned: its user has disconnected. A response to an unknown request is for
// all users, because its id may be wrong.
func (s *supervisor) ownerLocked(m *wire.Message) []*user {
	id := string(m.ID)
	if other := wire.OtherID(m.ID); s.pending[id] == nil && other != nil {
		id = string(other) // a client accepts a response with "7" for the id 7, and the reverse
	}
	if req := s.pending[id]; req != nil && len(m.ID) > 0 {
		delete(s.pending, id)
		if req.isInitialize && m.Kind == wire.Response {
			s.initializeResult = jsonraw.Compact(m.Result)
		}
		s.wake.Broadcast()
		return []*user{req.user}
	}
	if _, isAbandoned := s.abandoned.Lookup(string(m.ID)); isAbandoned {
		return nil
	}
	return s.users
}

// notificationReceiversLocked returns the user whose subscription or request a notification belongs
// to, otherwise all users. Without users it stores list changes.
func (s *supervisor) notificationReceiversLocked(m *wire.Message) []*user {
	if req := s.pending[string(mcp.SubscriptionID(m.Params))]; req != nil {
		return []*user{req.user}
	}
	if token := jsonraw.First(m.Params, "progressToken"); token != nil {
		for _, req := range s.pending {
			if req.token == string(token) {
				return []*user{req.user}
			}
		}
	}
	isCachedList := m.Method == "notifications/tools/list_changed" || m.Method == "notifications/prompts/list_changed"
	if len(s.users) == 0 && isCachedList {
		s.storedChanges[m.Method] = m.Raw
	}
	return s.users
}

// assignRequestLocked returns the user that has to answer a request from the server: the user with
// the latest pending request, or else the user that connected first. Without users it returns nil:
// after a handshake it then stores the request for the next user, except that it returns a reply to
// a ping, and to a request beyond maxStoredRequests.
func (s *supervisor) assignRequestLocked(m *wire.Message) (to []*user, reply []byte) {
	if len(s.users) == 0 {
		if s.initialized && (m.Method == "ping" || len(s.storedRequests) >= maxStoredRequests) {
			return nil, substituteAnswer(m.Method, m.ID)
		}
		if s.initialized {
			s.storedRequests = append(s.storedRequests, m)
		}
		return nil, nil
	}
	receiver := s.users[0]
	latest := 0
	for _, req := range s.pending {
		if req.number > latest && !req.isCancelled {
			receiver = req.user
			latest = req.number
		}
	}
	receiver.questions[string(m.ID)] = m.Method
	return []*user{receiver}, nil
}
