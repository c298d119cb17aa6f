package rows

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"

	"mcpc/internal/compress/packed"
)

// ErrReplaced is the error of a recording that changed otherwise than by growing since it was read: its file was
// replaced, cut or rewritten, or another run got its number.
var ErrReplaced = errors.New("the recording was replaced by another one")

// A ContentMark tells a file that grew, or was compressed, from another file in its place. The zero value is the mark
// of a file that was not read to its end yet.
type ContentMark struct {
	// offset is as far as the file was read.
	offset int64
	// sum is the hash of the beginning of the file and of what is before the offset.
	sum [sha256.Size]byte
}

// markOf returns the mark of a file that was read as far as an offset.
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

// markedBytes is how many bytes a mark has of the beginning and of the end.
const markBytes = 4 << 10

// isOf reports whether a file has what the marked one had.
func (m ContentMark) isOf(f io.ReaderAt) bool {
	now, err := markOf(f, m.offset)
	return err == nil && now == m
}

// Mark returns the mark of what was read of the capture.
func (c *Capture) Mark() ContentMark { return c.progress.mark }

// Compare reports whether a capture is the one that has the mark, and whether it has grown since.
func (m ContentMark) Compare(path string) (same, grown bool) {
	f, err := openLines(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	if !m.isOf(f) {
		return false, false
	}
	n, _ := f.ReadAt(make([]byte, 1), m.offset)
	return true, n > 0
}

// A FileState is what the system says of the file of a capture, without looking into it. The zero value is of no file.
type FileState struct{ info fs.FileInfo }

// StateOf returns the state of a file, or of what it was compressed to.
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

// Same reports whether nothing was written to the file since, and it is no other file.
func (s FileState) Same(now FileState) bool {
	return s.info != nil && now.info != nil && os.SameFile(s.info, now.info) &&
		s.info.Size() == now.info.Size() && s.info.ModTime().Equal(now.info.ModTime())
}

// infoOf returns what the system knows of the file of open lines; nil if it knows nothing.
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

// verify returns ErrReplaced if open lines are not those that were read.
func (c *Capture) verify(f lines) error {
	info := infoOf(f)
	if info == nil || c.progress.readFrom == nil {
		return nil
	}
	same := os.SameFile(info, c.progress.readFrom)
	if _, packed := f.(packedLines); packed && same {
		return nil // such a file is written once
	}
	if c.progress.mark.offset > 0 {
		same = c.progress.mark.isOf(f)
	}
	if !same {
		return ErrReplaced
	}
	return nil
}
