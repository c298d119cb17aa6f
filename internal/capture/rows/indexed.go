package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"mcpc/internal/capture"
)

// What was read of a large file that has come to its end is kept in an index, so that it
// need not be read again: the rows. An index is a cache: what is wrong with one makes no difference but in time.

// An indexHead begins an index.
type indexHead struct {
	Magic [8]byte
	// Pages and Contents are how many bytes of them follow.
	Pages, Contents int64
	// Size and Modified are those of the file when it was opened, Offset is as far as it was
	// read, and Sum is that of its beginning and of what is before Offset.
	Size, Modified, Offset int64
	Sum                    [sha256.Size]byte
	// ContentsSum is the checksum of the contents, which have those of the pages.
	ContentsSum uint32
}

// indexMagic ends with the version.
var indexMagic = [8]byte{'m', 'c', 'p', 'c', 'i', 'd', 'x', 9}

var indexHeadSize = int64(binary.Size(indexHead{}))

// indexFrom is how many bytes a file must have to be worth an index. Tests have a smaller one.
var minIndexedBytes int64 = 256 << 10

const (
	maxIndexes    = 64 // in a folder, and
	maxIndexBytes = 512 << 20
)

// readIndex takes the rows from the index where it is that of the file.
func (c *Capture) readIndex(info fs.FileInfo) bool {
	f, head, err := openIndex(c.indexPath)
	if err != nil {
		return false
	}
	defer f.Close()
	if head.Size > info.Size() || head.Offset > info.Size() ||
		head.Size == info.Size() && head.Modified != info.ModTime().UnixNano() ||
		head.Contents > info.Size()+minIndexedBytes {
		return false
	}
	mark := ContentMark{head.Offset, head.Sum}
	lines, err := c.openAt(0)
	if err != nil {
		return false
	}
	c.progress.readFrom = infoOf(lines)
	same := mark.isOf(lines)
	lines.Close()
	if !same {
		return false
	}
	contents := make([]byte, head.Contents)
	if _, err := f.ReadAt(contents, indexHeadSize+head.Pages); err != nil ||
		head.sumContents(contents) != head.ContentsSum {
		return false
	}
	decoder := unpack(contents)
	decoder.contents(c, nil)
	if decoder.err != nil || c.progress.offset != head.Offset || len(c.Heads) == 0 {
		c.discardIndex()
		return false
	}
	c.progress.mark = mark
	c.pageFile.path = c.indexPath
	c.indexUnreported = true
	c.indexHead = &head
	return true
}

// forget forgets what was read from a damaged index.
func (c *Capture) discardIndex() {
	fresh := newCapture(c.Path)
	c.pages = nil
	c.count = 0
	c.conns = nil
	c.Heads = nil
	c.findings = nil
	c.headSpans = nil
	c.endSpans = fresh.endSpans
	c.closedRuns = nil
	c.runNumbers = fresh.runNumbers
	c.repeated = fresh.repeated
	c.newest = nil
	c.marked = fresh.marked
	c.progress = progress{}
}

// openIndex opens an index where it is a plain file, and no link to one, and reads its head.
func openIndex(path string) (*os.File, indexHead, error) {
	var head indexHead
	f, err := capture.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, head, err
	}
	info, err := f.Stat()
	if err == nil {
		err = binary.Read(io.NewSectionReader(f, 0, indexHeadSize), binary.LittleEndian, &head)
	}
	if err != nil || head.Magic != indexMagic || head.Pages < 0 || head.Contents < 0 || head.Offset < 0 ||
		max(head.Pages, head.Contents) > info.Size() || head.Pages+head.Contents+indexHeadSize != info.Size() {
		f.Close()
		return nil, head, errIndex
	}
	return f, head, nil
}

// castagnoli is the table of a checksum that processors know.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// sumContents is the checksum of the contents with the head before them.
func (h indexHead) sumContents(contents []byte) uint32 {
	h.ContentsSum = 0
	var head bytes.Buffer
	_ = binary.Write(&head, binary.LittleEndian, h)
	return crc32.Update(crc32.Checksum(head.Bytes(), castagnoli()), castagnoli(), contents)
}

// Sizes say from how many bytes on a file is indexed or compressed, and how many rows a page has.
type Sizes struct {
	IndexFrom, CompressFrom int64
	PageRows                int
}

// SetSizes sets the sizes for the whole process and returns those before. It is for tests of other packages, which
// read small files as if they were large, and may not be called while captures are open.
func SetSizes(s Sizes) (before Sizes) {
	before = Sizes{minIndexedBytes, capture.CompressFrom, pageRows}
	minIndexedBytes = s.IndexFrom
	capture.CompressFrom = s.CompressFrom
	pageRows = s.PageRows
	return before
}
