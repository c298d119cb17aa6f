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

// Frames reads the frames of a row in their order. It returns no frames if nothing was sent or
// received.
func (r *Row) Frames() ([]wire.Frame, error) {
	frames := make([]wire.Frame, 0, r.lines.count())
	err := r.EachFrame(func(f wire.Frame) error {
		frames = append(frames, f)
		return nil
	})
	return frames, err
}

// EachFrame calls look for the frames of a row in their order. It stops at an error of look and
// returns it.
func (r *Row) EachFrame(look func(wire.Frame) error) error {
	return r.eachLine(func(raw []byte) error {
		frame, err := r.frameIn(raw)
		if err != nil || frame == nil {
			return err
		}
		return look(*frame)
	})
}

// frameIn parses the frame of a capture line and hides all secrets known so far. It returns nil if
// the line has no frame.
func (r *Row) frameIn(raw []byte) (*wire.Frame, error) {
	line, err := capture.ParseLine(raw) // may overwrite raw, which is not used afterwards
	if err == nil && line.Frame != nil && r.capture.secrets != nil {
		*line.Frame = r.capture.secrets.Frame(*line.Frame)
	}
	return line.Frame, err
}

// Exchange reads the row's exchange with its frames. It returns nil if nothing was sent or
// received.
func (r *Row) Exchange() (*wire.Exchange, error) {
	if !r.IsHTTPOnly {
		return r.exchange()
	}
	frames, err := r.Frames()
	return httpOnlyExchange(frames), err
}

// AnyText reports whether match accepts the bytes of a frame of the row. It first calls mayHold
// with the line of the frame, and does not decode a line that mayHold rejects. A row that was never
// in a capture has no frames.
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
		if found || !mayHold(raw) { // eachLine has no early end
			return nil
		}
		// Most lines are spelled as a Recorder spells them.
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

// AnyLine reports whether match accepts a line of the row as it is in the capture.
func (r *Row) AnyLine(match func([]byte) bool) (found bool, err error) {
	err = r.eachLine(func(raw []byte) error {
		found = found || match(raw)
		return nil
	})
	return found, err
}

// eachLine calls visit with each of the row's lines, without its line feed, in the order of the file.
// It stops at the first error. raw is valid during the call only.
func (r *Row) eachLine(visit func(raw []byte) error) error {
	if r.capture == nil {
		return nil
	}
	return r.capture.eachLine(r.spans(), func(raw []byte) error { return visit(bytes.TrimRight(raw, "\r\n")) })
}

// exchange builds the exchange from the row's frames. It returns nil if the row has no frames. A
// line may have several places in the row: one for each message of a batch.
func (r *Row) exchange() (*wire.Exchange, error) {
	lines := slices.Collect(r.lines.all())
	slices.SortStableFunc(lines, func(a, b rowLine) int { return cmp.Compare(a.offset, b.offset) })
	var exchange *wire.Exchange
	next := 0
	err := r.eachLine(func(raw []byte) error {
		line, err := r.frameIn(raw)
		if err != nil {
			return err
		}
		// Add the frame at each of its places.
		for offset := lines[min(next, len(lines)-1)].offset; next < len(lines) && lines[next].offset == offset; next++ {
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

// itemOf returns a message of a batch; nil if the batch has fewer.
func itemOf(batch []byte, item int) []byte {
	items := wire.ParseMessage(batch).Items
	if item >= len(items) {
		return nil
	}
	return items[item].Raw
}

// A rowLine is the place of a row's frame in the file, with the frame's role in the exchange. The
// role is kept because it cannot be found out again from a part of the traffic.
type rowLine struct {
	offset int64
	length int32 // a line has at most maxLineBytes
	item   int32
	role   wire.Role
	guess  bool
}

// usualLinesBytes is how many bytes the rowLines of most rows have.
const usualLinesBytes = 32

// newRowLine returns the line at s that has the place p in the exchange.
func newRowLine(s span, p wire.Place) rowLine {
	return rowLine{s.offset, int32(s.length), int32(p.Item), p.Role, p.IsGuess}
}

func (l rowLine) span() span { return span{l.offset, int(l.length)} }

func (l rowLine) place() wire.Place {
	return wire.Place{Role: l.role, IsGuess: l.guess, Item: int(l.item)}
}

// rowLines are the lines of a row in a compact encoding, because a capture may have millions of
// rows. A line is a byte with the flags below and the role; the offset from the first line; the
// length; and the item, if the line has one.
type rowLines []byte

const (
	flagGuess   = 1
	flagHasItem = 2
	roleShift   = 2
)

// add appends a line.
func (l *rowLines) add(line rowLine) {
	flags := byte(line.role) << roleShift
	if line.guess {
		flags |= flagGuess
	}
	if line.item >= 0 {
		flags |= flagHasItem
	}
	// The first line has its offset in the file, later ones their distance from it.
	distance := line.offset
	if len(*l) > 0 {
		first, _ := binary.Varint((*l)[1:])
		distance -= first
	}
	if *l == nil {
		*l = make(rowLines, 0, usualLinesBytes)
	}
	b := binary.AppendVarint(append(*l, flags), distance)
	b = binary.AppendUvarint(b, uint64(line.length))
	if line.item >= 0 {
		b = binary.AppendUvarint(b, uint64(line.item))
	}
	*l = b
}

// lineAt decodes the line at an offset of l, and returns the offset of the next one. first is the
// offset in the file of the first line. A damaged line has the offset -1 and is the last.
func (l rowLines) lineAt(offset int, first int64) (line rowLine, next int) {
	damaged := rowLine{offset: -1, item: -1}
	flags := l[offset]
	line = rowLine{item: -1, role: wire.Role(flags >> roleShift), guess: flags&flagGuess != 0}
	next = offset + 1
	distance, size := binary.Varint(l[next:])
	if size <= 0 {
		return damaged, len(l)
	}
	next += size
	length, size := binary.Uvarint(l[next:])
	if size <= 0 || length > maxLineBytes {
		return damaged, len(l)
	}
	next += size
	line.offset = first + distance
	line.length = int32(length)
	if flags&flagHasItem == 0 {
		return line, next
	}
	item, size := binary.Uvarint(l[next:])
	if size <= 0 || item > maxLineBytes {
		return damaged, len(l)
	}
	line.item = int32(item)
	return line, next + size
}

// all returns the lines in the order they were added in.
func (l rowLines) all() iter.Seq[rowLine] {
	return func(yield func(rowLine) bool) {
		var first int64
		for offset := 0; offset < len(l); {
			line, next := l.lineAt(offset, first)
			if offset == 0 {
				first = line.offset
			}
			offset = next
			if !yield(line) {
				return
			}
		}
	}
}

// count returns the number of lines.
func (l rowLines) count() int {
	n := 0
	for range l.all() {
		n++
	}
	return n
}

// spans returns the places of the row's lines in the order of the file, each once: several messages
// of a batch have the same line.
func (r *Row) spans() []span {
	var all []span
	for l := range r.lines.all() {
		all = append(all, l.span())
	}
	return inOrder(all)
}
