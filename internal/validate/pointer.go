package validate

import (
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// documentURL is the schema's URL in the library. It ends in a directory, so that a relative
// reference resolves to a different URL and is refused.
const documentURL = "mcpc-schema://document/"

// locationOf returns the library's URL of a JSON pointer in the schema.
func locationOf(ptr string) string {
	parts := strings.Split(ptr, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return documentURL + "#" + strings.Join(parts, "/")
}

// pointerOf returns the JSON pointer in a URL of the library. ours is false if the URL points into
// a built-in meta-schema.
func pointerOf(location string) (ptr string, ours bool) {
	base, frag, _ := strings.Cut(location, "#")
	ptr, err := url.PathUnescape(frag)
	return ptr, err == nil && base == documentURL
}

func unescapePath(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// memberOf returns the member of an object with a name, or nil.
func memberOf(v any, name string) any {
	obj, _ := v.(map[string]any)
	return obj[name]
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// pointerTokens splits a JSON pointer.
func pointerTokens(ptr string) []string {
	if ptr == "" {
		return nil
	}
	toks := strings.Split(ptr[1:], "/")
	for i, tok := range toks {
		toks[i] = pointerUnescaper.Replace(tok)
	}
	return toks
}

// lookup follows tokens into a value.
func lookup(v any, toks []string) (any, bool) {
	for _, tok := range toks {
		var ok bool
		v, ok = child(v, tok)
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// child returns the member or the item of v that a token of a JSON pointer names.
func child(v any, tok string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		sub, ok := v[tok]
		return sub, ok
	case []any:
		if i, err := strconv.Atoi(tok); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// children iterates over the items of an array or the values of an object.
func children(v any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch v := v.(type) {
		case []any:
			slices.Values(v)(yield)
		case map[string]any:
			maps.Values(v)(yield)
		}
	}
}
