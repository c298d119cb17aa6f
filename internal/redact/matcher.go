package redact

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// A valueIndex is an index of the values that are secret everywhere, and of the ways to write them.
// The time of a search does not depend on the number of values. A search reads four of every five
// bytes once. The zero valueIndex is empty.
//
// The mark of a pattern is minKnown bytes of it. Wherever the pattern occurs, a quadruple among the
// five in its mark begins at a multiple of five. A bit set shows whether bytes can be such a
// quadruple, and a table finds the patterns by their marks.
type valueIndex struct {
	texts    []knownText
	patterns []pattern
	// values has the values themselves.
	values map[string]bool
	// marked has the patterns of each mark. quads and marks are the bit sets.
	marked       map[uint64]chain
	quads, marks []uint64
	// size is the total length of the values in bytes.
	size int
	// longest is the length of the longest plain text, letters are the bytes in plain texts. hasNonASCII is
	// set if a plain text has bytes beyond ASCII.
	longest     int
	letters     [256]bool
	hasNonASCII bool
}

// A knownText is a value, or the value after decoding or encoding. Finding text means finding
// value.
type knownText struct{ text, value string }

// A pattern is a spelling of a text.
type pattern struct {
	// text is the index of the pattern's text in valueIndex.texts.
	text int32
	// markAt is the place of the mark in the pattern.
	markAt int32
	// previous is the previous pattern with the same mark, or -1.
	previous int32
	spelling spelling
}

// A chain is the list of patterns with the same mark: the index of the last one, and their number.
type chain struct{ last, count int32 }

// A spelling is the encoding of a text. Escapes are not spellings: they are decoded before a
// search.
type spelling uint8

const (
	asItIs spelling = iota
	inHex
	// The base64 of a text depends on how many bytes precede it in its group of three.
	inBase64
	inBase64After1
	inBase64After2
)

const (
	stride     = 5
	quadLength = minKnown - stride + 1
	// spread multiplies a mark or a quadruple to spread it over its bit set.
	spread = 0x9E3779B97F4A7C15
	// maxPlaces is how many places of a pattern are tried for its mark.
	maxPlaces = 8
)

// add adds a value, which must not be in the index yet, with its escaped, decoded and encoded
// forms.
func (k *valueIndex) add(value string) {
	if k.values == nil {
		k.values = map[string]bool{}
		k.marked = map[uint64]chain{}
		const firstSize = 1 << 9 // addMark makes them larger
		k.quads = make([]uint64, firstSize)
		k.marks = make([]uint64, firstSize)
	}
	value = strings.Clone(value)
	k.values[value] = true
	k.size += len(value)
	const (
		plain = true // search for the text as it is
		coded = true // search for the text in hexadecimal digits and base64
	)
	k.addText(value, value, plain, coded)
	// The value in a JSON string that is then written in base64.
	if quoted := jsonraw.Quote(value); len(quoted) != len(value)+2 {
		k.addText(string(quoted[1:len(quoted)-1]), value, !plain, coded)
	}
	if form := asFormText(value); form != value {
		k.addText(form, value, plain, !coded)
	}
	// A value that looks escaped is decoded like the text that it occurs in.
	text := []byte(value)
	for range maxLevels {
		v, ok := decode(text, escape)
		if !ok {
			break
		}
		text = v.text
		k.addText(string(text), value, plain, !coded)
		if form := asFormText(string(text)); form != string(text) {
			k.addText(form, value, plain, !coded)
		}
	}
}

// asFormText returns text with "+" for each space, as in a form after decoding its escapes.
func asFormText(text string) string { return strings.ReplaceAll(text, " ", "+") }

// addText adds the patterns of a form of value: the text as it is if plain is set, and the text in
// hexadecimal digits and base64 if coded is set. It ignores texts shorter than minKnown.
func (k *valueIndex) addText(text, value string, plain, coded bool) {
	if len(text) < minKnown {
		return
	}
	k.texts = append(k.texts, knownText{text, value})
	if plain {
		k.longest = max(k.longest, len(text))
		for i := range len(text) {
			k.letters[text[i]] = true
			k.hasNonASCII = k.hasNonASCII || text[i] >= utf8.RuneSelf
		}
		k.addPattern(text, asItIs)
	}
	if coded {
		for form := inHex; form <= inBase64After2; form++ {
			k.addPattern(text, form)
		}
	}
}

