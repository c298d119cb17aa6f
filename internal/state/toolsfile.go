package state

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"strconv"
	"time"

	"mcpc/internal/spool"
)

// A list's file is made so that one definition of thousands is found without
// decoding the others, and so that no definition is ever re-encoded:
//
//	{"format":"mcpc-tools/1","fetched_at":…,"ttl_ms":…,"index":31,"index_crc":…}
//	LENGTH CRC "name"        the index: one line for each tool
//	…
//	{…definition…}           LENGTH bytes, then a line feed
//	…
//
// Names are quoted as in Go, so that any bytes fit on a line. The checksums
// (CRC-32C) stand in for the sync that a cache is not worth.

const toolsFormat = "mcpc-tools/1"

// firstRead is how much of the file is read at first: the head, and in most
// cases the index too.
const firstRead = 32 << 10

// errTools: the file is not what SaveTools wrote.
var errTools = errors.New("it is not a whole tool list")

// castagnoli is the table of CRC-32C. It is asked for where it is needed: making
// it takes longer than the rest of this package's start.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encodeTools returns the pieces of a list's file; the definitions are not copied. Those of a
// spool are read once for their checksums, and once when they are written.
func encodeTools(list ToolList, n int, tools iter.Seq[Tool]) (iter.Seq[[]byte], error) {
	index := make([]byte, 0, 48*n)
	var passed spool.Trail
	for t := range tools {
		index = strconv.AppendInt(index, int64(len(t.Raw)), 10)
		sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(t.Raw, castagnoli()))
		index = append(hex.AppendEncode(append(index, ' '), sum), ' ')
		index = append(strconv.AppendQuote(index, t.Name), '\n')
		passed.Pass(t.Raw)
	}
	head, err := toolsHead{
		Format: toolsFormat, FetchedAt: list.FetchedAt, TTLms: list.TTLms,
		Index: int64(len(index)), IndexCRC: crc32.Checksum(index, castagnoli()),
	}.line()
	if err != nil {
		return nil, fmt.Errorf("encoding a tool list: %w", err)
	}
	newline := []byte("\n")
	return func(yield func([]byte) bool) {
		if !yield(head) || !yield(index) {
			return
		}
		for t := range tools {
			if !yield(t.Raw) || !yield(newline) {
				return
			}
		}
	}, nil
}

// toolsHead is the first line of a list's file.
type toolsHead struct {
	Format    string    `json:"format"`
	FetchedAt time.Time `json:"fetched_at"`
	TTLms     *int64    `json:"ttl_ms,omitempty"`
	// Index is the length of the index in bytes, and IndexCRC its checksum.
	Index    int64  `json:"index"`
	IndexCRC uint32 `json:"index_crc"`
}

func (h toolsHead) line() ([]byte, error) {
	raw, err := json.Marshal(h)
	return append(raw, '\n'), err
}

// A toolsFile is a list's file with its index read and checked.
type toolsFile struct {
	r     io.ReaderAt
	size  int64
	head  toolsHead
	index []byte
	blobs int64 // where the definitions start
}

func (t *toolsFile) list() ToolList {
	return ToolList{FetchedAt: t.head.FetchedAt, TTLms: t.head.TTLms}
}

func openTools(r io.ReaderAt, size int64) (*toolsFile, error) {
	start := make([]byte, min(size, firstRead))
	if _, err := r.ReadAt(start, 0); err != nil && err != io.EOF {
		return nil, err
	}
	line, rest, ok := bytes.Cut(start, []byte("\n"))
	t := &toolsFile{r: r, size: size}
	if !ok || json.Unmarshal(line, &t.head) != nil || t.head.Format != toolsFormat {
		return nil, errTools
	}
	at := int64(len(line)) + 1
	if t.head.Index < 0 || t.head.Index > size-at {
		return nil, errTools
	}
	t.blobs = at + t.head.Index
	if int64(len(rest)) >= t.head.Index {
		t.index = rest[:t.head.Index]
	} else {
		t.index = make([]byte, t.head.Index)
		if _, err := r.ReadAt(t.index, at); err != nil {
			return nil, err
		}
	}
	if crc32.Checksum(t.index, castagnoli()) != t.head.IndexCRC {
		return nil, errTools
	}
	return t, nil
}

// entry is one line of the index.
type entry struct {
	at, length int64
	crc        uint32
	name       []byte // quoted
}

// each walks through the index until stop returns true.
func (t *toolsFile) each(stop func(entry) bool) error {
	at := t.blobs
	for rest := t.index; len(rest) > 0; {
		line, tail, ok := bytes.Cut(rest, []byte("\n"))
		e, valid := parseEntry(line)
		if !ok || !valid || e.length > t.size-at-1 {
			return errTools
		}
		e.at = at
		at += e.length + 1
		rest = tail
		if stop(e) {
			return nil
		}
	}
	if at != t.size {
		return errTools
	}
	return nil
}

// parseEntry reads one line by hand: of 10,000 lines most are only skipped.
func parseEntry(line []byte) (entry, bool) {
	length, rest, ok1 := bytes.Cut(line, []byte(" "))
	crc, name, ok2 := bytes.Cut(rest, []byte(" "))
	n, err1 := strconv.ParseInt(string(length), 10, 64)
	c, err2 := strconv.ParseUint(string(crc), 16, 32)
	ok := ok1 && ok2 && err1 == nil && err2 == nil && n >= 0
	return entry{length: n, crc: uint32(c), name: name}, ok
}

// find reads the first tool of that name, or returns nil.
func (t *toolsFile) find(name string) (*Tool, error) {
	want := strconv.AppendQuote(nil, name)
	var found *entry
	err := t.each(func(e entry) bool {
		if bytes.Equal(e.name, want) {
			found = &e
		}
		return found != nil
	})
	if err != nil || found == nil {
		return nil, err
	}
	raw := make([]byte, found.length)
	if _, err := t.r.ReadAt(raw, found.at); err != nil {
		return nil, err
	}
	if crc32.Checksum(raw, castagnoli()) != found.crc {
		return nil, errTools
	}
	return &Tool{Name: name, Raw: raw}, nil
}

// eachTool reads all definitions at once and hands them out in order.
func (t *toolsFile) eachTool(use func(Tool)) error {
	all := make([]byte, t.size-t.blobs)
	if _, err := t.r.ReadAt(all, t.blobs); err != nil && err != io.EOF {
		return err
	}
	good := true
	err := t.each(func(e entry) bool {
		at := e.at - t.blobs
		raw := all[at : at+e.length : at+e.length]
		name, err := strconv.Unquote(string(e.name))
		good = err == nil && crc32.Checksum(raw, castagnoli()) == e.crc
		use(Tool{Name: name, Raw: raw})
		return !good
	})
	if err == nil && !good {
		return errTools
	}
	return err
}
