package rows

import (
	"encoding/binary"
	"iter"

	"mcpc/internal/wire"
)

// A rowLine is where a frame of a row is in the file, and what it is to the row: so the
// exchange is put together again as it was listed, and not found out a second time from a
// part of the traffic.
type rowLine struct {
	at     int64
	length int32 // a line has at most MaxLine bytes
	item   int32
	role   wire.Role
	guess  bool
}

// usualLines are the bytes of the lines of most rows.
const usualLines = 32

func newRowLine(s span, p wire.Place) rowLine {
	return rowLine{s.at, int32(s.length), int32(p.Item), p.Role, p.Guess}
}

func (l rowLine) span() span { return span{l.at, int(l.length)} }

func (l rowLine) place() wire.Place {
	return wire.Place{Role: l.role, Guess: l.guess, Item: int(l.item)}
}

// rowLines are the lines of a row in a few bytes each, as a capture may have millions: the
// role with the guess and whether an item follows, the offset from the first line, the
// length, the item.
type rowLines []byte

func (l *rowLines) add(line rowLine) {
	flags := byte(line.role) << 2
	if line.guess {
		flags |= 1
	}
	if line.item >= 0 {
		flags |= 2
	}
	at := line.at
	if len(*l) > 0 {
		first, _ := binary.Varint((*l)[1:])
		at -= first
	}
	if *l == nil {
		*l = make(rowLines, 0, usualLines)
	}
	b := binary.AppendVarint(append(*l, flags), at)
	if b = binary.AppendUvarint(b, uint64(line.length)); line.item >= 0 {
		b = binary.AppendUvarint(b, uint64(line.item))
	}
	*l = b
}

// next reads the line at an offset of l, and gives the offset of the one behind it. One that
// add has not written is at -1, where none is, and the last.
func (l rowLines) next(offset int, first int64) (line rowLine, behind int) {
	flags := l[offset]
	at, n := binary.Varint(l[offset+1:])
	length, m := binary.Uvarint(l[offset+1+max(n, 0):])
	item, k := uint64(0), 0
	if behind = offset + 1 + n + m; n > 0 && m > 0 && flags&2 != 0 {
		item, k = binary.Uvarint(l[behind:])
		behind += k
	}
	if n <= 0 || m <= 0 || k < 0 || k == 0 && flags&2 != 0 || length > maxLine || item > maxLine {
		return rowLine{at: -1, item: -1}, len(l)
	}
	line = rowLine{at: first + at, length: int32(length), item: -1, role: wire.Role(flags >> 2), guess: flags&1 != 0}
	if flags&2 != 0 {
		line.item = int32(item)
	}
	return line, behind
}

// all are the lines in the order in which they were added.
func (l rowLines) all() iter.Seq[rowLine] {
	return func(yield func(rowLine) bool) {
		var first int64
		for offset := 0; offset < len(l); {
			line, behind := l.next(offset, first)
			if offset == 0 {
				first = line.at
			}
			if offset = behind; !yield(line) {
				return
			}
		}
	}
}

func (l rowLines) count() (n int) {
	for range l.all() {
		n++
	}
	return n
}

// spans are the lines in the order of the file, each once: a request's head comes
// before the body that it was placed by, and of a batch there may be several items.
func (r *Row) spans() (all []span) {
	for l := range r.lines.all() {
		all = append(all, l.span())
	}
	return inOrder(all)
}
