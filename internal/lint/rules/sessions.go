package rules

import (
	"bytes"
	"math/big"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/recent"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

var sessionChecks = []Check{
	{ID: "L088", Kind: conv.OnResult, Methods: []string{"initialize"}, When: hasSession, Do: func(e *conv.Event) {
		id := e.Stream.Response.Field("Mcp-Session-Id")
		if strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) {
			findHeader(e, sessionField(e, id), "characters from ! to ~")
		}
	}},
	{ID: "L089", Kind: conv.OnResult, Methods: []string{"initialize"}, When: hasSession, Do: checkPredictable},
	{
		ID:   "L096",
		Kind: conv.OnReply,
		When: func(e *conv.Event) bool { return e.Stream.IsGet() && !isResumed(e.Stream) },
		Do: func(e *conv.Event) {
			e.FindMessage("GET stream", "a response: "+e.Show(e.Message.Raw), "requests and notifications only")
		},
	},
	{
		ID:   "L097",
		Kind: conv.OnMessage,
		When: func(e *conv.Event) bool { return e.Stream.Session() != "" && !isResumed(e.Stream) },
		Do:   checkDuplicate,
	},
	{ID: "L098", Kind: conv.OnEvent, When: func(e *conv.Event) bool {
		return e.Frame.SSE != nil && e.Frame.SSE.ID != nil && *e.Frame.SSE.ID != "" && e.Stream.Session() != "" &&
			!isResumed(e.Stream)
	}, Do: func(e *conv.Event) {
		seen := conv.State[recent.Map[string, int]](e.Conversation, "event ids")
		key := e.Stream.Session() + " " + *e.Frame.SSE.ID
		if _, again := seen.Lookup(key); again {
			e.FindMessage("event", "id "+*e.Frame.SSE.ID+" again", "an id of its own for each event")
		}
		seen.Put(key, e.Stream.Number)
	}},
	{ID: "L099", Kind: conv.OnEvent, When: func(e *conv.Event) bool {
		return e.Stream.Events == 1 && e.Stream.Sent == wire.Request && e.Frame.SSE != nil && e.Frame.SSE.ID != nil
	}, Do: func(e *conv.Event) {
		if len(bytes.Trim(e.Frame.Raw, jsonraw.WhiteSpace)) > 0 {
			e.FindMessage("event stream", "an event with data first", "an event with an id and no data first")
		}
	}},
	{ID: "L100", Kind: conv.OnClose, When: isServerClose, Do: func(e *conv.Event) {
		if e.Stream.Open > 0 && !e.Stream.HasRetry {
			e.FindMessage("event stream", "closed without the response and without retry", "an event with retry before the end")
		}
	}},
	{ID: "L102", Kind: conv.OnClose, When: isServerClose, Do: func(e *conv.Event) {
		if e.Stream.Open > 0 {
			e.FindMessage("event stream", "closed without the response", "the response")
		}
	}},
	{ID: "L103", Kind: conv.OnEvent, When: isEndpointEvent, Do: func(e *conv.Event) {
		if e.Stream.Events > 1 {
			e.FindMessage("event stream", "endpoint as event "+strconv.Itoa(e.Stream.Events), "endpoint first")
		}
	}},
	{ID: "L104", Kind: conv.OnEvent, When: isEndpointEvent, Do: checkEndpointURL},
	{ID: "L105", Kind: conv.OnEvent, When: isEndpointEvent, Do: func(e *conv.Event) {
		e.FindMessage("transport", "HTTP+SSE", "Streamable HTTP")
	}},
}

// isResumed reports whether a stream continues another stream.
func isResumed(s *conv.Stream) bool { return s != nil && s.Request.Field("Last-Event-ID") != "" }

// hasSession reports whether the response has a session id. It is false if the id is hidden in the
// recording.
func hasSession(e *conv.Event) bool {
	if !hasHTTPResponse(e) {
		return false
	}
	id := e.Stream.Response.Field("Mcp-Session-Id")
	return id != "" && len(redact.HiddenIn(id)) == 0
}

const (
	minSessionID  = 16
	sessionPrefix = "Mcp-Session-Id: "
)

