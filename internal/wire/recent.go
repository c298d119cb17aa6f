package wire

import "cmp"

// recent is a map that forgets what was put into it long ago.
type recent[K comparable, V any] struct {
	young, old map[K]V
	// least is how many entries it remembers at least; 0 is generation.
	least int
}

const generation = 20_000

func (r *recent[K, V]) get(key K) V {
	if v, ok := r.young[key]; ok {
		return v
	}
	return r.old[key]
}

func (r *recent[K, V]) put(key K, v V) {
	if r.young == nil {
		r.young = map[K]V{}
	}
	if len(r.young) >= cmp.Or(r.least, generation) {
		if _, stands := r.young[key]; !stands {
			clear(r.old) // whose memory is used again
			if r.old, r.young = r.young, r.old; r.young == nil {
				r.young = map[K]V{}
			}
		}
	}
	r.young[key] = v
}

func (r *recent[K, V]) drop(key K) {
	delete(r.young, key)
	delete(r.old, key)
}
