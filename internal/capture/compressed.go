package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/compress/packed"
)

// A run of a Ring that has ended is compressed: what a reader sees of it stays the same, with the
// same offsets, and its index stays good.

// CompressFrom is how many bytes a run must have to be compressed. Tests set a smaller number.
var CompressFrom int64 = 1 << 20

// atOnce is about how many bytes a command that reads compresses, of 2 ms for each MiB.
const maxCompressedBytes = 64 << 20

// CompressEnded compresses runs that ended more than a minute ago, so many that a command does not
// take noticeably longer; the next one goes on.
func (r *Ring) CompressEnded(runs []Run, now time.Time) {
	bytes := int64(0)
	for _, run := range runs {
		if strings.HasSuffix(run.Path, packed.Extension) || run.Bytes < CompressFrom || now.Sub(run.Modified) < time.Minute {
			continue
		}
		done, err := r.compress(run.Number, nil)
		if done {
			bytes += run.Bytes
		}
		if bytes >= maxCompressedBytes || err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	if err != nil || info.Size() < CompressFrom || info.Size() > packed.MostText || !Ended(plain, info.Size()) {
		return false, err
	}
	temp, err := os.CreateTemp(r.dir, filepath.Base(path)+packed.Extension+"-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(temp.Name()) // which is gone where all went well
	err = packed.Write(temp, &stoppable{plain, stop})
	if err == nil {
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

// Ended reports whether the last line of a file ends the run, and nothing of it follows.
func Ended(f io.ReaderAt, size int64) bool {
	line, err := ParseLine(lastLine(f, size))
	return err == nil && (line.End != nil && line.End.ID == nil || line.Next > 0)
}

// lastLine is the last line of a file, or its end where it is long.
func lastLine(f io.ReaderAt, size int64) []byte {
	end := make([]byte, min(size, maxPrefix))
	n, _ := f.ReadAt(end, size-int64(len(end)))
	lines := bytes.Split(bytes.TrimSpace(end[:n]), []byte("\n"))
	return lines[len(lines)-1]
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

// A compressor compresses the parts of a recording that are full, one at a time.
type compressor struct {
	wait sync.WaitGroup
	// busy is set while a part is compressed, stop once the recording ends.
	busy, stop atomic.Bool
}

// begin compresses a part. While another part is compressed it leaves this one to a later command.
func (c *compressor) begin(ring *Ring, run int) {
	if c.busy.CompareAndSwap(false, true) {
		c.wait.Go(func() {
			defer c.busy.Store(false)
			_, _ = ring.compress(run, &c.stop)
		})
	}
}

// end gives up a part that is being compressed, and waits until that is done, which is soon.
func (c *compressor) end() {
	c.stop.Store(true)
	c.wait.Wait()
}
