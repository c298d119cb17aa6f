package keepalive

import (
	"bufio"
	"net"
	"os"
	"slices"
	"sync"

	"mcpc/internal/wire"
)

// maxUnread is how many bytes may wait for a user that does not read, and how many of its messages may be queued, in
// bytes. A user with more is disconnected: the others must not wait for it.
const maxUnread = 64 << 20

// A user is a connection to a supervisor's socket. The fields from waiting to queuedBytes
// are guarded by the supervisor's mutex.
type user struct {
	conn   net.Conn
	opener bool
	wake   chan struct{}

	// waiting are lines to be written to him, bytes as many as they have together.
	waiting [][]byte
	bytes   int
	// over is set when nothing will be added to waiting, gone when he was heard last.
	over, gone bool
	// questions are the server's requests that he was given, by id, with their methods.
	questions map[string]string
	// queued are his messages that wait until others have ended, queuedBytes as many bytes
	// as they have together.
	queued      []*wire.Message
	queuedBytes int

	// order is held from where a line is let through until it is written, so that what is
	// admitted first is written first. It is taken before the supervisor's mutex.
	order sync.Mutex
}

// unqueue removes the request with an id. It reports whether it was queued.
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

func (u *user) putLocked(mark byte, text []byte) {
	if u.over {
		return
	}
	line := marked(mark, text)
	if u.bytes > 0 && u.bytes+len(line) > maxUnread {
		u.over = true
		u.waiting = nil
		u.conn.Close()
		return
	}
	u.waiting = append(u.waiting, line)
	u.bytes += len(line)
	u.wakeLocked()
}

// doneLocked hangs up when all that waits was written.
func (u *user) doneLocked() {
	u.over = true
	u.wakeLocked()
}

func (u *user) wakeLocked() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// write writes what waits until there is nothing more to come.
func (u *user) write(mu *sync.Mutex) {
	defer u.conn.Close()
	for range u.wake {
		mu.Lock()
		lines := u.waiting
		over := u.over
		u.waiting = nil
		mu.Unlock()
		wrote := 0
		for _, line := range lines {
			if _, err := u.conn.Write(line); err != nil {
				return
			}
			wrote += len(line)
		}
		mu.Lock()
		u.bytes -= wrote
		mu.Unlock()
		if over {
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
		s.join(conn, false)
	}
}

// join greets a new connection and serves it; after sendEnding it closes it instead.
func (s *supervisor) join(conn net.Conn, opener bool) {
	u := &user{conn: conn, opener: opener, wake: make(chan struct{}, 1), questions: map[string]string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parted {
		conn.Close()
		return
	}
	hello := Status{Format: format, PID: os.Getpid(), Server: s.child.PID(), Since: s.since,
		Idle: s.Idle, Left: s.leftLocked(), Users: len(s.users), Opening: s.opening}
	s.lines[u] = true
	u.putLocked(markHello, jsonOf(hello))
	s.writers.Go(func() { u.write(&s.mu) })
	go s.serve(u)
}

// serve reads a user's lines until the connection ends.
func (s *supervisor) serve(u *user) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
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
			s.handOverLocked(u)
			s.mu.Unlock()
		case markKeep:
			s.mu.Lock()
			s.kept = true
			s.mu.Unlock()
		case markEnd:
			s.end("mcpc ended it")
		case markLine:
			s.pass(u, line[1:len(line)-1])
		}
	}
	s.mu.Lock()
	u.gone = true
	s.turn.Broadcast()
	s.mu.Unlock()
	<-sent
	s.leave(u)
}

// leave ends what a user began: his requests are cancelled, and what he was asked is
// answered for him.
func (s *supervisor) leave(u *user) {
	s.mu.Lock()
	last := s.dropLocked(u)
	if u.opener && !s.kept {
		s.endLocked("the command that started it exited before the session was open")
	}
	if len(s.users) == 0 && s.Idle > 0 {
		s.idle.timer.Reset(s.leftLocked())
	}
	ended := s.why != ""
	s.turn.Broadcast()
	s.mu.Unlock()
	for _, line := range last {
		if !ended {
			s.write(line)
		}
	}
}

// dropLocked forgets a user and gives what is to be said to the server in his place.
func (s *supervisor) dropLocked(u *user) (last [][]byte) {
	u.gone = true
	delete(s.lines, u)
	u.doneLocked()
	if at := slices.Index(s.users, u); at >= 0 {
		s.users = slices.Delete(s.users, at, at+1)
		s.idle.used = s.Now()
	}
	return s.abandonLocked(u)
}