// addPattern adds the patterns of the last text in a spelling. It chooses a mark that few other
// patterns have, because the tokens of one service begin alike.
func (k *valueIndex) addPattern(text string, form spelling) {
	last := form.length(text) - minKnown
	best := 0
	fewest := int32(-1)
	for i := range maxPlaces { // evenly from the beginning to the end
		place := last * i / (maxPlaces - 1)
		mark, otherMark := form.marks(text, place)
		n := 2 * k.marked[mark].count
		if mark != otherMark { // a second mark costs another pattern
			n++
		}
		if fewest < 0 || n < fewest {
			best = place
			fewest = n
		}
		if n == 0 || last == 0 {
			break
		}
	}
	mark, otherMark := form.marks(text, best)
	k.addMark(mark, best, form)
	if otherMark != mark {
		k.addMark(otherMark, best, form)
	}
}

// addMark adds a pattern of the last text with its mark, and grows the bit sets if they are full.
func (k *valueIndex) addMark(mark uint64, place int, form spelling) {
	if len(k.patterns) == len(k.quads) { // 64 bits per pattern are 13 per quadruple
		k.quads, k.marks = make([]uint64, 2*len(k.quads)), make([]uint64, 2*len(k.marks))
		for mark := range k.marked {
			k.set(mark)
		}
	}
	previous, ok := k.marked[mark]
	if !ok {
		previous.last = -1
	}
	k.patterns = append(k.patterns, pattern{int32(len(k.texts) - 1), int32(place), previous.last, form})
	k.marked[mark] = chain{int32(len(k.patterns) - 1), previous.count + 1}
	k.set(mark)
}

// set adds a mark and its quadruples to the bit sets.
func (k *valueIndex) set(mark uint64) {
	shift := k.shift()
	for i := range stride {
		bit := uint64(uint32(mark>>(8*i))) * spread >> shift
		k.quads[bit/64] |= 1 << (bit % 64)
	}
	bit := mark * spread >> shift
	k.marks[bit/64] |= 1 << (bit % 64)
}

// shift returns how many bits of a spread value are dropped to get its place in a bit set.
func (k *valueIndex) shift() int { return 64 - 6 - bits.TrailingZeros(uint(len(k.quads))) }

// scan calls found for the known texts in text, with the range of each and its value. Ranges may
// overlap.
func (k *valueIndex) scan(text []byte, found func(from, to int, value string)) {
	if k.values == nil {
		return
	}
	shift := k.shift()
	quads := k.quads
	for i := 0; i+quadLength <= len(text); i += stride {
		place := uint64(binary.LittleEndian.Uint32(text[i:])) * spread >> shift
		if quads[place/64]&(1<<(place%64)) == 0 {
			continue
		}
		// The quadruple may be any of the first ones in a mark.
		for offset := max(0, i-stride+1); offset <= i && offset+minKnown <= len(text); offset++ {
			mark := binary.LittleEndian.Uint64(text[offset:])
			if place := mark * spread >> shift; k.marks[place/64]&(1<<(place%64)) == 0 {
				continue
			}
			if from, to, value := k.longestAt(text, offset, mark); to > 0 {
				found(from, to, value)
			}
		}
	}
}

// longestAt returns the range and the value of the longest known text with its mark at
// text[offset:], or 0, 0, "" without such a text.
func (k *valueIndex) longestAt(text []byte, offset int, mark uint64) (from, to int, value string) {
	candidates, ok := k.marked[mark]
	if !ok {
		return 0, 0, ""
	}
	for next := candidates.last; next >= 0; next = k.patterns[next].previous {
		p := k.patterns[next]
		known := k.texts[p.text]
		begin, end := p.spelling.match(text, offset-int(p.markAt), known.text)
		if end-begin > to-from {
			from = begin
			to = end
			value = known.value
		}
	}
	return from, to, value
}

