package fault

import (
	"net/http"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// Mirror changes the header fields of a request that repeat parts of its message, after these
// were replaced: Mcp-Method, Mcp-Name, Mcp-Protocol-Version and Mcp-Param-*. A field that had
// another value than the message stays. Encode makes a text fit for a field.
func (d *Decision) Mirror(h http.Header, was, is []byte, encode func(string) string) {
	if d.KeepHeaders || !d.OfRequest || d.Name != "replace" {
		return
	}
	before, err := jsonvalue.Parse(was)
	after, failed := jsonvalue.Parse(is)
	if err != nil || failed != nil {
		return
	}
	for name, pointers := range map[string][]string{
		"Mcp-Method":           {"/method"},
		"Mcp-Name":             {"/params/name", "/params/uri", "/params/taskId"},
		"Mcp-Protocol-Version": {"/params/_meta/io.modelcontextprotocol~1protocolVersion"},
	} {
		follow(h, name, pointers, before, after, encode)
	}
	arguments := leaves(before.Find("/params/arguments"), "/params/arguments", nil)
	for name := range h {
		if argument, ok := strings.CutPrefix(strings.ToLower(name), "mcp-param-"); ok {
			follow(h, name, likely(argument, arguments), before, after, encode)
		}
	}
}

// follow sets a field that had the text of one of the places before to that which the place has
// now, and removes it where there is none any more.
func follow(h http.Header, name string, pointers []string, before, after *jsonvalue.Node, encode func(string) string) {
	if len(h.Values(name)) != 1 {
		return
	}
	value := wire.Field{Value: h.Get(name)}.Plain()
	for _, pointer := range pointers {
		text, there := leafText(before.Find(pointer))
		now, still := leafText(after.Find(pointer))
		switch {
		case !there || text != value || still && now == text:
			continue
		case still:
			h.Set(name, encode(now))
		default:
			h.Del(name)
		}
		return
	}
}

// likely are the arguments that a field may repeat: those that are called like it, or all where
// none is.
func likely(field string, arguments []string) (same []string) {
	plain := strings.NewReplacer("-", "", "_", "")
	for _, pointer := range arguments {
		name := strings.ToLower(pointer[strings.LastIndexByte(pointer, '/')+1:])
		if plain.Replace(name) == plain.Replace(field) {
			same = append(same, pointer)
		}
	}
	if same == nil {
		return arguments
	}
	return same
}

// leaves are the JSON pointers of the values without parts.
func leaves(n *jsonvalue.Node, at string, found []string) []string {
	if n == nil || n.IsLeaf() {
		if n != nil {
			found = append(found, at)
		}
		return found
	}
	for _, kid := range n.Kids {
		if n.Kind == jsonvalue.Object {
			found = leaves(kid, jsonraw.Pointer(at, kid.Name), found)
		}
	}
	return found
}

func leafText(n *jsonvalue.Node) (string, bool) {
	if n == nil || !n.IsLeaf() || n.Kind == jsonvalue.Null {
		return "", false
	}
	if n.Kind == jsonvalue.String {
		return n.Text, true
	}
	return string(n.Raw), true
}
