package connect

import (
	"context"
	"sync"

	"mcpc/internal/state"
)

// requestIDs hands out the request ids of a remembered session. They are reserved
// in blocks, so that many processes share a session and reuse no id, and a
// command that sends a few requests writes to the disk once.
type requestIDs struct {
	ctx     context.Context
	store   *state.Store
	session state.Session
	warn    func(string)

	mu   sync.Mutex
	free int64
	end  int64
	size int // of the last block
}

// refill takes one id first, so that the ids of a lesson count up one by one,
// then a few, and more each time: a command with a million requests must not
// write to the disk for each of them.
func (b *requestIDs) refill() error {
	n := 1
	if b.end > 0 {
		n = min(max(8, 2*b.size), mostIDs)
	}
	first, err := b.store.Reserve(b.ctx, b.session, n)
	if err == nil {
		b.free = first
		b.end = first + int64(n)
		b.size = n
	}
	return err
}

// mostIDs is how many are taken at once.
const mostIDs = 4096

// next gives an id. Where no block can be had in the middle of a command, it
// counts on: that is one step behind the last block, and says so.
func (b *requestIDs) next() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free == b.end {
		if err := b.refill(); err != nil {
			b.warn("request ids could not be reserved: " + err.Error())
			b.end++
		}
	}
	id := b.free
	b.free++
	return id
}
