package conv

// generation is how many entries a Recent keeps at least.
const generation = 5_000

// A Recent is a map that forgets: it keeps the newest entries, at least generation of
// them. Its zero value is empty.
type Recent[K comparable, V any] struct{ young, old map[K]V }

// Get gives the value under a key, and whether there is one.
func (r *Recent[K, V]) Get(key K) (value V, ok bool) {
	if value, ok = r.young[key]; !ok {
		value, ok = r.old[key]
	}
	return value, ok
}

// Put sets the value under a key.
func (r *Recent[K, V]) Put(key K, value V) {
	if r.young == nil || len(r.young) >= generation {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[key] = value
}

// Drop forgets a key.
func (r *Recent[K, V]) Drop(key K) {
	delete(r.young, key)
	delete(r.old, key)
}
