package k6

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/match/jsonvalue"
)

// A Bound is a handle in the params of a call: a value from the result of an earlier call. The
// script replaces it by the value that the server returns during the test.
type Bound struct {
	// Start and End are the byte offsets of the handle's JSON in the params.
	Start, End int
	// Call is the index of the earlier call. Path leads to the value in its result: names and indexes.
	Call int
	Path []any
}

// minHandle is the length of the shortest handle in characters, as in mcpc/internal/match. A handle
// also contains a digit: words such as "completed" may be repeated by chance.
const minHandle = 8

// A Binder finds handles in the calls of a recording.
type Binder struct {
	calls int
	sent  map[string]bool // texts that the client sent first
	// handles are keyed by the method they belong to, or "" if that is any, and their text.
	handles map[[2]string]Bound
}

// Bind returns the handles in the params of the next call of a Plan, and learns the handles in its
// recorded result. Handles are cursors, and texts in the arguments and the structuredContent of
// tools. A text that the client sent before any result had it is no handle. Values that the Headers repeat are not
// replaced.
func (b *Binder) Bind(call Call, result json.RawMessage) []Bound {
	if b.sent == nil {
		b.sent = map[string]bool{}
		b.handles = map[[2]string]Bound{}
	}
	var bound []Bound
	var root []any // the path of a whole value
	if params, err := jsonvalue.Parse(call.Params); err == nil {
		inHeaders := map[string]bool{}
		for _, f := range call.Headers {
			inHeaders[f.Value] = true
		}
		eachText(params, root, func(n *jsonvalue.Node, path []any) {
			handle, isHandle := b.handles[handleKey(call.Method, n, path, "cursor", "arguments")]
			if isHandle && !inHeaders[n.Text] { // the header would still have the recorded value
				handle.Start = n.At
				handle.End = n.At + len(n.Raw)
				bound = append(bound, handle)
			}
			b.sent[n.Text] = b.sent[n.Text] || !isHandle
		})
	}
	if answer, err := jsonvalue.Parse(result); err == nil {
		eachText(answer, root, func(n *jsonvalue.Node, path []any) {
			key := handleKey(call.Method, n, path, "nextCursor", "structuredContent")
			isCandidate := key[1] != ""
			isCursor := key[0] != "" // a cursor is the server's, even if the client sent it before
			if isCandidate && (isCursor || !b.sent[n.Text]) {
				b.handles[key] = Bound{Call: b.calls, Path: slices.Clone(path)}
			}
		})
	}
	b.calls++
	return bound
}

// handleKey returns the key of the text at a path in a call. A cursor belongs to its method; a text
// below data in a tool call belongs to any method. The key of a text that is no handle is empty.
func handleKey(method string, n *jsonvalue.Node, path []any, cursor, data string) [2]string {
	if len(path) == 1 && path[0] == cursor && strings.HasSuffix(method, "/list") {
		return [2]string{method, n.Text}
	}
	isInData := method == "tools/call" && len(path) > 1 && path[0] == data
	looksLikeHandle := utf8.RuneCountInString(n.Text) >= minHandle && strings.ContainsAny(n.Text, "0123456789")
	if isInData && looksLikeHandle && !n.Hidden { // the text of a hidden secret is unknown
		return [2]string{"", n.Text}
	}
	return [2]string{}
}

// eachText visits the strings in a value, in order, each with its path: names and indexes.
func eachText(n *jsonvalue.Node, path []any, visit func(*jsonvalue.Node, []any)) {
	if n.Kind == jsonvalue.String {
		visit(n, path)
	}
	for i, kid := range n.Kids {
		var step any = i
		if n.Kind == jsonvalue.Object {
			step = kid.Name
		}
		eachText(kid, append(slices.Clip(path), step), visit) // Clip: the kids do not share a path
	}
}
