package replay

import (
	"slices"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/wire"
)

// mostFrames bounds the bytes of the frames that are kept for one request.
const mostFrames = 256 << 20

// frames are those that cross while requests are under way, without their secrets.
type frames struct {
	mu sync.Mutex
	// under way are the frames since each request began.
	underWay map[*[]wire.Frame]int
}

// watch gathers frames from the next one on, beside what shows them.
func watch(f *cmdutil.Factory) *frames {
	all := &frames{underWay: map[*[]wire.Frame]int{}}
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

func (all *frames) add(frame wire.Frame) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for list, bytes := range all.underWay {
		bytes += len(frame.Raw)
		if bytes <= mostFrames {
			*list = append(*list, frame)
			all.underWay[list] = bytes
		}
	}
}

// begin gathers for one request until end. gathered gives the exchange with a request of that
// method and id, nil where there is none.
func (all *frames) begin() (gathered func(method string, id []byte) *wire.Exchange, end func()) {
	list := &[]wire.Frame{}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.underWay[list] = 0
	end = func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		delete(all.underWay, list)
	}
	return func(method string, id []byte) *wire.Exchange {
		all.mu.Lock()
		defer all.mu.Unlock()
		for _, x := range wire.Fold(*list) {
			if x.ByServer() || x.Request.Raw == nil || wire.ParseMessage(x.Request.Raw).Method != method {
				continue
			}
			if slices.ContainsFunc(append([]wire.Frame{x.Request}, x.Between...), func(f wire.Frame) bool {
				return f.Dir == wire.Sent && string(wire.ParseMessage(f.Raw).ID) == string(id)
			}) {
				return x
			}
		}
		return nil
	}, end
}
