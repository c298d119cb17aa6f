package har

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/compress"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// isOpening reports whether the request opens a conversation.
func isOpening(sent []byte) bool { return mcp.IsOpening(wire.ParseMessage(sent).Method) }

// connOf returns the number of the conversation of an entry. A conversation is with one server in
// one session. If the server refused to open it, the next attempt belongs to the same conversation.
func (r *run) connOf(e *readEntry, sent, received []byte) int {
	server := e.Request.URL
	if u, err := url.Parse(server); err == nil {
		server = u.Scheme + "://" + u.Host
	}
	key := server
	for _, f := range slices.Concat(e.Request.Headers, e.Response.Headers) {
		if strings.EqualFold(f.Name, "mcp-session-id") {
			key += " " + f.Value
			break
		}
	}
	opens := isOpening(sent)
	if refused := r.refused[server]; refused != 0 && opens {
		r.conns[key] = refused
	} else if r.conns[key] == 0 || opens {
		r.lastConn++
		r.conns[key] = r.lastConn
	}
	// Only the next attempt continues the conversation.
	delete(r.refused, server)
	if opens && (e.Response.Status >= http.StatusBadRequest || wire.ParseMessage(received).Error != nil) {
		r.refused[server] = r.conns[key]
	}
	return r.conns[key]
}

// repeatedID returns the id of the request that an entry sends again, after an earlier entry of the
// same exchange; "" if no earlier entry is known. It remembers the id of this one.
func (r *run) repeatedID(e *readEntry, sent []byte) string {
	m := wire.ParseMessage(sent)
	if e.Facts == nil || e.Facts.Exchange == "" || m.Kind != wire.Request {
		return ""
	}
	previous := r.requestIDs[e.Facts.Exchange]
	if len(r.requestIDs) < maxNoted {
		r.requestIDs[e.Facts.Exchange] = string(m.ID)
	}
	return previous
}

// responseTimes returns when the response began and ended. Without timings both are the end of the
// entry.
func (e *readEntry) responseTimes() (head, end time.Time) {
	t := e.Timings
	if (t == timings{}) {
		t.Wait = e.Time
	}
	wait := max(t.Blocked, 0) + max(t.DNS, 0) + max(t.Connect, 0) + max(t.Send, 0) + max(t.Wait, 0)
	head = e.Started.Add(duration(wait))
	return head, head.Add(duration(max(t.Receive, 0)))
}

// duration converts milliseconds. It bounds the value, which a file may choose.
func duration(milliseconds float64) time.Duration {
	return time.Duration(min(milliseconds, 1e10) * float64(time.Millisecond))
}

// eventsOf returns the frames of a stream, from its text or else from the browser's list of events.
// The text has no times: its events get the times of the list, in order, or else the end of the
// response.
func eventsOf(e *readEntry, received []byte, head, end time.Time) []wire.Frame {
	var frames []wire.Frame
	if len(received) == 0 {
		for _, v := range e.Events {
			facts := &sse.Facts{Event: strings.TrimSuffix(v.Name, "message")}
			if v.ID != "" {
				facts.ID = &v.ID
			}
			frames = append(frames, wire.Frame{Kind: wire.Event, Raw: []byte(v.Data), SSE: facts, Time: v.at(head)})
		}
		return frames
	}
	times := e.Events
	in := sse.NewReader(bytes.NewReader(received), 0)
	for {
		v, err := in.Next()
		if len(v.Dropped) > 0 {
			frames = append(frames, wire.Frame{Kind: wire.Noise, Raw: v.Dropped, Time: end})
		}
		if v.IsEvent() {
			f := wire.Frame{Kind: wire.Event, SSE: &v.Facts, Time: end}
			if v.HasData {
				f.Raw = v.Data
			}
			if len(times) > 0 && !v.IsComment {
				f.Time = times[0].at(head)
				times = times[1:]
			}
			frames = append(frames, f)
		}
		if err != nil {
			return frames
		}
	}
}

// at returns when an event was received. An event without a time gets the time when the response
// began.
func (v event) at(head time.Time) time.Time {
	if v.Time <= 0 || v.Time > 1e11 {
		return head
	}
	return time.UnixMicro(int64(v.Time * 1e6)).UTC()
}

