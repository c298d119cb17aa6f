package rows

import (
	"encoding/binary"
	"errors"
	"time"

	"mcpc/internal/wire"
)

// A codec writes an index, or reads one if writing is false. The methods that begin with "code" write
// or read a value: they are the same for both directions, so that a writer and a reader cannot
// disagree.
type codec struct {
	writing bool
	// body is the encoded data so far, or the data that is not read yet.
	body []byte
	// texts are the texts that rows share, in the order of their numbers.
	texts []string
	// textNumbers has the numbers of the texts. Only a writer has it.
	textNumbers map[string]uint64
	// previousTexts are the numbers of the first texts of the previous row. The next row has mostly the
	// same texts, so a writer tries them before textNumbers.
	previousTexts [16]uint64
	// textPosition counts the texts of the current row.
	textPosition int
	// uniqueTexts are the concatenated texts of codeUniqueText that are not read yet.
	uniqueTexts string
	// uniqueOut are the concatenated texts of codeUniqueText that were written.
	uniqueOut []byte
	// lastSeconds are the seconds since 1970 of the last time.
	lastSeconds int64
	// err is the first error of a reader.
	err error
}

var errIndex = errors.New("the index is damaged")

// fail notes that the index is damaged. All later values are read as zero.
func (c *codec) fail() {
	if c.err == nil {
		c.err = errIndex
		c.body = nil
	}
}

// codeNumber writes or reads a number.
func codeNumber[T ~int | ~int64 | ~int32 | ~uint8 | ~uint32](c *codec, n *T) {
	if c.writing {
		c.body = binary.AppendVarint(c.body, int64(*n))
		return
	}
	if len(c.body) > 0 && c.body[0] < 0x80 { // a fast path for one byte, which most numbers have
		b := int64(c.body[0])
		*n = T(b>>1 ^ -(b & 1))
		c.body = c.body[1:]
		return
	}
	v, size := binary.Varint(c.body)
	if size <= 0 || int64(T(v)) != v { // it must fit in T
		c.fail()
		return
	}
	*n = T(v)
	c.body = c.body[size:]
}

// codeLength writes or reads the length of a list, and returns it. minSize is the smallest encoded
// element in bytes; it bounds the length that a damaged file can claim.
func (c *codec) codeLength(n int, minSize int) int {
	codeNumber(c, &n)
	if !c.writing && (n < 0 || n > len(c.body)/minSize) {
		c.fail()
		return 0
	}
	return n
}

// codeNumberUpTo writes or reads a number from 0 to limit.
func (c *codec) codeNumberUpTo(n *int, limit int) {
	codeNumber(c, n)
	if !c.writing && (*n < 0 || *n > limit) {
		c.fail()
		*n = 0
	}
}

// codeFlags writes or reads flags as one number, with the first flag as the lowest bit.
func (c *codec) codeFlags(all ...*bool) {
	n := 0
	for i, b := range all {
		if *b {
			n |= 1 << i
		}
	}
	codeNumber(c, &n)
	for i, b := range all {
		*b = n>>i&1 != 0
	}
}

// codeText writes or reads a text that many rows have, as its number.
func (c *codec) codeText(s *string) {
	if c.writing {
		c.body = binary.AppendUvarint(c.body, c.textNumber(*s))
		return
	}
	at, size := binary.Uvarint(c.body)
	if size <= 0 || at >= uint64(len(c.texts)) {
		c.fail()
		return
	}
	*s = c.texts[at]
	c.body = c.body[size:]
}

// textNumber returns the number of a text, which it adds if it is new. It first tries the text at
// the same position of the previous row.
func (c *codec) textNumber(s string) uint64 {
	previous := &c.previousTexts[min(c.textPosition, len(c.previousTexts)-1)]
	c.textPosition++
	if *previous < uint64(len(c.texts)) && c.texts[*previous] == s {
		return *previous
	}
	number, there := c.textNumbers[s]
	if !there {
		number = uint64(len(c.texts))
		c.textNumbers[s] = number
		c.texts = append(c.texts, s)
	}
	*previous = number
	return number
}

