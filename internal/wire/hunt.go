package wire

import "bytes"

// A hunt tells whether any form of the known secrets stands in bytes. All forms
// have shortestKnown bytes, so that it need not look at most of the others: two
// bytes tell how far it is to where a form that holds them may end (Wu and Manber,
// A fast algorithm for multi-pattern searching, 1994).
type hunt struct {
	skip [1 << 12]uint8
	// forms are those whose shortestKnown-th byte and the one before have this hash.
	forms map[int][][]byte
}

// hashOf is an index in skip.
func hashOf(a, b byte) int { return (int(a)<<4 ^ int(b)) & (1<<12 - 1) }

func newHunt(known []knownSecret) *hunt {
	h := &hunt{forms: map[int][][]byte{}}
	for i := range h.skip {
		h.skip[i] = shortestKnown - 1
	}
	for _, k := range known {
		for _, form := range k.forms {
			for i := 1; i < shortestKnown; i++ {
				at := hashOf(form[i-1], form[i])
				h.skip[at] = min(h.skip[at], uint8(shortestKnown-1-i))
			}
			at := hashOf(form[shortestKnown-2], form[shortestKnown-1])
			h.forms[at] = append(h.forms[at], form)
		}
	}
	return h
}

func (h *hunt) finds(raw []byte) bool {
	if len(h.forms) == 0 {
		return false
	}
	for i := shortestKnown - 1; i < len(raw); {
		at := hashOf(raw[i-1], raw[i])
		skip := int(h.skip[at])
		if skip > 0 {
			i += skip
			continue
		}
		for _, form := range h.forms[at] {
			if bytes.HasPrefix(raw[i-shortestKnown+1:], form) {
				return true
			}
		}
		i++
	}
	return false
}