// length returns the number of encoded characters that depend on the text alone.
func (form spelling) length(text string) int {
	switch form {
	case asItIs:
		return len(text)
	case inHex:
		return 2 * len(text)
	}
	return (8*len(text) - form.firstBit()) / 6
}

// marks returns minKnown encoded characters of text from a place on, as an integer, and the
// same in the other alphabet: capital digits or base64url. Both are equal if there is only one
// alphabet.
func (form spelling) marks(text string, place int) (mark, other uint64) {
	var first, second [minKnown]byte
	for i := range first {
		switch form {
		case asItIs:
			first[i] = text[place+i]
			second[i] = first[i]
		case inHex:
			digit := text[(place+i)/2] >> (4 - 4*((place+i)%2)) & 15
			first[i] = "0123456789abcdef"[digit]
			second[i] = "0123456789ABCDEF"[digit]
		default:
			value := sextet(text, form.firstBit()+6*(place+i))
			first[i] = base64Letters[value]
			second[i] = base64URLLetters[value]
		}
	}
	return binary.LittleEndian.Uint64(first[:]), binary.LittleEndian.Uint64(second[:])
}

// match returns the range of raw that is text in the spelling and begins at offset, or 0, 0 if raw
// has a different text there.
func (form spelling) match(raw []byte, offset int, text string) (from, to int) {
	if offset < 0 || offset+form.length(text) > len(raw) {
		return 0, 0
	}
	switch form {
	case asItIs:
		if string(raw[offset:offset+len(text)]) == text {
			return offset, offset + len(text)
		}
		return 0, 0
	case inHex:
		for i := range len(text) {
			if hexValues[raw[offset+2*i]] != text[i]>>4 || hexValues[raw[offset+2*i+1]] != text[i]&15 {
				return 0, 0
			}
		}
		return offset, offset + 2*len(text)
	}
	for i := range form.length(text) {
		if base64Values[raw[offset+i]] != sextet(text, form.firstBit()+6*i) {
			return 0, 0
		}
	}
	return form.withShared(raw, offset, text)
}

// withShared returns the range in raw of the base64 form of text: its complete characters, which
// begin at offset, a character before and after them that also has bits of a neighbouring byte, and
// the padding.
func (form spelling) withShared(raw []byte, offset int, text string) (from, to int) {
	isBase64 := func(i int) bool { return base64Values[raw[i]] != noDigit }
	from = offset
	to = offset + form.length(text)
	sharesFirst := form.firstBit() > 0
	if sharesFirst && from > 0 && isBase64(from-1) {
		from--
	}
	sharesLast := (8*len(text)-form.firstBit())%6 > 0
	if sharesLast && to < len(raw) && isBase64(to) {
		to++
		for range 2 {
			if to < len(raw) && raw[to] == '=' {
				to++
			}
		}
	}
	return from, to
}

// firstBit returns the bit of the text at which its first complete base64 character begins: the
// bits before it share a character with the bytes before the text. form must be a base64 form.
func (form spelling) firstBit() int { return [...]int{0, 4, 2}[form-inBase64] }

// sextet returns the six bits of text that begin at a bit, padded with zeros at the end of text.
func sextet(text string, bit int) byte {
	both := uint16(text[bit/8]) << 8
	if bit/8+1 < len(text) {
		both |= uint16(text[bit/8+1])
	}
	return byte(both>>(10-bit%8)) & 63
}

const lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var (
	base64Letters    = [64]byte([]byte(lettersAndDigits + "+/"))
	base64URLLetters = [64]byte([]byte(lettersAndDigits + "-_"))
)

// noDigit is the value of a character that is not in an alphabet.
const noDigit = 255

// base64Values and hexValues have the value of each character, or noDigit. base64Values has both
// alphabets.
var base64Values, hexValues = func() (base64, hex [256]byte) {
	for i := range 256 {
		base64[i] = noDigit
		hex[i] = noDigit
	}
	for i := range byte(64) {
		base64[base64Letters[i]] = i
		base64[base64URLLetters[i]] = i
	}
	for i := range byte(16) {
		hex["0123456789abcdef"[i]] = i
		hex["0123456789ABCDEF"[i]] = i
	}
	return base64, hex
}()
