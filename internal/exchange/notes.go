package exchange

import (
	"strconv"
	"strings"

	"mcpc/internal/wire"
)

// Notes count what belongs to an exchange beside its request and response.
type Notes struct {
	// Notifications are the server's.
	Notifications int
	// Questions are what the server asked meanwhile, by requests of its own or in results that require input.
	Questions int
	// Guessed are notifications and questions that may belong to another request as well.
	Guessed int
	// Retries are the requests that were sent again.
	Retries int
	// Resumed are the streams that were taken up again.
	Resumed int
	// Rounds are the requests after the first that continue it.
	Rounds int
	// Cuts are the streams that broke.
	Cuts int
}

// String returns the counts as a person reads them: "2 notifications, 1 retry"; "" if there are none.
func (n Notes) String() string {
	var parts []string
	for _, note := range []struct {
		count     int
		one, many string
	}{
		{n.Notifications, "notification", "notifications"},
		{n.Questions, "server request", "server requests"},
		{n.Guessed, "message assigned by guess", "messages assigned by guess"},
		{n.Rounds, "further round", "further rounds"},
		{n.Retries, "retry", "retries"},
		{n.Cuts, "connection error", "connection errors"},
		{n.Resumed, "resume attempt", "resume attempts"},
	} {
		switch {
		case note.count == 1:
			parts = append(parts, "1 "+note.one)
		case note.count > 1:
			parts = append(parts, strconv.Itoa(note.count)+" "+note.many)
		}
	}
	return strings.Join(parts, ", ")
}

// Kinds is a set of wire.FrameKind.
type Kinds uint8

// With returns the set with k added.
func (s Kinds) With(k wire.FrameKind) Kinds { return s | 1<<k }

// Has reports whether k is in the set.
func (s Kinds) Has(k wire.FrameKind) bool { return s&(1<<k) != 0 }
