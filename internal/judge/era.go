package judge

import (
	"mcpc/internal/mcpserver/bridge"
)

// Any is the name of the server that offers all revisions.
const Any = "any"

// Revisions returns the names of the servers to judge a client with: Any, and each revision with a
// handshake, the newest first.
func Revisions() []string { return append([]string{Any}, bridge.LegacyRevisions...) }

// eras returns the eras that a server offers. Only Any has the era without a handshake.
func eras(name string) bridge.Eras {
	if name == Any {
		return bridge.BothEras
	}
	return bridge.LegacyOnly
}

// negotiate returns the revision for a client that requests one in its handshake.
func (s *Server) negotiate(requested string) string {
	if s.Revision == Any {
		return bridge.NegotiateRevision(requested)
	}
	return s.Revision
}

// servesSSE reports whether the server also has the transport HTTP+SSE, which belongs to the oldest
// revision.
func (s *Server) servesSSE() bool {
	return s.Revision == bridge.LegacyRevisions[len(bridge.LegacyRevisions)-1]
}

// hasURLMode reports whether a revision has elicitation with a URL.
func hasURLMode(revision string) bool { return revision >= bridge.LegacyRevisions[0] }
