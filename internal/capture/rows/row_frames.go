package rows

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// Frames reads the frames of a row, in the order in which they crossed; nil where
// nothing did.
func (r *Row) Frames() ([]wire.Frame, error) {
	frames := make([]wire.Frame, 0, r.lines.count())
	err := r.EachFrame(func(f wire.Frame) error {
		frames = append(frames, f)
		return nil
	})
	return frames, err
}

// EachFrame reads the frames of a row one after the other, as Frames does.
func (r *Row) EachFrame(look func(wire.Frame) error) error {
	return r.eachLine(func(raw []byte) error {
		frame, err := r.frameIn(raw)
		if err != nil || frame == nil {
			return err
		}
		return look(*frame)
	})
}

// frameIn parses the frame of a capture line and hides all secrets known so far. It returns
// nil if the line has no frame.
func (r *Row) frameIn(raw []byte) (*wire.Frame, error) {
	line, err := capture.ParseLine(raw) // the memory of a long line is used by no other
	if err == nil && line.Frame != nil && r.capture.secrets != nil {
		*line.Frame = r.capture.secrets.Frame(*line.Frame)
	}
	return line.Frame, err
}

// Exchange reads the row's exchange with its frames; nil where nothing crossed.
func (r *Row) Exchange() (*wire.Exchange, error) {
	if !r.HTTPOnly {
		return r.exchange()
	}
	frames, err := r.Frames()
	return httpOnlyExchange(frames), err
}

// AnyText reports whether match accepts the bytes of a frame of the row. It asks mayHold first, of the line of the
// capture, and does not decode a line that mayHold refuses.
func (r *Row) AnyText(mayHold, match func([]byte) bool) (found bool, err error) {
	if r.capture == nil {
		return false, nil
	}
	lines := r.spans()
	if len(lines) == 0 {
		return false, nil
	}
	buf := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buf)
	err = r.capture.eachLine(lines, func(raw []byte) error {
		raw = bytes.TrimRight(raw, "\r\n")
		if found || !mayHold(raw) {
			return nil
		}
		if body, ok := capture.FrameBytes(raw, *buf); ok {
			found = match(body)
			*buf = body
			if cap(body) > maxReusedBuffer || body == nil {
				*buf = nil
			}
			return nil
		}
		line, err := capture.ParseLine(raw)
		found = err == nil && line.Frame != nil && match(line.Frame.Raw)
		return err
	})
	return found, err
}

// AnyLine reports whether match accepts a line of the row as it is in the capture, the
// lines of heads included.
func (r *Row) AnyLine(match func([]byte) bool) (found bool, err error) {
	err = r.eachLine(func(raw []byte) error {
		found = found || match(raw)
		return nil
	})
	return found, err
}

// eachLine reads the row's lines from the file; raw is good during the call only.
func (r *Row) eachLine(look func(raw []byte) error) error {
	if r.capture == nil {
		return nil
	}
	return r.capture.eachLine(r.spans(), func(raw []byte) error { return look(bytes.TrimRight(raw, "\r\n")) })
}

// exchange is put together from the row's frames; nil where nothing crossed.
func (r *Row) exchange() (*wire.Exchange, error) {
	lines := slices.Collect(r.lines.all())
	slices.SortStableFunc(lines, func(a, b rowLine) int { return cmp.Compare(a.at, b.at) })
	var exchange *wire.Exchange
	next := 0
	err := r.eachLine(func(raw []byte) error {
		line, err := r.frameIn(raw)
		if err != nil {
			return err
		}
		for at := lines[min(next, len(lines)-1)].at; next < len(lines) && lines[next].at == at; next++ {
			if line == nil {
				continue
			}
			frame := *line
			place := lines[next].place()
			if place.Item >= 0 {
				frame.Raw = itemOf(frame.Raw, place.Item)
			}
			if exchange == nil {
				exchange = &wire.Exchange{}
			}
			exchange.Add(frame, place)
		}
		return nil
	})
	return exchange, err
}

// itemOf is a message of a batch.
func itemOf(batch []byte, item int) []byte {
	items := wire.ParseMessage(batch).Items
	if item >= len(items) {
		return nil
	}
	return items[item].Raw
}

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
const usualLinesBytes = 32

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
		*l = make(rowLines, 0, usualLinesBytes)
	}
	b := binary.AppendVarint(append(*l, flags), at)
	b = binary.AppendUvarint(b, uint64(line.length))
	if line.item >= 0 {
		b = binary.AppendUvarint(b, uint64(line.item))
	}
	*l = b
}

// next reads the line at an offset of l, and gives the offset of the one behind it. One that
// add has not written is at -1, where none is, and the last.
func (l rowLines) lineAt(offset int, first int64) (line rowLine, next int) {
	flags := l[offset]
	at, offsetBytes := binary.Varint(l[offset+1:])
	length, lengthBytes := binary.Uvarint(l[offset+1+max(offsetBytes, 0):])
	item := uint64(0)
	itemBytes := 0
	next = offset + 1 + offsetBytes + lengthBytes
	if offsetBytes > 0 && lengthBytes > 0 && flags&2 != 0 {
		item, itemBytes = binary.Uvarint(l[next:])
		next += itemBytes
	}
	if offsetBytes <= 0 || lengthBytes <= 0 || itemBytes < 0 || itemBytes == 0 && flags&2 != 0 || length > maxLineBytes || item > maxLineBytes {
		return rowLine{at: -1, item: -1}, len(l)
	}
	line = rowLine{at: first + at, length: int32(length), item: -1, role: wire.Role(flags >> 2), guess: flags&1 != 0}
	if flags&2 != 0 {
		line.item = int32(item)
	}
	return line, next
}

// all are the lines in the order in which they were added.
func (l rowLines) all() iter.Seq[rowLine] {
	return func(yield func(rowLine) bool) {
		var first int64
		for offset := 0; offset < len(l); {
			line, next := l.lineAt(offset, first)
			if offset == 0 {
				first = line.at
			}
			offset = next
			if !yield(line) {
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