// codeUniqueText writes or reads a text that is different in each row.
func (c *codec) codeUniqueText(s *string) {
	n := len(*s)
	codeNumber(c, &n)
	if c.writing {
		c.uniqueOut = append(c.uniqueOut, *s...)
		return
	}
	if n < 0 || n > len(c.uniqueTexts) {
		c.fail()
		return
	}
	*s = c.uniqueTexts[:n]
	c.uniqueTexts = c.uniqueTexts[n:]
}

// codeBytes writes or reads bytes. It does not copy the bytes that it reads.
func (c *codec) codeBytes(b *[]byte) {
	n := c.codeLength(len(*b), 1)
	if c.writing {
		c.body = append(c.body, *b...)
	} else if n > 0 {
		*b = c.body[:n:n]
		c.body = c.body[n:]
	}
}

// codeTime writes or reads a time, as the difference in seconds from the time before. A time that
// is not in UTC is written as RFC 3339 text, so that it keeps its zone; then the nanoseconds are
// -1.
func (c *codec) codeTime(t *time.Time) {
	seconds := t.Unix() - c.lastSeconds
	nanos := t.Nanosecond()
	text := ""
	if c.writing && t.Location() != time.UTC {
		nanos = -1
		text = t.Format(time.RFC3339Nano)
	}
	codeNumber(c, &seconds)
	codeNumber(c, &nanos)
	c.lastSeconds += seconds
	if nanos < 0 {
		c.codeText(&text)
		if !c.writing {
			*t, _ = time.Parse(time.RFC3339Nano, text)
		}
	} else if !c.writing {
		*t = time.Unix(c.lastSeconds, int64(nanos)).UTC()
	}
}

// codeSpan writes or reads the place of a line.
func (c *codec) codeSpan(s *span) {
	codeNumber(c, &s.offset)
	codeNumber(c, &s.length)
}

// codeFindings writes or reads findings.
func (c *codec) codeFindings(all *[]wire.Finding) {
	n := c.codeLength(len(*all), minFindingBytes)
	if n > 0 && !c.writing {
		*all = make([]wire.Finding, n)
	}
	for i := range *all {
		f := &(*all)[i]
		codeNumber(c, &f.Severity)
		if f.Severity < wire.Info || f.Severity > wire.Error {
			c.fail()
		}
		for _, s := range []*string{&f.Rule, &f.Pointer, &f.Text, &f.Want, &f.Got} {
			c.codeText(s)
		}
	}
}

// reset empties the codec for writing, and keeps its memory.
func (c *codec) reset() {
	clear(c.textNumbers)
	clear(c.texts)
	*c = codec{writing: true, textNumbers: c.textNumbers, texts: c.texts[:0], body: c.body[:0], uniqueOut: c.uniqueOut[:0]}
}

// pack returns everything that was written: the shared texts, the unique texts, then the body.
func (c *codec) pack() []byte {
	packed := binary.AppendUvarint(make([]byte, 0, len(c.body)+len(c.uniqueOut)+1<<10), uint64(len(c.texts)))
	for _, s := range c.texts {
		packed = append(binary.AppendUvarint(packed, uint64(len(s))), s...)
	}
	packed = append(binary.AppendUvarint(packed, uint64(len(c.uniqueOut))), c.uniqueOut...)
	return append(packed, c.body...)
}

// unpack returns a codec that reads the result of pack. For damaged data the codec has an error.
func unpack(b []byte) *codec {
	c := &codec{body: b}
	length := func() uint64 {
		n, size := binary.Uvarint(c.body)
		if size <= 0 || n > uint64(len(c.body)-size) {
			c.fail()
			return 0
		}
		c.body = c.body[size:]
		return n
	}
	// Each text takes a byte at least, so length bounds the memory.
	c.texts = make([]string, length())
	for i := range c.texts {
		n := length()
		c.texts[i] = string(c.body[:n])
		c.body = c.body[n:]
	}
	n := length()
	c.uniqueTexts = string(c.body[:n])
	c.body = c.body[n:]
	return c
}
