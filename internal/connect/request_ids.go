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

	mu        sync.Mutex
	nextFree  int64
	blockEnd  int64
	blockSize int // of the last block
}

// reserveBlock reserves the next block: first one id, so that ids of single requests are
// consecutive, then 8, then twice as many each time.
func (b *requestIDs) reserveBlock() error {
	n := 1
	if b.blockEnd > 0 {
		n = min(max(8, 2*b.blockSize), maxBlock)
	}
	first, err := b.store.Reserve(b.ctx, b.session, n)
	if err == nil {
		b.nextFree = first
		b.blockEnd = first + int64(n)
		b.blockSize = n
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
	if b.nextFree == b.blockEnd {
		if err := b.reserveBlock(); err != nil {
			b.warn("request ids could not be reserved: " + err.Error())
			b.blockEnd++ // the block grows by this id: the next call tries to reserve again
		}
	}
	id := b.nextFree
	b.nextFree++
	return id
}
