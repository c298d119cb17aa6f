package diff

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// Limits of the search for signs of poisoning in one definition.
const (
	maxSigns     = 20
	maxTexts     = 20_000
	maxTextDepth = 64
)

// identifierMembers are members that hold identifiers or data of other programs. A new URL below
// them is not suspicious.
var identifierMembers = map[string]bool{
	"$schema": true, "$id": true, "$ref": true, "icons": true, "uri": true,
	"uriTemplate": true, "mimeType": true, "pattern": true, "format": true, "_meta": true,
}

// A text is a string in a definition, or the name of a member.
type text struct {
	pointer, words string
	// isIdentifier is set below a member of identifierMembers.
	isIdentifier bool
}

// A sign is a kind of poisoning, and the suspicious text.
type sign struct{ kind, words string }

// addPoison adds a change for each sign of poisoning that b has and a does not have. It checks new
// texts only, and the old ones only after the first sign.
func (c *comparison) addPoison(s Subject, a, b json.RawMessage) {
	oldTexts := map[string]text{}
	walkTexts(a, text{}, 0, func(t text) bool {
		oldTexts[t.words] = t
		return len(oldTexts) < maxTexts
	})
	var known map[sign]bool // the signs in the old texts and those already added; nil before the first sign
	visited := 0
	added := 0
	walkTexts(b, text{}, 0, func(t text) bool {
		visited++
		if _, isOld := oldTexts[t.words]; isOld {
			return visited < maxTexts
		}
		for _, found := range c.findSigns(t) {
			if known == nil {
				known = c.collectSigns(oldTexts)
			}
			if known[found] || added == maxSigns {
				continue
			}
			known[found] = true
			added++
			rule := "poison-" + found.kind
			if _, exists := RuleOf(rule); !exists {
				rule = "poison-text"
			}
			c.add(s, rule, t.pointer, nil, quoteOrNil(found.words), detail{note: displayText(found.words)})
		}
		return visited < maxTexts && added < maxSigns
	})
}

// collectSigns returns the signs in several texts.
func (c *comparison) collectSigns(texts map[string]text) map[sign]bool {
	signs := map[sign]bool{}
	for _, t := range texts {
		for _, found := range c.findSigns(t) {
			signs[found] = true
		}
	}
	return signs
}

// findSigns returns the signs in one text.
func (c *comparison) findSigns(t text) []sign {
	var signs []sign
	for _, one := range c.options.Signs(t.words) {
		kind, found, _ := strings.Cut(one, " ")
		if kind != "url" || !t.isIdentifier {
			signs = append(signs, sign{kind, found})
		}
	}
	return signs
}

// walkTexts calls visit for each text in a value until visit returns false, and reports whether visit
// never did. parent has the pointer of the value, and whether the value is an identifier.
func walkTexts(raw json.RawMessage, parent text, depth int, visit func(text) bool) bool {
	if len(raw) == 0 || depth > maxTextDepth {
		return true
	}
	if words, ok := jsonraw.Text(raw); ok {
		parent.words = words
		return visit(parent)
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		name := text{
			pointer:      jsonraw.Pointer(parent.pointer, m.Name),
			words:        m.Name,
			isIdentifier: parent.isIdentifier || identifierMembers[m.Name],
		}
		if !visit(name) || !walkTexts(m.Value, name, depth+1, visit) {
			return false
		}
	}
	items, _ := jsonraw.Array(raw)
	for i, item := range items {
		itemParent := text{pointer: parent.pointer + "/" + strconv.Itoa(i), isIdentifier: parent.isIdentifier}
		if !walkTexts(item, itemParent, depth+1, visit) {
			return false
		}
	}
	return true
}

// NewText returns the size in bytes of the words that only the new value has, which are new to a
// model. It does not count types and names of keywords.
func (c Change) NewText() int {
	_, added := changedWords(joinTexts(c.Was), joinTexts(c.Is))
	return added
}

// joinTexts returns the texts in a value, separated by spaces, without types and member names.
func joinTexts(raw json.RawMessage) string {
	var texts []string
	walkTexts(raw, text{}, 0, func(t text) bool {
		pointer := strings.TrimRight(t.pointer, "/0123456789") // an item belongs to the member with its list
		name := pointer[strings.LastIndexByte(pointer, '/')+1:]
		isName := name == t.words // walkTexts visits the name of a member with the member's pointer
		if name != "type" && !isName {
			texts = append(texts, t.words)
		}
		return len(texts) < maxTexts
	})
	return strings.Join(texts, " ")
}
