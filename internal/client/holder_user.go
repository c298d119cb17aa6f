package client

import (
	"net"
	"sync"
)

// maxUnread is how many bytes may wait for a user who does not read. One for whom
// more would wait is hung up on: the others must not wait for him.
const maxUnread = 64 << 20

// A user is somebody at a holder's socket. What stands below wake belongs to the
// holder's mutex.
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
}

func (u *user) putLocked(mark byte, text []byte) {
	if u.over {
		return
	}
	line := marked(mark, text)
	if u.bytes > 0 && u.bytes+len(line) > maxUnread {
		u.over, u.waiting = true, nil
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
func (u *user) write(mu *sync.Mutex) func() {
	return func() {
		defer u.conn.Close()
		for range u.wake {
			mu.Lock()
			lines, over := u.waiting, u.over
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
}
