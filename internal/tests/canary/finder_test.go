package canary

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// A finder looks for many byte strings at once. It hashes the first bytes of each, so that it reads a text once.
type finder struct {
	begins [1 << 16]bool
	forms  map[uint64][][]byte
}

// minForm is the length of the shortest form of a finder.
const minForm = 8

func newFinder(forms [][]byte) *finder {
	f := &finder{forms: map[uint64][][]byte{}}
	for _, form := range forms {
		head := binary.LittleEndian.Uint64(form[:minForm])
		f.begins[hashOf(head)] = true
		f.forms[head] = append(f.forms[head], form)
	}
	return f
}

func hashOf(head uint64) uint16 { return uint16(head * 0x9e3779b97f4a7c15 >> 48) }

// find returns the first form in a text and its place, or -1.
func (f *finder) find(text []byte) (form []byte, at int) {
	for at := 0; at+minForm <= len(text); at++ {
		head := binary.LittleEndian.Uint64(text[at:])
		if !f.begins[hashOf(head)] {
			continue
		}
		for _, form := range f.forms[head] {
			if bytes.HasPrefix(text[at:], form) {
				return form, at
			}
		}
	}
	return nil, -1
}

func TestFinderFindsEachForm(t *testing.T) {
	f := newFinder(manyForms())
	for _, form := range manyForms() {
		text := slices.Concat([]byte("before"), form, []byte("after"))
		if _, at := f.find(text); at < 0 {
			t.Errorf("%q is not found", form)
		}
		if found, at := f.find(form[1:]); at >= 0 {
			t.Errorf("%q is found in a part of %q", found, form)
		}
	}
}
