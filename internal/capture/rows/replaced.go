package rows

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"

	"mcpc/internal/compress/packed"
)

// ErrReplaced is the error for a recording that changed other than by growing since it was read:
// its file was replaced, truncated or rewritten, or another run got its number.
var ErrReplaced = errors.New("the recording was replaced by another one")

// A ContentMark identifies the contents of a file up to an offset. It stays valid if the file grows
// or is compressed. The zero value is the mark of a file that was not read to its end yet.
type ContentMark struct {
	// offset is how far the file was read.
	offset int64
	// sum is the hash of the first markBytes bytes and of the last markBytes before the offset.
	sum [sha256.Size]byte
}

// markOf returns the mark of a file that was read up to an offset.
func markOf(f io.ReaderAt, offset int64) (ContentMark, error) {
	part := make([]byte, min(offset, markBytes))
	h := sha256.New()
	for _, at := range []int64{0, offset - int64(len(part))} {
		if _, err := f.ReadAt(part, at); err != nil {
			return ContentMark{}, err
		}
		h.Write(part)
	}
	return ContentMark{offset, [sha256.Size]byte(h.Sum(nil))}, nil
}

// markBytes is how many bytes of the beginning and before the offset a mark covers.
const markBytes = 4 << 10

// matches reports whether a file has the contents of the marked one.
func (m ContentMark) matches(f io.ReaderAt) bool {
	now, err := markOf(f, m.offset)
	return err == nil && now == m
}

// Mark returns the mark of the part of the capture that was read.
func (c *Capture) Mark() ContentMark { return c.progress.mark }

// Compare reports whether the capture at path is the marked one, and whether it has grown since.
// Both are false if it cannot be read.
func (m ContentMark) Compare(path string) (same, grown bool) {
	f, err := openLines(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	if !m.matches(f) {
		return false, false
	}
	n, _ := f.ReadAt(make([]byte, 1), m.offset)
	return true, n > 0
}

// A FileState is the system's information about the file of a capture. The zero value means that
// there is no file.
type FileState struct{ info fs.FileInfo }

// StateOf returns the state of a file, or of its compressed file if only that exists.
func StateOf(path string) FileState {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(path + packed.Extension)
	}
	if err != nil {
		return FileState{}
	}
	return FileState{info}
}

// Exists reports whether there is a file.
func (s FileState) Exists() bool { return s.info != nil }

// Same reports whether now is the state of the same file, and the file was not written to in
// between.
func (s FileState) Same(now FileState) bool {
	return s.info != nil && now.info != nil && os.SameFile(s.info, now.info) &&
		s.info.Size() == now.info.Size() && s.info.ModTime().Equal(now.info.ModTime())
}

// infoOf returns what the system knows about an open file of lines; nil if it knows nothing.
func infoOf(f lines) fs.FileInfo {
	file, ok := f.(*os.File)
	if packed, is := f.(packedLines); is {
		file, ok = packed.Closer.(*os.File)
	}
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	return info
}

// verify returns ErrReplaced if f does not have the lines that were read. It trusts a file about
// which the system says nothing, such as a member of another file.
func (c *Capture) verify(f lines) error {
	info := infoOf(f)
	if info == nil || c.progress.readFrom == nil {
		return nil
	}
	same := os.SameFile(info, c.progress.readFrom)
	if _, packed := f.(packedLines); packed && same {
		return nil // a compressed file never changes
	}
	// A file that was replaced by its compressed copy still matches.
	if c.progress.mark.offset > 0 {
		same = c.progress.mark.matches(f)
	}
	if !same {
		return ErrReplaced
	}
	return nil
}
