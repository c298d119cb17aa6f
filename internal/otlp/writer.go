package otlp

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
)

// A writer appends the fields of messages in either encoding. As proto3 requires, its methods omit
// a field with the zero value of its type. The methods named …Always write it.
type writer struct {
	b      []byte
	isJSON bool
}

// writeKey writes the name of a JSON object member, with a comma if it is not the first member.
func (w *writer) writeKey(name string) {
	w.writeComma()
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

// writeComma writes a comma unless the member or element is the first.
func (w *writer) writeComma() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

// writeText writes a string. Invalid UTF-8, which both encodings forbid, becomes U+FFFD.
func (w *writer) writeText(n int, name, s string) {
	if s != "" {
		w.writeTextAlways(n, name, s)
	}
}

// writeTextAlways writes a string, even if it is empty.
func (w *writer) writeTextAlways(n int, name, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if w.isJSON {
		w.writeKey(name)
		w.b = append(w.b, jsonraw.Quote(s)...)
		return
	}
	w.b = appendBytes(appendTag(w.b, n, bytesType), s)
}

// writeID writes the id of a trace or a span. It omits an id of zeros.
func (w *writer) writeID(n int, name string, id []byte) {
	if !slices.ContainsFunc(id, func(c byte) bool { return c != 0 }) {
		return
	}
	if w.isJSON {
		w.writeKey(name)
		w.b = append(hex.AppendEncode(append(w.b, '"'), id), '"')
		return
	}
	w.b = appendBytes(appendTag(w.b, n, bytesType), id)
}

// writeUint32 writes a uint32 or an enumeration value.
func (w *writer) writeUint32(n int, name string, v uint32) {
	if v == 0 {
		return
	}
	if w.isJSON {
		w.writeKey(name)
		w.b = strconv.AppendUint(w.b, uint64(v), 10)
		return
	}
	w.b = binary.AppendUvarint(appendTag(w.b, n, varintType), uint64(v))
}

// writeFixed32 writes a fixed32.
func (w *writer) writeFixed32(n int, name string, v uint32) {
	if v == 0 {
		return
	}
	if w.isJSON {
		w.writeUint32(n, name, v) // the same number in JSON
		return
	}
	w.b = binary.LittleEndian.AppendUint32(appendTag(w.b, n, fixed32Type), v)
}

// writeFixed64 writes a fixed64, which is a string in JSON.
func (w *writer) writeFixed64(n int, name string, v uint64) {
	if v == 0 {
		return
	}
	if w.isJSON {
		w.writeKey(name)
		w.writeUintElement(v)
		return
	}
	w.b = binary.LittleEndian.AppendUint64(appendTag(w.b, n, fixed64Type), v)
}

// writeTime writes a time as nanoseconds since 1970. It omits the zero time and times before 1970. A
// time after 2261 becomes the maximum of an int64.
func (w *writer) writeTime(n int, name string, t time.Time) {
	seconds := t.Unix()
	if seconds < 0 {
		return
	}
	nanoseconds := uint64(math.MaxInt64)
	if seconds < math.MaxInt64/int64(time.Second) {
		nanoseconds = uint64(t.UnixNano())
	}
	w.writeFixed64(n, name, nanoseconds)
}

// writeBoolAlways writes a bool, even if it is false.
func (w *writer) writeBoolAlways(n int, name string, v bool) {
	if w.isJSON {
		w.writeKey(name)
		w.b = strconv.AppendBool(w.b, v)
		return
	}
	bit := byte(0)
	if v {
		bit = 1
	}
	w.b = append(appendTag(w.b, n, varintType), bit)
}

// writeIntAlways writes an int64, even if it is 0.
func (w *writer) writeIntAlways(n int, name string, v int64) {
	if w.isJSON {
		w.writeKey(name)
		w.b = append(strconv.AppendInt(append(w.b, '"'), v, 10), '"')
		return
	}
	w.b = binary.AppendUvarint(appendTag(w.b, n, varintType), uint64(v))
}

// writeDoubleAlways writes a double, even if it is 0.
func (w *writer) writeDoubleAlways(n int, name string, v float64) {
	if w.isJSON {
		w.writeKey(name)
		w.writeDoubleElement(v)
		return
	}
	w.b = binary.LittleEndian.AppendUint64(appendTag(w.b, n, fixed64Type), math.Float64bits(v))
}

// writeUintElement writes a 64-bit integer as JSON, a string.
func (w *writer) writeUintElement(v uint64) {
	w.b = append(strconv.AppendUint(append(w.b, '"'), v, 10), '"')
}

// writeDoubleElement writes a double as JSON. NaN and the infinities become strings.
func (w *writer) writeDoubleElement(v float64) {
	switch {
	case math.IsNaN(v):
		w.b = append(w.b, `"NaN"`...)
	case math.IsInf(v, 1):
		w.b = append(w.b, `"Infinity"`...)
	case math.IsInf(v, -1):
		w.b = append(w.b, `"-Infinity"`...)
	default:
		w.b = strconv.AppendFloat(w.b, v, 'g', -1, 64)
	}
}

// writeUints writes a packed list of fixed64.
func (w *writer) writeUints(n int, name string, vs []uint64) {
	writePacked(w, n, name, vs, w.writeUintElement, func(v uint64) uint64 { return v })
}

// writeDoubles writes a packed list of doubles.
func (w *writer) writeDoubles(n int, name string, vs []float64) {
	writePacked(w, n, name, vs, w.writeDoubleElement, math.Float64bits)
}

// writePacked writes a list of 8-byte numbers. It omits an empty list. element writes a number as
// JSON, bits returns it for protobuf.
func writePacked[T any](w *writer, n int, name string, vs []T, element func(T), bits func(T) uint64) {
	if len(vs) == 0 {
		return
	}
	if w.isJSON {
		w.writeKey(name)
		w.b = append(w.b, '[')
		for _, v := range vs {
			w.writeComma()
			element(v)
		}
		w.b = append(w.b, ']')
		return
	}
	w.b = binary.AppendUvarint(appendTag(w.b, n, bytesType), uint64(8*len(vs)))
	for _, v := range vs {
		w.b = binary.LittleEndian.AppendUint64(w.b, bits(v))
	}
}

// writeMessage writes a message, even if it has no fields.
func (w *writer) writeMessage(n int, name string, fields func()) {
	if w.isJSON {
		w.writeKey(name)
		w.writeObject(fields)
		return
	}
	w.writeNested(n, fields)
}

// writeMessages writes a list of messages. It omits an empty list.
func writeMessages[T any](w *writer, n int, name string, items []T, fields func(*writer, *T)) {
	if len(items) == 0 {
		return
	}
	if w.isJSON {
		w.writeKey(name)
		w.b = append(w.b, '[')
	}
	for i := range items {
		if w.isJSON {
			w.writeComma()
			w.writeObject(func() { fields(w, &items[i]) })
		} else {
			w.writeNested(n, func() { fields(w, &items[i]) })
		}
	}
	if w.isJSON {
		w.b = append(w.b, ']')
	}
}

// writeObject writes a JSON object with the members that fields writes.
func (w *writer) writeObject(fields func()) {
	w.b = append(w.b, '{')
	fields()
	w.b = append(w.b, '}')
}

// writeNested writes the fields of a message and inserts their length before them.
func (w *writer) writeNested(n int, fields func()) {
	w.b = appendTag(w.b, n, bytesType)
	start := len(w.b)
	fields()
	size := uint64(len(w.b) - start)
	var length [10]byte
	w.b = slices.Insert(w.b, start, binary.AppendUvarint(length[:0], size)...)
}
