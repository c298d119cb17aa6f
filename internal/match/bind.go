package match

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"unicode/utf8"

	"mcpc/internal/match/jsonvalue"
)

// maxHandles and maxHandleBytes bound the handles that a Binder keeps: it forgets the oldest
// beyond them. minHandle is the minimum length of a text that is replaced wherever it occurs.
const (
	maxHandles     = 100_000
	maxHandleBytes = 32 << 20
	minHandle      = 8 // characters
)

// A Binding finds a kind of handle that is ordinary data of a server, such as the id of an order,
// in a part of a message of any method.
type Binding struct {
	// Kind separates handles with equal values. All Bindings of one Kind share their handles.
	Kind string
	Part Part
	// Select returns the JSON pointers of the handles in a value, as Path.Select does.
	Select func(raw json.RawMessage) []string
	// Named is set for handles that are replaced wherever the data of a request has them: as a
	// whole value, as a segment of a URI, and if they are long as a word of a text.
	Named bool
}

// A Binder maps the handles of a recording to the handles of the current run: JSON-RPC ids,
// progress tokens, cursors, task ids, elicitation ids, request states, and the handles of
// Bindings. It learns from pairs of messages and replaces handles in other messages. Its methods
// are safe for concurrent use.
type Binder struct {
	bindings   []Binding
	mu         sync.Mutex
	toCurrent  handles
	toRecorded handles
	pairs      []pair // the oldest first
	bytes      int
	forgotten  int
	// missing are the recorded handles of Bindings without a counterpart, by kind and token.
	// differing are the kinds of Bindings with a handle that differs from the recorded one. used
	// are the kinds with a handle that was put into a request. retyped are the kinds with a handle
	// that a request has as a string and an answer as a number, or the other way.
	missing                  map[[2]string]bool
	differing, used, retyped map[string]bool
	// maxHandles and maxBytes are maxHandles and maxHandleBytes, except in tests.
	maxHandles, maxBytes int
}

// handles map a handle to its counterpart, by kind and token, and a long text by the text alone.
type handles struct {
	byKind map[[2]string]bound
	byText map[string]bound
	named  namedHandles
}

// A bound value is the counterpart of a handle, with the number of the pair that it comes from.
type bound struct {
	value json.RawMessage
	pair  int
}

// A pair is a recorded and a current handle of one kind, as tokens.
type pair struct {
	number                  int
	kind, recorded, current string
	bytes                   int
	named                   bool
}

// NewBinder makes a Binder without handles.
func NewBinder(bindings ...Binding) *Binder {
	return &Binder{
		bindings:   bindings,
		toCurrent:  handles{map[[2]string]bound{}, map[string]bound{}, namedHandles{}},
		toRecorded: handles{map[[2]string]bound{}, map[string]bound{}, namedHandles{}},
		maxHandles: maxHandles,
		maxBytes:   maxHandleBytes,
		missing:    map[[2]string]bool{},
		differing:  map[string]bool{},
		used:       map[string]bool{},
		retyped:    map[string]bool{},
	}
}

// Forgotten returns the number of handles that were dropped because there were too many.
func (b *Binder) Forgotten() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.forgotten
}

// Bind learns one handle that is outside of the parts of a message: a JSON-RPC id, or a session id
// as a JSON string. The kinds of volatile.txt are id, progressToken, cursor, taskId, elicitationId
// and requestState. Bind ignores values that are not JSON scalars.
func (b *Binder) Bind(kind string, recorded, current json.RawMessage) {
	recordedNode, recordedErr := jsonvalue.Parse(recorded)
	currentNode, currentErr := jsonvalue.Parse(current)
	if recordedErr == nil && currentErr == nil {
		b.learnPair(kind, recordedNode, currentNode, notNamed)
	}
}

