package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

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
var indexFrom int64 = 256 << 10

const (
	mostIndexes     = 64 // in a folder, and
	mostIndexesSize = 512 << 20
)

// OpenIndexed is Open for a file that has an index, or gets one: its rows are taken from
// there where it is that of the file, and what was written behind it is read. dir is the
// folder of the indexes; "" is for a run of a Ring, whose index is beside it.
func OpenIndexed(path, dir string) (*Capture, error) { return openIndexed(path, dir, indexFrom) }

func openIndexed(path, dir string, least int64) (*Capture, error) {
	c, err := beginIndexed(path, dir, least)
	if err != nil {
		return nil, err
	}
	if _, err := c.readOn(math.MaxInt); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// BeginIndexed is Begin with the rows that the index has. The end of ReadOn writes the
// index where there was none.
func BeginIndexed(path, dir string) (*Capture, error) { return beginIndexed(path, dir, indexFrom) }

// beginIndexed is BeginIndexed where files of at least least bytes have an index.
func beginIndexed(path, dir string, least int64) (*Capture, error) {
	info, err := Stat(path)
	if err != nil {
		return nil, err
	}
	c := newCapture(path)
	if !info.Mode().IsRegular() || info.Size() < least {
		return c, nil
	}
	c.indexPath = indexPath(path, dir)
	if !c.readIndex(info) || c.indexHead.grown(info) {
		c.beginIndex(info, dir)
	}
	return c, nil
}

// indexPath is where the index of a file is.
func indexPath(path, dir string) string {
	if dir == "" {
		return capture.IndexPath(path)
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+capture.IndexExtension)
}

// grown reports that much was written to the file behind what its index has.
func (h *indexHead) grown(info fs.FileInfo) bool {
	behind := info.Size() - h.Offset
	return behind > indexFrom && behind > h.Size/8
}

// readIndex takes the rows from the index where it is that of the file.
func (c *Capture) readIndex(info fs.FileInfo) bool {
	f, head, err := openIndex(c.indexPath)
	if err != nil {
		return false
	}
	defer f.Close()
	if head.Size > info.Size() || head.Offset > info.Size() ||
		head.Size == info.Size() && head.Modified != info.ModTime().UnixNano() ||
		head.Contents > info.Size()+indexFrom {
		return false
	}
	mark := ContentMark{head.Offset, head.Sum}
	lines, err := c.from(0)
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
	if _, err := f.ReadAt(contents, indexHeadSize+head.Pages); err != nil || head.sumContents(contents) != head.ContentsSum {
		return false
	}
	coded := unpack(contents)
	if coded.contents(c, nil); coded.err != nil || c.progress.offset != head.Offset || len(c.Heads) == 0 {
		c.forget()
		return false
	}
	c.progress.mark = mark
	c.pageFile.path = c.indexPath
	c.unsaid = true
	c.indexHead = &head
	return true
}

// forget forgets what was read from a damaged index.
func (c *Capture) forget() {
	fresh := newCapture(c.Path)
	c.pages = nil
	c.count = 0
	c.conns = nil
	c.Heads = nil
	c.findings = nil
	c.heads = nil
	c.ends = fresh.ends
	c.over = nil
	c.runs = fresh.runs
	c.repeated = fresh.repeated
	c.index = nil
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
	before = Sizes{indexFrom, capture.CompressFrom, pageRows}
	indexFrom = s.IndexFrom
	capture.CompressFrom = s.CompressFrom
	pageRows = s.PageRows
	return before
}
