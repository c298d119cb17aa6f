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
	deepTexts = 64
)

// notRead are members whose texts are identifiers that no model reads as text.
var notRead = map[string]bool{"$schema": true, "$id": true, "$ref": true, "icons": true, "uri": true, "uriTemplate": true,
	"mimeType": true, "pattern": true, "format": true, "_meta": true}

// A sign is one sign of poisoning: its kind, and what was found.
type sign struct{ kind, found string }

// poison reports the signs of poisoning in a definition that were not in it before. Only texts
// that are new are looked at, and the old ones only if there is a sign in those.
func (c *comparison) poison(s Subject, a, b json.RawMessage) {
	old := map[string]bool{}
	eachText(a, "", 0, func(_, text string) bool {
		old[text] = true
		return len(old) < mostTexts
	})
	var known map[sign]bool
	texts, found := 0, 0
	eachText(b, "", 0, func(pointer, text string) bool {
		if texts++; old[text] {
			return texts < mostTexts
		}
		for _, is := range c.signs(s, text) {
			if known == nil {
				known = c.known(s, old)
			}
			if known[is] || found == mostSigns {
				continue
			}
			known[is] = true
			found++
			rule := "poison-" + is.kind
			if _, there := RuleOf(rule); !there {
				rule = "poison-text"
			}
			c.add(s, rule, pointer, nil, textOf(is.found), detail{note: safe(is.found)})
		}
		return texts < mostTexts && found < mostSigns
	})
}

// known are the signs in some texts.
func (c *comparison) known(s Subject, texts map[string]bool) map[sign]bool {
	all := map[sign]bool{}
	for text := range texts {
		for _, is := range c.signs(s, text) {
			all[is] = true
		}
	}
	return all
}

// signs are those in one text.
func (c *comparison) signs(s Subject, text string) (all []sign) {
	for _, one := range c.o.Signs(text) {
		kind, found, _ := strings.Cut(one, " ")
		all = append(all, sign{kind, found})
	}
	for _, name := range c.named(text, s) {
		all = append(all, sign{"name", name})
	}
	return all
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
