package liveview

import (
	"context"
	"sync"

	"mcpc/internal/live/view"
)

// changes counts what has changed and is in no recording: questions, marks, held messages. Views see
// their number added to that of the store's changes.
type changes struct {
	mu     sync.Mutex
	number uint64
	next   chan struct{} // closed at the next one
}

func newChanges() *changes { return &changes{next: make(chan struct{})} }

// raise counts a change.
func (c *changes) raise() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	close(c.next)
	c.next = make(chan struct{})
}

func (c *changes) now() (number uint64, next <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number, c.next
}

// Status is that of the store, and what waits for the user.
func (v *View) Status() view.Status {
	n, _ := v.now()
	s := v.Views.Status()
	s.Seq += n
	return s
}

// Wait waits until there is a change after one, and returns the number of the last.
func (v *View) Wait(ctx context.Context, after uint64) uint64 {
	for {
		n, next := v.now()
		if seq := v.store.Seq() + n; seq > after || ctx.Err() != nil {
			return seq
		}
		sub, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-next:
				cancel()
			case <-sub.Done():
			}
		}()
		v.store.Wait(sub, after-min(n, after))
		cancel()
	}
}

// Rows is a part of the rows of a query.
func (v *View) Rows(ctx context.Context, q view.Query) (view.Page, error) {
	n, _ := v.now()
	page, err := v.Views.Rows(ctx, q)
	page.Seq += n
	return page, err
}

// Talk is Rows with the lines of each block.
func (v *View) Talk(ctx context.Context, q view.Query) ([]view.Block, view.Page, error) {
	n, _ := v.now()
	blocks, page, err := v.Views.Talk(ctx, q)
	page.Seq += n
	return blocks, page, err
}
