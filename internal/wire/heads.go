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
	// The head begins the HTTP request: forget an earlier one with the same number.
	c.streams.Delete(h.Stream)
	c.carriers.Delete(h.Stream)
	if resumed := c.threadsByEventID.Get(h.HTTP.Field("Last-Event-ID")); resumed != nil {
		c.place(resumed, RoleResumption, ref, noItem)
		c.streams.Put(h.Stream, resumed)
		if resumed.isOpen {
			c.unanswered.add(resumed) // the end of its stream had removed it
		}
		return
	}
	if c.waitingHeads == nil || len(c.waitingHeads) > maxHeads {
		c.waitingHeads = map[int]int64{} // drops heads whose body was never sent
	}
	c.waitingHeads[h.Stream] = ref
}

// maxHeads bounds the heads that wait for a body, which may never be sent.
const maxHeads = 1000

// placeResponseHead places the head of an HTTP response with its request, and notes what its status
// says about the request.
func (c *connState) placeResponseHead(ref int64, h *Frame) {
	if c.placeCarrier(ref, h) {
		return
	}
	t := c.threadOfStream(h)
	c.place(t, RoleHead, ref, noItem)
	if h.HTTP == nil {
		return
	}
	t.isRefused = t.isSeparate && h.HTTP.Status == 405
	t.isAccepted = h.HTTP.Status == 202
	if h.HTTP.Status >= 400 { // no response will follow
		c.unanswered.remove(t)
	}
	if slices.Contains(retryStatuses, h.HTTP.Status) {
		c.noteFailure(t)
	}
}

// retryStatuses are the statuses after which clients repeat a request: an overloaded server or
// gateway, and 404, which a server reports an unknown session with.
var retryStatuses = []int{404, 408, 429, 502, 503, 504}

// noteFailure records a request that failed without a response, so that an equal request is linked
// to it.
func (c *connState) noteFailure(t *thread) {
	if t.isOpen && t.number != unlisted {
		c.failedByContent.Put(t.contentHash, t)
	}
}

// noteBookmark records the thread of an event's id, which can resume its stream, and the stream of
// HTTP+SSE.
func (c *connState) noteBookmark(frame *Frame) {
	if frame.SSE == nil {
		return
	}
	isEndpoint := frame.SSE.Event == "endpoint"
	stream := c.streams.Get(frame.Stream)
	isNew := stream == nil && frame.Stream > 0 && c.carriers.Get(frame.Stream) == nil
	if isNew && (isEndpoint || frame.SSE.ID != nil) {
		stream = c.threadOfStream(frame)
	}
	if stream == nil {
		return
	}
	if frame.SSE.ID != nil && *frame.SSE.ID != "" { // an empty id resets the stream's last id
		c.threadsByEventID.Put(*frame.SSE.ID, stream)
	}
	if isEndpoint && stream.isSeparate {
		c.sse = stream
	}
}

// placeCarrier places a frame of a POST that carried a message but no request with the message's
// exchange. It reports false if the frame does not belong to such a POST. Servers respond to these
// with a status only (2025-11-25 basic/transports, "Sending Messages to the Server").
func (c *connState) placeCarrier(ref int64, frame *Frame) bool {
	t := c.carriers.Get(frame.Stream)
	if t == nil {
		return false
	}
	c.placeCarried(t, ref)
	return true
}

// placeCarried places a frame of a POST with t, the exchange of the message that the POST carried.
// If t is a server's request, the client's request that caused it gets the frame as well.
func (c *connState) placeCarried(t *thread, ref int64) {
	c.place(t, RoleCarrier, ref, noItem)
	if t.parent != nil {
		c.place(t.parent, RoleCarrier, ref, noItem)
	}
}
