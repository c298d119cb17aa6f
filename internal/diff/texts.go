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
	maxSigns     = 20
	maxTexts     = 20_000
	maxTextDepth = 64
)

// identifierMembers are members whose texts are identifiers, or of another program: a new URL in them is no sign.
var identifierMembers = map[string]bool{"$schema": true, "$id": true, "$ref": true, "icons": true, "uri": true,
	"uriTemplate": true, "mimeType": true, "pattern": true, "format": true, "_meta": true}

// A text is a string of a definition, or the name of a member.
type text struct {
	pointer, words string
	// isIdentifier is set below a member of identifiers.
	isIdentifier bool
}

// A sign is one sign of poisoning: its kind, and what was found.
type sign struct{ kind, found string }

// addPoison reports the signs of poisoning in a definition that were not in it before. Only texts
// that are new are looked at, and the old ones only if there is a sign in those.
func (c *comparison) addPoison(s Subject, a, b json.RawMessage) {
	old := map[string]text{}
	walkTexts(a, text{}, 0, func(t text) bool {
		old[t.words] = t
		return len(old) < maxTexts
	})
	var known map[sign]bool
	texts, found := 0, 0
	walkTexts(b, text{}, 0, func(t text) bool {
		texts++
		if _, isOld := old[t.words]; isOld {
			return texts < maxTexts
		}
		for _, is := range c.findSigns(t) {
			if known == nil {
				known = c.collectSigns(old)
			}
			if known[is] || found == maxSigns {
				continue
			}
			known[is] = true
			found++
			rule := "poison-" + is.kind
			if _, there := RuleOf(rule); !there {
				rule = "poison-text"
			}
			c.add(s, rule, t.pointer, nil, quoteOrNil(is.found), detail{note: displayText(is.found)})
		}
		return texts < maxTexts && found < maxSigns
	})
}

// collectSigns returns the signs in some texts.
func (c *comparison) collectSigns(texts map[string]text) map[sign]bool {
	all := map[sign]bool{}
	for _, t := range texts {
		for _, is := range c.findSigns(t) {
			all[is] = true
		}
	}
	return all
}

// findSigns returns the signs in one text.
func (c *comparison) findSigns(t text) (all []sign) {
	for _, one := range c.options.Signs(t.words) {
		kind, found, _ := strings.Cut(one, " ")
		if kind != "url" || !t.isIdentifier {
			all = append(all, sign{kind, found})
		}
	}
	return all
}

// walkTexts calls f for each text of a value, with its JSON pointer below that of at, until f returns false.
func walkTexts(raw json.RawMessage, at text, depth int, f func(text) bool) bool {
	if len(raw) == 0 || depth > maxTextDepth {
		return true
	}
	if words, ok := jsonraw.Text(raw); ok {
		at.words = words
		return f(at)
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		below := text{jsonraw.Pointer(at.pointer, m.Name), m.Name, at.isIdentifier || identifierMembers[m.Name]}
		if !f(below) || !walkTexts(m.Value, below, depth+1, f) {
			return false
		}
	}
	items, _ := jsonraw.Array(raw)
	for i, item := range items {
		below := text{pointer: at.pointer + "/" + strconv.Itoa(i), isIdentifier: at.isIdentifier}
		if !walkTexts(item, below, depth+1, f) {
			return false
		}
	}
	return true
}

// NewText returns how many bytes the words have that only the new value has: what a model may read that it did not
// read before. Types are no text, nor are the names of keywords.
func (c Change) NewText() int {
	_, added := words.Changed(joinTexts(c.Was), joinTexts(c.Is))
	return added
}

// joinTexts returns the texts of a value.
func joinTexts(raw json.RawMessage) string {
	var all []string
	walkTexts(raw, text{}, 0, func(t text) bool {
		place := strings.TrimRight(t.pointer, "/0123456789") // of an item, that of its list
		name := place[strings.LastIndexByte(place, '/')+1:]
		if name != "type" && name != t.words {
			all = append(all, t.words)
		}
		return len(all) < maxTexts
	})
	return strings.Join(all, " ")
}
