package http1

import (
	"sync"
	"time"
)

// A pool has the idle connections of a Transport, those of each server last in, first out.
type pool struct {
	now     func() time.Time
	most    int // of each server
	timeout time.Duration

	mu sync.Mutex
	// servers are those with idle connections.
	servers map[*server]bool
	// sweeping is set while a timer runs that closes old connections.
	sweeping bool
}

// take returns an idle connection that the server has neither closed nor written to; nil where
// there is none.
func (p *pool) take(s *server) *conn {
	for {
		p.mu.Lock()
		n := len(s.idle) - 1
		if n < 0 {
			p.mu.Unlock()
			return nil
		}
		c := s.idle[n]
		s.idle[n], s.idle = nil, s.idle[:n]
		p.mu.Unlock()
		if !p.isOld(c, p.now()) && c.isQuiet() {
			return c
		}
		c.close()
	}
}

// isOld compares wall clocks, which go on while the machine sleeps.
func (p *pool) isOld(c *conn, now time.Time) bool {
	return now.Round(0).Sub(c.since.Round(0)) >= p.timeout
}

// put keeps an idle connection, or closes it where there are enough of them.
func (p *pool) put(c *conn) {
	c.since = p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(c.server.idle) >= p.most {
		c.close()
		return
	}
	c.server.idle = append(c.server.idle, c)
	p.servers[c.server] = true
	p.sweepLater()
}

// sweepLater runs under the mutex.
func (p *pool) sweepLater() {
	if !p.sweeping {
		p.sweeping = true
		time.AfterFunc(p.timeout/4, p.sweep)
	}
}

// sweep closes the connections that would be too old at the next sweep.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweeping = false
	at := p.now().Add(p.timeout / 4)
	for s := range p.servers {
		old := 0
		for old < len(s.idle) && p.isOld(s.idle[old], at) {
			s.idle[old].close()
			old++
		}
		s.idle = append(s.idle[:0], s.idle[old:]...)
		clear(s.idle[len(s.idle) : len(s.idle)+old])
		if len(s.idle) == 0 {
			delete(p.servers, s)
		}
	}
	if len(p.servers) > 0 {
		p.sweepLater()
	}
}

func (p *pool) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.servers {
		for _, c := range s.idle {
			c.close()
		}
		s.idle = nil
	}
	clear(p.servers)
}
