package match

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/sliceutil"
)

// dataMembers are the members of params with data of the caller, where named handles are replaced.
// The name of a tool is not data.
var dataMembers = []string{"arguments", "argument", "context", "uri"}

// isHandle reports whether a value can identify something: a number or a text that is not empty.
func isHandle(n *jsonvalue.Node) bool {
	return n.Kind == jsonvalue.String && n.Text != "" || n.Kind == jsonvalue.Number
}

// BindNamed learns one handle that is replaced wherever the data of a request has it, as a whole value, as
// a segment of a URI, or as a word of a text if it is long. It learns a number as the text of it, too.
func (b *Binder) BindNamed(kind, recorded, current string) {
	pairs := [][2]string{{string(jsonraw.Quote(recorded)), string(jsonraw.Quote(current))}}
	if isNumber(recorded) && isNumber(current) {
		pairs = append(pairs, [2]string{recorded, current})
	}
	for _, p := range pairs {
		recordedNode, recordedErr := jsonvalue.Parse(json.RawMessage(p[0]))
		currentNode, currentErr := jsonvalue.Parse(json.RawMessage(p[1]))
		if recordedErr == nil && currentErr == nil {
			const isNamed = true
			b.learnPair(kind, recordedNode, currentNode, isNamed)
		}
	}
}

// Miss records that a recorded part of a message has no counterpart in the current run, because its
// request was not sent or not answered.
func (b *Binder) Miss(c Comparison, recorded json.RawMessage) { b.Learn(c, recorded, nil) }

// Lacks reports whether a recorded part has a handle of a Binding without a counterpart in the
// current run, so that the recorded handle is sent.
func (b *Binder) Lacks(c Comparison, raw json.RawMessage) bool {
	n, err := jsonvalue.Parse(raw)
	if err != nil {
		return false
	}
	for _, binding := range b.bindings {
		if binding.Part != c.Part {
			continue
		}
		for _, pointer := range binding.Select(raw) {
			node := n.Find(pointer)
			if node == nil || !node.IsLeaf() {
				continue
			}
			if b.isMissing(binding.Kind, token(node)) || b.isMissing(binding.Kind, retypedToken(node)) {
				return true
			}
		}
	}
	for _, kid := range n.Kids {
		if c.Part == Params && slices.Contains(dataMembers, kid.Name) && b.hasMissingIn(kid) {
			return true
		}
	}
	return false
}

// hasMissingIn reports whether a value has a named handle without a counterpart.
func (b *Binder) hasMissingIn(n *jsonvalue.Node) bool {
	if !n.IsLeaf() {
		return slices.ContainsFunc(n.Kids, b.hasMissingIn)
	}
	return slices.ContainsFunc(b.bindings, func(binding Binding) bool {
		return binding.Named && b.isMissing(binding.Kind, token(n))
	})
}

// isMissing reports whether a handle is known to have no counterpart.
func (b *Binder) isMissing(kind, token string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing[[2]string{kind, token}]
}

// retypedToken returns the token of the same handle in the other type: of the number that a string
// spells, or of a number as a string. It returns "" if n is neither.
func retypedToken(n *jsonvalue.Node) string {
	if n.Kind == jsonvalue.Number {
		return string(jsonvalue.String) + string(n.Raw)
	}
	if n.Kind == jsonvalue.String && isNumber(n.Text) {
		return string(jsonvalue.Number) + jsonvalue.Decimal(n.Text)
	}
	return ""
}

// isNumber reports whether a text is a JSON number of at least 0.
func isNumber(text string) bool {
	return text != "" && text[0] >= '0' && text[0] <= '9' && jsonraw.Valid([]byte(text)) == nil
}

// asRetyped returns a handle in the type of n: a string that spells a number as the number, or a
// number as a string. It returns nil if the types are equal or the value cannot be converted.
func asRetyped(n *jsonvalue.Node, value json.RawMessage) json.RawMessage {
	text, isText := jsonraw.Text(value)
	if value == nil {
		return nil
	}
	if n.Kind == jsonvalue.Number && isNumber(text) {
		return json.RawMessage(text)
	}
	if n.Kind == jsonvalue.String && !isText {
		return jsonraw.Quote(string(value))
	}
	return nil
}

// Unused returns the kinds of Bindings whose handles differ from the recorded ones and were put
// into no request.
func (b *Binder) Unused() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kinds []string
	for _, binding := range b.bindings {
		if b.differing[binding.Kind] && !b.used[binding.Kind] && !slices.Contains(kinds, binding.Kind) {
			kinds = append(kinds, binding.Kind)
		}
	}
	return kinds
}

// IsRetyped reports whether a request has a named handle of a Binding as a string that is a number
// elsewhere, or the other way, so that it was not replaced.
func (b *Binder) IsRetyped(kind string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.retyped[kind]
}

