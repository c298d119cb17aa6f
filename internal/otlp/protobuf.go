package otlp

import "encoding/binary"

// The wire types of protobuf. The official library is not used, because it reads the program's file
// at every start.
const (
	varintType  = 0
	fixed64Type = 1
	bytesType   = 2
	fixed32Type = 5
)

// maxFieldNumber is the highest field number that cutField accepts, as in the official library. It is
// above the limit of the specification.
const maxFieldNumber = 1<<31 - 1

func appendTag(b []byte, n int, kind byte) []byte {
	return binary.AppendUvarint(b, uint64(n)<<3|uint64(kind))
}

// appendBytes appends a string or bytes with their length.
func appendBytes[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutField returns the first field of a message: its number, its wire type and its value without
// the length. rest is the message after the field. ok is false if the field is invalid or a group.
func cutField(message []byte) (number uint64, kind byte, value, rest []byte, ok bool) {
	tag, n := binary.Uvarint(message)
	number = tag >> 3
	kind = byte(tag & 7)
	if n <= 0 || number < 1 || number > maxFieldNumber {
		return 0, 0, nil, nil, false
	}
	message = message[n:]
	size := uint64(0)
	// Find the size of the value, and where it begins.
	switch kind {
	case varintType:
		_, n = binary.Uvarint(message)
		size = uint64(n)
		if n <= 0 {
			return 0, 0, nil, nil, false
		}
	case fixed32Type:
		size = 4
	case fixed64Type:
		size = 8
	case bytesType:
		size, n = binary.Uvarint(message)
		if n <= 0 {
			return 0, 0, nil, nil, false
		}
		message = message[n:]
	default:
		return 0, 0, nil, nil, false
	}
	if size > uint64(len(message)) {
		return 0, 0, nil, nil, false
	}
	return number, kind, message[:size:size], message[size:], true
}