// Learn learns the handles in a recorded part of a message and its current counterpart, which is
// nil if it does not exist. It uses Part, Method and the revisions of c. It notes the handles of
// Bindings that have no counterpart.
func (b *Binder) Learn(c Comparison, recorded, current json.RawMessage) {
	recordedNode, err := jsonvalue.Parse(recorded)
	if err != nil {
		return
	}
	currentNode, err := jsonvalue.Parse(current)
	if current == nil || err != nil {
		currentNode = &jsonvalue.Node{} // has no handles
	}
	protocolRules := compile(nil, c.Part, c.Method, "", c.RecordedRevision, c.CurrentRevision)
	b.learnProtocolHandles(recordedNode, currentNode, protocolRules)
	for _, binding := range b.bindings {
		if binding.Part != c.Part {
			continue
		}
		for _, pointer := range binding.Select(recorded) {
			recordedHandle := recordedNode.Find(pointer)
			currentHandle := currentNode.Find(pointer)
			if recordedHandle == nil {
				continue
			}
			if currentHandle == nil || !currentHandle.IsLeaf() {
				b.addMissing(binding.Kind, recordedHandle)
				continue
			}
			isNamed := binding.Named && isHandle(recordedHandle) && isHandle(currentHandle)
			b.learnPair(binding.Kind, recordedHandle, currentHandle, isNamed)
		}
	}
}

// addMissing records that a recorded handle of a Binding has no counterpart in the current run.
func (b *Binder) addMissing(kind string, handle *jsonvalue.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if handle.IsLeaf() && isHandle(handle) && len(b.missing) < b.maxHandles {
		b.missing[[2]string{kind, token(handle)}] = true
	}
}

// notNamed is the last argument of learnPair for a handle that is replaced only in its own places.
const notNamed = false

// learnProtocolHandles learns the handles of the protocol in two values. scope has the branches of the value.
func (b *Binder) learnProtocolHandles(recorded, current *jsonvalue.Node, scope branches) {
	if kind := scope.rule().handleKind(); kind != "" {
		b.learnPair(kind, recorded, current, notNamed)
	}
	if len(scope) == 0 || recorded.Kind != current.Kind {
		return
	}
	for i, kid := range recorded.Kids {
		if recorded.Kind == jsonvalue.Object {
			if other := current.Member(kid.Name); other != nil {
				b.learnProtocolHandles(kid, other, scope.member(kid.Name))
			}
		} else if i < len(current.Kids) {
			b.learnProtocolHandles(kid, current.Kids[i], scope.item(i, i))
		}
	}
}

// learnPair adds a pair of handles if both are scalars, and forgets the oldest pairs beyond the limits.
func (b *Binder) learnPair(kind string, recorded, current *jsonvalue.Node, isNamed bool) {
	if !recorded.IsLeaf() || !current.IsLeaf() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := pair{
		number:   b.forgotten + len(b.pairs),
		kind:     kind,
		recorded: token(recorded),
		current:  token(current),
		bytes:    len(recorded.Raw) + len(current.Raw),
		named:    isNamed,
	}
	delete(b.missing, [2]string{kind, p.recorded})
	if p.recorded != p.current {
		b.differing[kind] = true
	}
	b.toCurrent.put(p, p.recorded, current.Raw)
	b.toRecorded.put(p, p.current, recorded.Raw)
	b.pairs = append(b.pairs, p)
	b.bytes += p.bytes
	for len(b.pairs) > b.maxHandles || b.bytes > b.maxBytes {
		oldest := b.pairs[0]
		b.toCurrent.forget(oldest, oldest.recorded)
		b.toRecorded.forget(oldest, oldest.current)
		b.bytes -= oldest.bytes
		b.pairs = b.pairs[1:]
		b.forgotten++
	}
}

// put stores a copy of the value, so that handles do not keep whole messages in memory.
func (h handles) put(p pair, handleKey string, counterpart json.RawMessage) {
	value := bound{slices.Clone(counterpart), p.number}
	h.byKind[[2]string{p.kind, handleKey}] = value
	if text, long := longText(handleKey); long {
		h.byText[text] = value
	}
	if p.named {
		h.named[handleKey] = namedHandle{value, p.kind}
	}
}

// forget removes the values of a pair, unless a later pair has set them again.
func (h handles) forget(p pair, handleKey string) {
	if key := [2]string{p.kind, handleKey}; h.byKind[key].pair == p.number {
		delete(h.byKind, key)
	}
	if text, long := longText(handleKey); long && h.byText[text].pair == p.number {
		delete(h.byText, text)
	}
	if p.named && h.named[handleKey].pair == p.number {
		delete(h.named, handleKey)
	}
}

// longText returns the text of a token that is long enough to be a handle wherever it occurs.
func longText(token string) (string, bool) {
	return token[1:], token[0] == jsonvalue.String && utf8.RuneCountInString(token[1:]) >= minHandle
}

// token returns a key that is equal for equal scalars: for 7 and 7.0, but not for 7 and "7".
func token(n *jsonvalue.Node) string { return string(n.Kind) + n.Text }

