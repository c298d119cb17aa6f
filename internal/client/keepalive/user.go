package keepalive

import (
	"bufio"
	"net"
	"os"
	"slices"
	"sync"

	"mcpc/internal/wire"
)

// maxUnread limits the bytes that wait for a user that does not read, and the bytes of a user's
// queued messages. A user that exceeds it is disconnected, so that other users do not wait.
const maxUnread = 64 << 20

// A user is a connection to a supervisor's socket. The supervisor's mutex guards the fields from
// output to queuedBytes.
type user struct {
	conn     net.Conn
	isOpener bool
	wake     chan struct{}

	// output are the lines to write to the user, outputBytes is their size.
	output      [][]byte
	outputBytes int
	// noMoreOutput is set when no lines are added to output any more, isGone when the connection
	// has ended.
	noMoreOutput, isGone bool
	// questions are the methods, by id, of the server's requests that the user received.
	questions map[string]string
	// queued are the user's messages that wait for requests of other users, queuedBytes is their
	// size.
	queued      []*wire.Message
	queuedBytes int

	// order is held from the admission of a message until it is written, so that messages are
	// written in the order of their admission. It is locked before the supervisor's mutex.
	order sync.Mutex
}

// unqueue removes a queued request. It reports whether the request was queued.
func (u *user) unqueue(id string) bool {
	for i, m := range u.queued {
		if m.Kind == wire.Request && string(m.ID) == id {
			u.queued = slices.Delete(u.queued, i, i+1)
			u.queuedBytes -= len(m.Raw)
			return true
		}
	}
	return false
}

// appendLocked adds a line to output. It disconnects a user that has too much unread output.
func (u *user) appendLocked(mark byte, text []byte) {
	if u.noMoreOutput {
		return
	}
	line := marked(mark, text)
	if u.outputBytes > 0 && u.outputBytes+len(line) > maxUnread { // a single line may have any length
		u.noMoreOutput = true
		u.output = nil
		u.conn.Close()
		return
	}
	u.output = append(u.output, line)
	u.outputBytes += len(line)
	u.wakeLocked()
}

// finishLocked disconnects the user after its output is written.
func (u *user) finishLocked() {
	u.noMoreOutput = true
	u.wakeLocked()
}

// wakeLocked wakes write. A second wake before write has run would tell it nothing new, and is dropped.
func (u *user) wakeLocked() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// write writes the user's output, and closes the connection after finishLocked or an error. mu is the
// supervisor's mutex, which is not held while writing.
func (u *user) write(mu *sync.Mutex) {
	defer u.conn.Close()
	for range u.wake {
		mu.Lock()
		lines := u.output
		isLast := u.noMoreOutput
		u.output = nil
		mu.Unlock()
		wrote := 0
		for _, line := range lines {
			if _, err := u.conn.Write(line); err != nil {
				return
			}
			wrote += len(line)
		}
		mu.Lock()
		u.outputBytes -= wrote
		mu.Unlock()
		if isLast {
			return
		}
	}
}

// accept accepts connections of the same system user until the listener is closed.
func (s *supervisor) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		if sameUser(conn) != nil {
			conn.Close()
			continue
		}
		const isOpener = false
		s.join(conn, isOpener)
	}
}

// join greets a new connection and serves it in the background. isOpener is set for the connection of
// the command that opened the session. The connection counts as a user once it sends markUse. After
// sendEnding, join only closes the connection.
func (s *supervisor) join(conn net.Conn, isOpener bool) {
	u := &user{conn: conn, isOpener: isOpener, wake: make(chan struct{}, 1), questions: map[string]string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		conn.Close()
		return
	}
	hello := Status{
		Format: protocolVersion, PID: os.Getpid(), Server: s.child.PID(), Since: s.since,
		Idle: s.Idle, Left: s.idleLeftLocked(), Users: len(s.users), Opening: s.initializeResult,
	}
	s.connections[u] = true
	u.appendLocked(markHello, jsonOf(hello))
	s.writers.Go(func() { u.write(&s.mu) })
	go s.serve(u)
}

// serve handles the lines of a connection until it ends, and then removes the user.
func (s *supervisor) serve(u *user) {
	queueEnded := make(chan struct{})
	go func() {
		defer close(queueEnded)
		s.sendQueued(u)
	}()
	for r := bufio.NewReader(u.conn); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		switch line[0] {
		case markUse:
			s.mu.Lock()
			s.idle.timer.Stop()
			s.users = append(s.users, u)
			s.deliverStoredLocked(u)
			s.mu.Unlock()
		case markKeep:
			s.mu.Lock()
			s.isKept = true
			s.mu.Unlock()
		case markEnd:
			s.end("mcpc ended it")
		case markLine:
			s.forward(u, line[1:len(line)-1])
		}
	}
	s.mu.Lock()
	u.isGone = true
	s.wake.Broadcast()
	s.mu.Unlock()
	<-queueEnded // later, no message of the user is recorded any more
	s.leave(u)
}

// leave removes a user. It cancels the user's requests and answers the server's requests in its
// place.
func (s *supervisor) leave(u *user) {
	s.mu.Lock()
	messages := s.dropLocked(u)
	if u.isOpener && !s.isKept {
		s.endLocked("the command that started it exited before the session was open")
	}
	if len(s.users) == 0 && s.Idle > 0 {
		s.idle.timer.Reset(s.idleLeftLocked())
	}
	isStopping := s.stopReason != ""
	s.wake.Broadcast()
	s.mu.Unlock()
	for _, line := range messages {
		if !isStopping { // the server will get no more input
			s.write(line)
		}
	}
}

// dropLocked removes a user and returns the messages to send to the server in its place.
func (s *supervisor) dropLocked(u *user) [][]byte {
	u.isGone = true
	delete(s.connections, u)
	u.finishLocked()
	if at := slices.Index(s.users, u); at >= 0 {
		s.users = slices.Delete(s.users, at, at+1)
		s.idle.used = s.Now()
	}
	return s.abandonLocked(u)
}
