package k6

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcpc/internal/match/jsonvalue"
)

// A Bound is a handle in the params of a call: a value that a server gave out in the answer to
// an earlier one. The script puts what the server gives out then in its place.
type Bound struct {
	// From and To are where its JSON is in the params, in bytes.
	From, To int
	// Call is the index of the earlier call, Path the way to the value in its result: names and
	// indexes.
	Call int
	Path []any
}

// shortestHandle is how many characters a value has that is taken for a handle because it comes
// back, as in mcpc/internal/match. It also has a digit: words such as "completed" come back by
// chance.
const shortestHandle = 8

// A Binder finds handles in the calls of a recording.
type Binder struct {
	made int
	sent map[string]bool // by clients
	// given are the handles by the method that they belong to, "" for any, and their text.
	given map[[2]string]Bound
}

// Bind returns the handles in the params of a call, which is the next of a Plan, and learns
// those in its recorded result. Only cursors, and texts in the arguments and in the
// structuredContent of tools are looked at. A text that a client sent first is no handle.
// Values that the Headers repeat stay as they were recorded.
func (b *Binder) Bind(call Call, result json.RawMessage) (bound []Bound) {
	if b.sent == nil {
		b.sent = map[string]bool{}
		b.given = map[[2]string]Bound{}
	}
	if params, err := jsonvalue.Parse(call.Params); err == nil {
		repeated := map[string]bool{}
		for _, f := range call.Headers {
			repeated[f.Value] = true
		}
		each(params, nil, func(n *jsonvalue.Node, path []any) {
			from, known := b.given[keyOf(call.Method, n, path, "cursor", "arguments")]
			if known && !repeated[n.Text] {
				from.From = n.At
				from.To = n.At + len(n.Raw)
				bound = append(bound, from)
			}
			b.sent[n.Text] = b.sent[n.Text] || !known
		})
	}
	if answer, err := jsonvalue.Parse(result); err == nil {
		each(answer, nil, func(n *jsonvalue.Node, path []any) {
			key := keyOf(call.Method, n, path, "nextCursor", "structuredContent")
			if key[1] != "" && (key[0] != "" || !b.sent[n.Text]) {
				b.given[key] = Bound{Call: b.made, Path: append([]any{}, path...)}
			}
		})
	}
	b.made++
	return bound
}

// keyOf is the key in given of a text at a path: a cursor belongs to its method, what stands
// under data in a call of a tool to any. It has no text for what is no handle.
func keyOf(method string, n *jsonvalue.Node, path []any, cursor, data string) [2]string {
	if len(path) == 1 && path[0] == cursor && strings.HasSuffix(method, "/list") {
		return [2]string{method, n.Text}
	}
	if method == "tools/call" && len(path) > 1 && path[0] == data && !n.Hidden &&
		utf8.RuneCountInString(n.Text) >= shortestHandle && strings.ContainsAny(n.Text, "0123456789") {
		return [2]string{"", n.Text}
	}
	return [2]string{}
}

// each visits the texts in a value, in their order.
func each(n *jsonvalue.Node, path []any, visit func(*jsonvalue.Node, []any)) {
	if n.Kind == jsonvalue.String {
		visit(n, path)
	}
	for i, kid := range n.Kids {
		var step any = i
		if n.Kind == jsonvalue.Object {
			step = kid.Name
		}
		each(kid, append(path[:len(path):len(path)], step), visit)
	}
}
