package rows

import (
	"encoding/binary"
	"errors"
	"time"

	"mcpc/internal/wire"
)

// A codec writes an index, or reads one: the lists of what is in it (see indexContents) are
// the same for both.
type codec struct {
	writing bool
	// body is what was written, or what is still to be read.
	body []byte
	// known are the texts that were written, in their order and by what they are.
	texts       []string
	textNumbers map[string]uint64
	// guessed are the numbers of the first texts of a row, of which the next row mostly has the same,
	// and next counts those of this row.
	previousTexts [16]uint64
	textPosition  int
	// once is texts that were seldom written twice, one behind the other.
	uniqueTexts string
	uniqueOut   []byte
	lastSeconds int64 // seconds of the last time
	err         error
}

var errIndex = errors.New("the index is damaged")

func (c *codec) fail() {
	if c.err == nil {
		c.err = errIndex
		c.body = nil
	}
}

// num is any number.
func num[T ~int | ~int64 | ~int32 | ~uint8 | ~uint32](c *codec, n *T) {
	if c.writing {
		c.body = binary.AppendVarint(c.body, int64(*n))
		return
	}
	if len(c.body) > 0 && c.body[0] < 0x80 { // most have one byte
		b := int64(c.body[0])
		*n = T(b>>1 ^ -(b & 1))
		c.body = c.body[1:]
		return
	}
	v, size := binary.Varint(c.body)
	if size <= 0 || int64(T(v)) != v {
		c.fail()
		return
	}
	*n = T(v)
	c.body = c.body[size:]
}

// count is the length of a list, each part of which has at least least bytes.
func (c *codec) listLength(n int, minSize int) int {
	num(c, &n)
	if !c.writing && (n < 0 || n > len(c.body)/minSize) {
		c.fail()
		return 0
	}
	return n
}

// within is a number from 0 to most.
func (c *codec) numberUpTo(n *int, limit int) {
	num(c, n)
	if !c.writing && (*n < 0 || *n > limit) {
		c.fail()
		*n = 0
	}
}

// flags are so many yes or no, most of them no.
func (c *codec) flags(all ...*bool) {
	n := 0
	for i, b := range all {
		if *b {
			n |= 1 << i
		}
	}
	num(c, &n)
	for i, b := range all {
		*b = n>>i&1 != 0
	}
}

// text is one that many rows have.
func (c *codec) text(s *string) {
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

// number is that of a text that is written.
func (c *codec) textNumber(s string) uint64 {
	previous := &c.previousTexts[min(c.textPosition, len(c.previousTexts)-1)]
	c.textPosition++
	if *previous < uint64(len(c.texts)) && c.texts[*previous] == s {
		return *previous
	}
	number, there := c.textNumbers[s]
	if !there {
		number = uint64(len(c.texts))
		c.textNumbers[s], c.texts = number, append(c.texts, s)
	}
	*previous = number
	return number
}

// single is a text of which each row has another.
func (c *codec) uniqueText(s *string) {
	n := len(*s)
	num(c, &n)
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

// bytes are not copied.
func (c *codec) bytes(b *[]byte) {
	n := c.listLength(len(*b), 1)
	if c.writing {
		c.body = append(c.body, *b...)
	} else if n > 0 {
		*b = c.body[:n:n]
		c.body = c.body[n:]
	}
}

// moment is a time. One that is not in UTC is written as its text is, so that it is read as
// in a capture.
func (c *codec) time(t *time.Time) {
	seconds := t.Unix() - c.lastSeconds
	nanos := t.Nanosecond()
	text := ""
	if c.writing && t.Location() != time.UTC {
		nanos = -1
		text = t.Format(time.RFC3339Nano)
	}
	num(c, &seconds)
	num(c, &nanos)
	c.lastSeconds += seconds
	if nanos < 0 {
		c.text(&text)
		if !c.writing {
			*t, _ = time.Parse(time.RFC3339Nano, text)
		}
	} else if !c.writing {
		*t = time.Unix(c.lastSeconds, int64(nanos)).UTC()
	}
}

func (c *codec) span(s *span) {
	num(c, &s.at)
	num(c, &s.length)
}

func (c *codec) findings(all *[]wire.Finding) {
	n := c.listLength(len(*all), 6)
	if n > 0 && !c.writing {
		*all = make([]wire.Finding, n)
	}
	for i := range *all {
		f := &(*all)[i]
		num(c, &f.Level)
		if f.Level < wire.Info || f.Level > wire.Error {
			c.fail()
		}
		for _, s := range []*string{&f.Rule, &f.Where, &f.Text, &f.Want, &f.Got} {
			c.text(s)
		}
	}
}

// reset makes a codec write anew.
func (c *codec) reset() {
	clear(c.textNumbers)
	clear(c.texts)
	*c = codec{writing: true, textNumbers: c.textNumbers, texts: c.texts[:0], body: c.body[:0], uniqueOut: c.uniqueOut[:0]}
}

// pack is all that was written, the texts first.
func (c *codec) pack() []byte {
	packed := binary.AppendUvarint(make([]byte, 0, len(c.body)+len(c.uniqueOut)+1<<10), uint64(len(c.texts)))
	for _, s := range c.texts {
		packed = append(binary.AppendUvarint(packed, uint64(len(s))), s...)
	}
	packed = append(binary.AppendUvarint(packed, uint64(len(c.uniqueOut))), c.uniqueOut...)
	return append(packed, c.body...)
}

// unpack is a codec that reads what pack made.
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
	c.texts = make([]string, length())
	for i := range c.texts {
		n := length()
		c.texts[i], c.body = string(c.body[:n]), c.body[n:]
	}
	n := length()
	c.uniqueTexts, c.body = string(c.body[:n]), c.body[n:]
	return c
}
