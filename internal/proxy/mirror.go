package proxy

import (
	"net/http"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// mirrorHeader updates the header fields that repeat parts of a request, unless the rule keeps them.
func (d *decision) mirrorHeader(h http.Header, before, after []byte, encode func(string) string) {
	if !d.KeepHeaders {
		mirrorHeader(h, before, after, encode)
	}
}

// mirrorHeader updates the header fields that repeat parts of a changed request: Mcp-Method,
// Mcp-Name, Mcp-Protocol-Version and Mcp-Param-*. A field that differed from the message before
// stays unchanged. Encode encodes a text for a field.
func mirrorHeader(h http.Header, before, after []byte, encode func(string) string) {
	oldTree, err := jsonvalue.Parse(before)
	newTree, failed := jsonvalue.Parse(after)
	if err != nil || failed != nil {
		return
	}
	arguments := leaves(oldTree.Find("/params/arguments"), "/params/arguments")
	for name, values := range h {

		if len(values) != 1 {
			continue
		}
		pointers := mirroredPaths[name]
		if argument, isParam := strings.CutPrefix(strings.ToLower(name), "mcp-param-"); isParam {
			pointers = candidateArguments(argument, arguments)
		}
		value := wire.Field{Value: values[0]}.DecodedValue()
		i := slices.IndexFunc(pointers, func(pointer string) bool {
			return fieldText(oldTree, pointer) == value && fieldText(newTree, pointer) != value
		})
		if i < 0 {
			continue
		}
		if text := fieldText(newTree, pointers[i]); text != "" {
			h.Set(name, encode(text))
		} else {
			h.Del(name)
		}
	}
}

// mirroredPaths are the JSON pointers of the values that a header field repeats.
var mirroredPaths = map[string][]string{
	"Mcp-Method":           {"/method"},
	"Mcp-Name":             {"/params/name", "/params/uri", "/params/taskId"},
	"Mcp-Protocol-Version": {"/params/_meta/io.modelcontextprotocol~1protocolVersion"},
}

// candidateArguments returns the arguments that an Mcp-Param field may repeat: the arguments named
// like it, or all arguments if no name is similar.
func candidateArguments(field string, arguments []string) []string {
	plain := strings.NewReplacer("-", "", "_", "")
	matching := slices.DeleteFunc(slices.Clone(arguments), func(at string) bool {
		return !strings.EqualFold(plain.Replace(at[strings.LastIndexByte(at, '/')+1:]), plain.Replace(field))
	})
	if len(matching) == 0 {
		return arguments
	}
	return matching
}

// leaves returns the JSON pointers of the values below a node that have no parts; prefix is its own
// pointer.
func leaves(n *jsonvalue.Node, prefix string) []string {
	if n == nil {
		return nil
	}
	if n.IsLeaf() {
		return []string{prefix}
	}
	var found []string
	if n.Kind == jsonvalue.Object {
		for _, kid := range n.Kids {
			found = append(found, leaves(kid, jsonraw.Pointer(prefix, kid.Name))...)
		}
	}
	return found
}

// fieldText returns a value as a header field contains it, or "" if there is no such value, or it
// is null or has parts.
func fieldText(tree *jsonvalue.Node, pointer string) string {
	n := tree.Find(pointer)
	if n == nil || !n.IsLeaf() || n.Kind == jsonvalue.Null {
		return ""
	}
	if n.Kind == jsonvalue.String {
		return n.Text
	}
	return string(n.Raw)
}