// removeSeen removes the lines that an earlier entry had: a notification that may belong to a
// request is in the request's entry too.
func (r *run) removeSeen(lines [][]byte) [][]byte {
	return slices.DeleteFunc(lines, func(line []byte) bool {
		sum := sha256.Sum256(line)
		seen := r.notificationCounts[sum] > 0
		if seen {
			r.notificationCounts[sum]--
		}
		return seen
	})
}

// noteNotifications remembers the notifications among the lines of an entry, for removeSeen.
func (r *run) noteNotifications(lines [][]byte) {
	for _, line := range lines {
		if len(r.notificationCounts) < maxNoted && wire.ParseMessage(line).Kind == wire.Notification {
			r.notificationCounts[sha256.Sum256(line)]++
		}
	}
}

// maxNoted bounds the lines and requests that are remembered of a run.
const maxNoted = 100_000

// writeStdio writes the lines of one exchange over stdio. The archive does not have their order:
// the request is written first, its response last. If the server sent the request, all received
// lines come before the client's response.
func (x *importer) writeStdio(r *run, e *readEntry, sent, received [][]byte) error {
	if e.Facts != nil && e.Facts.Method != rows.MethodPipe {
		r.noteNotifications(received)
	}
	head, end := e.responseTimes()
	first := min(1, len(sent))
	last := max(len(received)-1, 0)
	if len(sent) > 0 && wire.ParseMessage(sent[0]).Kind == wire.Response { // the server sent the request
		first = 0
		last = len(received)
	}
	for _, part := range []struct {
		dir   wire.Direction
		time  time.Time
		lines [][]byte
	}{
		{wire.Sent, e.Started, sent[:first]},
		{wire.Received, head, received[:last]},
		{wire.Sent, head, sent[first:]},
		{wire.Received, end, received[last:]},
	} {
		for _, line := range part.lines {
			frame := wire.Frame{Dir: part.dir, Kind: wire.Body, Time: part.time, Raw: line}
			if err := x.writeFrame(r, frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// linesOf returns the messages in the text of an entry over stdio, one in each line.
func linesOf(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	if jsonraw.Valid(text) == nil { // one message, perhaps with line feeds in it
		return [][]byte{text}
	}
	return bytes.Split(text, []byte("\n"))
}

// magicCodings are the codings that the first bytes of a body identify.
var magicCodings = []struct{ coding, begin string }{{"gzip", "\x1F\x8B\x08"}, {"zstd", "\x28\xB5\x2F\xFD"}}

// bodyOf returns the decoded body of a request or response. Most programs write it decoded; some
// write it in base64 as it was sent, with the codings of its header fields or of its first bytes.
// unread says why it cannot be decoded; raw is nil then.
func bodyOf(text, encoding string, fields []pair) (raw []byte, unread error) {
	raw = decodeText(text, encoding)
	if encoding != "base64" || jsonraw.ValidUTF8(raw) {
		return raw, nil
	}
	var codings []string
	for _, f := range fields {
		if strings.EqualFold(f.Name, "Content-Encoding") {
			codings = append(codings, compress.Split(f.Value)...)
		}
	}
	for _, magic := range magicCodings {
		if len(codings) == 0 && bytes.HasPrefix(raw, []byte(magic.begin)) {
			codings = []string{magic.coding}
		}
	}
	plain, err := compress.Decode(raw, codings, maxPartBytes)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxPartBytes {
		return nil, errLargeBody
	}
	return plain, nil
}

// decodeText returns the bytes of a text in an archive. A text that is not base64, as declared, stays as it is.
func decodeText(text, encoding string) []byte {
	if encoding == "base64" {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			return raw
		}
	}
	return []byte(text)
}

// fieldsOf returns the header fields of an entry.
func fieldsOf(pairs []pair) []wire.Field {
	fields := make([]wire.Field, 0, len(pairs))
	for _, p := range pairs {
		if !strings.HasPrefix(p.Name, ":") { // of HTTP/2, which the URL says as well
			fields = append(fields, wire.Field(p))
		}
	}
	return fields
}
