// Package recent has a map whose memory is bounded: it forgets entries that were put long ago.
package recent

import (
	"cmp"
	"iter"
)

// DefaultLeast is how many entries a Map with no Least keeps at least.
const DefaultLeast = 20_000

// A Map keeps the newest entries: at least Least of them, and at most twice as many. Its zero value is empty.
type Map[K comparable, V any] struct {
	// Least is DefaultLeast if it is 0.
	Least int

	// young has the newest entries. When it is full it replaces old.
	young, old map[K]V
}

// Get returns the value of a key, or the zero value if the map has none.
func (m *Map[K, V]) Get(key K) V {
	value, _ := m.Lookup(key)
	return value
}

// Lookup returns the value of a key, and whether the map has it.
func (m *Map[K, V]) Lookup(key K) (value V, ok bool) {
	value, ok = m.young[key]
	if !ok {
		value, ok = m.old[key]
	}
	return value, ok
}

// Put sets the value of a key, which is then the newest entry.
func (m *Map[K, V]) Put(key K, value V) {
	_, isYoung := m.young[key]
	if !isYoung && len(m.young) >= cmp.Or(m.Least, DefaultLeast) {
		clear(m.old) // its memory is used again
		m.young, m.old = m.old, m.young
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[key] = value
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	delete(m.young, key)
	delete(m.old, key)
}

// All returns the entries, each once, in no order.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for key, value := range m.young {
			if !yield(key, value) {
				return
			}
		}
		for key, value := range m.old {
			if _, isNewer := m.young[key]; !isNewer && !yield(key, value) {
				return
			}
		}
	}
}
