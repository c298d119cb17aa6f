package recorded

// clientFields are the header fields that mcpc writes by itself, or that are about
// one stream.
var clientFields = []string{"accept", "accept-encoding", "content-type", "last-event-id", "sec-fetch-mode", "user-agent"}
