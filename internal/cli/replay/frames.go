package replay

import (
	"slices"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/wire"
)

// maxFrames limits the bytes of the frames that are collected for one request.
const maxFrames = 256 << 20

// frameCollector collects the frames of running requests, without their secrets.
type frameCollector struct {
	mu sync.Mutex
	// sizes maps the frames since the start of each running request to their size in bytes.
	sizes map[*[]wire.Frame]int
}

// watchFrames starts to collect frames, in addition to the present watcher.
func watchFrames(f *cmdutil.Factory) *frameCollector {
	collector := &frameCollector{sizes: map[*[]wire.Frame]int{}}
	shown := f.Watch.Load()
	tap := wire.Tap(func(frame wire.Frame) {
		if shown != nil {
			(*shown)(frame)
		}
		collector.add(frame)
	})
	f.Watch.Store(&tap)
	return collector
}

// add appends a frame to each running request, up to maxFrames.
func (c *frameCollector) add(frame wire.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for list, size := range c.sizes {
		size += len(frame.Raw)
		if size <= maxFrames { // frames beyond it are left out, not an error
			*list = append(*list, frame)
			c.sizes[list] = size
		}
	}
}

// collect collects frames for one request until end is called. findExchange returns the exchange of
// the request with the method and id among the frames so far, or nil. If the client sent the request
// again with other ids, as after input, id may be any of them.
func (c *frameCollector) collect() (findExchange func(method string, id []byte) *wire.Exchange, end func()) {
	list := &[]wire.Frame{}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sizes[list] = 0
	end = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sizes, list)
	}
	return func(method string, id []byte) *wire.Exchange {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, x := range wire.GroupFrames(*list) {
			if x.IsFromServer() || x.Request.Raw == nil || wire.ParseMessage(x.Request.Raw).Method != method {
				continue
			}
			if slices.ContainsFunc(append([]wire.Frame{x.Request}, x.OtherMessages...), func(f wire.Frame) bool {
				return f.Dir == wire.Sent && string(wire.ParseMessage(f.Raw).ID) == string(id)
			}) {
				return x
			}
		}
		return nil
	}, end
}