// sessionField returns the header field of a session id for a finding. The id is a secret: it is
// redacted if the event hides secrets.
func sessionField(e *conv.Event, id string) string {
	if e.Hide != nil {
		id = redact.Redacted(id)
	}
	return sessionPrefix + id
}

// checkPredictable reports session ids that are short, or can be guessed.
func checkPredictable(e *conv.Event) {
	id := e.Stream.Response.Field("Mcp-Session-Id")
	before := conv.State[string](e.Conversation, "session id")
	switch {
	case len(id) < minSessionID:
		findHeader(e, sessionField(e, id), "at least "+strconv.Itoa(minSessionID)+" characters")
	case strings.Trim(id, "0123456789") == "":
		findHeader(e, sessionField(e, id), "more than digits")
	case areConsecutive(*before, id):
		findHeader(e, sessionField(e, id)+" after "+strings.TrimPrefix(sessionField(e, *before), sessionPrefix),
			"ids that cannot be guessed")
	}
	*before = id
}

// areConsecutive reports whether two ids differ only at their end, by a small number.
func areConsecutive(a, b string) bool {
	if len(a) != len(b) || a == b {
		return false
	}
	common := 0
	for common < len(a) && a[common] == b[common] {
		common++
	}
	for common > 0 && a[common-1] >= '0' && a[common-1] <= '9' { // the whole number at the end, not its last digits
		common--
	}
	x, isHexA := new(big.Int).SetString(a[common:], 16)
	y, isHexB := new(big.Int).SetString(b[common:], 16)
	return isHexA && isHexB && new(big.Int).Abs(x.Sub(x, y)).Cmp(big.NewInt(16)) < 0
}

// maxDuplicateDelay is the time within which equal messages on two streams are one message sent
// twice.
const maxDuplicateDelay = 2 * time.Second

// A sighting is the stream and time of a message.
type sighting struct {
	stream int
	time   time.Time
}

// checkDuplicate reports a message that was sent on two streams. It ignores log messages and
// progress, which may be equal by chance.
func checkDuplicate(e *conv.Event) {
	m := e.Message
	mayRepeat := isOneOf(m.Method, "notifications/message", "notifications/progress")
	if m.Kind == wire.Invalid || m.Kind == wire.Notification && mayRepeat {
		return
	}
	seen := conv.State[recent.Map[uint64, sighting]](e.Conversation, "messages of streams")
	key := conv.Sum(e.Stream.Session(), m.Raw)
	before, isSeen := seen.Lookup(key)
	isDuplicate := isSeen && before.stream != e.Stream.Number && e.Frame.Time.Sub(before.time) < maxDuplicateDelay
	isResponse := m.Kind != wire.Request && m.Kind != wire.Notification
	mayBeChance := isResponse && !e.Stream.IsGet() // two POSTs with the same id have equal responses
	if isDuplicate && !mayBeChance {
		e.FindMessage("message", "on two streams: "+e.Show(m.Raw), "on one stream")
	}
	seen.Put(key, sighting{e.Stream.Number, e.Frame.Time})
}

// isServerClose reports whether the server ended the event stream of a request in order, so that
// the connection was not merely lost.
func isServerClose(e *conv.Event) bool {
	end := e.Frame.Close
	isServerEnd := end != nil && end.By == wire.Received && end.How == "end"
	return isServerEnd && e.Stream.IsEventStream() && e.Stream.Sent == wire.Request
}

func isEndpointEvent(e *conv.Event) bool {
	return e.Frame.SSE != nil && e.Frame.SSE.Event == "endpoint"
}

func checkEndpointURL(e *conv.Event) {
	if e.Stream.Request == nil {
		return
	}
	base, err := url.Parse(e.Stream.Request.URL)
	if err != nil || base.Host == "" {
		return
	}
	u, err := base.Parse(string(e.Frame.Raw))
	if err != nil {
		e.FindMessage("endpoint", e.Show(e.Frame.Raw), "a URL")
		return
	}
	ip, err := netip.ParseAddr(u.Hostname())
	isUnspecified := err == nil && ip.IsUnspecified() // 0.0.0.0 reaches no other machine
	if isUnspecified || base.Scheme != u.Scheme || !strings.EqualFold(base.Host, u.Host) {
		e.FindMessage("endpoint", u.String(), "a URL of "+base.Scheme+"://"+base.Host)
	}
}
