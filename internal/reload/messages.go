package reload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A clientMessage is a message of the client that is held, or a request that was sent to a process.
type clientMessage struct {
	message *wire.Message
	line    []byte
	// arrived is when the client sent it.
	arrived time.Time
	// isAcknowledged is set when the client has received the acknowledgement of a subscription.
	isAcknowledged bool
	// isRepeated is set when it is sent again to the next process.
	isRepeated bool
}

// isSubscription reports whether the message is a request whose response ends a subscription.
func (c *clientMessage) isSubscription() bool { return c.message.Method == methodListen }

// An askedRequest is a request of a process that was sent to the client.
type askedRequest struct {
	// clientID is its id for the client, processID for the process. They differ after the first
	// process, because two processes may use the same id.
	clientID, processID json.RawMessage
}

// ReadClient passes on what the client writes, until its end.
func (s *Server) ReadClient(from io.Reader) {
	eachLine(from, func(line []byte) {
		s.handleClientLine(line)
		s.mu.Lock()
		g := s.current
		s.mu.Unlock()
		if g != nil {
			g.input.awaitRoom()
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.inputEnded)
	s.closeInput()
}

// closeInput closes the input of the current process if the client has closed its output and no message
// is held. The caller locks mu.
func (s *Server) closeInput() {
	if pause.IsOver(s.inputEnded) && len(s.held) == 0 && s.current != nil && s.phase != draining {
		s.current.input.close()
	}
}

// eachMessage calls handle with the message of a line, or each message of a batch and its own line.
func eachMessage(line []byte, handle func(m *wire.Message, line []byte)) {
	m := wire.ParseMessage(bytes.TrimRight(line, "\r\n"))
	if m.Kind != wire.Batch {
		handle(m, line)
		return
	}
	for _, item := range m.Items {
		handle(item, append(bytes.Clone(item.Raw), '\n'))
	}
}

// handleClientLine passes a line of the client to the process, or holds or refuses its messages.
func (s *Server) handleClientLine(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eachMessage(line, s.handleClientMessage)
}

// handleClientMessage handles one message of the client. The caller locks mu.
func (s *Server) handleClientMessage(m *wire.Message, line []byte) {
	if m.Kind == wire.Response || m.Kind == wire.ErrorResponse {
		s.passResponse(m, line)
		return
	}
	passes := s.phase == ready || s.phase == draining && m.Kind != wire.Request
	if m.Kind == wire.Notification && m.Method == methodCancelled {
		s.forgetCancelled(mcp.CancelledID(m))
		if !passes {
			return // the next process does not know the request
		}
	}
	c := &clientMessage{message: m, line: line, arrived: s.options.Now()}
	if passes {
		s.sendToProcess(c)
	} else if s.phase == refusing || s.isFailing && s.options.FailFast && mcp.IsOpening(m.Method) {
		s.refuseRequest(m, s.trouble, s.troubleStderr)
	} else {
		s.held = append(s.held, c)
		s.limitHold(c)
	}
}

// passResponse passes the client's response to the process's request, or drops it if the process that
// sent the request is not the current one. The caller locks mu.
func (s *Server) passResponse(m *wire.Message, line []byte) {
	i := slices.IndexFunc(s.asked, func(a askedRequest) bool { return m.IsResponseTo(a.clientID) })
	if i < 0 {
		return
	}
	a := s.asked[i]
	s.asked = slices.Delete(s.asked, i, i+1)
	if !bytes.Equal(a.clientID, a.processID) {
		line = append(jsonraw.With(m.Raw, "id", a.processID), '\n')
	}
	s.current.input.add(line)
}

// forgetCancelled removes a request that the client has cancelled. The caller locks mu.
func (s *Server) forgetCancelled(id json.RawMessage) {
	isCancelled := func(c *clientMessage) bool {
		return c.message.Kind == wire.Request && bytes.Equal(c.message.ID, id)
	}
	s.open = slices.DeleteFunc(s.open, isCancelled)
	s.held = slices.DeleteFunc(s.held, isCancelled)
	s.checkDrained()
}

// sendToProcess sends a message of the client to the current process, and notes a request as open.
// The caller locks mu.
func (s *Server) sendToProcess(c *clientMessage) {
	if c.message.Kind == wire.Request {
		s.open = append(s.open, c)
		if s.session.noteRequest(c.message) {
			s.current.wantLists()
		}
	}
	s.current.input.add(c.line)
	if c.message.Method == methodInitialized {
		s.session.initialized = c.line
		s.current.wantLists()
	}
}

// refuseRequest answers a request of the client with an error, which says that mcpc made it, and what the
// process wrote to standard error, unless that is "". It drops other messages. The caller locks mu.
func (s *Server) refuseRequest(m *wire.Message, why, stderr string) {
	if m.Kind != wire.Request {
		return
	}
	var data, failure jsonraw.Builder
	data.Text("by", "mcpc")
	data.TextIfAny("stderr", stderr)
	failure.Number("code", errorCode)
	failure.Text("message", wire.TapErrorPrefix+why)
	failure.Raw("data", data.Bytes())
	s.sendToClient(jsonraw.With(wire.ComposeError(m.ID, errorCode, ""), "error", failure.Bytes()))
}

// noticeTime is longer than it takes to notice that a file has changed.
const noticeTime = 4 * quietTime

// limitHold refuses a held request if it is still held Options.Hold after the client sent it. If the server
// is failing, and still is after noticeTime, it refuses the request then. The caller locks mu.
func (s *Server) limitHold(c *clientMessage) {
	if c.message.Kind != wire.Request {
		return
	}
	released := s.released
	limit := s.options.Hold - s.options.Now().Sub(c.arrived)
	isFailing := s.isFailing
	go func() {
		if isFailing && limit > noticeTime {
			if pause.Within(released, noticeTime) || s.refuseIfFailing(c) {
				return
			}
			limit -= noticeTime
		}
		if !pause.Within(released, limit) {
			s.expire(c)
		}
	}()
}

// refuseIfFailing refuses a held request if the server is failing, and reports whether it was held and is
// refused.
func (s *Server) refuseIfFailing(c *clientMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isRefused := false
	if s.isFailing {
		s.refuseHeld(func(h *clientMessage) bool {
			isRefused = isRefused || h == c
			return h == c
		})
	}
	return isRefused
}

// expire refuses a request that was held too long.
func (s *Server) expire(c *clientMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.held, c)
	if i < 0 {
		return
	}
	s.held = slices.Delete(s.held, i, i+1)
	why := fmt.Sprintf("the server was not ready within %s", s.options.Hold)
	if s.trouble != "" {
		why += ": " + s.trouble
	}
	s.refuseRequest(c.message, why, s.troubleStderr)
	s.closeInput()
}

// handleServerLine passes a line of a process to the client. It drops the lines of a process that is not
// the current one.
func (s *Server) handleServerLine(g *generation, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return
	}
	eachMessage(line, func(m *wire.Message, line []byte) {
		switch m.Kind {
		case wire.Response, wire.ErrorResponse:
			if s.takeOwnReply(g, m) {
				return
			}
			if s.keepsSubscription(m) {
				return
			}
			s.finishRequest(g, m)
		case wire.Request:
			line = s.passRequest(g, m, line)
		case wire.Notification:
			line = s.passNotification(g, m, line)
		default: // other output is passed on as it is
		}
		if line != nil {
			s.writeToClient(line)
		}
	})
}

