package capture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcpc/internal/capture/blocks"
	"mcpc/internal/sliceutil"
)

// An indexWriter writes an index while the rows are listed.
type indexWriter struct {
	temp *os.File
	dir  string
	head indexHead
	// filters gives the error of the filters when they are written.
	filters chan error
}

// beginIndex begins to write the index of a file that is a capture and rests. Where that
// fails there is none.
func (x *indexing) beginIndex(path string, info fs.FileInfo, dir string) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	w := &indexWriter{dir: dir, filters: make(chan error, 1),
		head: indexHead{Magic: indexMagic, Size: info.Size(), Modified: info.ModTime().UnixNano()}}
	if isCapture(file) && w.make(x.indexPath) == nil {
		if now, err := w.temp.Stat(); err == nil && rests(file, info, now.ModTime()) {
			x.writer = w
			go w.writeFilters(file)
			return
		}
		w.remove()
	}
	file.Close()
}

// make makes the file that takes the place of the index.
func (w *indexWriter) make(path string) (err error) {
	if w.dir != "" {
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			return err
		}
		if info, err := os.Lstat(w.dir); err != nil || !info.IsDir() { // a link to one is not ours
			return fs.ErrInvalid
		}
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fs.ErrInvalid
	}
	w.temp, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	return err
}

func (w *indexWriter) remove() {
	w.temp.Close()
	os.Remove(w.temp.Name())
}

func isCapture(f io.ReaderAt) bool {
	begin := make([]byte, prefixWithin)
	n, _ := f.ReadAt(begin, 0)
	return bytes.Contains(begin[:n], []byte(`"mcpc-traffic"`))
}

// rests reports a file to which, as far as one can see, nothing more is written: its last
// line ends a run, or it was written a while ago.
func rests(f io.ReaderAt, info fs.FileInfo, now time.Time) bool {
	if now.Sub(info.ModTime()) > time.Minute {
		return true
	}
	end := make([]byte, min(info.Size(), prefixWithin))
	n, _ := f.ReadAt(end, info.Size()-int64(len(end)))
	lines := bytes.Split(bytes.TrimSpace(end[:n]), []byte("\n"))
	_, members, ok := cutMark(lines[len(lines)-1])
	return ok && (bytes.HasPrefix(members, []byte(`"end":`)) || bytes.HasPrefix(members, []byte(`"next":`)))
}

// writeFilters reads the file beside who lists its rows.
func (w *indexWriter) writeFilters(file *os.File) {
	defer file.Close()
	sum := crc32.New(castagnoli())
	to := io.NewOffsetWriter(w.temp, indexHeadSize)
	err := blocks.Write(io.MultiWriter(to, sum), file, w.head.Size)
	w.head.FiltersSum = sum.Sum32()
	w.head.Filters, _ = to.Seek(0, io.SeekCurrent)
	w.filters <- err
}

// giveUpIndex ends the writing of an index that is not to be.
func (x *indexing) giveUpIndex() {
	if x.writer != nil {
		x.writer.remove() // whereupon the filters cannot be written
		x.writer = nil
	}
}

// writeIndex writes the rows to the index, now that all are listed.
func (x *indexing) writeIndex(c *Capture) {
	w := x.writer
	if w == nil {
		return
	}
	if x.altered || c.index == nil || <-w.filters != nil || w.finish(c) != nil {
		x.giveUpIndex()
		return
	}
	x.writer = nil
	x.useFilters(&w.head)
}

func (w *indexWriter) finish(c *Capture) error {
	coded := &codec{writing: true, known: map[string]uint64{}}
	coded.contents(c)
	rows := coded.pack()
	var err error
	if w.head.Sum, err = sumBefore(c, c.offset); err != nil {
		return err
	}
	w.head.Offset, w.head.Rows = c.offset, int64(len(rows[0])+len(rows[1]))
	w.head.RowsSum = w.head.sumRows(rows[:]...)
	var head bytes.Buffer
	_ = binary.Write(&head, binary.LittleEndian, w.head)
	if _, err := w.temp.WriteAt(head.Bytes(), 0); err != nil {
		return err
	}
	at := indexHeadSize + w.head.Filters
	for _, part := range rows {
		if _, err := w.temp.WriteAt(part, at); err != nil {
			return err
		}
		at += int64(len(part))
	}
	if err := w.temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(w.temp.Name(), c.indexPath); err != nil {
		return err
	}
	if w.dir != "" {
		boundIndexes(w.dir)
	}
	return nil
}

// boundIndexes removes the oldest of too many indexes.
func boundIndexes(dir string) {
	entries, _ := os.ReadDir(dir)
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.Contains(e.Name(), indexExtension) {
			all = append(all, info)
		}
	}
	sliceutil.Sort(all, func(a, b fs.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	var size int64
	for i, info := range all {
		if size += info.Size(); i > 0 && (i >= mostIndexes || size > mostIndexesSize) {
			os.Remove(filepath.Join(dir, info.Name()))
		}
	}
}
