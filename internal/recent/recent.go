// Package recent provides a map with bounded memory: it drops entries that were put long ago.
package recent

import (
	"cmp"
	"iter"
)

// DefaultMinEntries is the value of Map.MinEntries if it is 0.
const DefaultMinEntries = 20_000

// A Map keeps the newest entries: at least MinEntries of them, and at most twice as many. Its zero value
// is empty.
type Map[K comparable, V any] struct {
	// MinEntries is DefaultMinEntries if it is 0.
	MinEntries int

	// young has the newest entries. When young is full, it becomes old, and the entries of old are
	// dropped.
	young, old map[K]V
}

// Get returns the value of a key, or the zero value if the map does not have the key.
func (m *Map[K, V]) Get(key K) V {
	value, _ := m.Lookup(key)
	return value
}

// Lookup returns the value of a key, and whether the map has the key.
func (m *Map[K, V]) Lookup(key K) (value V, ok bool) {
	value, ok = m.young[key]
	if !ok {
		value, ok = m.old[key]
	}
	return value, ok
}

// Put sets the value of a key, which becomes the newest entry.
func (m *Map[K, V]) Put(key K, value V) {
	_, isYoung := m.young[key]
	if !isYoung && len(m.young) >= cmp.Or(m.MinEntries, DefaultMinEntries) {
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

// All returns an iterator over the entries in no order.
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
