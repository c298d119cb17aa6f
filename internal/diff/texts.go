package diff

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// Limits of looking for signs of poisoning in one definition.
const (
	mostSigns = 20
	mostTexts = 5000
	deepTexts = 100
)

// notRead are members whose texts are identifiers that no model reads as text.
var notRead = map[string]bool{"$schema": true, "$id": true, "$ref": true, "icons": true, "uri": true, "uriTemplate": true,
	"mimeType": true, "pattern": true, "format": true, "_meta": true}

// A sign is one sign of poisoning: its kind, and what was found.
type sign struct{ kind, found string }

// poison reports the signs of poisoning in a definition that were not in it before.
func (c *comparison) poison(s Subject, a, b json.RawMessage) {
	known := map[sign]bool{}
	c.signs(s, a, func(_ string, is sign) bool {
		known[is] = true
		return true
	})
	n := 0
	c.signs(s, b, func(pointer string, is sign) bool {
		if known[is] {
			return true
		}
		known[is] = true
		rule := "poison-" + is.kind
		if _, there := RuleOf(rule); !there {
			rule = "poison-text"
		}
		c.add(s, rule, pointer, nil, textOf(is.found), detail{note: safe(is.found)})
		n++
		return n < mostSigns
	})
}

// signs tells of each sign in the texts of a definition, until f has enough.
func (c *comparison) signs(s Subject, raw json.RawMessage, f func(pointer string, is sign) bool) {
	n := 0
	eachText(raw, "", 0, func(pointer, text string) bool {
		for _, one := range c.o.Signs(text) {
			kind, found, _ := strings.Cut(one, " ")
			if !f(pointer, sign{kind, found}) {
				return false
			}
		}
		for _, name := range c.named(text, s) {
			if !f(pointer, sign{"name", name}) {
				return false
			}
		}
		n++
		return n < mostTexts
	})
}

// eachText tells f of each text of a value, and the names of members, with a JSON pointer.
func eachText(raw json.RawMessage, pointer string, depth int, f func(pointer, text string) bool) bool {
	if len(raw) == 0 || depth > deepTexts {
		return true
	}
	if text, ok := jsonraw.Text(raw); ok {
		return f(pointer, text)
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		at := jsonraw.Pointer(pointer, m.Name)
		if !jsonraw.IsASCII(m.Name) && !f(at, m.Name) || !notRead[m.Name] && !eachText(m.Value, at, depth+1, f) {
			return false
		}
	}
	items, _ := jsonraw.Array(raw)
	for i, item := range items {
		if !eachText(item, pointer+"/"+strconv.Itoa(i), depth+1, f) {
			return false
		}
	}
	return true
}

// named are the other tools that a text names: as a word that is not one of the language
// (read_file, readFile), or in quotes.
func (c *comparison) named(text string, s Subject) (names []string) {
	for i := 0; i < len(text); {
		if !nameByte(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && nameByte(text[end]) {
			end++
		}
		word := strings.TrimRight(text[i:end], ".-/")
		quoted := i > 0 && strings.IndexByte("`'\"", text[i-1]) >= 0 && end < len(text) && text[end] == text[i-1]
		if c.names[word] && (s.Kind != Tool || word != s.Name) && (quoted || madeUp(word)) {
			names = append(names, word)
		}
		i = end
	}
	return names
}

// nameByte reports a byte that a tool's name may have (2025-11-25 server/tools, "Tool Names").
func nameByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b == '/' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// madeUp reports a word that is not a plain one of the language.
func madeUp(word string) bool {
	return strings.ContainsAny(word, "_-.0123456789") || strings.ToLower(word[1:]) != word[1:] && strings.ToUpper(word) != word
}
