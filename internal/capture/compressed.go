package capture

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/compress/packed"
	"mcpc/internal/wire"
)

// A run of a Ring that has ended is compressed: what a reader sees of it stays the same, with the
// same offsets, and its index stays good.

// compressFrom is how many bytes a run must have. Tests have fewer.
var compressFrom int64 = 1 << 20

// atOnce is about how many bytes a command that reads compresses, of 2 ms for each MiB.
const atOnce = 64 << 20

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
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, extension) {
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
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, extension) {
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

// CompressEnded compresses runs that ended more than a minute ago, so many that a command does not
// take noticeably longer; the next one goes on.
func (r *Ring) CompressEnded(runs []Run, now time.Time) {
	bytes := int64(0)
	for _, run := range runs {
		if strings.HasSuffix(run.Path, packed.Extension) || run.Bytes < compressFrom || now.Sub(run.Modified) < time.Minute {
			continue
		}
		done, err := r.compress(run.Number, nil)
		if done {
			bytes += run.Bytes
		}
		if bytes >= atOnce || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// compress puts a compressed file in the place of a run that has ended, and is large enough to be
// worth it; done reports that it did. Until then the plain file is the run. Another process may do
// the same: each writes a file of its own.
func (r *Ring) compress(run int, stop *atomic.Bool) (done bool, err error) {
	path := r.Path(run)
	plain, err := openEnded(path)
	if plain == nil {
		return false, err // its recorder may write after the end
	}
	defer plain.Close()
	info, err := plain.Stat()
	if err != nil || info.Size() < compressFrom || info.Size() > packed.MostText || !ended(plain, info.Size()) {
		return false, err
	}
	temp, err := os.CreateTemp(r.dir, filepath.Base(path)+packed.Extension+"-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(temp.Name()) // which is gone where all went well
	if err = packed.Write(temp, &stoppable{plain, stop}); err == nil {
		err = temp.Sync()
	}
	if runtime.GOOS == "windows" { // it deletes no file that is open; elsewhere the lock lasts as long as it has its name
		err = errors.Join(err, plain.Close())
	}
	err = errors.Join(err, temp.Close(), os.Chtimes(temp.Name(), info.ModTime(), info.ModTime()))
	if err != nil {
		return false, err
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, info) || now.Size() != info.Size() {
		return false, err // another process was faster, or the run goes on
	}
	if err := os.Rename(temp.Name(), path+packed.Extension); err != nil {
		return false, err
	}
	switch now, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist): // another process compressed it as well
		return false, nil
	case err == nil && !os.SameFile(now, info): // the run was replaced
		return false, os.Remove(path + packed.Extension)
	}
	if dir, err := os.Open(r.dir); err == nil { // the name is on the disk before the other is gone
		_ = dir.Sync()
		dir.Close()
	}
	return true, os.Remove(path)
}

// ended reports that the last line of a file ends the run, which does not go on behind it.
func ended(f io.ReaderAt, size int64) bool {
	line, err := parseLine(lastLine(f, size))
	return err == nil && (line.End != nil && line.End.ID == nil || line.Next > 0)
}

// A stoppable file cannot be read further once stop is set, which may be nil.
type stoppable struct {
	*os.File
	stop *atomic.Bool
}

func (s *stoppable) Read(b []byte) (int, error) {
	if s.stop != nil && s.stop.Load() {
		return 0, errClosed
	}
	runtime.Gosched() // between two pieces of half a millisecond of work
	return s.File.Read(b)
}

// compressing is how a Recorder compresses the parts that are full, one at a time.
type compressing struct {
	sync.WaitGroup
	busy, stop atomic.Bool
}

// begin compresses a part. While it does so with another one it leaves this to a later command.
func (c *compressing) begin(ring *Ring, run int) {
	if c.busy.CompareAndSwap(false, true) {
		c.Go(func() {
			defer c.busy.Store(false)
			_, _ = ring.compress(run, &c.stop)
		})
	}
}

// end waits until nothing is compressed any more, which is soon: what is not done is given up.
func (c *compressing) end() {
	c.stop.Store(true)
	c.Wait()
}
