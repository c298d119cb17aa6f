package rows

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/compress/packed"
	"mcpc/internal/wire"
)

// Open reads a capture and lists its rows. It returns errors of the file, ErrNoCapture and
// *capture.VersionError.
func Open(path string) (*Capture, error) {
	c := newCapture(path)
	if _, err := c.readOn(math.MaxInt); err != nil {
		return nil, err
	}
	return c, nil
}

// OpenFrom reads a capture that is a member of another file. path is its name for a user. The
// Capture keeps lines open as long as it is used.
func OpenFrom(path string, lines *os.File) (*Capture, error) {
	c := newCapture(path)
	c.bundled = lines
	if _, err := c.readOn(math.MaxInt); err != nil {
		return nil, err
	}
	return c, nil
}

// Begin returns a capture without reading it; ReadOn reads it. It returns the error of the file.
func Begin(path string) (*Capture, error) {
	if _, err := Stat(path); err != nil {
		return nil, err
	}
	return newCapture(path), nil
}

// lines are the open lines of a capture.
type lines interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// openAt opens the lines at an offset. The caller closes them.
func (c *Capture) openAt(offset int64) (f lines, err error) {
	if c.bundled != nil {
		f = bundledLines{io.NewSectionReader(c.bundled, 0, math.MaxInt64)}
	} else if f, err = openLines(c.Path); err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openVerified opens the lines at an offset. It returns ErrReplaced if a different file was read.
func (c *Capture) openVerified(offset int64) (lines, error) {
	f, err := c.openAt(offset)
	if err != nil {
		return nil, err
	}
	if err := c.verify(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// bundledLines are the lines of a member of another file, which its owner closes.
type bundledLines struct{ *io.SectionReader }

// Close does nothing.
func (bundledLines) Close() error { return nil }

// An openFile keeps the file of a capture open between two reads. Several goroutines may read.
type openFile struct {
	mu   sync.Mutex
	file lines
	// users counts the goroutines that read.
	users int
	// closing is set if the last user closes the file.
	closing bool
}

// acquire returns the file. It calls open if the file is not open. The caller calls release
// afterwards.
func (o *openFile) acquire(open func() (lines, error)) (io.ReaderAt, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		f, err := open()
		if err != nil {
			return nil, err
		}
		o.file = f
	}
	o.users++
	return o.file, nil
}

// release ends one use of the file.
func (o *openFile) release() {
	o.mu.Lock()
	o.users--
	closing := o.closing
	o.mu.Unlock()
	if closing {
		o.closeIdle()
	}
}

// closeIdle closes the file, or leaves that to its last user.
func (o *openFile) closeIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = o.file != nil && o.users > 0
	if o.closing || o.file == nil {
		return
	}
	o.file.Close()
	o.file = nil
}

// packedLines are the lines of a compressed file.
type packedLines struct {
	*io.SectionReader
	io.Closer
}

// OpenLines opens the lines of a capture.
func OpenLines(path string) (io.ReadCloser, error) { return openLines(path) }

// openLines opens the lines of a capture. If the file does not exist any more because it was
// compressed, it opens the compressed file.
func openLines(path string) (lines, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, capture.Extension) {
		if now, failed := os.Open(path + packed.Extension); failed == nil {
			f = now
			path = now.Name()
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(path, packed.Extension) {
		return f, nil
	}
	text, err := openPacked(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return packedLines{io.NewSectionReader(text, 0, math.MaxInt64), f}, nil // up to the end, which text reports
}

// openPacked returns a reader of the lines in a compressed file.
func openPacked(f *os.File) (*packed.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return packed.Open(f, info.Size())
}

// A packedInfo describes a compressed file, with the size of its lines.
type packedInfo struct {
	fs.FileInfo
	size int64
}

func (p packedInfo) Size() int64 { return p.size }

// Stat describes the file of a capture as os.Stat does, with the size of its lines, even if it is
// compressed.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, capture.Extension) {
		if now, failed := os.Stat(path + packed.Extension); failed == nil {
			info = now
			path = path + packed.Extension
			err = nil
		}
	}
	if err != nil || !strings.HasSuffix(path, packed.Extension) || !info.Mode().IsRegular() {
		return info, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := openPacked(f)
	if err != nil {
		return nil, err
	}
	return packedInfo{info, text.Size()}, nil
}

// noteDamage adds a finding if err means that a compressed file is damaged, so that the lines
// before the damage are shown. It reports false for any other error, and if nothing of the file was
// read.
func noteDamage(c *Capture, err error) bool {
	damage, ok := errors.AsType[*packed.DamagedError](err)
	if !ok || len(c.Heads) == 0 {
		return false
	}
	c.writer.giveUp(c)
	found := wire.Finding{Rule: "damaged_file", Severity: wire.Warning, Text: damage.Error()}
	// Each attempt to read on fails at the same place.
	if n := len(c.findings); n == 0 || c.findings[n-1].Rule != found.Rule {
		c.findings = append(c.findings, found)
	}
	return true
}

// OpenIndexed opens a capture as Open does, with an index: it takes the rows from a valid index and
// reads only the lines after it. If there is no index, it writes one. dir is the directory of the
// indexes; "" is for a run of a Ring, whose index is beside it.
func OpenIndexed(path, dir string) (*Capture, error) { return openIndexed(path, dir, minIndexedBytes) }

// openIndexed opens a capture like OpenIndexed, with an index for files of at least minBytes bytes.
func openIndexed(path, dir string, minBytes int64) (*Capture, error) {
	c, err := beginIndexed(path, dir, minBytes)
	if err != nil {
		return nil, err
	}
	if _, err := c.readOn(math.MaxInt); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// BeginIndexed returns a capture with the rows of its index, without reading the file; ReadOn reads
// on. Once ReadOn has reached the end, it writes an index if the file had no index.
func BeginIndexed(path, dir string) (*Capture, error) {
	return beginIndexed(path, dir, minIndexedBytes)
}

// beginIndexed returns a capture like BeginIndexed, with an index for files of at least minBytes
// bytes.
func beginIndexed(path, dir string, minBytes int64) (*Capture, error) {
	info, err := Stat(path)
	if err != nil {
		return nil, err
	}
	c := newCapture(path)
	if !info.Mode().IsRegular() || info.Size() < minBytes {
		return c, nil
	}
	c.indexPath = indexPath(path, dir)
	// Without a valid index, or if many lines are missing from it, a new index is written.
	if !c.readIndex(info) || c.indexHead.hasGrown(info) {
		c.beginIndex(info, dir)
	}
	return c, nil
}

// indexPath returns the path of the index of a file. In a directory for the indexes of many files,
// its name is a hash of the file's path.
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

// hasGrown reports whether the file has so many lines that its index lacks that a new index is
// worthwhile.
func (h *indexHead) hasGrown(info fs.FileInfo) bool {
	added := info.Size() - h.Offset
	return added > minIndexedBytes && added > h.Size/8
}
