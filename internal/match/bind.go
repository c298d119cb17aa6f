package match

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"unicode/utf8"

	"mcpc/internal/match/jsonvalue"
)

// mostHandles and mostHandleBytes bound the handles that a Binder keeps: it forgets the oldest
// beyond them. shortestHandle is the minimum length of a text that is replaced wherever it occurs.
const (
	mostHandles     = 100_000
	mostHandleBytes = 32 << 20
	shortestHandle  = 8 // characters
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
	bindings  []Binding
	mu        sync.Mutex
	toIs      handles
	toWas     handles
	pairs     []pair // the oldest first
	bytes     int
	forgotten int
	// missing are the recorded handles of Bindings without a counterpart, by kind and token. differ
	// are the kinds of Bindings with a handle that differs from the recorded one. used are the kinds
	// with a handle that was put into a request. retyped are the kinds with a handle that a request
	// has as a string and an answer as a number, or the other way.
	missing               map[[2]string]bool
	differ, used, retyped map[string]bool
	// most and mostBytes are mostHandles and mostHandleBytes, except in tests.
	most, mostBytes int
}

// handles map a handle to its counterpart, by kind and token, and a long text by the text alone.
type handles struct {
	of    map[[2]string]bound
	any   map[string]bound
	named namedHandles
}

// A bound value is the counterpart of a handle, with the number of the pair that it comes from.
type bound struct {
	value json.RawMessage
	pair  int
}

// A pair is a recorded and a current handle of one kind, as tokens.
type pair struct {
	number        int
	kind, was, is string
	bytes         int
	named         bool
}

