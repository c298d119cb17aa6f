package wire

import (
	"slices"
)

// placeHead places an HTTP head: a request's head with the message that follows it, a response's
// head with its request. A GET with a Last-Event-ID resumes the stream of that event (2025-11-25
// basic/transports, "Resumability").
func (c *connState) placeHead(ref int64, h *Frame) {
	if h.Dir == Received {
		c.placeResponseHead(ref, h)
		return
	}
	c.streams.Delete(h.Stream)
	c.carriers.Delete(h.Stream)
	if t := c.threadsByEventID.Get(h.HTTP.Field("Last-Event-ID")); t != nil {
		c.place(t, RoleResumption, ref, -1)
		c.streams.Put(h.Stream, t)
		if t.isOpen {
			c.unanswered.add(t)
		}
		return
	}
	if c.waitingHeads == nil || len(c.waitingHeads) > maxHeads {
		c.waitingHeads = map[int]int64{}
	}
	c.waitingHeads[h.Stream] = ref
}

// maxHeads bounds the heads that wait for a body, which may never be sent.
const maxHeads = 1000

func (c *connState) placeResponseHead(ref int64, h *Frame) {
	if c.placeCarrier(ref, h) {
		return
	}
	t := c.threadOfStream(h)
	c.place(t, RoleHead, ref, -1)
	if h.HTTP == nil {
		return
	}
	t.isRefused = t.isSeparate && h.HTTP.Status == 405
	t.isAccepted = h.HTTP.Status == 202
	if h.HTTP.Status >= 400 {
		c.unanswered.remove(t)
	}
	if slices.Contains(retryStatuses, h.HTTP.Status) {
		c.noteFailure(t)
	}
}

// retryStatuses are the statuses after which clients repeat a request: an overloaded server or
// gateway, and 404, by which a server reports an unknown session.
var retryStatuses = []int{404, 408, 429, 502, 503, 504}

// noteFailure records a request that failed without a response, so that an equal request is linked
// to it.
func (c *connState) noteFailure(t *thread) {
	if t.isOpen && t.number != unlisted {
		c.failedByContent.Put(t.contentHash, t)
	}
}

// noteBookmark records the thread of an event's id, with which its stream can be resumed, and the
// stream of HTTP+SSE.
func (c *connState) noteBookmark(frame *Frame) {
	if frame.SSE == nil {
		return
	}
	endpoint := frame.SSE.Event == "endpoint"
	t := c.streams.Get(frame.Stream)
	if t == nil && frame.Stream > 0 && (endpoint || frame.SSE.ID != nil) && c.carriers.Get(frame.Stream) == nil {
		t = c.threadOfStream(frame)
	}
	if t != nil && frame.SSE.ID != nil && *frame.SSE.ID != "" {
		c.threadsByEventID.Put(*frame.SSE.ID, t)
	}
	if endpoint && t != nil && t.isSeparate {
		c.sse = t
	}
}

// placeCarrier places a frame that is not a message in an HTTP request without a JSON-RPC request,
// and reports whether it did. Servers respond to these with a status only (2025-11-25
// basic/transports, "Sending Messages to the Server").
func (c *connState) placeCarrier(ref int64, frame *Frame) bool {
	t := c.carriers.Get(frame.Stream)
	if t == nil {
		return false
	}
	c.placeCarried(t, ref)
	return true
}

func (c *connState) placeCarried(t *thread, ref int64) {
	c.place(t, RoleCarrier, ref, -1)
	if t.parent != nil {
		c.place(t.parent, RoleCarrier, ref, -1)
	}
}
