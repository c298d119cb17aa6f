package rows

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/compress/packed"
	"mcpc/internal/wire"
)

// packedLines are the lines of a compressed file.
type packedLines struct {
	*io.SectionReader
	io.Closer
}

// Lines reads the lines of a capture.
func Lines(path string) (io.ReadCloser, error) { return openLines(path) }

// openLines opens the lines of a capture, or of what a capture was compressed to since its path
// was read.
func openLines(path string) (lines, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, capture.Extension) {
		if now, failed := os.Open(path + packed.Extension); failed == nil {
			f, path, err = now, now.Name(), nil
		}
	}
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(path, packed.Extension) {
		return f, nil
	}
	text, err := unpacked(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return packedLines{io.NewSectionReader(text, 0, math.MaxInt64), f}, nil
}

func unpacked(f *os.File) (*packed.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return packed.Open(f, info.Size())
}

// packedInfo is of a compressed file, with the size of its lines.
type packedInfo struct {
	fs.FileInfo
	size int64
}

func (p packedInfo) Size() int64 { return p.size }

// Stat is os.Stat of a capture. The size is that of its lines, which a compressed one has fewer
// bytes than.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, capture.Extension) {
		if now, failed := os.Stat(path + packed.Extension); failed == nil {
			info, path, err = now, path+packed.Extension, nil
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
	text, err := unpacked(f)
	if err != nil {
		return nil, err
	}
	return packedInfo{info, text.Size()}, nil
}

// noteDamage notes that a compressed file cannot be read further; false where err says something
// else, or nothing of it was read.
func noteDamage(c *Capture, err error) bool {
	damage, ok := errors.AsType[*packed.DamagedError](err)
	if !ok || len(c.Heads) == 0 {
		return false
	}
	c.writer.giveUp(c)
	found := wire.Finding{Rule: "damaged_file", Level: wire.Warning, Text: damage.Error()}
	if n := len(c.findings); n == 0 || c.findings[n-1].Rule != found.Rule {
		c.findings = append(c.findings, found)
	}
	return true
}
