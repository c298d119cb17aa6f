package diff

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/diff/words"
	"mcpc/internal/jsonraw"
)

// Limits of looking for signs of poisoning in one definition.
const (
	mostSigns = 20
	mostTexts = 20_000
	deepTexts = 64
)

// identifiers are members whose texts are identifiers, or of another program: a new URL in them is no sign.
var identifiers = map[string]bool{"$schema": true, "$id": true, "$ref": true, "icons": true, "uri": true,
	"uriTemplate": true, "mimeType": true, "pattern": true, "format": true, "_meta": true}

// A text is a string of a definition, or the name of a member.
type text struct {
	pointer, words string
	// isIdentifier is set below a member of identifiers.
	isIdentifier bool
}

// A sign is one sign of poisoning: its kind, and what was found.
type sign struct{ kind, found string }

// poison reports the signs of poisoning in a definition that were not in it before. Only texts
// that are new are looked at, and the old ones only if there is a sign in those.
func (c *comparison) poison(s Subject, a, b json.RawMessage) {
	old := map[string]text{}
	eachText(a, text{}, 0, func(t text) bool {
		old[t.words] = t
		return len(old) < mostTexts
	})
	var known map[sign]bool
	texts, found := 0, 0
	eachText(b, text{}, 0, func(t text) bool {
		texts++
		if _, isOld := old[t.words]; isOld {
			return texts < mostTexts
		}
		for _, is := range c.signs(t) {
			if known == nil {
				known = c.known(old)
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
			c.add(s, rule, t.pointer, nil, textOf(is.found), detail{note: safe(is.found)})
		}
		return texts < mostTexts && found < mostSigns
	})
}

// known returns the signs in some texts.
func (c *comparison) known(texts map[string]text) map[sign]bool {
	all := map[sign]bool{}
	for _, t := range texts {
		for _, is := range c.signs(t) {
			all[is] = true
		}
	}
	return all
}

// signs returns the signs in one text.
func (c *comparison) signs(t text) (all []sign) {
	for _, one := range c.o.Signs(t.words) {
		kind, found, _ := strings.Cut(one, " ")
		if kind != "url" || !t.isIdentifier {
			all = append(all, sign{kind, found})
		}
	}
	return all
}

// eachText calls f for each text of a value, with its JSON pointer below that of at, until f returns false.
func eachText(raw json.RawMessage, at text, depth int, f func(text) bool) bool {
	if len(raw) == 0 || depth > deepTexts {
		return true
	}
	if words, ok := jsonraw.Text(raw); ok {
		at.words = words
		return f(at)
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		below := text{jsonraw.Pointer(at.pointer, m.Name), m.Name, at.isIdentifier || identifiers[m.Name]}
		if !f(below) || !eachText(m.Value, below, depth+1, f) {
			return false
		}
	}
	items, _ := jsonraw.Array(raw)
	for i, item := range items {
		below := text{pointer: at.pointer + "/" + strconv.Itoa(i), isIdentifier: at.isIdentifier}
		if !eachText(item, below, depth+1, f) {
			return false
		}
	}
	return true
}

// NewText returns how many bytes the words have that only the new value has: what a model may read that it did not
// read before. Types are no text, nor are the names of keywords.
func (c Change) NewText() int {
	_, added := words.Changed(textIn(c.Was), textIn(c.Is))
	return added
}

// textIn returns the texts of a value.
func textIn(raw json.RawMessage) string {
	var all []string
	eachText(raw, text{}, 0, func(t text) bool {
		place := strings.TrimRight(t.pointer, "/0123456789") // of an item, that of its list
		name := place[strings.LastIndexByte(place, '/')+1:]
		if name != "type" && name != t.words {
			all = append(all, t.words)
		}
		return len(all) < mostTexts
	})
	return strings.Join(all, " ")
}
