package poison

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
)

// A grams is a set of pieces of four bytes, of which each text with a stem has one. Looking for those
// is quicker than looking for the stems, since no step of it waits for the one before.
type grams struct {
	// maybe has a bit for the hash of each.
	maybe [1 << 10]uint64
	all   map[uint32]bool
}

// small turns letters of ASCII into small ones, and a few other bytes into some more.
const (
	small = 0x20202020
	each  = 0x0101010101010101
	high  = 0x80 * each
)

func (g *grams) add(four string) {
	gram := binary.LittleEndian.Uint32([]byte(four)) | small
	at := hashOf(gram)
	g.maybe[at>>6] |= 1 << (at & 63)
	g.all[gram] = true
}

func hashOf(gram uint32) uint32 { return gram * 0x9e3779b1 >> 16 }

// stemGrams are those of the stems that make a definition one that is looked at. Of each, it is
// the rarest one without a blank, if the stem has such a one; else a word of three letters with what stands
// for a blank before it, or with anything behind it.
var stemGrams = sync.OnceValue(func() *grams {
	g := &grams{all: map[uint32]bool{}}
	for _, p := range []*phrases{&instructions, &asks, &ordering} {
		for _, stem := range p.stems {
			g.addStem(stem)
		}
	}
	return g
})

func (g *grams) addStem(stem string) {
	if stem == slashDot {
		return
	}
	words, rarest := strings.Fields(stem), ""
	for _, word := range words {
		for i := 0; i+4 <= len(word); i++ {
			if four := word[i : i+4]; rarest == "" || common(four) <= common(rarest) {
				rarest = four
			}
		}
	}
	if rarest != "" {
		g.add(rarest)
		return
	}
	last := words[len(words)-1]
	if len(words) > 1 {
		for _, blank := range []string{" ", "\t", "\n", "\v", "\f", "\r", `\n`, `\t`, `\r`} {
			g.add((blank + last)[:4])
		}
		return
	}
	for c := range byte(0x80) {
		g.add(last + string(rune(c)))
	}
}

// common counts the letters of a piece that are frequent in English.
func common(four string) (n int) {
	for _, c := range four {
		if strings.ContainsRune("etaoinsr", c) {
			n++
		}
	}
	return n
}

// slashDot is the one stem that has no three letters.
const slashDot = "/."

// clearly reports a definition without any of the stems, and without a character that may be
// hidden. It is false for a few others, too.
func (g *grams) clearly(definition []byte) bool {
	n := len(definition)
	if n < 8 || definition[n-1] != '}' || bytes.Contains(definition, []byte(slashDot)) || !usualEscapes(definition) {
		return false
	}
	for i := 0; ; i += 4 {
		i = min(i, n-8) // the last step may look at some bytes again
		x := binary.LittleEndian.Uint64(definition[i:])
		if (x|(x+each))&high != 0 {
			return false
		}
		x |= small<<32 | small
		if (g.bit(x)|g.bit(x>>8)|g.bit(x>>16)|g.bit(x>>24))&1 != 0 && g.hasOne(x) {
			return false
		}
		if i == n-8 {
			return !g.hasOne(x)
		}
	}
}

// bit is 1 in its last bit where the first four bytes of x may be one of g.
func (g *grams) bit(x uint64) uint64 {
	at := hashOf(uint32(x))
	return g.maybe[at>>6] >> (at & 63)
}

func (g *grams) hasOne(x uint64) bool {
	return g.all[uint32(x)] || g.all[uint32(x>>8)] || g.all[uint32(x>>16)] || g.all[uint32(x>>24)] || g.all[uint32(x>>32)]
}

// usualEscapes reports a text whose escapes stand for line ends, tabs, quotes and backslashes.
func usualEscapes(definition []byte) bool {
	for {
		i := bytes.IndexByte(definition, '\\')
		if i < 0 {
			return true
		}
		if i+1 == len(definition) || !strings.ContainsRune(`ntr"\`, rune(definition[i+1])) {
			return false
		}
		definition = definition[i+2:]
	}
}
