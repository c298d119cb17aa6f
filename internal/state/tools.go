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

// maxToolFiles limits the number of stored lists, in addition to maxCacheSize; the oldest are
// deleted first.
const maxToolFiles = 256

// A ToolList is a server's complete list of tools when it was fetched.
type ToolList struct {
	FetchedAt time.Time
	// TTLms is the server's ttlMs, or nil if it did not send it.
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

// assumedTTL is how long a list is fresh if the server sent no ttlMs.
const assumedTTL = 5 * time.Minute

// FreshUntil returns the time until which the list may be used without asking the server: the fetch
// time plus ttlMs, or plus assumedTTL without one. A ttlMs of 0 or less means that the list was
// stale when it arrived (2026-07-28 server/utilities/caching).
func (l ToolList) FreshUntil() time.Time {
	if l.TTLms == nil {
		return l.FetchedAt.Add(assumedTTL)
	}
	const maxTTL = math.MaxInt64 / int64(time.Millisecond)
	return l.FetchedAt.Add(time.Duration(min(max(*l.TTLms, 0), maxTTL)) * time.Millisecond)
}

// The file of a list, which is written and read from its beginning to its end:
//
//	{"format":"mcpc-tools/2","fetched_at":…,"ttl_ms":…}
//	LENGTH "name"
//	{…definition…}           LENGTH bytes, then a line feed
//	…
//	end CRC
//
// Names are quoted as in Go, so that any bytes fit on a line. The file is not synced, so it
// ends with a checksum: the CRC-32C of all bytes before its line.
const toolsFormat = "mcpc-tools/2"

// A toolsHead is the first line of a list's file.
type toolsHead struct {
	Format    string    `json:"format"`
	FetchedAt time.Time `json:"fetched_at"`
	TTLms     *int64    `json:"ttl_ms,omitempty"`
}

// castagnoli returns the table of CRC-32C. It is created at its first use, because that takes longer
// than the rest of this package's initialization.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// AppendTool appends a tool to entries, in the format of SaveEntries.
func AppendTool(entries []byte, name string, raw []byte) []byte {
	entries = append(strconv.AppendInt(entries, int64(len(raw)), 10), ' ')
	entries = append(strconv.AppendQuote(entries, name), '\n')
	return append(append(entries, raw...), '\n')
}

// SaveTools stores a list, replacing the one before. key is a session's Key, or any text that
// identifies a server; only its hash is stored.
func (s *Store) SaveTools(ctx context.Context, key string, list ToolList) error {
	var entries []byte
	for _, t := range list.Tools {
		entries = AppendTool(entries, t.Name, t.Raw)
	}
	return s.SaveEntries(ctx, key, list, entries)
}

// SaveEntries stores a list as SaveTools does. entries has its tools, in the format of AppendTool;
// list.Tools is ignored.
func (s *Store) SaveEntries(ctx context.Context, key string, list ToolList, entries []byte) error {
	head, err := json.Marshal(toolsHead{Format: toolsFormat, FetchedAt: list.FetchedAt, TTLms: list.TTLms})
	if err != nil {
		return fmt.Errorf("encoding a tool list: %w", err)
	}
	head = append(head, '\n')
	sum := crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), entries)
	return s.dir.saveCached(ctx, toolsName, key, maxToolFiles, head, entries, fmt.Appendf(nil, "end %08x\n", sum))
}

// Tools returns a stored list, or nil if there is none. It omits tools that share a name, because a
// call by that name would be ambiguous. With an error the stored list cannot be used; a caller
// continues without a stored list, and SaveTools replaces it.
func (s *Store) Tools(key string) (*ToolList, error) {
	list, err := s.readTools(key, func(string) bool { return true })
	if err != nil || list == nil {
		return nil, err
	}
	count := make(map[string]int, len(list.Tools))
	for _, t := range list.Tools {
		count[t.Name]++
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(t Tool) bool { return count[t.Name] > 1 })
	return list, nil
}

// Tool returns the definition with that name. It also returns the list without other tools, or nil
// if no list is stored. The tool is nil if the list does not have the name exactly once.
func (s *Store) Tool(key, name string) (*Tool, *ToolList, error) {
	list, err := s.readTools(key, func(listed string) bool { return listed == name })
	if err != nil || list == nil || len(list.Tools) != 1 {
		return nil, list, err
	}
	return &list.Tools[0], list, nil
}

// DropTools deletes a list, for instance after a list_changed notification.
func (s *Store) DropTools(key string) error {
	path := s.dir.file(toolsName, hashed(key))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{Reason: Unwritable, Path: path, Err: err}
	}
	return nil
}

// readTools reads the tools of a list that wanted accepts. It returns nil if no list is stored.
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

// errTools means that SaveTools did not write the file, or that the file has another version.
var errTools = errors.New("it is not a complete list of tools")

// decodeTools parses a list's file of size bytes and returns the wanted tools. It returns errTools
// if the file is incomplete, damaged or of another format.
func decodeTools(r io.Reader, size int64, wanted func(name string) bool) (*ToolList, error) {
	buffered := bufio.NewReaderSize(r, 32<<10)
	var head toolsHead
	line, err := buffered.ReadBytes('\n')
	if err == nil && (json.Unmarshal(line, &head) != nil || head.Format != toolsFormat) {
		return nil, errTools
	}
	list := &ToolList{FetchedAt: head.FetchedAt, TTLms: head.TTLms}
	sum := crc32.Checksum(line, castagnoli())
	var raw []byte // reused for each definition
	for err == nil {
		line, err = buffered.ReadBytes('\n')
		if err != nil {
			break
		}
		length, quotedName, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if string(length) == "end" { // the last line has the checksum instead of a name
			_, endErr := buffered.ReadByte()
			continues := endErr == nil
			if string(quotedName) != fmt.Sprintf("%08x", sum) || continues {
				return nil, errTools
			}
			return list, nil
		}
		n, lengthErr := strconv.ParseInt(string(length), 10, 64)
		name, nameErr := strconv.Unquote(string(quotedName))
		isInFile := n >= 0 && n < size // else a damaged length could allocate too much
		if lengthErr != nil || nameErr != nil || !isInFile {
			return nil, errTools
		}
		raw = slices.Grow(raw[:0], int(n)+1)[:n+1] // with the line feed
		_, err = io.ReadFull(buffered, raw)
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
