package redact

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"

	"mcpc/internal/spool"
)

// Wide gives what bytes read as in UTF-16, in either order, where a zero or a mark of
// the order says that they may be: JSON-RPC is UTF-8, and what is not may still have a
// secret in it. Zeros are left out, so that UTF-32 can be read as well.
func Wide(raw []byte) (texts [][]byte) {
	if spool.Index(raw, "\x00", 0) == len(raw) && !bytes.HasPrefix(raw, []byte("\xFF\xFE")) &&
		!bytes.HasPrefix(raw, []byte("\xFE\xFF")) {
		return nil
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		units := make([]uint16, 0, len(raw)/2)
		for i := 0; i+1 < len(raw); i += 2 {
			if unit := order.Uint16(raw[i:]); unit != 0 {
				units = append(units, unit)
			}
		}
		texts = append(texts, []byte(string(utf16.Decode(units))))
	}
	return texts
}