// ToRecorded replaces current handles by recorded ones, as ToWas does. It replaces a value or text
// with a named handle by the recorded value only if they differ in the handle alone, so that a
// short handle such as 7 changes nothing else.
func (b *Binder) ToRecorded(c Comparison, recorded, raw json.RawMessage) (json.RawMessage, int) {
	out, count := b.ToWas(c, raw)
	b.mu.Lock()
	hasNamed := len(b.toRecorded.named) > 0
	b.mu.Unlock()
	if !hasNamed {
		return out, count
	}
	recordedNode, recordedErr := jsonvalue.Parse(recorded)
	currentNode, currentErr := jsonvalue.Parse(out)
	if recordedErr != nil || currentErr != nil {
		return out, count
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	edits := b.appendRecorded(recordedNode, currentNode, nil)
	return applyReplacements(out, edits), count + len(edits)
}

// appendRecorded appends the replacements of the values that differ in named handles alone.
func (b *Binder) appendRecorded(recorded, current *jsonvalue.Node, edits []replacement) []replacement {
	if current.IsLeaf() && recorded.IsLeaf() {
		if token(recorded) != token(current) && b.toRecorded.named.equalsAfterReplacing(recorded, current) {
			edits = append(edits, replacement{current, recorded.Raw})
		}
		return edits
	}
	if recorded.Kind != current.Kind {
		return edits
	}
	for i, kid := range recorded.Kids {
		if recorded.Kind == jsonvalue.Object {
			if other := current.Member(kid.Name); other != nil {
				edits = b.appendRecorded(kid, other, edits)
			}
		} else if i < len(current.Kids) {
			edits = b.appendRecorded(kid, current.Kids[i], edits)
		}
	}
	return edits
}

// applyReplacements returns a value with replacements. It sorts the edits by position.
func applyReplacements(raw json.RawMessage, edits []replacement) json.RawMessage {
	if len(edits) == 0 {
		return raw
	}
	sliceutil.Sort(edits, func(a, b replacement) int { return a.node.At - b.node.At })
	var out json.RawMessage
	done := 0
	for _, e := range edits {
		out = append(append(out, raw[done:e.node.At]...), e.new...)
		done = e.node.At + len(e.node.Raw)
	}
	return append(out, raw[done:]...)
}

// namedHandles map the token of a named handle to its counterpart.
type namedHandles map[string]namedHandle

// A namedHandle is the counterpart of a handle, and the kind of its Binding.
type namedHandle struct {
	bound
	kind string
}

// text returns the handle as it is written in a longer text: without quotes.
func (h namedHandle) text() string {
	if text, ok := jsonraw.Text(h.value); ok {
		return text
	}
	return string(h.value)
}

// findWord returns the counterpart of the handle that equals a word of a text, as a string or as a
// number.
func (h namedHandles) findWord(word string) (namedHandle, bool) {
	counterpart, known := h[string(jsonvalue.String)+word]
	if !known && isNumber(word) {
		counterpart, known = h[string(jsonvalue.Number)+jsonvalue.Decimal(word)]
	}
	return counterpart, known
}

// equalsAfterReplacing reports whether n equals want after replacing the handles in n.
func (h namedHandles) equalsAfterReplacing(want, n *jsonvalue.Node) bool {
	if counterpart, known := h[token(n)]; known {
		if node, err := jsonvalue.Parse(counterpart.value); err == nil && token(node) == token(want) {
			return true
		}
	}
	if n.Kind != jsonvalue.String || want.Kind != jsonvalue.String {
		return false
	}
	// Short handles are replaced, too: want shows whether the result is right.
	text, _ := h.replaceInText(n.Text, func(namedHandle, string, bool) bool { return true })
	return text == want.Text
}

// replaceInRequest returns the replacement for a value of a request, and the kinds of the handles
// in it. It returns nil if the value has no handles.
func (h namedHandles) replaceInRequest(n *jsonvalue.Node) (json.RawMessage, []string) {
	if counterpart, known := h[token(n)]; known {
		return counterpart.value, []string{counterpart.kind}
	}
	if n.Kind != jsonvalue.String {
		return nil, nil
	}
	// A short word can be in a text by chance, but hardly as a whole segment of a URI.
	isURI := strings.Contains(n.Text, "://")
	text, kinds := h.replaceInText(n.Text, func(_ namedHandle, word string, isSegment bool) bool {
		return isURI && isSegment || utf8.RuneCountInString(word) >= minHandle
	})
	if len(kinds) == 0 {
		return nil, nil
	}
	return jsonraw.Quote(text), kinds
}

// replaceInText replaces the handles that are words of a text, if mayReplace allows it, and returns
// their kinds. isSegment is set if the word is a whole segment of a URI.
func (h namedHandles) replaceInText(
	text string,
	mayReplace func(counterpart namedHandle, word string, isSegment bool) bool,
) (string, []string) {
	var out strings.Builder
	var kinds []string
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
	endsSegment := func(rest string) bool { return rest == "" || strings.ContainsRune("/?#&=", rune(rest[0])) }
	for offset := 0; offset < len(text); {
		length := strings.IndexFunc(text[offset:], func(r rune) bool { return !isWord(r) })
		if length < 0 {
			length = len(text) - offset
		}
		word := text[offset : offset+length]
		counterpart, known := h.findWord(word)
		isSegment := offset > 0 && strings.ContainsRune("/?#&=", rune(text[offset-1])) && endsSegment(text[offset+length:])
		if known && length > 0 && mayReplace(counterpart, word, isSegment) {
			word = counterpart.text()
			kinds = append(kinds, counterpart.kind)
		}
		out.WriteString(word)
		offset += length
		// The character after the word separates words; at the end of the text its size is 0.
		_, size := utf8.DecodeRuneInString(text[offset:])
		out.WriteString(text[offset : offset+size])
		offset += size
	}
	return out.String(), kinds
}
