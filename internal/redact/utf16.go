package redact

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"

	"mcpc/internal/spool"
)

// Wide returns raw decoded as UTF-16 in both byte orders. It returns nil if raw has neither a zero
// byte nor a byte order mark. JSON-RPC is UTF-8, but other text may contain a secret. Wide drops
// zeros, so that it reads UTF-32 as well.
func Wide(raw []byte) [][]byte {
	if spool.Index(raw, "\x00", 0) == len(raw) && !bytes.HasPrefix(raw, []byte("\xFF\xFE")) &&
		!bytes.HasPrefix(raw, []byte("\xFE\xFF")) {
		return nil
	}
	var texts [][]byte
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
