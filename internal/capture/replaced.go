package capture

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrReplaced is the error of a recording that is another one than the one that was read: its file was replaced,
// cut or written anew, or its run's number was given to another run.
var ErrReplaced = errors.New("the recording was replaced by another one")

// A contentMark tells a file that grew, or was compressed, from another file in its place. Its zero value is of a
// file of which nothing was read to the end yet.
type contentMark struct {
	// offset is as far as the file was read.
	offset int64
	// sum is the hash of the beginning of the file and of what is before the offset.
	sum [sha256.Size]byte
}

// markOf returns the mark of a file that was read as far as an offset.
func markOf(f io.ReaderAt, offset int64) (contentMark, error) {
	part := make([]byte, min(offset, markedBytes))
	h := sha256.New()
	for _, at := range []int64{0, offset - int64(len(part))} {
		if _, err := f.ReadAt(part, at); err != nil {
			return contentMark{}, err
		}
		h.Write(part)
	}
	return contentMark{offset, [sha256.Size]byte(h.Sum(nil))}, nil
}

// markedBytes is how many bytes a mark has of the beginning and of the end.
const markedBytes = 4 << 10

// isOf reports whether a file has what the marked one had.
func (m contentMark) isOf(f io.ReaderAt) bool {
	now, err := markOf(f, m.offset)
	return err == nil && now == m
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
	if info == nil || c.readFrom == nil {
		return nil
	}
	same := os.SameFile(info, c.readFrom)
	if _, packed := f.(packedLines); packed && same {
		return nil // such a file is written once
	}
	if c.mark.offset > 0 {
		same = c.mark.isOf(f)
	}
	if !same {
		return ErrReplaced
	}
	return nil
}
