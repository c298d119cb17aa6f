package wire

import (
	"bytes"
	"hash/maphash"

	"mcpc/internal/jsonraw"
)

// Traits are the properties of a message that determine its exchange.
type Traits struct {
	Kind   MessageKind
	Method string
	// Name is the JSON of a request's name or URI, or "".
	Name string
	// IsReply is set for a result or an error without a method, even if Kind is Invalid.
	IsReply bool
	// ID is the key of the id, or "".
	ID string
	// LacksID is set for a reply without an id.
	LacksID bool
	// ProgressToken is the progress token in a request, ReportedToken the token in a notification.
	ProgressToken, ReportedToken string
	// CancelledID is the id of the request that a notification cancels.
	CancelledID string
	// SubscriptionID is the id of the request that subscribed to a notification (2026-07-28
	// basic/utilities/subscriptions).
	SubscriptionID string
	// RequestState is the requestState of a result or of the request that continues it.
	RequestState string
	// HasInputResponses is set for a request with inputResponses, RequiresInput for a result that
	// requires input.
	HasInputResponses, RequiresInput bool
	// IsBlank is set for a message that consists of white space.
	IsBlank bool
	// BytesHash is equal for requests with the same bytes. ContentHash is equal for requests with the
	// same method and params, whatever their ids and progress tokens.
	BytesHash, ContentHash uint64
	// Items are the messages of a batch.
	Items []Traits
}

var sumSeed = maphash.MakeSeed()

// Traits returns the properties of a message that determine its exchange.
func (m *Message) Traits() Traits {
	t := Traits{Kind: m.Kind, Method: m.Method, IsReply: m.reply, LacksID: m.lacksRequestID()}
	if m.ID != nil {
		t.ID = idKey(m.ID)
	}
	switch {
	case m.Kind == Batch:
		for _, item := range m.Items {
			t.Items = append(t.Items, item.Traits())
		}
	case m.Kind == Request:
		t.BytesHash = maphash.Bytes(sumSeed, m.Raw)
		t.readRequest(m)
	case m.Method == "notifications/progress":
		t.ReportedToken = keyAt(m.Params, "progressToken")
	case m.Method == "notifications/cancelled":
		t.CancelledID = keyAt(m.Params, "requestId")
	case m.RequiresInput():
		t.RequiresInput = true
		t.RequestState = string(valueAt(m.Result, "requestState"))
	}
	if m.Kind == Notification {
		t.SubscriptionID = keyAt(m.Params, "_meta", "io.modelcontextprotocol/subscriptionId")
	}
	if m.Kind == Invalid {
		t.IsBlank = len(bytes.Trim(m.Raw, jsonraw.WhiteSpace)) == 0
	}
	return t
}

// readRequest sets the traits that the params of a request determine. It reads the params only once;
// of duplicate members the first counts.
func (t *Traits) readRequest(m *Message) {
	var token, name, uri, state, answers []byte
	hasMeta := false
	read := func(memberName string, value []byte) {
		switch {
		case memberName == "_meta" && !hasMeta:
			hasMeta = true
			if mayName(value, "progressToken") {
				token = jsonraw.First(value, "progressToken")
			}
		case memberName == "name" && name == nil:
			name = value
		case memberName == "uri" && uri == nil:
			uri = value
		case memberName == "requestState" && state == nil:
			state = value
		case memberName == "inputResponses":
			answers = value
		}
	}
	if m.index.IsComplete && m.Params != nil {
		for _, member := range m.index.Members {
			read(member.Name, member.Value)
		}
	} else {
		_ = jsonraw.EachMember(m.Params, func(_ int, memberName string, from, to int) bool {
			read(memberName, m.Params[from:to:to])
			return true
		})
	}
	if token != nil {
		t.ProgressToken = idKey(token)
	}
	t.Name = string(name)
	if name == nil {
		t.Name = string(uri)
	}
	t.RequestState = string(state)
	t.HasInputResponses = answers != nil
	t.ContentHash = hashContent(m, token)
}

// mayName reports whether an object may have a member with a name, which may be escaped. It is
// faster than reading the object.
func mayName(object []byte, name string) bool {
	return bytes.Contains(object, []byte(name)) || bytes.IndexByte(object, '\\') >= 0
}

// hashContent returns the hash of a request's method and params without its progress token, which
// clients change in each attempt. token is the token's JSON in the params, or nil.
func hashContent(m *Message, token []byte) uint64 {
	before := []byte(m.Params)
	after := []byte(nil)
	if token != nil {
		var buffer [64]byte
		before, after, _ = bytes.Cut(before, append(append(buffer[:0], `"progressToken":`...), token...))
	}
	// The factors make the order of the three parts count.
	sum := maphash.String(sumSeed, m.Method)
	return (sum*31+maphash.Bytes(sumSeed, before))*31 + maphash.Bytes(sumSeed, after)
}

// keyAt returns the idKey of the value in raw under the path of names, or "".
func keyAt(raw []byte, names ...string) string {
	if id := valueAt(raw, names...); id != nil {
		return idKey(id)
	}
	return ""
}

// RequiresInput reports whether the message is a result that requests input from the client and is not
// final. It reads no value but resultType if the message was indexed while it was received: a large
// result then stays in its file.
func (m *Message) RequiresInput() bool {
	if m.index.IsComplete && m.Result != nil {
		return m.index.Members.Text("resultType") == inputRequired
	}
	return RequiresInput(m.Result)
}

// inputRequired is the resultType of a result that requests input.
const inputRequired = "input_required"

// RequiresInput reports whether a result requests input from the client and is not final (2026-07-28
// basic/patterns/mrtr).
func RequiresInput(result []byte) bool {
	// A result without these bytes need not be read: only \u escapes letters.
	if !bytes.Contains(result, []byte(inputRequired)) && !bytes.Contains(result, []byte(`\u`)) {
		return false
	}
	kind, _ := jsonraw.Text(jsonraw.First(result, "resultType"))
	return kind == inputRequired
}

// valueAt returns the value in raw under the path of names, or nil.
func valueAt(raw []byte, names ...string) []byte {
	for _, name := range names {
		raw = jsonraw.First(raw, name)
	}
	return raw
}
