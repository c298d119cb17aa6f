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

// dataMembers are the members of params with data of the caller, in which named handles are
// replaced. The name of a tool is not data.
var dataMembers = []string{"arguments", "argument", "context", "uri"}

// isHandle reports whether a value can identify something: a number or a text that is not empty.
func isHandle(n *jsonvalue.Node) bool {
	return n.Kind == jsonvalue.String && n.Text != "" || n.Kind == jsonvalue.Number
}

// Miss records that a recorded part of a message has no counterpart in the current run, because its
// request was not sent or not answered.
func (b *Binder) Miss(c Comparison, was json.RawMessage) { b.Learn(c, was, nil) }

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
			at := n.Find(pointer)
			if at != nil && at.IsLeaf() && (b.lacks(binding.Kind, token(at)) || b.lacks(binding.Kind, retyped(at))) {
				return true
			}
		}
	}
	for _, kid := range n.Kids {
		if c.Part == Params && slices.Contains(dataMembers, kid.Name) && b.lacksIn(kid) {
			return true
		}
	}
	return false
}

// lacksIn reports whether a value has a named handle without a counterpart.
func (b *Binder) lacksIn(n *jsonvalue.Node) bool {
	if !n.IsLeaf() {
		return slices.ContainsFunc(n.Kids, b.lacksIn)
	}
	return slices.ContainsFunc(b.bindings, func(binding Binding) bool {
		return binding.Named && b.lacks(binding.Kind, token(n))
	})
}

// lacks reports whether a handle is known to have no counterpart.
func (b *Binder) lacks(kind, token string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing[[2]string{kind, token}]
}

// retyped returns the token of the same handle in the other type: of the number that a string
// spells, or of a number as a string. It returns "" if n is neither.
func retyped(n *jsonvalue.Node) string {
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

// asType returns a handle in the type of n: a string that spells a number as the number, or a
// number as a string. It returns nil if the types are equal or the value cannot be converted.
func asType(n *jsonvalue.Node, value json.RawMessage) json.RawMessage {
	text, isText := jsonraw.Text(value)
	switch {
	case value == nil:
	case n.Kind == jsonvalue.Number && isNumber(text):
		return json.RawMessage(text)
	case n.Kind == jsonvalue.String && !isText:
		return jsonraw.Quote(string(value))
	}
	return nil
}

// Unused returns the kinds of Bindings whose handles differ from the recorded ones and were put
// into no request.
func (b *Binder) Unused() (kinds []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, binding := range b.bindings {
		if b.differ[binding.Kind] && !b.used[binding.Kind] && !slices.Contains(kinds, binding.Kind) {
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
func (b *Binder) ToRecorded(c Comparison, was, raw json.RawMessage) (json.RawMessage, int) {
	out, count := b.ToWas(c, raw)
	if !slices.ContainsFunc(b.bindings, func(binding Binding) bool { return binding.Named }) {
		return out, count
	}
	wasNode, err := jsonvalue.Parse(was)
	isNode, other := jsonvalue.Parse(out)
	if err != nil || other != nil {
		return out, count
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	edits := b.recorded(wasNode, isNode, nil)
	return edited(out, edits), count + len(edits)
}

// recorded appends the replacements of the values that differ in named handles alone.
func (b *Binder) recorded(was, is *jsonvalue.Node, edits []replacement) []replacement {
	if is.IsLeaf() && was.IsLeaf() {
		if token(was) != token(is) && b.toWas.named.differsBy(was, is) {
			edits = append(edits, replacement{is, was.Raw})
		}
		return edits
	}
	if was.Kind != is.Kind {
		return edits
	}
	for i, kid := range was.Kids {
		if was.Kind == jsonvalue.Object {
			if other := is.Member(kid.Name); other != nil {
				edits = b.recorded(kid, other, edits)
			}
		} else if i < len(is.Kids) {
			edits = b.recorded(kid, is.Kids[i], edits)
		}
	}
	return edits
}

// edited returns a value with replacements. It sorts the edits by position.
func edited(raw json.RawMessage, edits []replacement) json.RawMessage {
	if len(edits) == 0 {
		return raw
	}
	sliceutil.Sort(edits, func(a, b replacement) int { return a.at.At - b.at.At })
	var out json.RawMessage
	done := 0
	for _, e := range edits {
		out = append(append(out, raw[done:e.at.At]...), e.new...)
		done = e.at.At + len(e.at.Raw)
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

// word returns the counterpart of the handle that equals a word of a text, as a string or as a
// number.
func (h namedHandles) word(word string) (namedHandle, bool) {
	to, known := h[string(jsonvalue.String)+word]
	if !known && isNumber(word) {
		to, known = h[string(jsonvalue.Number)+jsonvalue.Decimal(word)]
	}
	return to, known
}

// differsBy reports whether n equals want after replacing the handles in n.
func (h namedHandles) differsBy(want, n *jsonvalue.Node) bool {
	if to, known := h[token(n)]; known {
		if node, err := jsonvalue.Parse(to.value); err == nil && token(node) == token(want) {
			return true
		}
	}
	if n.Kind != jsonvalue.String || want.Kind != jsonvalue.String {
		return false
	}
	text, _ := h.inText(n.Text, func(namedHandle, string, bool) bool { return true })
	return text == want.Text
}

// inRequest returns the replacement for a value of a request, and the kinds of the handles in it.
// It returns nil if the value has no handles.
func (h namedHandles) inRequest(n *jsonvalue.Node) (json.RawMessage, []string) {
	if to, known := h[token(n)]; known {
		return to.value, []string{to.kind}
	}
	if n.Kind != jsonvalue.String {
		return nil, nil
	}
	isURI := strings.Contains(n.Text, "://")
	text, kinds := h.inText(n.Text, func(_ namedHandle, word string, whole bool) bool {
		return isURI && whole || utf8.RuneCountInString(word) >= shortestHandle
	})
	if len(kinds) == 0 {
		return nil, nil
	}
	return jsonraw.Quote(text), kinds
}

// inText replaces the handles that are words of a text, if may allows it, and returns their kinds.
// may gets the counterpart, the word and whether the word is a whole segment of a URI.
func (h namedHandles) inText(text string, may func(to namedHandle, word string, whole bool) bool) (string, []string) {
	var out strings.Builder
	var kinds []string
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
	ends := func(rest string) bool { return rest == "" || strings.ContainsRune("/?#&=", rune(rest[0])) }
	for at := 0; at < len(text); {
		length := strings.IndexFunc(text[at:], func(r rune) bool { return !isWord(r) })
		if length < 0 {
			length = len(text) - at
		}
		word := text[at : at+length]
		to, known := h.word(word)
		whole := at > 0 && strings.ContainsRune("/?#&=", rune(text[at-1])) && ends(text[at+length:])
		if known && length > 0 && may(to, word, whole) {
			word = to.text()
			kinds = append(kinds, to.kind)
		}
		out.WriteString(word)
		at += length
		_, size := utf8.DecodeRuneInString(text[at:])
		out.WriteString(text[at : at+size])
		at += size
	}
	return out.String(), kinds
}
