package state

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"time"
)

// maxToolFiles bounds the remembered lists, as mostCached does; those written longest ago go first.
const maxToolFiles = 256

// A ToolList is a server's whole list of tools, as it was when it was fetched.
type ToolList struct {
	FetchedAt time.Time
	// TTLms is the server's ttlMs, or nil if it gave none.
	TTLms *int64
	// Tools are in the server's order.
	Tools []Tool
}

// A Tool is one definition.
type Tool struct {
	Name string
	// Raw is the definition, byte for byte as it was received.
	Raw []byte
}

// assumedTTL is how long a list is fresh if the server gave no ttlMs.
const assumedTTL = 5 * time.Minute

// FreshUntil returns the time until which the list may be used without asking the server: for its
// ttlMs, else for assumedTTL. A ttlMs of 0 or less means that the list was stale when it arrived
// (2026-07-28 server/utilities/caching).
func (l ToolList) FreshUntil() time.Time {
	if l.TTLms == nil {
		return l.FetchedAt.Add(assumedTTL)
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	return l.FetchedAt.Add(time.Duration(min(max(*l.TTLms, 0), most)) * time.Millisecond)
}

// A list is one file, which is written and read from its beginning to its end:
//
//	{"format":"mcpc-tools/2","fetched_at":…,"ttl_ms":…}
//	LENGTH "name"
//	{…definition…}           LENGTH bytes, then a line feed
//	…
//	end CRC
//
// Names are quoted as in Go, so that any bytes fit on a line. The checksum (CRC-32C of all bytes before its line)
// makes up for the sync that a cache is not worth.
const toolsFormat = "mcpc-tools/2"

// toolsHead is the first line of a list's file.
type toolsHead struct {
	Format    string    `json:"format"`
	FetchedAt time.Time `json:"fetched_at"`
	TTLms     *int64    `json:"ttl_ms,omitempty"`
}

// castagnoli returns the table of CRC-32C. It is made at its first use, since making it takes longer than the rest of
// this package's start.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// AppendTool appends a tool as SaveEntries takes it.
func AppendTool(entries []byte, name string, raw []byte) []byte {
	entries = append(strconv.AppendInt(entries, int64(len(raw)), 10), ' ')
	entries = append(strconv.AppendQuote(entries, name), '\n')
	return append(append(entries, raw...), '\n')
}

// SaveTools remembers a list, in place of the one before. The key is a
// session's Key, or any text that names a server; only its hash is kept.
func (s *Store) SaveTools(ctx context.Context, key string, list ToolList) error {
	var entries []byte
	for _, t := range list.Tools {
		entries = AppendTool(entries, t.Name, t.Raw)
	}
	return s.SaveEntries(ctx, key, list, entries)
}

// SaveEntries remembers a list as SaveTools does. Its tools are entries, which AppendTool made, and not list.Tools.
func (s *Store) SaveEntries(ctx context.Context, key string, list ToolList, entries []byte) error {
	head, err := json.Marshal(toolsHead{Format: toolsFormat, FetchedAt: list.FetchedAt, TTLms: list.TTLms})
	if err != nil {
		return fmt.Errorf("encoding a tool list: %w", err)
	}
	head = append(head, '\n')
	sum := crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), entries)
	return s.dir.saveCached(ctx, toolsName, key, maxToolFiles, head, entries, fmt.Appendf(nil, "end %08x\n", sum))
}

// Tools returns a remembered list, or nil if there is none. Tools that share a name are left out. An error means that
// there is a list that cannot be used: a caller continues as if there were none, and SaveTools puts a good one in its
// place.
func (s *Store) Tools(key string) (*ToolList, error) {
	list, err := s.readTools(key, func(string) bool { return true })
	if err != nil || list == nil {
		return nil, err
	}
	times := make(map[string]int, len(list.Tools))
	for _, t := range list.Tools {
		times[t.Name]++
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(t Tool) bool { return times[t.Name] > 1 })
	return list, nil
}

// Tool returns the definition of that name. Its list has the time at which it was fetched and no other tools; it is
// nil if no list is remembered. The tool is nil if the list has no such name, or has it twice.
func (s *Store) Tool(key, name string) (*Tool, *ToolList, error) {
	list, err := s.readTools(key, func(listed string) bool { return listed == name })
	if err != nil || list == nil || len(list.Tools) != 1 {
		return nil, list, err
	}
	return &list.Tools[0], list, nil
}

// DropTools forgets a list, for instance after a list_changed.
func (s *Store) DropTools(key string) error {
	path := s.dir.file(toolsName, hashed(key))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{Reason: Unwritable, Path: path, Err: err}
	}
	return nil
}

// readTools reads the tools of a list that are wanted. Returns nil if no list is remembered.
func (s *Store) readTools(key string, wanted func(name string) bool) (*ToolList, error) {
	if err := checkDir(s.dir.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	path := s.dir.file(toolsName, hashed(key))
	f, err := openFile(path, os.O_RDONLY, Unreadable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, &Error{Reason: Unreadable, Path: path, Err: err}
	}
	list, err := decodeTools(f, fi.Size(), wanted)
	if errors.Is(err, errTools) {
		return nil, damagedFile(path, err)
	}
	if err != nil {
		return nil, &Error{Reason: Unreadable, Path: path, Err: err}
	}
	return list, nil
}

// errTools means that a file is not what SaveTools wrote, or is of another version.
var errTools = errors.New("it is not a whole tool list")

// decodeTools reads a list's file of so many bytes.
func decodeTools(r io.Reader, size int64, wanted func(name string) bool) (*ToolList, error) {
	in := bufio.NewReaderSize(r, 32<<10)
	var head toolsHead
	line, err := in.ReadBytes('\n')
	if err == nil && (json.Unmarshal(line, &head) != nil || head.Format != toolsFormat) {
		return nil, errTools
	}
	list := &ToolList{FetchedAt: head.FetchedAt, TTLms: head.TTLms}
	sum := crc32.Checksum(line, castagnoli())
	var raw []byte
	for err == nil {
		line, err = in.ReadBytes('\n')
		if err != nil {
			break
		}
		length, quotedName, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if string(length) == "end" {
			if string(quotedName) != fmt.Sprintf("%08x", sum) {
				return nil, errTools
			}
			_, err = in.ReadByte()
			if err == nil {
				return nil, errTools
			}
			return list, nil
		}
		n, notNumber := strconv.ParseInt(string(length), 10, 64)
		name, notQuoted := strconv.Unquote(string(quotedName))
		if notNumber != nil || notQuoted != nil || n < 0 || n >= size {
			return nil, errTools
		}
		raw = slices.Grow(raw[:0], int(n)+1)[:n+1] // with its line feed
		_, err = io.ReadFull(in, raw)
		sum = crc32.Update(crc32.Update(sum, castagnoli(), line), castagnoli(), raw)
		if wanted(name) {
			list.Tools = append(list.Tools, Tool{Name: name, Raw: bytes.Clone(raw[:n])})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errTools
	}
	return nil, err
}
