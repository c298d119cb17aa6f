package rows

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/sliceutil"
)

// An indexWriter writes an index while the rows are listed.
type indexWriter struct {
	temp *os.File
	dir  string
	head indexHead
	// file is the recording when the index was begun.
	file fs.FileInfo
}

// beginIndex begins to write the index of a capture that is at rest; info describes its file, dir
// is the directory that OpenIndexed got. It does nothing if the index cannot be written. Pages that
// are packed from now on go to the index.
func (c *Capture) beginIndex(info fs.FileInfo, dir string) {
	file, err := openLines(c.Path)
	if err != nil {
		return
	}
	defer file.Close()
	w := &indexWriter{
		dir: dir, file: infoOf(file),
		head: indexHead{Magic: indexMagic, Size: info.Size(), Modified: info.ModTime().UnixNano()},
	}
	if isCapture(file) && w.createTemp(c.indexPath) == nil {
		if now, err := w.temp.Stat(); err == nil && isAtRest(file, info, now.ModTime()) {
			// These pages are in the old index, which the new one replaces.
			for _, p := range c.pages {
				p.packed = c.loadPacked(p)
			}
			c.pageFile.close()
			c.writer = w
			c.pageFile.begin(w.temp, indexHeadSize)
			return
		}
		w.remove()
	}
}

// createTemp creates the temporary file that becomes the index at path.
func (w *indexWriter) createTemp(path string) error {
	if w.dir != "" {
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			return err
		}
		if info, err := os.Lstat(w.dir); err != nil || !info.IsDir() { // mcpc makes no links
			return fs.ErrInvalid
		}
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() { // rename would replace it
		return fs.ErrInvalid
	}
	var err error
	w.temp, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	return err
}

// remove deletes the temporary file.
func (w *indexWriter) remove() {
	w.temp.Close()
	os.Remove(w.temp.Name())
}

// isCapture reports whether a file begins with the head of a capture.
func isCapture(f io.ReaderAt) bool {
	begin := make([]byte, 4<<10)
	n, _ := f.ReadAt(begin, 0)
	return bytes.Contains(begin[:n], []byte(`"mcpc-traffic"`))
}

// isAtRest reports whether the file will probably not grow: its last line ends a run, or it was
// written to more than a minute ago.
func isAtRest(f io.ReaderAt, info fs.FileInfo, now time.Time) bool {
	if now.Sub(info.ModTime()) > time.Minute {
		return true
	}
	return capture.HasEnded(f, info.Size())
}

// giveUp ends the writing without an index. w may be nil.
func (w *indexWriter) giveUp(c *Capture) {
	if w != nil {
		w.remove()
		c.writer = nil
		c.pageFile.begin(nil, 0)
	}
}

// write completes the index once all lines were read. It gives up if rows differ from the file. w
// may be nil.
func (w *indexWriter) write(c *Capture) {
	if w == nil {
		return
	}
	pages := c.packAll()
	// SameFile: the capture may have been replaced, or compressed, since beginIndex.
	isWhole := !c.altered && c.newestMaker != nil && os.SameFile(w.file, c.progress.readFrom)
	if !isWhole || w.writeAll(c, pages) != nil {
		w.giveUp(c)
		return
	}
	c.writer = nil
	c.indexHead = &w.head
}

// writeAll writes the remaining pages, the contents and the head, and renames the file. After an
// error the caller deletes it.
func (w *indexWriter) writeAll(c *Capture, pages []*page) error {
	for _, p := range pages {
		if p.packed != nil {
			c.storePacked(p, p.packed)
		}
		if p.packed != nil {
			return errIndex // the page could not be written
		}
		w.head.Pages = max(w.head.Pages, p.offset+int64(p.length)-indexHeadSize)
	}
	encoder := &codec{writing: true, textNumbers: map[string]uint64{}}
	encoder.codeContents(c, pages)
	contents := encoder.pack()
	w.head.Sum = c.progress.mark.sum
	w.head.Offset = c.progress.offset
	w.head.Contents = int64(len(contents))
	w.head.ContentsSum = w.head.sumContents(contents)
	var head bytes.Buffer
	_ = binary.Write(&head, binary.LittleEndian, w.head)
	contentsAt := indexHeadSize + w.head.Pages
	for at, part := range map[int64][]byte{0: head.Bytes(), contentsAt: contents} {
		if _, err := w.temp.WriteAt(part, at); err != nil {
			return err
		}
	}
	// A page that was packed again may have left bytes after the contents.
	if err := w.temp.Truncate(contentsAt + w.head.Contents); err != nil {
		return err
	}
	// From now on pages are read from the finished index. Windows renames no open file.
	c.pageFile.end = 0
	c.pageFile.path = c.indexPath
	c.pageFile.close()
	if err := os.Rename(w.temp.Name(), c.indexPath); err != nil {
		return err
	}
	if w.dir != "" {
		removeOldIndexes(w.dir)
	}
	return nil
}

// removeOldIndexes deletes the oldest indexes of a directory that has too many.
func removeOldIndexes(dir string) {
	entries, _ := os.ReadDir(dir)
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() &&
			strings.Contains(e.Name(), capture.IndexExtension) {
			all = append(all, info)
		}
	}
	sliceutil.Sort(all, func(a, b fs.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	var size int64
	for i, info := range all {
		size += info.Size()
		if i > 0 && (i >= maxIndexes || size > maxIndexBytes) { // the first is the one just written
			os.Remove(filepath.Join(dir, info.Name()))
		}
	}
}
