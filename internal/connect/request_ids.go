package connect

import (
	"context"
	"sync"

	"mcpc/internal/state"
)

// requestIDs hand out the request ids of a remembered session. Ids are reserved in blocks:
// processes that share the session never use the same id, and a command of a few requests writes to
// the disk once.
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

// refill reserves the next block: first one id, so that ids of single requests are consecutive,
// then 8, then twice as many each time.
func (b *requestIDs) refill() error {
	n := 1
	if b.end > 0 {
		n = min(max(8, 2*b.size), maxBlock)
	}
	first, err := b.store.Reserve(b.ctx, b.session, n)
	if err == nil {
		b.free = first
		b.end = first + int64(n)
		b.size = n
	}
	return err
}

// maxBlock limits the size of a block.
const maxBlock = 4096

// next returns an id. If no block can be reserved in the middle of a command, it warns and uses the
// id after the last block.
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
