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

// Runs of a Ring are compressed after their end. Readers see the same lines at the same offsets, so the
// index of a run stays valid.

// CompressFrom is the minimum size in bytes of a run that is compressed. Tests set a smaller size.
var CompressFrom int64 = 1 << 20

// maxCompressedBytes is about how many bytes one command compresses. Compression takes 2 ms for
// each MiB.
const maxCompressedBytes = 64 << 20

// CompressEnded compresses runs that ended more than a minute ago. It stops after
// maxCompressedBytes, so that the command does not take noticeably longer; the next command
// continues.
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

// compress replaces a run with its compressed file, if the run has ended and is large enough, and
// reports whether it did. It gives up with errClosed once stop is set; stop may be nil. Several
// processes may compress the same run, because each writes to a different temporary file.
func (r *Ring) compress(run int, stop *atomic.Bool) (done bool, err error) {
	path := r.Path(run)
	plain, err := openEnded(path)
	if plain == nil {
		return false, err // its recorder may write after the end
	}
	defer plain.Close()
	info, err := plain.Stat()
	if err != nil || info.Size() < CompressFrom || info.Size() > packed.MaxText || !HasEnded(plain, info.Size()) {
		return false, err
	}
	temp, err := os.CreateTemp(r.dir, filepath.Base(path)+packed.Extension+"-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(temp.Name()) // does nothing after the rename
	err = packed.Write(temp, &stoppable{plain, stop})
	if err == nil {
		err = temp.Sync()
	}
	if runtime.GOOS == "windows" { // Windows deletes no open file; elsewhere the lock lasts until the deletion
		err = errors.Join(err, plain.Close())
	}
	err = errors.Join(err, temp.Close(), os.Chtimes(temp.Name(), info.ModTime(), info.ModTime()))
	if err != nil {
		return false, err
	}
	// The file may have changed while it was read.
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, info) || now.Size() != info.Size() {
		return false, err // another process was faster, or the run continued
	}
	if err := os.Rename(temp.Name(), path+packed.Extension); err != nil {
		return false, err
	}
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) { // another process compressed it too
		return false, nil
	}
	if err == nil && !os.SameFile(now, info) { // the run was replaced
		return false, os.Remove(path + packed.Extension)
	}
	if dir, err := os.Open(r.dir); err == nil { // stores the new name before the old file is deleted
		_ = dir.Sync()
		dir.Close()
	}
	return true, os.Remove(path)
}

// HasEnded reports whether the last line of a file ends its run or names the next part of the
// recording.
func HasEnded(f io.ReaderAt, size int64) bool {
	line, err := ParseLine(lastLine(f, size))
	return err == nil && (line.End != nil && line.End.ID == nil || line.Next > 0)
}

// lastLine returns the last line of a file, or only the end of a long line.
func lastLine(f io.ReaderAt, size int64) []byte {
	end := make([]byte, min(size, maxPrefix))
	n, _ := f.ReadAt(end, size-int64(len(end)))
	lines := bytes.Split(bytes.TrimSpace(end[:n]), []byte("\n"))
	return lines[len(lines)-1]
}

// A stoppable is a file whose Read fails once stop is set. stop may be nil.
type stoppable struct {
	*os.File
	stop *atomic.Bool
}

func (s *stoppable) Read(b []byte) (int, error) {
	if s.stop != nil && s.stop.Load() {
		return 0, errClosed
	}
	runtime.Gosched() // each piece that is read takes about half a millisecond to compress
	return s.File.Read(b)
}

// A compressor compresses the full parts of a recording in the background, one at a time.
type compressor struct {
	wait sync.WaitGroup
	// busy is set while a part is compressed. The compressing goroutine clears it.
	busy atomic.Bool
	// stop is set by end, once the recording ends.
	stop atomic.Bool
}

// begin compresses a part, unless another part is being compressed: a later command then compresses
// this one.
func (c *compressor) begin(ring *Ring, run int) {
	if c.busy.CompareAndSwap(false, true) {
		c.wait.Go(func() {
			defer c.busy.Store(false)
			_, _ = ring.compress(run, &c.stop)
		})
	}
}

// end stops the compression of a part and waits until it has stopped, which is soon.
func (c *compressor) end() {
	c.stop.Store(true)
	c.wait.Wait()
}
