package proxy

import (
	"net/http"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// Mirror changes what mirrors the message in the head, unless the rule keeps that.
func (d *decision) mirrorHeader(h http.Header, before, after []byte, encode func(string) string) {
	if !d.KeepHeaders {
		mirrorHeader(h, before, after, encode)
	}
}

// Mirror changes the header fields of a request that repeat parts of its message, after these
// were replaced: Mcp-Method, Mcp-Name, Mcp-Protocol-Version and Mcp-Param-*. A field that had
// another value than the message stays. Encode makes a text fit for a field.
func mirrorHeader(h http.Header, before, after []byte, encode func(string) string) {
	oldTree, err := jsonvalue.Parse(before)
	newTree, failed := jsonvalue.Parse(after)
	if err != nil || failed != nil {
		return
	}
	arguments := leaves(oldTree.Find("/params/arguments"), "/params/arguments")
	for name, values := range h {
		var places []string
		switch argument, isParam := strings.CutPrefix(strings.ToLower(name), "mcp-param-"); {
		case len(values) != 1:
		case isParam:
			places = candidateArguments(argument, arguments)
		default:
			places = mirroredPaths[name]
		}
		value := wire.Field{Value: values[0]}.Plain()
		i := slices.IndexFunc(places, func(at string) bool { return fieldText(oldTree, at) == value && fieldText(newTree, at) != value })
		if i < 0 {
			continue
		}
		if now := fieldText(newTree, places[i]); now != "" {
			h.Set(name, encode(now))
		} else {
			h.Del(name)
		}
	}
}

// mirrored are the places that fields repeat.
var mirroredPaths = map[string][]string{
	"Mcp-Method":           {"/method"},
	"Mcp-Name":             {"/params/name", "/params/uri", "/params/taskId"},
	"Mcp-Protocol-Version": {"/params/_meta/io.modelcontextprotocol~1protocolVersion"},
}

// likely are the arguments that a field may repeat: those that are called like it, or all where
// none is.
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

// leaves are the JSON pointers of the values without parts.
func leaves(n *jsonvalue.Node, at string) (found []string) {
	switch {
	case n == nil:
	case n.IsLeaf():
		return []string{at}
	case n.Kind == jsonvalue.Object:
		for _, kid := range n.Kids {
			found = append(found, leaves(kid, jsonraw.Pointer(at, kid.Name))...)
		}
	}
	return found
}

// text is a value as a header field has it; "" where there is none.
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