// takeOwnReply reports whether a message responds to a request of the Server's own, and passes it to
// the goroutine that waits for it. The caller locks mu.
func (s *Server) takeOwnReply(g *generation, m *wire.Message) bool {
	own, ok := g.own[string(m.ID)]
	if !ok {
		return strings.HasPrefix(string(m.ID), `"`+s.ownIDs) // a late response
	}
	delete(g.own, string(m.ID))
	if own.reply != nil {
		own.reply <- m
	} else if m.Error != nil {
		s.options.Note("the restarted server refused " + own.method + " of the client: " + m.Error.Message)
	}
	return true
}

// keepsSubscription reports whether a message is an error for a subscription that an earlier process has
// acknowledged. The subscription stays open, and the next process receives it again. The caller locks mu.
func (s *Server) keepsSubscription(m *wire.Message) bool {
	isKept := m.Error != nil && slices.ContainsFunc(s.open, func(c *clientMessage) bool {
		return c.isSubscription() && c.isAcknowledged && m.IsResponseTo(c.message.ID)
	})
	if isKept {
		s.options.Note("the restarted server refused " + methodListen + " of the client: " + m.Error.Message)
	}
	return isKept
}

// finishRequest notes that a request of the client has its response. The caller locks mu.
func (s *Server) finishRequest(g *generation, m *wire.Message) {
	i := slices.IndexFunc(s.open, func(c *clientMessage) bool { return m.IsResponseTo(c.message.ID) })
	if i < 0 {
		return
	}
	r := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	if m.Kind == wire.Response {
		s.session.noteResult(r, m)
		if r.message.Method == methodInitialize {
			g.capabilities = capabilitiesOf(m)
			if s.session.initialized != nil {
				g.wantLists()
			}
		}
	}
	s.checkDrained()
}

// passRequest notes a request of a process, and returns the line for the client. The caller locks mu.
func (s *Server) passRequest(g *generation, m *wire.Message, line []byte) []byte {
	a := askedRequest{clientID: m.ID, processID: m.ID}
	if g.number > 1 {
		a.clientID = s.newID()
		line = append(jsonraw.With(m.Raw, "id", a.clientID), '\n')
	}
	s.asked = append(s.asked, a)
	return line
}

// passNotification returns the line of a process's notification for the client; nil if the client must
// not receive it. The caller locks mu.
func (s *Server) passNotification(g *generation, m *wire.Message, line []byte) []byte {
	switch m.Method {
	case methodCancelled:
		return s.passCancellation(m, line)
	case methodAcknowledged:
		id := mcp.NotificationSubscription(m)
		for _, r := range s.open {
			if r.isSubscription() && bytes.Equal(r.message.ID, id) {
				if r.isAcknowledged {
					return nil
				}
				r.isAcknowledged = true
			}
		}
	default:
		if isListChange(m.Method) {
			g.wantLists()
		}
	}
	return line
}

// passCancellation returns the line for the client of a process's notification that it has cancelled
// its own request, or ended a subscription. The caller locks mu.
func (s *Server) passCancellation(m *wire.Message, line []byte) []byte {
	id := mcp.CancelledID(m)
	s.open = slices.DeleteFunc(s.open, func(c *clientMessage) bool {
		return c.isSubscription() && bytes.Equal(c.message.ID, id)
	})
	i := slices.IndexFunc(s.asked, func(a askedRequest) bool { return bytes.Equal(a.processID, id) })
	if i < 0 {
		return line
	}
	a := s.asked[i]
	s.asked = slices.Delete(s.asked, i, i+1)
	if bytes.Equal(a.clientID, a.processID) {
		return line
	}
	params := jsonraw.With(m.Params, "requestId", a.clientID)
	return append(jsonraw.With(m.Raw, "params", params), '\n')
}

// composeCancelled returns the notification that a request is cancelled.
func composeCancelled(id json.RawMessage, reason string) []byte {
	var params jsonraw.Builder
	params.Raw("requestId", id)
	params.Text("reason", reason)
	return wire.ComposeNotification(methodCancelled, params.Bytes())
}
