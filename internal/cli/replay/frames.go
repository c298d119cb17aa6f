package replay

import (
	"slices"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/wire"
)

// maxFrames limits the bytes of the frames that are collected for one request.
const maxFrames = 256 << 20

// frames collects the frames of running requests, without their secrets.
type frames struct {
	mu sync.Mutex
	// running maps the frames since the start of each running request to their size in bytes.
	running map[*[]wire.Frame]int
}

// watch starts to collect frames, in addition to the present watcher.
func watch(f *cmdutil.Factory) *frames {
	all := &frames{running: map[*[]wire.Frame]int{}}
	shown := f.Watch.Load()
	tap := wire.Tap(func(frame wire.Frame) {
		if shown != nil {
			(*shown)(frame)
		}
		all.add(frame)
	})
	f.Watch.Store(&tap)
	return all
}

// add appends a frame to each running request, up to maxFrames.
func (all *frames) add(frame wire.Frame) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for list, bytes := range all.running {
		bytes += len(frame.Raw)
		if bytes <= maxFrames {
			*list = append(*list, frame)
			all.running[list] = bytes
		}
	}
}

// collect collects frames for one request until end is called. gathered returns the exchange of the
// request with the method and id, or nil.
func (all *frames) collect() (gathered func(method string, id []byte) *wire.Exchange, end func()) {
	list := &[]wire.Frame{}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.running[list] = 0
	end = func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		delete(all.running, list)
	}
	return func(method string, id []byte) *wire.Exchange {
		all.mu.Lock()
		defer all.mu.Unlock()
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