// ToIs replaces the handles in a recorded part of a message by the handles of the current run, and
// returns the number of replacements. It replaces values that the protocol or a Binding declares as
// handles, named handles in the data of a request, and every text of at least 8 characters that
// equals a handle. All other bytes stay unchanged.
func (b *Binder) ToIs(c Comparison, raw json.RawMessage) (json.RawMessage, int) {
	return b.replace(c, raw, &b.toCurrent)
}

// ToWas replaces current handles by recorded ones, as the inverse of ToIs.
func (b *Binder) ToWas(c Comparison, raw json.RawMessage) (json.RawMessage, int) {
	return b.replace(c, raw, &b.toRecorded)
}

// A handleReplacer replaces the handles in one value.
type handleReplacer struct {
	*handles
	// bound has the values that a Binding declares as handles, with its kind.
	bound map[*jsonvalue.Node]string
	// data are the values of a request where named handles are replaced.
	data  map[*jsonvalue.Node]bool
	edits []replacement
	// kinds are the kinds of the handles that were put in. retyped are the kinds of the named
	// handles that were not put in, because the value has a different type.
	kinds, retyped []string
}

// A replacement is the new JSON of a value.
type replacement struct {
	node *jsonvalue.Node
	new  json.RawMessage
}

// replace implements ToIs and ToWas with the handles of one direction.
func (b *Binder) replace(c Comparison, raw json.RawMessage, direction *handles) (json.RawMessage, int) {
	n, err := jsonvalue.Parse(raw)
	if raw == nil || err != nil {
		return raw, 0
	}
	r := handleReplacer{handles: direction, bound: map[*jsonvalue.Node]string{}, data: map[*jsonvalue.Node]bool{}}
	if c.Part == Params && direction == &b.toCurrent { // a request that is about to be sent
		for _, kid := range n.Kids {
			r.data[kid] = slices.Contains(dataMembers, kid.Name)
		}
	}
	for _, binding := range b.bindings {
		if binding.Part != c.Part {
			continue
		}
		for _, pointer := range binding.Select(raw) {
			if node := n.Find(pointer); node != nil {
				r.bound[node] = binding.Kind
			}
		}
	}
	b.mu.Lock()
	r.collect(n, compile(nil, c.Part, c.Method, "", c.RecordedRevision, c.CurrentRevision))
	if direction == &b.toCurrent {
		for _, kind := range r.kinds {
			b.used[kind] = true
		}
		for _, kind := range r.retyped {
			b.retyped[kind] = true
		}
	}
	b.mu.Unlock()
	return applyReplacements(raw, r.edits), len(r.edits)
}

// collect collects the replacements in a value and the values below it. scope has the branches of
// the value. It looks for the handle of a scalar in this order: as a handle of the protocol or a
// Binding, as the same handle in the other type, as a named handle in data, as a long text.
func (r *handleReplacer) collect(n *jsonvalue.Node, scope branches) {
	for i, kid := range n.Kids {
		if r.data[n] {
			r.data[kid] = true
		}
		if n.Kind == jsonvalue.Object {
			r.collect(kid, scope.member(kid.Name))
		} else {
			r.collect(kid, scope.item(i, i))
		}
	}
	if !n.IsLeaf() {
		return
	}
	kind, isBound := r.bound[n]
	if !isBound {
		kind = scope.rule().handleKind()
		isBound = kind != ""
	}
	counterpart, known := r.byKind[[2]string{kind, token(n)}]
	known = known && isBound // kind is "" if the value is not declared as a handle
	value := counterpart.value
	kinds := []string{kind}
	if !known && r.bound[n] != "" { // a Binding declares the value as a handle
		value = asRetyped(n, r.byKind[[2]string{kind, retypedToken(n)}].value)
		known = value != nil
	}
	if !known && r.data[n] {
		value, kinds = r.named.replaceInRequest(n)
		known = value != nil
		if retypedHandle, exists := r.named[retypedToken(n)]; exists {
			r.retyped = append(r.retyped, retypedHandle.kind)
		}
	}
	if !known && n.Kind == jsonvalue.String {
		counterpart, known = r.byText[n.Text]
		value = counterpart.value
		kinds = nil // byText does not tell the kind
	}
	if known && !bytes.Equal(value, n.Raw) {
		r.edits = append(r.edits, replacement{n, value})
		r.kinds = append(r.kinds, kinds...)
	}
}
