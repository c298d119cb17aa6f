package wire

import (
	"bytes"
	"hash/maphash"

	"mcpc/internal/jsonraw"
)

// Traits are what of a message tells to which exchange it belongs.
type Traits struct {
	Kind   MessageKind
	Method string
	// Name is the JSON of the name or URI that a request is about; "" where it has neither.
	Name string
	// Reply is set where there is a result or an error and no method, even if Kind is Invalid.
	Reply bool
	// ID is the same for two ids that are the same; "" where there is none, and
	// NoID where a reply does not say what it answers.
	ID   string
	NoID bool
	// Token is the progress token that a request gives, Progress the one that a
	// notification speaks of, Cancels the id of the request that one gives up.
	Token, Progress, Cancels string
	// Subscription is the id of the request to which a notification is an answer
	// (2026-07-28 basic/utilities/subscriptions).
	Subscription string
	// State is the state that the server handed out, or that a request gives back;
	// Answers is set on a request with answers to what the server asked, More on a
	// result that asks.
	State         string
	Answers, More bool
	// Blank is set where there are no bytes but white space.
	Blank bool
	// Sum is the same for two requests with the same bytes, Asks for two that ask
	// the same, whatever their ids and progress tokens.
	Sum, Asks uint64
	// Items are those of a batch.
	Items []Traits
}

var sumSeed = maphash.MakeSeed()

// Traits looks at a message for what tells its exchange.
func (m *Message) Traits() Traits {
	t := Traits{Kind: m.Kind, Method: m.Method, Reply: m.reply, NoID: m.namesNone()}
	if m.ID != nil {
		t.ID = idKey(m.ID)
	}
	switch {
	case m.Kind == Batch:
		for _, item := range m.Items {
			t.Items = append(t.Items, item.Traits())
		}
	case m.Kind == Request:
		t.Sum = maphash.Bytes(sumSeed, m.Raw)
		t.request(m)
	case m.Method == "notifications/progress":
		t.Progress = keyInside(m.Params, "progressToken")
	case m.Method == "notifications/cancelled":
		t.Cancels = keyInside(m.Params, "requestId")
	case AsksForInput(m.Result):
		t.More, t.State = true, string(inside(m.Result, "requestState"))
	}
	if m.Kind == Notification {
		t.Subscription = keyInside(m.Params, "_meta", "io.modelcontextprotocol/subscriptionId")
	}
	if m.Kind == Invalid {
		t.Blank = len(bytes.Trim(m.Raw, jsonraw.WhiteSpace)) == 0
	}
	return t
}

// request looks once at the parameters of a request.
func (t *Traits) request(m *Message) {
	var token, name, uri, state, answers []byte
	meta := false
	take := func(is string, value []byte) {
		switch {
		case is == "_meta" && !meta:
			meta = true
			if mayName(value, "progressToken") {
				token = jsonraw.First(value, "progressToken")
			}
		case is == "name" && name == nil:
			name = value
		case is == "uri" && uri == nil:
			uri = value
		case is == "requestState" && state == nil:
			state = value
		case is == "inputResponses":
			answers = value
		}
	}
	if m.noted.Known && m.Params != nil {
		for _, member := range m.noted.Members {
			take(member.Name, member.Value)
		}
	} else {
		_ = jsonraw.EachMember(m.Params, func(_ int, is string, from, to int) bool {
			take(is, m.Params[from:to:to])
			return true
		})
	}
	if token != nil {
		t.Token = idKey(token)
	}
	t.Name = string(name)
	if name == nil {
		t.Name = string(uri)
	}
	t.State = string(state)
	t.Answers = answers != nil
	t.Asks = asks(m, token)
}

// mayName reports an object in which a member may have that name, which may be escaped. It takes
// less time than to read the object.
func mayName(object []byte, name string) bool {
	return bytes.Contains(object, []byte(name)) || bytes.IndexByte(object, '\\') >= 0
}

// asks is the hash of a request without its progress token.
func asks(m *Message, token []byte) uint64 {
	before := []byte(m.Params)
	behind := []byte(nil)
	if token != nil {
		var room [64]byte
		before, behind, _ = bytes.Cut(before, append(append(room[:0], `"progressToken":`...), token...))
	}
	sum := maphash.String(sumSeed, m.Method)
	return (sum*31+maphash.Bytes(sumSeed, before))*31 + maphash.Bytes(sumSeed, behind)
}

func keyInside(raw []byte, names ...string) string {
	if id := inside(raw, names...); id != nil {
		return idKey(id)
	}
	return ""
}

// AsksForInput reports whether a result requests input from the client and is not final (2026-07-28
// basic/patterns/mrtr).
func AsksForInput(result []byte) bool {
	// A result without these bytes need not be read: only \u escapes letters.
	if !bytes.Contains(result, []byte("input_required")) && !bytes.Contains(result, []byte(`\u`)) {
		return false
	}
	kind, _ := jsonraw.Text(jsonraw.First(result, "resultType"))
	return kind == "input_required"
}

// inside returns the value in raw under the path of names, or nil.
func inside(raw []byte, names ...string) []byte {
	for _, name := range names {
		raw = jsonraw.First(raw, name)
	}
	return raw
}