// NewBinder makes a Binder without handles.
func NewBinder(bindings ...Binding) *Binder {
	return &Binder{
		bindings:  bindings,
		toIs:      handles{map[[2]string]bound{}, map[string]bound{}, namedHandles{}},
		toWas:     handles{map[[2]string]bound{}, map[string]bound{}, namedHandles{}},
		most:      mostHandles,
		mostBytes: mostHandleBytes,
		missing:   map[[2]string]bool{},
		differ:    map[string]bool{},
		used:      map[string]bool{},
		retyped:   map[string]bool{},
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
func (b *Binder) Bind(kind string, was, is json.RawMessage) {
	wasNode, err := jsonvalue.Parse(was)
	isNode, other := jsonvalue.Parse(is)
	if err == nil && other == nil {
		b.learn(kind, wasNode, isNode, false)
	}
}

// Learn learns the handles in a recorded part of a message and its current counterpart, which is
// nil if it does not exist. It uses Part, Method and the revisions of c. It notes the handles of
// Bindings that have no counterpart.
func (b *Binder) Learn(c Comparison, was, is json.RawMessage) {
	wasNode, err := jsonvalue.Parse(was)
	isNode, other := jsonvalue.Parse(is)
	if err != nil {
		return
	}
	if is == nil || other != nil {
		isNode = &jsonvalue.Node{}
	}
	b.learnFrom(wasNode, isNode, compile(nil, c.Part, c.Method, "", c.WasRevision, c.IsRevision))
	for _, binding := range b.bindings {
		if binding.Part != c.Part {
			continue
		}
		for _, pointer := range binding.Select(was) {
			from := wasNode.Find(pointer)
			to := isNode.Find(pointer)
			switch {
			case from == nil:
			case to == nil || !to.IsLeaf():
				b.mu.Lock()
				if from.IsLeaf() && isHandle(from) && len(b.missing) < b.most {
					b.missing[[2]string{binding.Kind, token(from)}] = true
				}
				b.mu.Unlock()
			default:
				b.learn(binding.Kind, from, to, binding.Named && isHandle(from) && isHandle(to))
			}
		}
	}
}

// learnFrom learns the handles of the protocol in two values. on are the branches of the value.
func (b *Binder) learnFrom(was, is *jsonvalue.Node, on branches) {
	if kind := on.rule().handle(); kind != "" {
		b.learn(kind, was, is, false)
	}
	if len(on) == 0 || was.Kind != is.Kind {
		return
	}
	for i, kid := range was.Kids {
		if was.Kind == jsonvalue.Object {
			if other := is.Member(kid.Name); other != nil {
				b.learnFrom(kid, other, on.member(kid.Name))
			}
		} else if i < len(is.Kids) {
			b.learnFrom(kid, is.Kids[i], on.item(i, i))
		}
	}
}

// learn adds a pair of handles if both are scalars, and forgets the oldest pairs beyond the limits.
func (b *Binder) learn(kind string, was, is *jsonvalue.Node, named bool) {
	if !was.IsLeaf() || !is.IsLeaf() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := pair{b.forgotten + len(b.pairs), kind, token(was), token(is), len(was.Raw) + len(is.Raw), named}
	delete(b.missing, [2]string{kind, p.was})
	if p.was != p.is {
		b.differ[kind] = true
	}
	b.toIs.put(p, p.was, is.Raw)
	b.toWas.put(p, p.is, was.Raw)
	b.pairs = append(b.pairs, p)
	b.bytes += p.bytes
	for len(b.pairs) > b.most || b.bytes > b.mostBytes {
		oldest := b.pairs[0]
		b.toIs.forget(oldest, oldest.was)
		b.toWas.forget(oldest, oldest.is)
		b.bytes -= oldest.bytes
		b.pairs = b.pairs[1:]
		b.forgotten++
	}
}

// put stores a copy of the value, so that handles do not keep whole messages in memory.
func (h handles) put(p pair, from string, to json.RawMessage) {
	value := bound{slices.Clone(to), p.number}
	h.of[[2]string{p.kind, from}] = value
	if text, long := longText(from); long {
		h.any[text] = value
	}
	if p.named {
		h.named[from] = namedHandle{value, p.kind}
	}
}

// forget removes the values of a pair, unless a later pair has set them again.
func (h handles) forget(p pair, from string) {
	if key := [2]string{p.kind, from}; h.of[key].pair == p.number {
		delete(h.of, key)
	}
	if text, long := longText(from); long && h.any[text].pair == p.number {
		delete(h.any, text)
	}
	if p.named && h.named[from].pair == p.number {
		delete(h.named, from)
	}
}

// longText returns the text of a token that is long enough to be a handle wherever it occurs.
func longText(token string) (string, bool) {
	return token[1:], token[0] == jsonvalue.String && utf8.RuneCountInString(token[1:]) >= shortestHandle
}

// token returns a key that is equal for equal scalars: for 7 and 7.0, but not for 7 and "7".
func token(n *jsonvalue.Node) string { return string(n.Kind) + n.Text }

// ToIs replaces the handles in a recorded part of a message by the handles of the current run, and
// returns the number of replacements. It replaces values that the protocol or a Binding declares as
// handles, named handles in the data of a request, and every text of at least 8 characters that
// equals a handle. All other bytes stay unchanged.
func (b *Binder) ToIs(c Comparison, raw json.RawMessage) (json.RawMessage, int) {
	return b.replace(c, raw, &b.toIs)
}

// ToWas replaces current handles by recorded ones, as the inverse of ToIs.
func (b *Binder) ToWas(c Comparison, raw json.RawMessage) (json.RawMessage, int) {
	return b.replace(c, raw, &b.toWas)
}

// A replacing replaces the handles in one value.
type replacing struct {
	*handles
	bound map[*jsonvalue.Node]string // kinds, of Bindings
	// data are the values of a request in which named handles are replaced.
	data  map[*jsonvalue.Node]bool
	edits []replacement
	// kinds are the kinds of the handles that were put in. retyped are the kinds of the named handles
	// that were not put in, because the value has a different type.
	kinds, retyped []string
}

// A replacement is the new JSON of a value.
type replacement struct {
	at  *jsonvalue.Node
	new json.RawMessage
}

// replace implements ToIs and ToWas with the handles of one direction.
func (b *Binder) replace(c Comparison, raw json.RawMessage, with *handles) (json.RawMessage, int) {
	n, err := jsonvalue.Parse(raw)
	if raw == nil || err != nil {
		return raw, 0
	}
	r := replacing{handles: with, bound: map[*jsonvalue.Node]string{}, data: map[*jsonvalue.Node]bool{}}
	if c.Part == Params && with == &b.toIs {
		for _, kid := range n.Kids {
			r.data[kid] = slices.Contains(dataMembers, kid.Name)
		}
	}
	for _, binding := range b.bindings {
		if binding.Part != c.Part {
			continue
		}
		for _, pointer := range binding.Select(raw) {
			if at := n.Find(pointer); at != nil {
				r.bound[at] = binding.Kind
			}
		}
	}
	b.mu.Lock()
	r.walk(n, compile(nil, c.Part, c.Method, "", c.WasRevision, c.IsRevision))
	if with == &b.toIs {
		for _, kind := range r.kinds {
			b.used[kind] = true
		}
		for _, kind := range r.retyped {
			b.retyped[kind] = true
		}
	}
	b.mu.Unlock()
	return edited(raw, r.edits), len(r.edits)
}

// walk collects the replacements in a value and the values below it. on are the branches of the
// value.
func (r *replacing) walk(n *jsonvalue.Node, on branches) {
	for i, kid := range n.Kids {
		if r.data[n] {
			r.data[kid] = true
		}
		if n.Kind == jsonvalue.Object {
			r.walk(kid, on.member(kid.Name))
		} else {
			r.walk(kid, on.item(i, i))
		}
	}
	if !n.IsLeaf() {
		return
	}
	kind, isBound := r.bound[n]
	if !isBound {
		kind = on.rule().handle()
		isBound = kind != ""
	}
	to, known := r.of[[2]string{kind, token(n)}]
	known = known && isBound
	value := to.value
	kinds := []string{kind}
	if !known && r.bound[n] != "" { // a Binding declares the value as a handle
		value = asType(n, r.of[[2]string{kind, retyped(n)}].value)
		known = value != nil
	}
	if !known && r.data[n] {
		value, kinds = r.named.inRequest(n)
		known = value != nil
		if other, there := r.named[retyped(n)]; there {
			r.retyped = append(r.retyped, other.kind)
		}
	}
	if !known && n.Kind == jsonvalue.String {
		to, known = r.any[n.Text]
		value = to.value
		kinds = nil
	}
	if known && !bytes.Equal(value, n.Raw) {
		r.edits = append(r.edits, replacement{n, value})
		r.kinds = append(r.kinds, kinds...)
	}
}
