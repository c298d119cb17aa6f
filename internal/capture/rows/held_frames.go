package rows

import "mcpc/internal/wire"

// A heldFrame is a head whose body is still to come, or what came on a stream before its
// first message. It has not its bytes, but their number.
type heldFrame struct {
	line  span
	frame *wire.Frame
	size  int
}

// heldFrames are the frames that may have a place with one that is still to come.
type heldFrames struct {
	// by has them by where they stand.
	by map[int64]heldFrame
	// free are frames that were held, to be used again.
	free []*wire.Frame
}

// hold keeps a frame that may have a place with a later one.
func (h *heldFrames) hold(f *wire.Frame, at span, size int) {
	if len(h.by) > mostHeads {
		clear(h.by)
	}
	if len(h.free) == 0 {
		h.free = append(h.free, &wire.Frame{})
	}
	last := len(h.free) - 1
	bare := h.free[last]
	h.free = h.free[:last]
	*bare = *f // whose memory is used again
	bare.Raw = nil
	h.by[at.at] = heldFrame{at, bare, size}
}

// letGo forgets frames that had a place with the one at a line: mostly the head of its request.
func (h *heldFrames) letGo(places []wire.Place, at span) {
	for _, place := range places {
		if place.Ref == at.at {
			continue
		}
		if was, there := h.by[place.Ref]; there {
			delete(h.by, place.Ref)
			h.free = append(h.free, was.frame)
		}
	}
}
