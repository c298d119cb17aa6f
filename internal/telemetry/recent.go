package telemetry

import "iter"

// recent is a map that forgets what was put into it long ago.
type recent[K comparable, V any] struct{ young, old map[K]V }

// generation is how many entries a recent map remembers at least.
const generation = 10_000

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
	if _, there := r.young[key]; !there && len(r.young) >= generation {
		r.old, r.young = r.young, map[K]V{}
	}
	r.young[key] = v
}

func (r *recent[K, V]) drop(key K) {
	delete(r.young, key)
	delete(r.old, key)
}

// all are the values, in no order; one that was put again is there once.
func (r *recent[K, V]) all() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range r.young {
			if !yield(v) {
				return
			}
		}
		for key, v := range r.old {
			if _, newer := r.young[key]; !newer && !yield(v) {
				return
			}
		}
	}
}
