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

// The rows of a large file that does not grow any more are kept in an index, so that the file need not be read
// again. An index is a cache: a damaged one only costs time.

// An indexHead begins an index. The packed pages follow, then the contents.
type indexHead struct {
	Magic [8]byte
	// Pages and Contents are the lengths in bytes of the pages and of the contents.
	Pages, Contents int64
	// Size and Modified are the size and the time of the capture when it was opened.
	Size, Modified int64
	// Offset is how far the capture was read.
	Offset int64
	// Sum is the hash of the capture's ContentMark at Offset.
	Sum [sha256.Size]byte
	// ContentsSum is the checksum of the head and the contents. The contents have the checksums of the pages.
	ContentsSum uint32
}

// indexMagic begins an index. Its last byte is the version of the format.
var indexMagic = [8]byte{'m', 'c', 'p', 'c', 'i', 'd', 'x', 10}

var indexHeadSize = int64(binary.Size(indexHead{}))

// minIndexedBytes is the minimum size in bytes of a file that gets an index. Tests set a smaller
// size.
var minIndexedBytes int64 = 256 << 10

const (
	// maxIndexes and maxIndexBytes bound the indexes in a directory.
	maxIndexes    = 64
	maxIndexBytes = 512 << 20
)

// readIndex takes the rows from the index, and reports whether the index is valid for the file,
// which info describes. The file may have grown since.
func (c *Capture) readIndex(info fs.FileInfo) bool {
	f, head, err := openIndex(c.indexPath)
	if err != nil {
		return false
	}
	defer f.Close()
	if head.Size > info.Size() || head.Offset > info.Size() {
		return false // the file was truncated
	}
	if head.Size == info.Size() && head.Modified != info.ModTime().UnixNano() {
		return false // the file was rewritten
	}
	if head.Contents > info.Size()+minIndexedBytes {
		return false // no index is so large: it is damaged
	}
	mark := ContentMark{head.Offset, head.Sum}
	lines, err := c.openAt(0)
	if err != nil {
		return false
	}
	c.progress.readFrom = infoOf(lines)
	same := mark.matches(lines)
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
	decoder.codeContents(c, nil)
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

// discardIndex removes everything that readIndex took from a damaged index.
func (c *Capture) discardIndex() {
	fresh := newCapture(c.Path)
	c.pages = nil
	c.count = 0
	c.conns = nil
	c.Heads = nil
	c.findings = nil
	c.lost = 0
	c.headSpans = nil
	c.endSpans = fresh.endSpans
	c.closedRuns = nil
	c.runNumbers = fresh.runNumbers
	c.repeatedRuns = fresh.repeatedRuns
	c.newestMaker = nil
	c.makersByMark = fresh.makersByMark
	c.progress = progress{}
}

// openIndex opens an index with capture.OpenPlain and reads its head.
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
	if err != nil || !head.isValid(info.Size()) {
		f.Close()
		return nil, head, errIndex
	}
	return f, head, nil
}

// isValid reports whether the head belongs to an index file of that size.
func (h indexHead) isValid(size int64) bool {
	if h.Magic != indexMagic || h.Pages < 0 || h.Contents < 0 || h.Offset < 0 {
		return false
	}
	if max(h.Pages, h.Contents) > size { // the sum below could overflow
		return false
	}
	return indexHeadSize+h.Pages+h.Contents == size
}

// castagnoli returns the table of CRC-32C, which processors have an instruction for.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// sumContents returns the checksum of the head and the contents.
func (h indexHead) sumContents(contents []byte) uint32 {
	h.ContentsSum = 0
	var head bytes.Buffer
	_ = binary.Write(&head, binary.LittleEndian, h)
	return crc32.Update(crc32.Checksum(head.Bytes(), castagnoli()), castagnoli(), contents)
}

// Sizes are the minimum sizes in bytes of an indexed and of a compressed file, and the number of
// rows in a page.
type Sizes struct {
	IndexFrom, CompressFrom int64
	PageRows                int
}

// SetSizes sets the sizes for the whole process and returns the sizes before. It is for tests of
// other packages, which treat small files as large ones. No capture may be open during the call.
func SetSizes(s Sizes) Sizes {
	before := Sizes{minIndexedBytes, capture.CompressFrom, pageRows}
	minIndexedBytes = s.IndexFrom
	capture.CompressFrom = s.CompressFrom
	pageRows = s.PageRows
	return before
}
